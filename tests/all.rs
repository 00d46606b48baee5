//! One test binary: it links the engines once.

mod architecture;
mod cases;
mod cli;
mod config_example;
mod corpus;
mod delivery;
mod demo;
mod diff;
mod docs;
mod expressions;
mod keys;
mod model;
mod predicate;
mod property;
mod pty;
mod restatement;
mod shared_tables;
mod support;
mod table_config;
mod tui;
mod whatif;
