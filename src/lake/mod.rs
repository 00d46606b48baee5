//! Getting at tables: where they are, what their log says, their data files,
//! and the one committer.

pub mod commit;
pub mod data;
pub mod discovery;
pub mod folder;
pub mod independent;
pub mod inside;
pub mod left_overs;
pub mod log;
pub mod store;
mod watched;

pub use log::snapshot::Snapshot;
pub use store::TableStore;
