//! `config.toml`: lakes, thresholds, what is known about each table.

pub mod diff;
pub mod edit;
pub mod edit_gates;
pub mod engine;
pub mod folders;
mod scan;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use engine::EngineConfig;

use crate::error::{Context, Error, ErrorKind, Result};
use crate::gate::Thresholds;
use crate::plan::layouts::Limits;

/// The themes of the terminal UI.
pub const THEMES: [&str; 4] = ["dark", "light", "high-contrast", "mono"];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Removes every writing command.
    pub read_only: bool,
    /// One of [`THEMES`].
    pub theme: String,
    /// Names for folders with tables: `lake.table` then opens a table.
    pub lakes: BTreeMap<String, String>,
    /// Memory and temporary files.
    pub engine: EngineConfig,
    /// Thresholds for every table.
    pub gates: Thresholds,
    /// Sizes that advice about layouts goes by.
    pub layout: Limits,
    /// What is known about single tables, by name.
    pub tables: BTreeMap<String, TableConfig>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            read_only: false,
            theme: "dark".into(),
            lakes: BTreeMap::new(),
            engine: EngineConfig::default(),
            gates: Thresholds::default(),
            layout: Limits::default(),
            tables: BTreeMap::new(),
        }
    }
}

/// One `[tables."name"]` section. The name is the table's folder name, its
/// `lake.table` name or its path.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TableConfig {
    /// The columns that identify a row.
    pub key: Vec<String>,
    /// Technical columns such as a load time or a batch id.
    pub ignore: Vec<String>,
    /// Columns to sum; default: decimal and float columns that are not key.
    pub measures: Vec<String>,
    /// Columns of which no value may vanish, such as the company.
    pub grain: Vec<String>,
    /// Conditions that people ask the table for: layouts are tried with them.
    pub queries: Vec<String>,
    /// Thresholds that differ from the global ones.
    pub gates: toml::Table,
}

impl Config {
    /// Reads a file; no file at the default place means the defaults.
    ///
    /// # Errors
    /// `BadConfig` with the file and line.
    pub fn load(path: Option<&Path>) -> Result<Config> {
        let (path, required) = match path {
            Some(path) => (path.to_owned(), true),
            None => match folders::config_file() {
                Some(path) => (path, false),
                None => return Ok(Config::default()),
            },
        };
        if !required && !path.exists() {
            return Ok(Config::default());
        }
        let text = std::fs::read_to_string(&path)
            .context(ErrorKind::BadConfig, || format!("cannot read the config {}", path.display()))?;
        Self::parse(&text).map_err(|e| {
            Error::new(e.kind, format!("{}: {}", path.display(), e.message))
                .hint("config.example.toml shows every setting.")
        })
    }

    /// # Errors
    /// `BadConfig`, also for an unknown theme or gate and for thresholds out of range.
    pub fn parse(text: &str) -> Result<Config> {
        let bad = |said: String| Error::new(ErrorKind::BadConfig, said);
        let config: Config = toml::from_str(text).map_err(|e| bad(e.to_string()))?;
        if !THEMES.contains(&config.theme.as_str()) {
            return Err(bad(format!("there is no theme \"{}\"; the themes are {}", config.theme, THEMES.join(", "))));
        }
        config.engine.check().map_err(|e| bad(format!("[engine]: {}", e.message)))?;
        if let Some(said) = config.layout.mistake() {
            return Err(bad(format!("[layout]: {said}")));
        }
        let written: toml::Table = toml::from_str(text).map_err(|e| bad(e.to_string()))?;
        let global = written.get("gates").and_then(toml::Value::as_table).cloned().unwrap_or_default();
        if let Some(said) = config.gates.mistake(&global) {
            return Err(bad(format!("[gates]: {said}")));
        }
        for (name, table) in &config.tables {
            if let Some(said) = config.thresholds(name)?.mistake(&table.gates) {
                return Err(bad(format!("[tables.\"{name}\".gates]: {said}")));
            }
        }
        Ok(config)
    }

