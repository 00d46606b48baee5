//! One binary for all integration tests, so that they are linked once.

mod tui;
//! One test binary: it links the engines once.
//! One test binary: it links the engine once.

mod architecture;
mod cases;
mod demo;
mod docs;
mod model;
mod predicate;
mod property;
mod pty;
mod restatement;
mod shared_tables;
mod support;
