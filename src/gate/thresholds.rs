//! Thresholds and severities: `[gates]` in the config, globally and per table.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::settings::{Number, SETTINGS};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Off,
    Warn,
    Fail,
}

impl Severity {
    /// From the mildest to the worst.
    pub const ALL: [Severity; 3] = [Severity::Off, Severity::Warn, Severity::Fail];

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
    /// The same shares against the median of the partition's last versions.
    pub row_count_history_min_percent: f64,
    pub row_count_history_max_percent: f64,
    /// How many of the last versions that changed a partition's data count.
    pub row_count_history_versions: u64,
    /// Without a stated slice, a delivered partition with fewer rows than this
    /// share of a typical one …
    pub stray_max_percent_of_typical: f64,
    /// … and fewer than this share of its present rows is taken for stray rows.
    pub stray_max_percent_of_present: f64,
    /// From so many partitions on, one that the table does not have is noted.
    pub new_partition_min_known: u64,
    /// How many years a partition may lie beyond the newest one and today.
    pub new_partition_max_years_ahead: u32,
    /// A partition whose rows lie on fewer days than this has no finer grain.
    pub grain_min_days: u64,
    /// The source is finer where it holds at most this share of those days …
    pub grain_max_percent_of_days: f64,
    /// … the partition loses at least this share of its rows …
    pub grain_min_percent_lost: f64,
    /// … and at least this share of them lies on days that the source lacks.
    pub grain_min_percent_explained: f64,
    /// The sum of a measure may change by this share of its absolute values.
    pub measure_drift_max_percent: f64,
    /// More partitions than this are too many for one table.
    pub max_partitions: u64,
    /// A write to at least so many partitions …
    pub small_files_min_partitions: u64,
    /// … makes small files where one takes fewer bytes than this on average.
    pub small_files_min_bytes: u64,
    /// The largest written partition may have so many times the rows of the
    /// middle one …
    pub skew_max_factor: f64,
    /// … where it has at least so many rows.
    pub skew_min_rows: u64,
    /// What must be left free on the table's disk once the files are staged.
    pub space_min_free_after_bytes: u64,
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
            row_count_history_min_percent: 90.0,
            row_count_history_max_percent: 150.0,
            row_count_history_versions: 7,
            stray_max_percent_of_typical: 1.0,
            stray_max_percent_of_present: 50.0,
            new_partition_min_known: 10,
            new_partition_max_years_ahead: 1,
            grain_min_days: 3,
            grain_max_percent_of_days: 50.0,
            grain_min_percent_lost: 10.0,
            grain_min_percent_explained: 90.0,
            measure_drift_max_percent: 20.0,
            max_partitions: 10_000,
            small_files_min_partitions: 50,
            small_files_min_bytes: 1_048_576,
            skew_max_factor: 20.0,
            skew_min_rows: 100_000,
            space_min_free_after_bytes: 16_777_216,
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
        for setting in SETTINGS {
            if let Number::Real(number) = setting.value(self)
                && (number.is_nan() || number < 0.0)
            {
                return Some(format!("{} is {number}; it must be 0 or more", setting.name));
            }
        }
        if min > max {
            return Some(format!("row_count_min_percent ({min}) is above row_count_max_percent ({max})"));
        }
        let (low, high) = (self.row_count_history_min_percent, self.row_count_history_max_percent);
        if low > high {
            return Some(format!(
                "row_count_history_min_percent ({low}) is above row_count_history_max_percent ({high})"
            ));
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

    /// These thresholds with a table's own on top.
    ///
    /// # Errors
    /// What is unknown or mistyped, in one line.
    pub fn with(&self, own: &toml::Table) -> Result<Thresholds, String> {
        let mut merged = toml::Table::try_from(self).map_err(|e| e.to_string())?;
        for (key, value) in own {
            match (merged.get_mut(key), value) {
                (Some(toml::Value::Table(into)), toml::Value::Table(from)) => into.extend(from.clone()),
                _ => {
                    merged.insert(key.clone(), value.clone());
                }
            }
        }
        merged.try_into().map_err(|e: toml::de::Error| e.to_string())
    }

    pub fn severity(&self, gate: &str) -> Option<Severity> {
        self.severity.get(gate).copied()
    }
}
