//! Into how many data files rows are written.

use serde::{Deserialize, Serialize};

/// How the rows of a partition are cut into files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OutputShape {
    /// Exactly so many files in each partition, with as many rows each as is
    /// possible; fewer where there are fewer rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_per_partition: Option<u32>,
    /// A file is closed near so many bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_file_bytes: Option<u64>,
}

/// Where nothing else is said, in bytes.
pub const TARGET_FILE_BYTES: u64 = 256 << 20;

impl OutputShape {
    pub fn is_default(&self) -> bool {
        *self == OutputShape::default()
    }

    /// Bytes at which a file is closed.
    pub fn target(&self) -> u64 {
        self.target_file_bytes.unwrap_or(TARGET_FILE_BYTES)
    }

    /// This where it says anything, else the other.
    pub fn or(self, other: OutputShape) -> OutputShape {
        if self.is_default() { other } else { self }
    }

    /// The rows of each file of a partition with `rows` rows, where their number
    /// is fixed.
    pub fn quotas(&self, rows: u64) -> Option<Vec<u64>> {
        let files = u64::from(self.files_per_partition?).clamp(1, rows.max(1));
        let upto = |n: u64| (u128::from(rows) * u128::from(n) / u128::from(files)) as u64;
        Some((0..files).map(|n| upto(n + 1) - upto(n)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_share_rows_evenly() {
        let shape = |n| OutputShape { files_per_partition: Some(n), ..OutputShape::default() };
        assert_eq!(shape(3).quotas(10), Some(vec![3, 3, 4]));
        assert_eq!(shape(4).quotas(2), Some(vec![1, 1]));
        assert_eq!(shape(1).quotas(u64::MAX), Some(vec![u64::MAX]));
        assert_eq!(OutputShape::default().quotas(10), None);
    }
}
