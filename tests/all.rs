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
mod faults;
mod gates;
mod hostile;
mod keys;
mod model;
mod mutate;
mod predicate;
mod property;
mod pty;
mod races;
mod restatement;
mod shared_tables;
mod support;
mod table_config;
mod tui;
mod write_features;
