//! One test binary: it links the engine once.

mod architecture;
mod cases;
mod demo;
mod docs;
mod model;
mod property;
mod pty;
//! One binary for all integration tests: it links the engines once.

mod predicate;
mod restatement;
mod shared_tables;
mod support;