    /// The section for a table, by any of the names it goes under.
    pub fn table(&self, names: &[&str]) -> Option<(&str, &TableConfig)> {
        names.iter().find_map(|name| self.tables.get_key_value(*name)).map(|(k, v)| (k.as_str(), v))
    }

    /// The global thresholds with one table's own on top.
    ///
    /// # Errors
    /// `BadConfig` for an unknown or mistyped threshold.
    pub fn thresholds(&self, section: &str) -> Result<Thresholds> {
        let bad =
            |e: &dyn std::fmt::Display| Error::new(ErrorKind::BadConfig, format!("[tables.\"{section}\".gates]: {e}"));
        let Some(table) = self.tables.get(section) else { return Ok(self.gates.clone()) };
        self.gates.with(&table.gates).map_err(|said| bad(&said))
    }

    /// Where a configured lake is.
    pub fn lake(&self, name: &str) -> Option<PathBuf> {
        self.lakes.get(name).map(|root| folders::expand_home(root))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tables_thresholds_lie_over_the_global_ones() {
        let config = Config::parse(
            "[gates]\nrow_count_min_percent = 80.0\n[gates.severity]\nnull-keys = \"warn\"\n\
             [tables.gold.gates]\nrow_count_exempt_rows = 0\n[tables.gold.gates.severity]\nrow-count = \"warn\"\n",
        )
        .unwrap();
        let gold = config.thresholds("gold").unwrap();
        assert_eq!((gold.row_count_min_percent, gold.row_count_exempt_rows), (80.0, 0));
        assert_eq!(gold.severity.len(), 2);
        assert_eq!(config.thresholds("other").unwrap().row_count_exempt_rows, 10);
    }

    #[test]
    fn a_wrong_setting_is_named() {
        let error = Config::parse("[tables.gold.gates]\nrow_cuont = 1\n").unwrap_err();
        assert_eq!(error.kind, ErrorKind::BadConfig);
        assert!(error.message.contains("row_cuont"), "{}", error.message);
    }

    #[test]
    fn values_that_make_no_sense_are_named() {
        for (text, words) in [
            ("theme = \"drak\"", &["drak", "dark, light, high-contrast, mono"][..]),
            ("[gates.severity]\nrow-cuont = \"warn\"", &["[gates]", "row-cuont", "empty-source, row-count"]),
            ("[tables.gold.gates.severity]\nnull-key = \"off\"", &["tables.\"gold\"", "null-key\"", "null-keys"]),
            ("[gates]\nrow_count_min_percent = -1.0", &["[gates]", "row_count_min_percent is -1"]),
            ("[gates]\nmeasure_drift_max_percent = -1.0", &["[gates]", "measure_drift_max_percent is -1"]),
            ("[gates]\nrow_count_warn_percent = nan", &["row_count_warn_percent is NaN"]),
            ("[gates]\nrow_count_min_percent = 160.0", &["row_count_min_percent (160)", "row_count_max_percent (150)"]),
            ("[gates]\nrow_count_warn_percent = 80.0", &["row_count_warn_percent (80)", "row_count_min_percent (90)"]),
            ("[tables.gold.gates]\nrow_count_max_percent = 50.0", &["tables.\"gold\"", "row_count_max_percent (50)"]),
        ] {
            let error = Config::parse(text).unwrap_err();
            assert_eq!(error.kind, ErrorKind::BadConfig);
            words.iter().for_each(|word| assert!(error.message.contains(word), "{word}: {}", error.message));
        }
    }

    #[test]
    fn a_limit_may_be_strict_infinite_or_above_the_inherited_warning() {
        for text in [
            "[gates]\nrow_count_min_percent = 99.0",
            "[gates]\nrow_count_max_percent = inf",
            "[gates]\nrow_count_min_percent = 0.0\nrow_count_warn_percent = 0.0",
            "[tables.gold.gates]\nrow_count_min_percent = 100.0\nrow_count_max_percent = 100.0",
        ] {
            Config::parse(text).unwrap();
        }
    }
}
