//! The local engine: narrow hashed rows, in buckets by key, on disk where they
//! do not fit into memory.
//!
//! `sides` reads, `walk` and `judge` decide, `tally` counts, `verdicts` keep
//! what became of single rows, `page` and `stage` go by them.

mod breaks;
mod checks;
mod chosen;
mod classify;
mod compile;
pub mod days;
mod delivered;
mod feed;
mod fetch;
mod folders;
mod groups;
pub mod hash;
mod join;
mod judge;
pub mod key_candidates;
mod key_counter;
pub mod key_scan;
mod keys;
mod measure;
pub mod near_keys;
mod ordered;
mod outside;
mod page;
mod parked;
pub mod relayout;
mod roles;
mod rows;
mod scan;
mod sides;
mod sorted;
mod stage;
mod store;
mod tally;
mod unstage;
mod verdicts;
pub mod verify;
mod visitor;
mod walk;
pub mod whatif;
mod wire;
mod write;

pub use delivered::delivered_schema;
pub use store::Spilling;
pub use unstage::{discard_staged, left_behind, remove_staged};

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Classified, Engine, RowJob};
use crate::error::Result;
use crate::progress::Progress;

#[derive(Debug, Clone, Copy, Default)]
pub struct LocalEngine;

impl Engine for LocalEngine {
    fn name(&self) -> &'static str {
        "local"
    }

    fn classify(&self, job: RowJob, progress: Progress) -> BoxFuture<'_, Result<Vec<Arc<dyn Classified>>>> {
        async move {
            let classified = classify::classify(job, &progress).await?;
            Ok(classified.into_iter().map(|c| Arc::new(c) as Arc<dyn Classified>).collect())
        }
        .boxed()
    }
}
