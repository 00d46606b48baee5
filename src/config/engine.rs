//! How much of the machine the engine may take.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::folders;
use crate::error::{Error, ErrorKind, Result};

/// Where nothing is known of the machine's memory.
const FALLBACK: u64 = 2 << 30;
const SMALLEST: u64 = 64 << 20;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EngineConfig {
    /// `4GiB`, `512 MiB` or bytes; unset: half of what is free when a plan is made.
    pub memory_limit: Option<String>,
    /// Where rows go that do not fit; unset: the platform's cache folder.
    pub spill_dir: Option<String>,
    /// A data file is closed near this size, such as `128MB`, where neither the
    /// command nor the table says another; unset: 256 MiB.
    pub target_file_size: Option<String>,
    /// Bytes of rows that stay in memory, whatever the limit says. No file sets
    /// it: it is for tests that want rows on disk.
    #[serde(skip)]
    pub rows_in_memory: Option<usize>,
}

impl EngineConfig {
    /// # Errors
    /// `BadConfig` for a size that is none.
    pub fn check(&self) -> Result<()> {
        self.memory_limit.as_deref().map(size).transpose()?;
        self.target_file_size().map(drop)
    }

    /// Bytes.
    ///
    /// # Errors
    /// `BadConfig` for a size that is none.
    pub fn target_file_size(&self) -> Result<Option<u64>> {
        let Some(text) = &self.target_file_size else { return Ok(None) };
        byte_size(text).map(Some).ok_or_else(|| {
            Error::new(ErrorKind::BadConfig, format!("target_file_size is \"{text}\", which is no size"))
                .hint("Write 128MB, 1g or a number of bytes.")
        })
    }

    /// Bytes. The environment's `PARTWISE_MEMORY_LIMIT` goes before the config.
    ///
    /// # Errors
    /// `BadConfig` for a size that is none.
    pub fn memory(&self) -> Result<u64> {
        let text = std::env::var("PARTWISE_MEMORY_LIMIT").ok().or_else(|| self.memory_limit.clone());
        match text {
            Some(text) => size(&text),
            None => Ok((available().unwrap_or(2 * FALLBACK) / 2).max(SMALLEST)),
        }
    }

    pub fn spill_dir(&self) -> PathBuf {
        match &self.spill_dir {
            Some(folder) => folders::expand_home(folder),
            None => folders::cache_dir(),
        }
    }
}

/// Bytes of a limit on memory.
///
/// # Errors
/// `BadConfig`.
pub fn size(text: &str) -> Result<u64> {
    let bad = |why: &str| {
        Error::new(ErrorKind::BadConfig, format!("the size \"{text}\" {why}"))
            .hint("Write 4GiB, 512 MiB, 1.5GB or a number of bytes.")
    };
    let bytes = byte_size(text).ok_or_else(|| bad("is no number with a unit"))?;
    if bytes < SMALLEST {
        return Err(bad("is below 64 MiB"));
    }
    Ok(bytes)
}

/// Bytes of a size, with the units as Spark reads them: `128m`, `128MB` and
/// `128 MiB` are the same, powers of 1024. `None` for what is none, and for zero.
pub fn byte_size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(1 << shift).filter(|bytes| *bytes > 0);
    }
    let bytes = number.parse::<f64>().ok()? * 2_f64.powi(shift);
    (1.0..=1e15).contains(&bytes).then_some(bytes as u64)
}

/// Bytes that programs can have without swapping, where the platform tells.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(size("1GiB").unwrap(), 1 << 30);
        assert_eq!(size(" 512 MiB ").unwrap(), 512 << 20);
        assert_eq!(size("1.5GB").unwrap(), 3 << 29);
        assert_eq!(size("104857600").unwrap(), 100 << 20);
        let sizes = ["128MB", "128m", "134217728", "1 GiB", "0", "x", "1.5 m", "99999999999t", "1..5g"].map(byte_size);
        let same = Some(128 << 20);
        assert_eq!(sizes, [same, same, same, Some(1 << 30), None, None, Some(3 << 19), None, None]);
        for wrong in ["", "GiB", "4 apples", "1KiB", "-1GiB", "nan", "1e400"] {
            assert_eq!(size(wrong).unwrap_err().kind, ErrorKind::BadConfig, "{wrong}");
        }
    }
}
