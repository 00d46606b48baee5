//! What goes into `update` and what comes out of it: plain data on both sides.

use std::time::Duration;

use crossterm::event::KeyEvent;

pub use super::request::Request;
use super::screens::layouts::Row;
use crate::error::{Error, ErrorKind};
use crate::gate::{self, Evidence, Thresholds};
use crate::ops::context::TableSettings;
use crate::ops::diff::{Diff, DiffPartition, DiffTotals, FileCounts};
use crate::ops::keys::KeyReport;
use crate::ops::prepare::DiffPage;
use crate::ops::{
    ApplyOptions, ApplyReport, Comparison, ConfigChange, Health, LayoutReport, OpenTable, RowPage, SavedConfig,
    SourceProfile, TableSummary,
};
use crate::plan::Plan;
use crate::plan::advice::{self, Delivery};
use crate::plan::describe::DescribeRow;
use crate::plan::kinds::Class;
use crate::plan::technical::TechnicalProposal;
use crate::progress::ProgressState;
use crate::table::{Commit, DataFile, Metadata, PartitionStats, Protocol};

/// The time that the state knows of; it only moves by messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Clock {
    /// Since the program started; never goes back.
    pub running: Duration,
    /// milliseconds since the epoch, for "2 h ago"
    pub wall_ms: i64,
}

/// Something that happened.
#[derive(Debug)]
pub enum Msg {
    /// Before the first frame: start the first jobs.
    Start,
    Key(KeyEvent),
    /// Pasted text (bracketed paste).
    Paste(String),
    /// The mouse wheel: rows down, negative for up.
    Wheel(i32),
    Resize(u16, u16),
    Tick(Clock),
    Job(JobId, Answer),
    /// SIGTERM, SIGHUP: leave now, with this exit code.
    Terminate(u8),
    /// What the runtime itself could not do (clipboard, terminal).
    Trouble(Failure),
}

/// Numbers every request. A screen remembers the id that it waits for, so an
/// answer to an older question is known as stale and dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct JobId(pub u64);

/// Something to be done outside of the state.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Run(JobId, Request),
    Cancel(JobId),
    /// To the clipboard, by OSC 52.
    Copy(String),
    Suspend,
    Quit(u8),
}

/// A table pinned at a version: what opens it, and which version.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TableKey {
    pub location: String,
    pub version: u64,
}

/// What a job sends back. `Tables`, `Partitions` with `complete: false` and
/// `Progress` may come more than once; every other answer ends the job.
#[derive(Debug)]
pub enum Answer {
    Table(Box<TableSummary>),
    TablesDone,
    Opened(Box<TableInfo>),
    Partitions {
        rows: Vec<PartitionStats>,
        complete: bool,
    },
    Files(Vec<DataFile>),
    Rows {
        page: RowPage,
        offset: u64,
    },
    History {
        commits: Vec<Commit>,
        checked: bool,
    },
    Candidates(Vec<String>),
    Compared(Box<Compared>),
    Profiled(Box<SourceProfile>),
    Keys(Box<KeyReport>),
    Health(Box<Health>),
    /// The report, and the person's own layouts in the order of the request.
    Layouts {
        report: Box<LayoutReport>,
        own: Vec<Row>,
    },
    /// One layout that was tried.
    Layout(Box<Row>),
    ConfigChange(Box<ConfigChange>),
    ConfigSaved(Box<SavedConfig>),
    Changes(Box<Changes>),
    Diff {
        page: DiffPage,
        offset: u64,
    },
    Planned(Box<Plan>),
    /// A plan that changes more than rows, with the table's description on both
    /// sides of it.
    PlannedSwitch {
        plan: Box<Plan>,
        described: Vec<DescribeRow>,
    },
    Applied(Box<ApplyReport>),
    Saved(String),
    Settled(Vec<String>),
    ScriptSaved(String),
    Exported {
        path: String,
        rows: u64,
    },
    Progress(ProgressState),
    Failed(Failure),
}

impl Answer {
    /// Whether the job goes on after this answer.
    pub fn is_partial(&self) -> bool {
        matches!(self, Answer::Table(_) | Answer::Partitions { complete: false, .. } | Answer::Progress(_))
    }
}

