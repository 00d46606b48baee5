//! The work of background jobs.

use super::asked::Asked;
use super::msg::TableKey;
use super::wish::Wish;
use crate::config::TableConfig;
use crate::ops::{At, ConfigChange, ScriptEngine};
use crate::plan::{Effect, Plan};
use crate::table::PartitionTuple;

/// The work of one background job.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// How operations ended that a crash left open, and what they left.
    Settle,
    /// Opens the target as a table, else lists the tables below it.
    Target(String),
    /// Lists the tables below a root.
    Discover(String),
    Open {
        reference: String,
        at: At,
    },
    Partitions(TableKey),
    Files(TableKey),
    Rows {
        table: TableKey,
        filter: Option<String>,
        offset: u64,
        limit: usize,
    },
    History {
        table: TableKey,
        filter: Option<String>,
        check_files: bool,
    },
    /// Sources that could be meant by what was typed so far.
    Candidates {
        location: String,
        typed: String,
    },
    Compare {
        location: String,
        asked: Box<Asked>,
    },
    /// What a source's own columns say about how it delivers.
    Profile {
        location: String,
        source: String,
        key: Vec<String>,
    },
    /// What is wrong with a key, and what could be one.
    Keys {
        location: String,
        source: Option<String>,
        key: Vec<String>,
    },
    /// What saving would do to the config file.
    ConfigChange {
        table: TableKey,
        known: TableConfig,
    },
    /// The same for a table's thresholds and severities.
    GatesChange {
        table: TableKey,
        gates: toml::Table,
    },
    /// The same for what people ask the table for.
    QueriesChange {
        table: TableKey,
        queries: Vec<String>,
    },
    SaveConfig(Box<ConfigChange>),
    /// Rows that were kept for a plan that was given up.
    Forget(Box<Plan>),
    /// What changed between two versions.
    Changes {
        location: String,
        from: u64,
        to: u64,
    },
    Diff {
        plan: String,
        effect: Effect,
        offset: u64,
        limit: usize,
    },
    /// All rows of an effect into a file that is not there yet.
    Export {
        plan: String,
        effect: Effect,
        path: String,
    },
    /// Small files, skew, removed files, and what mending costs.
    Health(TableKey),
    /// Layouts that the table could have: proposed ones, and a person's own.
    Layouts {
        table: TableKey,
        /// Conditions beside those of the config.
        queries: Vec<String>,
        own: Vec<Wish>,
    },
    /// One layout: estimated, or counted in a pass over the table, with what it
    /// would break.
    TryLayout {
        table: TableKey,
        wish: Box<Wish>,
        queries: Vec<String>,
        exact: bool,
    },
    PlanRepartition {
        location: String,
        wish: Box<Wish>,
    },
    PlanOptimize {
        location: String,
        /// A condition on partition columns; `None` for the whole table.
        filter: Option<String>,
    },
    PlanVacuum {
        location: String,
    },
    PlanRestore {
        location: String,
        to: u64,
        /// Only these; empty: the whole table.
        partitions: Vec<PartitionTuple>,
    },
    PlanRedo {
        location: String,
    },
    PlanUndo {
        location: String,
        operation: Option<String>,
    },
    Apply {
        plan: Box<Plan>,
        overrides: Vec<(String, String)>,
    },
    SavePlan {
        plan: Box<Plan>,
        path: String,
    },
    SaveScript {
        plan: Box<Plan>,
        engine: ScriptEngine,
        path: String,
    },
}

impl Request {
    /// What the job is called in the job list, and while it is waited for.
    pub fn words(&self) -> &'static str {
        match self {
            Request::Settle => "looking for interrupted operations",
            Request::Target(_) | Request::Discover(_) => "looking for tables",
            Request::Open { .. } => "opening the table",
            Request::Partitions(_) => "reading partitions",
            Request::Files(_) => "reading files",
            Request::Rows { .. } => "reading rows",
            Request::History { check_files: false, .. } => "reading the history",
            Request::History { .. } => "looking for the files of old versions",
            Request::Candidates { .. } => "looking for sources",
            Request::Compare { asked, .. } if asked.pasted.is_some() => "planning the statement",
            Request::Compare { .. } => "comparing strategies",
            Request::Profile { .. } => "looking at the source",
            Request::Keys { .. } => "counting keys",
            Request::ConfigChange { .. } | Request::GatesChange { .. } | Request::QueriesChange { .. } => {
                "reading the settings"
            }
            Request::SaveConfig(_) => "saving the settings",
            Request::Forget(_) => "removing what the plan kept",
            Request::Changes { .. } => "comparing versions",
            Request::Diff { .. } => "reading rows of the plan",
            Request::PlanRestore { .. } => "planning the restore",
            Request::Health(_) => "looking at the table's health",
            Request::Layouts { .. } => "trying layouts",
            Request::TryLayout { exact: false, .. } => "trying the layout",
            Request::TryLayout { .. } => "counting the layout",
            Request::PlanOptimize { .. } => "planning the optimize",
            Request::PlanRepartition { .. } => "planning the switch",
            Request::PlanVacuum { .. } => "planning the vacuum",
            Request::PlanUndo { .. } => "planning the undo",
            Request::PlanRedo { .. } => "planning the redo",
            Request::Apply { .. } => "applying",
            Request::SavePlan { .. } => "saving the plan",
            Request::SaveScript { .. } => "writing the script",
            Request::Export { .. } => "exporting rows",
        }
    }

    /// Whether the person asked for it and may want to cancel it.
    pub fn is_foreground(&self) -> bool {
        matches!(
            self,
            Request::Compare { .. }
                | Request::Changes { .. }
                | Request::Keys { .. }
                | Request::Export { .. }
                | Request::Layouts { .. }
                | Request::TryLayout { .. }
                | Request::PlanOptimize { .. }
                | Request::PlanRepartition { .. }
                | Request::PlanVacuum { .. }
                | Request::PlanRestore { .. }
                | Request::PlanUndo { .. }
                | Request::PlanRedo { .. }
                | Request::Apply { .. }
                | Request::Rows { .. }
        )
    }
}
