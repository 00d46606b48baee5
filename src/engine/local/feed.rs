//! The change data feed of one commit: a file of changes beside the data files
//! (protocol, "Add CDC File").
//!
//! Rows that are only written again are no changes and are not in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use deltalake::arrow::array::{ArrayRef, RecordBatch, StringArray};
use deltalake::arrow::datatypes::{DataType as ArrowType, Field as ArrowField, Schema as ArrowSchema};
use uuid::Uuid;

use super::classify::LocalClassified;
use super::hash;
use super::store::Spilling;
use super::unstage::left_behind;
use super::write::{Content, PartitionWriter, WriterOptions};
use crate::engine::{RowSet, Staged};
use crate::error::{Context, Error, ErrorKind, Result};
use crate::lake::commit::StagedFile;
use crate::lake::data::TableLayout;
use crate::plan::{OutputShape, Reach};
use crate::table::{DataType, Field, PartitionTuple, PrimitiveType};

/// The column that says what a row of the feed is.
const CHANGE_TYPE: &str = "_change_type";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Insert,
    Preimage,
    Postimage,
    Delete,
}

impl Change {
    const ALL: [Change; 4] = [Change::Insert, Change::Preimage, Change::Postimage, Change::Delete];

    fn word(self) -> &'static str {
        match self {
            Change::Insert => "insert",
            Change::Preimage => "update_preimage",
            Change::Postimage => "update_postimage",
            Change::Delete => "delete",
        }
    }
}

/// Rows that came into a partition and rows that left it.
#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    come: RowSet,
    gone: RowSet,
}

pub struct Feed<'a> {
    classified: &'a LocalClassified,
    writer: PartitionWriter,
    rows: [u64; 4],
    flows: BTreeMap<u32, Flow>,
}

impl<'a> Feed<'a> {
    /// `None` where the table keeps no feed, and where each added and each
    /// removed file is a change as a whole: what only adds, and whole partitions.
    ///
    /// # Errors
    /// `BadMetadata`.
    pub fn new(classified: &'a LocalClassified, operation: Uuid) -> Result<Option<Feed<'a>>> {
        let sides = &classified.sides;
        let snapshot = &sides.fetch.job.snapshot;
        let by_row = matches!(sides.rules[classified.rule].rule.reach, Reach::Where(_));
        let whole_files = classified.replaces() && !by_row || classified.rewritten.is_empty();
        if whole_files || !snapshot.metadata().flag("delta.enableChangeDataFeed") {
            return Ok(None);
        }
        let mut metadata = snapshot.metadata().clone();
        // Rows that go may be older than a column's NOT NULL.
        metadata.schema.fields.iter_mut().for_each(|field| field.nullable = true);
        metadata.schema.fields.push(Field {
            name: CHANGE_TYPE.into(),
            data_type: DataType::Primitive(PrimitiveType::String),
            nullable: true,
            metadata: serde_json::Map::new(),
        });
        let options = WriterOptions {
            operation,
            seed: sides.roles.seed,
            spilling: Spilling { limit: sides.spilling.limit / 2, ..sides.spilling.clone() },
            shape: OutputShape::default(),
            content: Content::Changes,
        };
        let writer = PartitionWriter::new(snapshot, Arc::new(TableLayout::from_metadata(&metadata)?), options);
        Ok(Some(Feed { classified, writer, rows: [0; 4], flows: BTreeMap::new() }))
    }

    /// Rows of all columns of the table, with their partitions.
    ///
    /// # Errors
    /// As [`PartitionWriter::write`].
    pub async fn take(&mut self, change: Change, batch: &RecordBatch, numbers: Vec<u32>) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let mut columns = vec![0; batch.num_columns()];
        let hashes = hash::row_sets(batch, self.classified.sides.roles.seed, &mut columns)?;
        for (mixed, number) in hashes.into_iter().zip(&numbers) {
            let flow = self.flows.entry(*number).or_default();
            match change {
                Change::Insert | Change::Postimage => flow.come.add(mixed),
                Change::Preimage | Change::Delete => flow.gone.add(mixed),
            }
        }
        self.rows[change as usize] += batch.num_rows() as u64;
        let words: ArrayRef = Arc::new(StringArray::from(vec![change.word(); batch.num_rows()]));
        let schema = batch.schema();
        let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
        fields.push(Arc::new(ArrowField::new(CHANGE_TYPE, ArrowType::Utf8, true)));
        let mut arrays = batch.columns().to_vec();
        arrays.push(words);
        let batch = RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), arrays)
            .context(ErrorKind::Internal, || "rows of the change feed do not line up".into())?;
        if numbers.iter().any(|number| *number as usize >= self.writer.known()) {
            self.writer.know(self.classified.sides.tuples());
        }
        self.writer.write(batch, numbers).await
    }

    /// Holds the feed to the plan's numbers and to what was staged, then closes
    /// its files.
    ///
    /// # Errors
    /// `StagedDiffers`, `Storage`; what was written is then removed.
    pub async fn finish(self, staged: &Staged) -> Result<Vec<StagedFile>> {
        match self.check(staged) {
            Ok(()) => Ok(self.writer.finish().await?.files),
            Err(error) => Err(left_behind(error, self.writer.discard().await)),
        }
    }

    fn check(&self, staged: &Staged) -> Result<()> {
        let differs = |what: String| {
            Error::new(ErrorKind::StagedDiffers, format!("the change feed {what}; nothing was committed"))
                .hint("Make a new plan. If it happens again, please report it.")
        };
        let (mut inserted, mut updated, mut deleted) = (0, 0, 0);
        for partition in &self.classified.summary.partitions {
            inserted += partition.effects.inserted;
            updated += partition.effects.updated;
            deleted += partition.effects.deleted;
        }
        let planned = [inserted, updated, updated, deleted];
        for ((change, have), want) in Change::ALL.into_iter().zip(self.rows).zip(planned) {
            if have != want {
                return Err(differs(format!(
                    "has {have} rows of the kind {} where {want} were planned",
                    change.word()
                )));
            }
        }
        // Per partition: the rows of the old files, less what went, plus what came.
        let sides = &self.classified.sides;
        let mut expected: BTreeMap<u32, RowSet> = BTreeMap::new();
        for file in &self.classified.rewritten {
            let (facts, set) =
                (&sides.target_facts.files[*file], expected.entry(sides.file_partition[*file]).or_default());
            set.rows += facts.rows;
            set.checksum = set.checksum.wrapping_add(facts.sum);
        }
        for (number, flow) in &self.flows {
            let set = expected.entry(*number).or_default();
            set.rows = (set.rows + flow.come.rows).wrapping_sub(flow.gone.rows);
            set.checksum = set.checksum.wrapping_add(flow.come.checksum).wrapping_sub(flow.gone.checksum);
        }
        let tuples = sides.tuples();
        let named = |number: u32| tuples.get(number as usize).cloned().unwrap_or_default();
        let expected: BTreeMap<PartitionTuple, RowSet> =
            expected.into_iter().map(|(number, set)| (named(number), set)).collect();
        let all: std::collections::BTreeSet<_> = expected.keys().chain(staged.partitions.keys()).collect();
        for tuple in all {
            let want = expected.get(tuple).copied().unwrap_or_default();
            let have = staged.partitions.get(tuple).copied().unwrap_or_default();
            if want != have {
                let names = &sides.fetch.layout.partition_columns;
                return Err(differs(format!("does not lead to the staged rows of {}", tuple.label(names))));
            }
        }
        Ok(())
    }

    /// Removes what was written. Gives how many files stay.
    pub async fn discard(self) -> usize {
        self.writer.discard().await
    }
}
