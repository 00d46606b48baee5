//! What every operation is given: settings, the state folder, who asks.

use std::path::PathBuf;
use std::sync::Arc;

use crate::config::{Config, TableConfig, folders};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::Thresholds;

#[derive(Debug, Clone)]
pub struct Context {
    pub config: Arc<Config>,
    pub state_dir: PathBuf,
    pub read_only: bool,
    /// Who runs the program, for the commit and the journal.
    pub user: String,
}

/// What the config knows about one table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableSettings {
    pub known: TableConfig,
    pub thresholds: Thresholds,
}

impl Context {
    pub fn new(config: Config, read_only: bool) -> Self {
        let user = std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_else(|_| "unknown".into());
        Self {
            read_only: read_only || config.read_only,
            state_dir: folders::state_dir(),
            config: Arc::new(config),
            user,
        }
    }

    /// Looks a table's settings up by any of its names.
    ///
    /// # Errors
    /// `BadConfig` for thresholds that do not fit.
    pub fn settings(&self, names: &[&str]) -> Result<TableSettings> {
        Ok(match self.config.table(names) {
            Some((section, known)) => {
                TableSettings { known: known.clone(), thresholds: self.config.thresholds(section)? }
            }
            None => TableSettings { known: TableConfig::default(), thresholds: self.config.gates.clone() },
        })
    }

    /// # Errors
    /// `Refused` where writing is switched off.
    pub fn check_may_write(&self) -> Result<()> {
        if self.read_only {
            return Err(Error::new(ErrorKind::Refused, "partwise runs read-only")
                .hint("Start it without --read-only, or set read_only = false in the config."));
        }
        Ok(())
    }
}
