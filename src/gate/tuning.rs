//! One table's thresholds and severities while a person tries others: the
//! global ones with the table's own on top, and where each comes from.

use super::settings::{Setting, setting};
use super::{Severity, Thresholds};

const SEVERITY: &str = "severity";

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Built in.
    Default,
    /// The config's `[gates]`, where that says something else.
    Config,
    /// The table's own section.
    Table,
}

impl Origin {
    pub fn as_str(self) -> &'static str {
        match self {
            Origin::Default => "default",
            Origin::Config => "config",
            Origin::Table => "table",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tuning {
    global: Thresholds,
    /// `[tables.NAME.gates]`
    own: toml::Table,
}

impl Tuning {
    pub fn new(global: Thresholds, own: toml::Table) -> Self {
        Self { global, own }
    }

    /// What the table's section says.
    pub fn own(&self) -> &toml::Table {
        &self.own
    }

    /// The values that hold for the table.
    ///
    /// # Errors
    /// What is wrong with them, in one line.
    pub fn thresholds(&self) -> Result<Thresholds, String> {
        let thresholds = self.global.with(&self.own)?;
        match thresholds.mistake(&self.own) {
            Some(said) => Err(said),
            None => Ok(thresholds),
        }
    }

    /// Sets a threshold of the table. Whether it goes with the others is said
    /// by [`Tuning::thresholds`].
    ///
    /// # Errors
    /// What is wrong with the text, in one line.
    pub fn set(&mut self, setting: &Setting, text: &str) -> Result<(), String> {
        let value = setting.parse(text)?;
        self.own.insert(setting.name.to_owned(), value);
        Ok(())
    }

    pub fn set_severity(&mut self, gate: &str, severity: Severity) {
        let entry = self.own.entry(SEVERITY).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        if let toml::Value::Table(table) = entry {
            table.insert(gate.to_owned(), toml::Value::String(severity.as_str().to_owned()));
        }
    }

    /// Takes the table's own value of a threshold, or its own severity of a
    /// gate, away; `false` where it has none.
    pub fn reset(&mut self, name: &str) -> bool {
        if setting(name).is_some() {
            return self.own.remove(name).is_some();
        }
        let Some(toml::Value::Table(table)) = self.own.get_mut(SEVERITY) else { return false };
        let had = table.remove(name).is_some();
        if table.is_empty() {
            self.own.remove(SEVERITY);
        }
        had
    }

    pub fn origin(&self, setting: &Setting) -> Origin {
        if self.own.contains_key(setting.name) {
            Origin::Table
        } else if setting.value(&self.global) == setting.value(&Thresholds::default()) {
            Origin::Default
        } else {
            Origin::Config
        }
    }

    pub fn severity_origin(&self, gate: &str) -> Origin {
        let own = self.own.get(SEVERITY).and_then(toml::Value::as_table);
        if own.is_some_and(|table| table.contains_key(gate)) {
            Origin::Table
        } else if self.global.severity.contains_key(gate) {
            Origin::Config
        } else {
            Origin::Default
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tables_values_lie_over_the_global_ones_and_come_off_again() {
        let global = Thresholds { skew_max_factor: 5.0, ..Thresholds::default() };
        let mut tuning = Tuning::new(global, toml::Table::new());
        let min = setting("row_count_min_percent").unwrap();
        tuning.set(min, "80").unwrap();
        tuning.set_severity("zombies", Severity::Warn);
        let now = tuning.thresholds().unwrap();
        assert_eq!((now.row_count_min_percent, now.severity("zombies")), (80.0, Some(Severity::Warn)));
        assert_eq!(tuning.origin(min), Origin::Table);
        assert_eq!(tuning.origin(setting("skew_max_factor").unwrap()), Origin::Config);
        assert_eq!(tuning.origin(setting("skew_min_rows").unwrap()), Origin::Default);
        assert_eq!(tuning.severity_origin("zombies"), Origin::Table);
        assert!(tuning.reset("zombies") && tuning.reset("row_count_min_percent") && !tuning.reset("zombies"));
        assert!(tuning.own().is_empty(), "{:?}", tuning.own());
        assert_eq!(tuning.thresholds().unwrap().row_count_min_percent, 90.0);
    }

    #[test]
    fn values_that_do_not_go_together_are_said() {
        let mut tuning = Tuning::default();
        tuning.set(setting("row_count_max_percent").unwrap(), "50").unwrap();
        assert!(tuning.thresholds().is_err_and(|said| said.contains("row_count_max_percent (50)")));
    }
}
