//! Thresholds and severities: `[gates]` in the config, globally and per table.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Off,
    Warn,
    Fail,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Off => "off",
            Severity::Warn => "warn",
            Severity::Fail => "fail",
        }
    }
}

/// Unset fields of a table's section fall back to the global section.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Thresholds {
    /// Fewer delivered rows than this share of a partition's present rows fail.
    pub row_count_min_percent: f64,
    /// More than this share fail.
    pub row_count_max_percent: f64,
    /// Below this share a warning is given.
    pub row_count_warn_percent: f64,
    /// Differences of up to so many rows are never judged.
    pub row_count_exempt_rows: u64,
    /// `"gate-name" = "off" | "warn" | "fail"` replaces a gate's own severity.
    pub severity: BTreeMap<String, Severity>,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            row_count_min_percent: 90.0,
            row_count_max_percent: 150.0,
            row_count_warn_percent: 98.0,
            row_count_exempt_rows: 10,
            severity: BTreeMap::new(),
        }
    }
}

impl Thresholds {
    pub fn severity(&self, gate: &str) -> Option<Severity> {
        self.severity.get(gate).copied()
    }
}
