//! The Delta log: listing it, reading its actions, replaying them.
//!
//! Read here and not by the engine crate, for three reasons that the product
//! lives on: paths stay as raw bytes (a `remove` must repeat them), every error
//! names the file and line, and the first partitions are known before the rest
//! of the log is read. Tests hold the result against the engine's own replay.

pub mod action;
pub mod checkpoint;
pub mod deletion_vectors;
pub mod history;
pub mod ledger;
pub mod restorable;
pub mod segment;
pub mod snapshot;
pub mod version;
