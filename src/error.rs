//! One error type for the whole library: what happened, why, and what to do about it.

use std::fmt;

use serde::{Deserialize, Serialize};

pub type Result<T, E = Error> = std::result::Result<T, E>;

type Cause = Box<dyn std::error::Error + Send + Sync + 'static>;

/// An error with a stable kind (for scripts), a message (what and why), a hint
/// (what to do) and, where another error caused it, that error as its source.
#[derive(Debug)]
pub struct Error {
    pub kind: ErrorKind,
    pub message: String,
    pub hint: Option<String>,
    /// More for scripts, as JSON.
    pub details: Option<Box<serde_json::Value>>,
    source: Option<Cause>,
}

/// The kinds are part of the command line's contract: `--json` prints them, so
/// they are added to but never renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ErrorKind {
    /// The command line or an expression on it makes no sense.
    Usage,
    /// A config file that cannot be read or has a wrong value.
    BadConfig,
    /// There is no table where one was named.
    NotATable,
    /// Commits are missing in the middle of the log.
    LogGap,
    /// A commit file that is cut off, empty or not JSON.
    BadCommit,
    /// A checkpoint that cannot be read.
    BadCheckpoint,
    /// `metaData` or `protocol` is missing or malformed.
    BadMetadata,
    /// A partition value that its column's type cannot hold.
    BadPartitionValue,
    /// `partitionColumns` names a column that the schema lacks.
    BadPartitionColumn,
    /// The protocol contradicts itself.
    InvalidProtocol,
    /// A reader version or reader feature that this program does not know.
    UnsupportedReader,
    /// A writer version or feature that this write cannot honour.
    UnsupportedFeature,
    /// A column type that this program does not know.
    UnsupportedType,
    /// A version that the log never had.
    NoSuchVersion,
    /// A version whose log entries are gone.
    VersionGone,
    /// Files that the log names are not in the store.
    MissingFiles,
    /// A data file that cannot be read.
    BadDataFile,
    /// The source is missing, empty of files, or unreadable.
    BadSource,
    /// The source changed while it was read or after it was planned.
    SourceChanged,
    /// The source lacks a column of the table.
    ColumnMissing,
    /// The source has a column that the table lacks.
    ColumnUnknown,
    /// A source type that would lose something in the table's column.
    LossyType,
    /// A key column has different types on the two sides.
    KeyTypeMismatch,
    /// One target row is matched by several source rows.
    DuplicateSourceKeys,
    /// A delivered row that the predicate of the write does not choose.
    RowsOutsidePredicate,
    /// Rows that must be held at once do not fit into the memory limit.
    MemoryLimit,
    /// A NULL in a column that the table declares NOT NULL.
    NotNullViolation,
    /// A row for which a CHECK constraint, an invariant or the expression of a
    /// generated column does not hold.
    ConstraintViolation,
    /// The table moved past the plan.
    StalePlan,
    /// Another writer took the version and touched what the plan touches.
    Conflict,
    /// A gate failed.
    GateFailed,
    /// Not confirmed, or writing is switched off.
    Refused,
    /// The staged rows are not the planned rows.
    StagedDiffers,
    /// It could not be found out whether the commit landed.
    OutcomeUnknown,
    /// The commit landed, but reading it back gave something else.
    VerifyFailed,
    /// Storage answered with an error.
    Storage,
    /// A plan file that cannot be read.
    BadPlan,
    /// An operation that is not in the journal or the table's history.
    NoSuchOperation,
    /// The user interrupted.
    Cancelled,
    /// A defect of this program.
    Internal,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl Error {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, details: None, source: None }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn details(mut self, details: serde_json::Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    pub fn because(mut self, source: impl Into<Cause>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// With a hint about the cause deep down, where that has an obvious one: a
    /// full disk, missing rights.
    pub fn explained(mut self) -> Self {
        if let Some(trouble) = self.disk_trouble() {
            self.hint = Some(match self.hint.take() {
                Some(said) if said.contains(trouble) => said,
                Some(said) => format!("{trouble} {said}"),
                None => trouble.to_owned(),
            });
        }
        self
    }

    fn disk_trouble(&self) -> Option<&'static str> {
        use std::io::ErrorKind as Io;
        let mut next = std::error::Error::source(self);
        while let Some(cause) = next {
            match cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind) {
                Some(Io::StorageFull | Io::QuotaExceeded) => {
                    return Some("The disk or the quota is full. Make room there, then do it again.");
                }
                Some(Io::PermissionDenied) => {
                    return Some("This user may not write there. Check the owner and the rights of the folder.");
                }
                Some(Io::ReadOnlyFilesystem) => {
                    return Some("The file system is mounted read-only. Mount it for writing, or name another folder.");
                }
                // An error of the system may be wrapped in another one.
                _ => next = cause.source(),
            }
        }
        None
    }

    /// The process's exit code (contract, "Commands").
    pub fn exit_code(&self) -> u8 {
        use ErrorKind::*;
        match self.kind {
            Usage | BadConfig => 2,
            GateFailed => 3,
            StalePlan | Conflict | SourceChanged => 4,
            Refused | UnsupportedFeature | ColumnMissing | ColumnUnknown | LossyType | KeyTypeMismatch
            | DuplicateSourceKeys | RowsOutsidePredicate | NotNullViolation | ConstraintViolation | StagedDiffers => 5,
            OutcomeUnknown => 6,
            VerifyFailed => 7,
            Cancelled => 130,
            _ => 1,
        }
    }

    /// The message followed by the causes that it does not already contain.
    pub fn full_message(&self) -> String {
        let mut text = self.message.clone();
        let mut next = std::error::Error::source(self);
        while let Some(cause) = next {
            let said = cause.to_string();
            if !text.contains(&said) {
                text.push_str(": ");
                text.push_str(&said);
            }
            next = cause.source();
        }
        text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|cause| cause as _)
    }
}

/// Turns any foreign error into one of ours, with a kind and the words for what
/// was being done.
pub trait Context<T> {
    fn context(self, kind: ErrorKind, message: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Cause>> Context<T> for std::result::Result<T, E> {
    fn context(self, kind: ErrorKind, message: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|cause| Error::new(kind, message()).because(cause))
    }
}
