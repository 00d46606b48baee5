//! One test binary: it links the engine once.

mod architecture;
mod demo;
mod docs;
mod pty;
//! One binary for all integration tests: it links the engines once.

mod predicate;
