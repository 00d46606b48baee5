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
    /// What is wrong with these settings, in one line. `own` holds the settings
    /// that were written in the section that is checked: a warning that an
    /// inherited one makes pointless is no mistake.
    pub fn mistake(&self, own: &toml::Table) -> Option<String> {
        let (min, max, warn) = (self.row_count_min_percent, self.row_count_max_percent, self.row_count_warn_percent);
        for (name, percent) in
            [("row_count_min_percent", min), ("row_count_max_percent", max), ("row_count_warn_percent", warn)]
        {
            if percent.is_nan() || percent < 0.0 {
                return Some(format!("{name} is {percent}; it must be 0 or more"));
            }
        }
        if min > max {
            return Some(format!("row_count_min_percent ({min}) is above row_count_max_percent ({max})"));
        }
        if own.contains_key("row_count_warn_percent") && warn < min {
            return Some(format!(
                "row_count_warn_percent ({warn}) is below row_count_min_percent ({min}), so that it would never warn"
            ));
        }
        let unknown = self.severity.keys().find(|name| super::find(name).is_none())?;
        let names: Vec<&str> = super::ALL.iter().map(|g| g.name()).collect();
        Some(format!("severity: there is no gate \"{unknown}\"; the gates are {}", names.join(", ")))
    }

    pub fn severity(&self, gate: &str) -> Option<Severity> {
        self.severity.get(gate).copied()
    }
}
