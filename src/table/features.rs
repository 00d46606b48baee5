//! The protocol: who may read and who may write (protocol, "Table Features").

use crate::error::{Error, ErrorKind, Result};

use super::Metadata;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Protocol {
    pub min_reader: i64,
    pub min_writer: i64,
    /// `None` below reader version 3: an empty list there makes the table
    /// unreadable elsewhere, so the difference is kept.
    pub reader_features: Option<Vec<String>>,
    pub writer_features: Option<Vec<String>>,
}

/// What reading a data file may meet.
const READABLE: &[&str] = &[
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "typeWidening",
    "typeWidening-preview",
    "variantType",
    "variantType-preview",
    "variantShredding",
    "variantShredding-preview",
];

/// Reader features under which the log can be read, but not the rows.
const LOG_ONLY: &[&str] = &["variantShredding", "variantShredding-preview", "variantType", "variantType-preview"];

/// Writer features that every commit of ours honours, by what they ask of a
/// writer that replaces whole files and never creates deletion vectors.
const WRITABLE: &[&str] = &[
    "appendOnly",
    "invariants",
    "checkConstraints",
    "changeDataFeed",
    "generatedColumns",
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "domainMetadata",
    // Every row of ours has a value for every column.
    "allowColumnDefaults",
    "inCommitTimestamp",
];

/// What a rewrite of the same rows honours besides: it makes no value of its own,
/// so there is none to number, to default or to widen.
const KEPT_BY_LAYOUT: &[&str] = &["identityColumns", "allowColumnDefaults", "typeWidening", "typeWidening-preview"];

/// What a write is about to do; features are refused by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteKind {
    /// Replaces all rows of the files it touches by delivered rows.
    Overwrite,
    /// Adds files and removes none.
    Append,
    /// Rewrites files in which some rows stay.
    RowLevel,
    /// Writes the same rows into other files.
    Layout,
    /// Puts files back that the log knew before.
    Inverse,
    Restore,
    /// Removes files that no retained version needs.
    Vacuum,
}

impl Protocol {
    /// Refuses a table that this program cannot read right.
    ///
    /// # Errors
    /// `InvalidProtocol`, `UnsupportedReader`.
    pub fn check_read(&self) -> Result<()> {
        if self.reader_features.is_some() && self.min_reader != 3 {
            return Err(Error::new(
                ErrorKind::InvalidProtocol,
                format!(
                    "the table lists reader features, but its minReaderVersion is {} where only 3 may have them",
                    self.min_reader
                ),
            )
            .hint("The protocol action in _delta_log is damaged; no reader can trust it."));
        }
        if self.min_reader > 3 || self.min_reader < 1 {
            return Err(Error::new(
                ErrorKind::UnsupportedReader,
                format!("the table needs reader version {}; partwise knows 1 to 3", self.min_reader),
            )
            .hint("A newer release may read it."));
        }
        let unknown: Vec<&str> = self.reader_list().filter(|f| !READABLE.contains(f)).collect();
        if !unknown.is_empty() {
            return Err(Error::new(
                ErrorKind::UnsupportedReader,
                format!("the table needs reader features that partwise does not know: {}", unknown.join(", ")),
            )
            .hint("Read it with the engine that wrote it."));
        }
        Ok(())
    }

    /// Refuses to read rows (the log can still be browsed).
    ///
    /// # Errors
    /// `UnsupportedReader`.
    pub fn check_rows(&self) -> Result<()> {
        let found: Vec<&str> = self.reader_list().filter(|f| LOG_ONLY.contains(f)).collect();
        if found.is_empty() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::UnsupportedReader,
            format!("rows of a table with {} cannot be read", found.join(", ")),
        )
        .hint("Its log can be browsed: show, partitions, files and history work."))
    }

    /// Refuses a write that could not honour a feature of the table, before
    /// anything is staged.
    ///
    /// # Errors
    /// `UnsupportedFeature`, naming every feature in the way.
    pub fn check_write(&self, metadata: &Metadata, kind: WriteKind) -> Result<()> {
        let mut reasons: Vec<String> = Vec::new();
        if self.min_writer > 7 {
            reasons.push(format!("writer version {}", self.min_writer));
        }
        match &self.writer_features {
            Some(features) => {
                let kept = if kind == WriteKind::Layout { KEPT_BY_LAYOUT } else { &[] };
                let honoured = |f: &&String| WRITABLE.contains(&f.as_str()) || kept.contains(&f.as_str());
                for feature in features.iter().filter(|f| !honoured(f)) {
                    reasons.push(format!("table feature {feature}"));
                }
            }
            None if self.min_writer == 6 && kind != WriteKind::Layout => {
                reasons.push("writer version 6 (identity columns)".into())
            }
            None => {}
        }
        // Files may go where their rows stay (protocol, "Append-only Tables").
        let keeps_rows = matches!(kind, WriteKind::Append | WriteKind::Layout | WriteKind::Vacuum);
        if metadata.flag("delta.appendOnly") && !keeps_rows {
            reasons.push("delta.appendOnly = true (rows may only be added)".into());
        }
        let rewrites = matches!(kind, WriteKind::Overwrite | WriteKind::Append | WriteKind::RowLevel);
        if rewrites {
            if metadata.property("delta.parquet.format.version").is_some() {
                reasons.push("delta.parquet.format.version".into());
            }
            metadata.schema.walk(&mut |path, field| {
                if field.metadata.contains_key("delta.identity.start") {
                    reasons.push(format!("identity column {path}"));
                }
            });
            if metadata.schema.fields.iter().any(|f| f.data_type.contains(&|t| matches!(t, super::DataType::Variant))) {
                reasons.push("variant column".into());
            }
        }
        if kind == WriteKind::Layout {
            reasons.extend(not_rewritten(metadata).map(str::to_owned));
        }
        if reasons.is_empty() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::UnsupportedFeature,
            format!("partwise cannot write this table yet: {}", reasons.join("; ")),
        )
        .hint("Nothing was written. The plan's numbers hold; run the write with the engine that made the table."))
    }

    fn reader_list(&self) -> impl Iterator<Item = &str> {
        self.reader_features.iter().flatten().map(String::as_str)
    }

    /// Whether files may carry deletion vectors.
    pub fn supports(&self, feature: &str) -> bool {
        self.writer_features.iter().flatten().chain(self.reader_features.iter().flatten()).any(|f| f == feature)
    }
}

/// What stands in the way of writing the same rows into new files.
fn not_rewritten(metadata: &Metadata) -> impl Iterator<Item = &'static str> {
    let variant = |f: &super::Field| f.data_type.contains(&|t| matches!(t, super::DataType::Variant));
    let format = metadata.property("delta.parquet.format.version").map(|_| "delta.parquet.format.version");
    let variant = metadata.schema.fields.iter().any(variant).then_some("variant column");
    format.into_iter().chain(variant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictions_and_unknown_features_are_named() {
        let broken = Protocol {
            min_reader: 5,
            min_writer: 7,
            reader_features: Some(vec!["columnMapping".into()]),
            writer_features: None,
        };
        assert_eq!(broken.check_read().unwrap_err().kind, ErrorKind::InvalidProtocol);
        let far = Protocol { min_reader: 99, min_writer: 7, ..Protocol::default() };
        assert_eq!(far.check_read().unwrap_err().kind, ErrorKind::UnsupportedReader);
        let strange = Protocol {
            min_reader: 3,
            min_writer: 7,
            reader_features: Some(vec!["blahabl".into()]),
            writer_features: None,
        };
        assert!(strange.check_read().unwrap_err().message.contains("blahabl"));
    }
}
