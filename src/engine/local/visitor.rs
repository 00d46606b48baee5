//! What is told of the rows of one bucket, and to whom.

use super::rows::{Place, Rows};
use crate::error::Result;
use crate::table::Value;

/// Why a row of the table stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stay {
    /// In a delivered partition, its key not in the source.
    Zombie,
    /// Matched, and no clause fired.
    Kept,
    /// Not concerned.
    Untouched,
}

/// New values of some columns of a row of the table.
#[derive(Debug, Clone)]
pub struct Patch {
    /// One for each of the rule's patched columns.
    pub values: Vec<Value>,
    pub changed: bool,
    /// Only ignored columns changed.
    pub touched_only: bool,
    /// The checks that the new row breaks, as bits, and the cells that they read.
    pub broken: u64,
    pub cells: Vec<(usize, Value)>,
}

/// The rows of one bucket.
pub struct Bucket<'a> {
    pub source: &'a Rows,
    pub target: &'a Rows,
}

/// Row numbers are those of the bucket.
pub trait Visitor {
    fn stay(&mut self, bucket: &Bucket<'_>, t: usize, why: Stay) -> Result<()>;
    fn delete(&mut self, bucket: &Bucket<'_>, t: usize) -> Result<()>;
    /// The delivered row takes the place of the table's.
    fn replace(&mut self, bucket: &Bucket<'_>, t: usize, s: usize) -> Result<()>;
    fn patch(&mut self, bucket: &Bucket<'_>, t: usize, patch: Patch) -> Result<()>;
    /// The delivered row is inserted as it is.
    fn insert(&mut self, bucket: &Bucket<'_>, s: usize) -> Result<()>;
    /// A row with these values of all columns is inserted.
    fn build(&mut self, bucket: &Bucket<'_>, s: usize, insert: usize, values: Vec<Value>) -> Result<()>;
    fn matched(&mut self, bucket: &Bucket<'_>, s: usize) -> Result<()>;
    fn ignore(&mut self, bucket: &Bucket<'_>, s: usize) -> Result<()>;
    /// What the rows of one key tell besides.
    fn key(&mut self, facts: KeyGroup) {
        let _ = facts;
    }
}

/// What the rows of one key tell, whatever becomes of them.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeyGroup {
    /// Rows beyond the first.
    pub source_duplicates: u64,
    pub target_duplicates: u64,
    pub repeated: Option<Place>,
    /// Source rows whose key is in the table within reach, or anywhere for a
    /// rule that only adds.
    pub existing: u64,
    /// Source rows whose key is in a row that the predicate does not choose.
    pub elsewhere: u64,
    pub elsewhere_example: Option<Place>,
    /// Rows with a NULL in the key.
    pub source_nulls: u64,
    pub target_nulls: u64,
    /// Rows of the table that several source rows match.
    pub ambiguous: u64,
    pub ambiguous_example: Option<Place>,
}
