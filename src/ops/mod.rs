//! The road of every write, and every way to look: one file an operation.
//!
//! `Source + Table@v → Plan → Gates → Confirm → Apply → Verify → Journal → (Undo)`.
//! The faces (`cli`, `tui`) call only this room.

mod applied;
pub mod apply;
mod apply_report;
mod between;
pub mod breakers;
pub mod browse;
mod changes;
mod chosen;
mod clock;
pub mod compare;
pub mod context;
mod delivery;
pub mod demo;
pub mod diff;
pub mod discover;
pub mod effect_rows;
mod entry;
mod exchange;
pub mod export;
mod generated;
pub mod health;
pub mod keys;
pub mod layouts;
pub mod left_overs;
mod numbers;
mod once;
mod operations;
mod overrides;
pub mod plan_file;
pub mod prepare;
pub mod profile;
mod rebase;
pub mod recover;
mod refusals;
mod relayout;
pub mod restore;
mod row_history;
mod row_spec;
pub mod script;
mod slice;
mod space;
mod spool;
pub mod statement;
pub mod strategy;
mod table_config;
mod twins;
pub mod undo;
mod undo_rows;
pub mod vacuum;
mod verify;

pub use apply::{ApplyOptions, apply};
pub use apply_report::ApplyReport;
pub use breakers::breakers;
pub use browse::{At, OpenTable, RowPage};
pub use compare::{Comparison, compare};
pub use context::Context;
pub use diff::{Diff, DiffRequest, diff};
pub use discover::{TableSummary, find_tables};
pub use effect_rows::ColumnChanges;
pub use export::{Exported, export_effect};
pub use health::{Health, health};
pub use layouts::{LayoutReport, LayoutRequest, exact_layout, layouts};
pub use prepare::{Prepared, SourceRequest, prepare};
pub use profile::{SourceProfile, profile_source};
pub use recover::recover;
pub use relayout::{OptimizeRequest, RepartitionRequest, describe, prepare_optimize, prepare_repartition};
pub use restore::{RestoreRequest, plan_restore, prepare_restore};
pub use script::{ScriptEngine, script};
pub use statement::{Binding, Outline, OverwriteMode, from_statement, merge_of_clauses, outline};
pub use strategy::{Scd2Columns, Strategy};
pub use table_config::{
    ConfigChange, SavedConfig, save_table_config, table_config_change, table_gates_change, table_queries_change,
};
pub use undo::{UndoRequest, plan_redo, plan_undo, prepare_undo};
pub use vacuum::{VacuumRequest, prepare_vacuum};

/// Forgets a plan that will not be carried out: rows that were kept for it go.
pub fn forget(context: &Context, plan: &crate::plan::Plan) {
    spool::remove(context, plan);
}

/// What was done, when, by whom, and how to take it back.
pub use crate::journal::{Entry as JournalEntry, Outcome as JournalOutcome};

/// Every operation in this machine's journal, newest first.
///
/// # Errors
/// `Storage` where the state folder cannot be read.
pub fn journal(context: &Context) -> crate::error::Result<Vec<JournalEntry>> {
    context.journal().entries()
}