/// An error, as screens keep it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub kind: ErrorKind,
    pub message: String,
    pub hint: Option<String>,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        Self { kind: error.kind, message: error.full_message(), hint: error.hint.clone() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

/// What the screens need of an open table, as plain data.
#[derive(Debug, Clone, PartialEq)]
pub struct TableInfo {
    pub name: String,
    pub location: String,
    pub version: u64,
    pub metadata: Metadata,
    pub protocol: Protocol,
    /// milliseconds since the epoch
    pub committed_at: i64,
    pub settings: TableSettings,
}

impl TableInfo {
    pub fn key(&self) -> TableKey {
        TableKey { location: self.location.clone(), version: self.version }
    }
}

impl From<&OpenTable> for TableInfo {
    fn from(table: &OpenTable) -> Self {
        Self {
            name: table.name.clone(),
            location: table.location.clone(),
            version: table.version(),
            metadata: table.metadata().clone(),
            protocol: table.protocol().clone(),
            committed_at: table.committed_at(),
            settings: table.settings.clone(),
        }
    }
}

/// A comparison's plans without the handles to their rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    pub plans: Vec<Plan>,
    /// What each of them was judged by.
    pub evidence: Vec<Evidence>,
    /// An index into `plans`.
    pub recommended: Option<usize>,
    pub because: String,
    /// `None` where one statement was planned, and nothing was compared.
    pub delivery: Option<Delivery>,
    /// Columns that hide which rows really changed.
    pub technical: Option<TechnicalProposal>,
}

impl From<&Comparison> for Compared {
    fn from(comparison: &Comparison) -> Self {
        Self {
            plans: comparison.strategies.iter().map(|(_, prepared)| prepared.plan.clone()).collect(),
            evidence: comparison.strategies.iter().map(|(_, prepared)| prepared.evidence()).collect(),
            recommended: comparison.recommended,
            because: comparison.because.clone(),
            delivery: Some(comparison.delivery.clone()),
            technical: comparison.technical.clone(),
        }
    }
}

/// A diff of two versions without the handle to its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Changes {
    /// What pages and exports ask for.
    pub handle: String,
    pub key: Vec<String>,
    pub ignore: Vec<String>,
    /// Changed columns, in words.
    pub schema: Vec<String>,
    pub notes: Vec<String>,
    pub rows: DiffTotals,
    pub partitions: Vec<DiffPartition>,
    pub unchanged_partitions: u64,
    pub files: FileCounts,
}

impl From<&Diff> for Changes {
    fn from(diff: &Diff) -> Self {
        let side = |text: &Option<String>| text.clone().unwrap_or_else(|| "–".into());
        let schema = diff.schema_changes.iter().map(|c| {
            let compared = if c.compared { "" } else { "; not compared" };
            format!("{} {}: {} → {}{compared}", c.column, c.change.as_str(), side(&c.from), side(&c.to))
        });
        Self {
            handle: format!("v{}..v{} of {}", diff.from, diff.to, diff.table),
            key: diff.key.clone(),
            ignore: diff.ignore.clone(),
            schema: schema.collect(),
            notes: diff.notes.clone(),
            rows: diff.rows,
            partitions: diff.partitions.clone(),
            unchanged_partitions: diff.unchanged_partitions,
            files: diff.files,
        }
    }
}

impl Compared {
    /// Judges every plan anew, and recommends by that.
    pub fn judge_again(&mut self, thresholds: &Thresholds) {
        for (plan, evidence) in self.plans.iter_mut().zip(&self.evidence).filter(|(plan, _)| plan.compared) {
            plan.gates = gate::judge(plan, evidence, thresholds);
            plan.settle();
            plan.advice = advice::advice(plan);
        }
        let of = |class: Class| self.plans.iter().find(|p| p.spec.kind().class() == class);
        match (&self.delivery, of(Class::Replace), of(Class::Merge)) {
            (Some(delivery), Some(overwrite), Some(merge)) => {
                let (name, because) = advice::recommend(delivery, overwrite, merge);
                let at = name.and_then(|name| self.plans.iter().position(|p| p.operation == name));
                (self.recommended, self.because) = (at, because);
            }
            // A statement has no other strategy beside it.
            (None, ..) => self.because = self.plans.first().and_then(|p| p.advice.first()).cloned().unwrap_or_default(),
            _ => {}
        }
    }
}

pub(super) fn apply_options(overrides: Vec<(String, String)>) -> ApplyOptions {
    ApplyOptions { overrides: overrides.into_iter().collect(), strict: false }
}
