//! What a person asked to be planned, as plain data: the form's fields, or a
//! pasted statement with what its names stand for.

use crate::ops::{Binding, OverwriteMode, SourceRequest};
use crate::plan::view::{OperationColumn, SourceView};

/// A source, and how its rows are read and identified. Lists are the form's:
/// an empty one means none, not the config's.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Asked {
    pub source: String,
    pub key: Vec<String>,
    pub ignore: Vec<String>,
    pub measures: Vec<String>,
    pub grain: Vec<String>,
    /// The partitions that were meant to be delivered, as a condition.
    pub slice: Option<String>,
    /// What a replace-where replaces, as a condition.
    pub replace: Option<String>,
    pub latest_by: Option<String>,
    pub operations: Option<OperationColumn>,
    /// Instead of every strategy, what a statement says.
    pub pasted: Option<Pasted>,
}

/// A statement that a notebook runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pasted {
    pub sql: String,
    pub bindings: Vec<Binding>,
    pub mode: Option<OverwriteMode>,
    /// `MERGE`, `INSERT OVERWRITE`: what the heading calls it.
    pub verb: &'static str,
}

impl Asked {
    pub fn request(&self) -> SourceRequest {
        SourceRequest {
            source: self.source.clone(),
            key: self.key.clone(),
            ignore: self.ignore.clone(),
            slice: self.slice.clone(),
            view: SourceView {
                operations: self.operations.clone(),
                latest_by: self.latest_by.clone(),
                ..SourceView::default()
            },
            ..SourceRequest::default()
        }
    }
}
