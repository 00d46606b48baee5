//! Gates: sanity checks between a plan and its confirmation.
//!
//! A gate is a pure judgement over a plan and the evidence that was gathered
//! with it. Each lives in its own file and in one line of [`ALL`].

mod already_applied;
mod breaking_writers;
mod deletes_outside_slice;
mod duplicate_keys;
mod empty_source;
pub mod evidence;
#[cfg(test)]
mod examples;
mod expected_rows;
mod grain;
mod keys_elsewhere;
mod later_changes;
mod measure_drift;
mod missing_slice;
mod near_duplicate_keys;
mod new_partition;
mod null_keys;
mod null_partition;
mod operation_column;
mod row_count;
mod row_count_history;
pub mod settings;
mod skew;
mod small_files;
mod space;
#[cfg(test)]
mod testing;
pub mod thresholds;
mod too_many_partitions;
pub mod tuning;
mod unexpected_partition;
mod vanished_group;
mod words;
mod zombies;

pub use evidence::Evidence;
pub use settings::{SETTINGS, Setting, setting};
pub use thresholds::{Severity, Thresholds};
pub use tuning::{Origin, Tuning};

use serde_json::{Map, Value as Json};

use crate::plan::kinds::Class;
use crate::plan::{GateResult, GateStatus, Plan};

/// What one gate says. `None` from [`Gate::judge`] means that it has nothing
/// to judge on this plan.
pub struct Finding {
    pub status: GateStatus,
    pub observed: Json,
    pub threshold: String,
    pub message: String,
    /// The partitions concerned, as the plan's `values`.
    pub partitions: Vec<Map<String, Json>>,
}

impl Finding {
    pub fn pass(observed: impl Into<Json>, threshold: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status: GateStatus::Pass,
            observed: observed.into(),
            threshold: threshold.into(),
            message: message.into(),
            partitions: Vec::new(),
        }
    }

    pub fn of(mut self, status: GateStatus) -> Self {
        self.status = status;
        self
    }

    pub fn at(mut self, partitions: Vec<Map<String, Json>>) -> Self {
        self.partitions = partitions;
        self
    }
}

pub trait Gate: Sync {
    /// The name in the config, in `--override NAME=REASON` and in the commit.
    fn name(&self) -> &'static str;

    /// One line for the documentation.
    fn about(&self) -> &'static str;

    /// The thresholds that it goes by, by their names in the config.
    fn settings(&self) -> &'static [&'static str] {
        &[]
    }

    /// How bad a failure is for this kind of plan, before the config is asked.
    fn severity(&self, class: Class) -> Severity;

    fn judge(&self, plan: &Plan, evidence: &Evidence, thresholds: &Thresholds) -> Option<Finding>;
}

/// The gate that needs the log's past.
pub const ROW_COUNT_HISTORY: &str = "row-count-history";

/// Every gate, in the order in which people read them.
pub const ALL: &[&dyn Gate] = &[
    &empty_source::EmptySource,
    &row_count::RowCount,
    &row_count_history::RowCountHistory,
    &expected_rows::ExpectedRows,
    &operation_column::OperationColumn,
    &vanished_group::VanishedGroup,
    &missing_slice::MissingSlice,
    &unexpected_partition::UnexpectedPartition,
    &deletes_outside_slice::DeletesOutsideSlice,
    &grain::Grain,
    &zombies::Zombies,
    &duplicate_keys::DuplicateKeys,
    &null_keys::NullKeys,
    &near_duplicate_keys::NearDuplicateKeys,
    &keys_elsewhere::KeysElsewhere,
    &null_partition::NullPartition,
    &new_partition::NewPartition,
    &measure_drift::MeasureDrift,
    &too_many_partitions::TooManyPartitions,
    &small_files::SmallFiles,
    &skew::Skew,
    &already_applied::AlreadyApplied,
    &later_changes::LaterChanges,
    &breaking_writers::BreakingWriters,
    &space::Space,
];

/// Judges a plan by every gate that applies to its kind. A gate's own verdict
/// is softened to the severity that kind and config give it, never hardened.
pub fn judge(plan: &Plan, evidence: &Evidence, thresholds: &Thresholds) -> Vec<GateResult> {
    let mut results = Vec::new();
    for gate in ALL {
        let severity = severity(*gate, plan.spec.kind().class(), thresholds);
        if severity == Severity::Off {
            continue;
        }
        if let Some(finding) = gate.judge(plan, evidence, thresholds) {
            let status = match (finding.status, severity) {
                (GateStatus::Fail, Severity::Warn) => GateStatus::Warn,
                (status, _) => status,
            };
            results.push(GateResult {
                name: gate.name().to_owned(),
                status,
                observed: finding.observed,
                threshold: finding.threshold,
                message: finding.message,
                partitions: finding.partitions,
                overridden: None,
            });
        }
    }
    results
}

/// How bad a gate's failure is for a kind of plan: the config's word goes
/// before the gate's own.
pub fn severity(gate: &dyn Gate, class: Class, thresholds: &Thresholds) -> Severity {
    thresholds.severity(gate.name()).unwrap_or_else(|| gate.severity(class))
}

pub fn find(name: &str) -> Option<&'static dyn Gate> {
    ALL.iter().copied().find(|g| g.name() == name)
}

/// The gates and what they do for each class of plans, as a Markdown table.
pub fn documentation() -> String {
    let classes: Vec<&str> = Class::ALL.iter().map(|(_, words)| *words).collect();
    let rule = vec!["---"; classes.len() + 2].join(" | ");
    let mut text = format!("| gate | {} | what it checks |\n| {rule} |\n", classes.join(" | "));
    for gate in ALL {
        let on: Vec<&str> = Class::ALL.iter().map(|(class, _)| gate.severity(*class).as_str()).collect();
        text.push_str(&format!("| {} | {} | {} |\n", gate.name(), on.join(" | "), gate.about()));
    }
    text.push_str(
        "\n## Thresholds\n\n| threshold | default | judged by | what it means |\n| --- | --- | --- | --- |\n",
    );
    for setting in SETTINGS {
        let gates: Vec<&str> = ALL.iter().filter(|g| g.settings().contains(&setting.name)).map(|g| g.name()).collect();
        let default = setting.shown(&Thresholds::default());
        text.push_str(&format!("| `{}` | {default} | {} | {} |\n", setting.name, gates.join(", "), setting.about));
    }
    text
}
