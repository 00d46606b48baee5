//! Every test in one binary: linking the engine once is what costs time.

mod cases;
mod model;
mod property;
mod restatement;
mod shared_tables;
mod support;
