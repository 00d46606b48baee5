//! Thresholds of advice about layouts: the config's `[layout]` section.

use serde::{Deserialize, Serialize};

/// Sizes in bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// A file below this is a small one.
    pub small_file_bytes: u64,
    /// The size at which a rewrite begins the next file.
    pub target_file_bytes: u64,
    /// Tables below this rarely gain by partitions.
    pub partitioning_pays_bytes: u64,
    /// How large one partition of a large table should be.
    pub partition_bytes: u64,
    /// Beyond so many partitions a layout is not proposed.
    pub max_partitions: u64,
    /// The largest partition may have so many times the rows of the middle one.
    pub max_skew: f64,
    /// Rows that are looked at for an estimate.
    pub sample_rows: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            small_file_bytes: 16 << 20,
            target_file_bytes: 256 << 20,
            partitioning_pays_bytes: 1 << 40,
            partition_bytes: 100 << 30,
            max_partitions: 10_000,
            max_skew: 20.0,
            sample_rows: 200_000,
        }
    }
}

impl Limits {
    /// What makes no sense, in words.
    pub fn mistake(&self) -> Option<String> {
        if self.target_file_bytes == 0 || self.sample_rows == 0 || self.max_partitions == 0 {
            return Some("target_file_bytes, sample_rows and max_partitions must be above 0".into());
        }
        if self.small_file_bytes > self.target_file_bytes {
            return Some(format!(
                "small_file_bytes ({}) is above target_file_bytes ({}): every file would be a small one",
                self.small_file_bytes, self.target_file_bytes
            ));
        }
        (self.max_skew.is_nan() || self.max_skew < 1.0)
            .then(|| format!("max_skew is {}, but the largest is never below the middle one", self.max_skew))
    }
}
