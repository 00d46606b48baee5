//! One test binary: it links the engine once.

mod architecture;
mod cli;
mod config_example;
mod demo;
mod docs;
mod predicate;
mod pty;
