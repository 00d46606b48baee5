//! One test binary: it links the engine once.

mod architecture;
mod demo;
mod docs;
mod pty;
