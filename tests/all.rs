//! Every test in one binary: linking the engine once is what costs time.

mod model;
mod property;
mod support;
