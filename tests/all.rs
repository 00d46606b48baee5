//! One test binary: it links the engine once.

mod architecture;
mod demo;
mod docs;
mod predicate;
mod pty;
