//! Arguments that several commands share.

use clap::Args;

use crate::config::engine::byte_size;
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{At, Binding, SourceRequest};
use crate::plan::view::{OperationColumn, SourceView};
use crate::plan::{OutputShape, operations};
use crate::predicate::Predicate;
use crate::table::value::parse_timestamp;

#[derive(Debug, Clone, Args)]
pub struct AtArgs {
    /// The table as of this version
    #[arg(long, value_name = "N", conflicts_with = "at")]
    pub version: Option<u64>,
    /// The table as of this time; UTC where it has no zone
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
}

impl AtArgs {
    pub fn at(&self) -> Result<At> {
        match (self.version, &self.at) {
            (Some(version), _) => Ok(At::Version(version)),
            (None, Some(text)) => time(text),
            (None, None) => Ok(At::Latest),
        }
    }
}

/// The instant in a TIME argument.
pub fn time(text: &str) -> Result<At> {
    let us = parse_timestamp(text).ok_or_else(|| {
        Error::new(ErrorKind::Usage, format!("'{text}' is no time"))
            .hint("Write 2026-01-31, 2026-01-31T14:00:00Z or 2026-01-31T14:00:00+01:00.")
    })?;
    Ok(At::Time(us.div_euclid(1000)))
}

pub fn filter(text: Option<&str>) -> Result<Option<Predicate>> {
    text.map(Predicate::parse).transpose()
}

/// One name of a list of columns; blanks around it do not belong to it.
pub fn column_name(text: &str) -> std::result::Result<String, String> {
    match text.trim() {
        "" => Err("a column name is empty; write A,B".into()),
        name => Ok(name.to_owned()),
    }
}

/// How many files are written.
#[derive(Debug, Clone, Args)]
pub struct OutputArgs {
    /// Write exactly N files into each partition
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "target_file_size")]
    pub files_per_partition: Option<u32>,
    /// Close a data file near this size, such as 128MB [default: the table's
    /// delta.targetFileSize, else the config's, else 256MB]
    #[arg(long, value_name = "SIZE", value_parser = file_size)]
    pub target_file_size: Option<u64>,
}

impl OutputArgs {
    pub fn shape(&self) -> OutputShape {
        OutputShape { files_per_partition: self.files_per_partition, target_file_bytes: self.target_file_size }
    }
}

fn file_size(text: &str) -> std::result::Result<u64, String> {
    byte_size(text).ok_or_else(|| format!("'{text}' is no size; write 128MB, 1g or a number of bytes"))
}

#[derive(Debug, Clone, Args)]
pub struct SourceArgs {
    /// What was delivered: a Parquet file, folder or glob, or a Delta table.
    /// Values in folder names (column=value) are not read. With --sql: NAME=SOURCE
    /// for the tables that the statement reads
    #[arg(long, value_name = "SOURCE")]
    pub source: Vec<String>,
    /// The columns that identify a row [default: the config's for the table]
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = column_name)]
    pub key: Vec<String>,
    /// Technical columns: a row that differs only there counts as unchanged
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = column_name)]
    pub ignore: Vec<String>,
    /// Which partitions were meant to be delivered: a condition on partition
    /// columns. Others in the source, and those of it that are not there, fail
    /// a gate [default: those that occur in the source]
    #[arg(long, value_name = "PRED")]
    pub slice: Option<String>,
    /// How many rows the source must have: a control total
    #[arg(long, value_name = "N")]
    pub expect_rows: Option<u64>,
    /// Of the rows of one key only the one with the greatest value here counts
    #[arg(long, value_name = "COLUMN", value_parser = column_name)]
    pub latest_by: Option<String>,
    /// The column that says what each row means, and its codes if they are not
    /// known ones: upsert, delete or before-image; auto finds the column
    #[arg(long, value_name = "COLUMN[=CODE:MEANING,…]", value_parser = operations::parse)]
    pub operation_column: Option<OperationColumn>,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Compare every cell of rows whose hashes are equal
    #[arg(long)]
    pub exact_cells: bool,
}

impl SourceArgs {
    /// # Errors
    /// `Usage` where not exactly one source is named.
    pub fn request(&self) -> Result<SourceRequest> {
        match self.source.as_slice() {
            [only] => Ok(SourceRequest { source: only.clone(), ..self.options() }),
            _ => Err(Error::new(ErrorKind::Usage, "one --source is needed, and no more than one")),
        }
    }

    /// Everything but the source itself.
    pub fn options(&self) -> SourceRequest {
        SourceRequest {
            key: self.key.clone(),
            ignore: self.ignore.clone(),
            slice: self.slice.clone(),
            expect_rows: self.expect_rows,
            exact_cells: self.exact_cells,
            output: self.output.shape(),
            view: SourceView {
                operations: self.operation_column.clone(),
                latest_by: self.latest_by.clone(),
                ..SourceView::default()
            },
            ..SourceRequest::default()
        }
    }

    /// What the names in a statement stand for.
    pub fn bindings(&self) -> Vec<Binding> {
        self.source.iter().map(|text| Binding::parse(text)).collect()
    }
}
