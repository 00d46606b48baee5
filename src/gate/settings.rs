//! The thresholds one by one: their names, units and meaning, and a number as
//! a person types it.

use std::fmt;

use super::Thresholds;
use crate::table::number::{bytes, grouped};

/// What a threshold counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Percent,
    Times,
    Rows,
    Partitions,
    Days,
    Years,
    Versions,
    Bytes,
}

/// The value of a threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    Real(f64),
    Whole(u64),
}

impl From<f64> for Number {
    fn from(number: f64) -> Self {
        Number::Real(number)
    }
}

impl From<u64> for Number {
    fn from(number: u64) -> Self {
        Number::Whole(number)
    }
}

impl From<u32> for Number {
    fn from(number: u32) -> Self {
        Number::Whole(number.into())
    }
}

/// As it is typed: `90`, `0.5`, `10000`.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Real(number) => number.fmt(f),
            Number::Whole(number) => number.fmt(f),
        }
    }
}

/// One threshold.
pub struct Setting {
    /// The name in the config.
    pub name: &'static str,
    pub unit: Unit,
    /// What it means, in one line.
    pub about: &'static str,
    read: fn(&Thresholds) -> Number,
}

/// Makes the list from names, units and meanings.
macro_rules! settings {
    ($($name:ident: $unit:ident, $about:literal;)*) => {
        /// Every threshold, in the order of `config.example.toml`.
        pub const SETTINGS: &[Setting] = &[$(Setting {
            name: stringify!($name),
            unit: Unit::$unit,
            about: $about,
            read: |t| Number::from(t.$name),
        },)*];
    };
}

settings! {
    row_count_min_percent: Percent, "fewer rows than this share of a partition's present rows fail";
    row_count_max_percent: Percent, "more rows than this share fail";
    row_count_warn_percent: Percent, "fewer rows than this share give a warning";
    row_count_exempt_rows: Rows, "differences of up to so many rows are never judged";
    row_count_history_min_percent: Percent, "fewer rows than this share of what the last versions had are unusual";
    row_count_history_max_percent: Percent, "more rows than this share are unusual";
    row_count_history_versions: Versions, "how many of the last versions that changed a partition are looked at";
    stray_max_percent_of_typical: Percent, "fewer rows than this share of a typical delivered partition may be stray rows";
    stray_max_percent_of_present: Percent, "if they are fewer than this share of the partition's present rows, too";
    new_partition_min_known: Partitions, "with so many partitions in the table, an unknown value is noted";
    new_partition_max_years_ahead: Years, "how far a new partition may lie beyond the newest one and today";
    grain_min_days: Days, "a partition with rows on fewer days has no finer grain";
    grain_max_percent_of_days: Percent, "the source is finer with at most this share of the days";
    grain_min_percent_lost: Percent, "if the partition loses at least this share of its rows";
    grain_min_percent_explained: Percent, "and at least this share of those lies on days that the source lacks";
    measure_drift_max_percent: Percent, "a measure's sum may change by this share of its absolute values";
    max_partitions: Partitions, "more partitions are too many for one table";
    small_files_min_partitions: Partitions, "a write to at least so many partitions may make small files";
    small_files_min_bytes: Bytes, "if a partition takes fewer bytes than this on average";
    skew_max_factor: Times, "how many times the rows of the middle partition the largest may have";
    skew_min_rows: Rows, "if the largest has at least so many rows";
    space_min_free_after_bytes: Bytes, "what must be left free on the table's disk once the files are staged";
}

pub fn setting(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name)
}

impl Setting {
    pub fn value(&self, thresholds: &Thresholds) -> Number {
        (self.read)(thresholds)
    }

    /// The value for people: `90 %`, `10,000 rows`, `1.0 MB`.
    pub fn shown(&self, thresholds: &Thresholds) -> String {
        let number = self.value(thresholds);
        let words = match self.unit {
            Unit::Percent => return format!("{number} %"),
            Unit::Times => return format!("{number} times"),
            Unit::Bytes => match number {
                Number::Whole(size) => return bytes(size),
                Number::Real(_) => "bytes",
            },
            Unit::Rows => "rows",
            Unit::Partitions => "partitions",
            Unit::Days => "days",
            Unit::Years => "years",
            Unit::Versions => "versions",
        };
        match number {
            Number::Whole(1) => format!("1 {}", words.trim_end_matches('s')),
            Number::Whole(number) => format!("{} {words}", grouped(number)),
            Number::Real(number) => format!("{number} {words}"),
        }
    }

    /// A number as a person types it, in the form that the config has it.
    ///
    /// # Errors
    /// What is wrong with the text, in one line.
    pub fn parse(&self, text: &str) -> Result<toml::Value, String> {
        let plain: String = text.trim().trim_end_matches('%').trim_end().replace('_', "");
        match self.value(&Thresholds::default()) {
            Number::Real(_) => match plain.parse::<f64>() {
                Ok(number) if !number.is_nan() => Ok(toml::Value::Float(number)),
                _ => Err(format!("{} is a number, not '{text}'", self.name)),
            },
            Number::Whole(_) => match plain.parse::<i64>() {
                Ok(number) if number >= 0 => Ok(toml::Value::Integer(number)),
                _ => Err(format!("{} is a whole number of 0 or more, not '{text}'", self.name)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_threshold_is_listed_once_and_belongs_to_a_gate() {
        let all = toml::Table::try_from(Thresholds::default()).unwrap();
        let mut names: Vec<&str> = SETTINGS.iter().map(|s| s.name).collect();
        for name in all.keys().filter(|name| *name != "severity") {
            assert!(names.contains(&name.as_str()), "{name} is not listed");
            let used = super::super::ALL.iter().any(|gate| gate.settings().contains(&name.as_str()));
            assert!(used, "no gate goes by {name}");
        }
        for gate in super::super::ALL {
            gate.settings().iter().for_each(|name| assert!(setting(name).is_some(), "{}: {name}", gate.name()));
        }
        names.sort_unstable();
        let before = names.len();
        names.dedup();
        assert_eq!((names.len(), before), (all.len() - 1, all.len() - 1));
    }

    #[test]
    fn numbers_are_read_as_people_type_them() {
        let parse = |name: &str, text: &str| setting(name).unwrap().parse(text);
        assert_eq!(parse("row_count_min_percent", " 80 %"), Ok(toml::Value::Float(80.0)));
        assert_eq!(parse("row_count_max_percent", "inf"), Ok(toml::Value::Float(f64::INFINITY)));
        assert_eq!(parse("max_partitions", "20_000"), Ok(toml::Value::Integer(20_000)));
        for (name, text) in
            [("max_partitions", "1.5"), ("max_partitions", "-1"), ("skew_max_factor", "nan"), ("skew_max_factor", "")]
        {
            assert!(parse(name, text).is_err_and(|said| said.contains(name)), "{name} {text}");
        }
    }

    #[test]
    fn values_come_with_their_unit() {
        let shown = |name: &str| setting(name).unwrap().shown(&Thresholds::default());
        assert_eq!(shown("row_count_min_percent"), "90 %");
        assert_eq!(shown("max_partitions"), "10,000 partitions");
        assert_eq!(shown("new_partition_max_years_ahead"), "1 year");
        assert_eq!(shown("skew_max_factor"), "20 times");
    }
}
