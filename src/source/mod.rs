//! Getting at what was delivered: Parquet files or another Delta table, pinned
//! by a fingerprint, with columns matched by name.
//!
//! A new format is one new file beside `parquet.rs` and one line in [`Source::open`].

pub mod cast;
pub mod delta;
pub mod matching;
pub mod parquet;

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::lake::data::{DataReader, ReadFile, TableLayout};
use crate::plan::SourceFacts;
use crate::table::Schema;

pub use matching::{Matching, Needs, common_type, match_columns};

/// An opened source. Cheap to clone.
#[derive(Clone)]
pub struct Source {
    pub uri: String,
    pub format: Format,
    pub files: Arc<Vec<ReadFile>>,
    pub layout: Arc<TableLayout>,
    /// Changes whenever the source's bytes may have changed.
    pub fingerprint: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Parquet,
    Delta,
}

impl Format {
    pub fn as_str(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Delta => "delta",
        }
    }
}

impl Source {
    /// Opens a Parquet file, a folder or glob of them, or a Delta table
    /// (`table@v12` pins a version).
    ///
    /// # Errors
    /// `BadSource` where nothing is there or it is of no known format.
    pub async fn open(reference: &str) -> Result<Source> {
        if delta::is_table(reference) {
            return delta::open(reference).await;
        }
        parquet::open(reference).await
    }

    pub fn schema(&self) -> &Schema {
        &self.layout.schema
    }

    pub fn reader(&self) -> DataReader {
        DataReader::new(Arc::clone(&self.layout))
    }

    pub fn facts(&self) -> SourceFacts {
        SourceFacts {
            uri: self.uri.clone(),
            format: self.format.as_str().into(),
            files: self.files.len() as u64,
            fingerprint: self.fingerprint.clone(),
            content: None,
        }
    }

    /// A digest of what was delivered, whatever its files are called and when
    /// they were written. Reads the source once.
    ///
    /// # Errors
    /// `BadSource`.
    pub async fn content(&self) -> Result<String> {
        match self.format {
            Format::Parquet => parquet::content(&self.files).await,
            // A version of a table never changes.
            Format::Delta => Ok(self.fingerprint.clone()),
        }
    }

    /// Column names that stand in the folders of its files (`column=value`).
    pub fn folder_columns(&self) -> Vec<String> {
        let folders = self.files.iter().flat_map(|f| f.path.as_ref().split('/'));
        let mut names: Vec<String> = folders.filter_map(|part| Some(part.split_once('=')?.0.to_owned())).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Looks again and compares with the fingerprint that was pinned.
    ///
    /// # Errors
    /// `SourceChanged`, `BadSource`.
    pub async fn check_unchanged(&self) -> Result<()> {
        let now = match self.format {
            Format::Delta => delta::fingerprint(&self.uri).await?,
            Format::Parquet => Source::open(&self.uri).await?.fingerprint,
        };
        self.same(&now, &self.fingerprint)
    }

    /// # Errors
    /// `SourceChanged`.
    pub fn expect_fingerprint(&self, pinned: &str) -> Result<()> {
        self.same(&self.fingerprint, pinned)
    }

    fn same(&self, now: &str, pinned: &str) -> Result<()> {
        if now == pinned {
            return Ok(());
        }
        Err(Error::new(ErrorKind::SourceChanged, format!("the source {} is no longer what was planned", self.uri))
            .hint("Make a new plan: its numbers may differ."))
    }
}
