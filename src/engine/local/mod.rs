//! The local engine: narrow hashed rows, partition by partition.

mod classify;
mod elsewhere;
mod fetch;
pub mod hash;
pub mod key_candidates;
mod key_counter;
pub mod key_scan;
mod measure;
pub mod near_keys;
mod page;
mod pair;
mod roles;
mod searches;
mod side;
mod stage;
pub mod verify;
mod write;

pub use write::remove_staged;

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
