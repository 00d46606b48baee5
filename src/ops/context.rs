//! What every operation is given: settings, the state folder, who asks.

use std::path::PathBuf;
use std::sync::Arc;

use crate::calls::Calls;
use crate::config::{Config, EngineConfig, TableConfig, folders};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::{Thresholds, Tuning};
use crate::journal::Journal;
use crate::plan::layouts::Limits;

#[derive(Debug, Clone)]
pub struct Context {
    pub config: Arc<Config>,
    /// Where settings are saved to; `None` where the platform has no place.
    pub config_file: Option<PathBuf>,
    pub state_dir: PathBuf,
    pub read_only: bool,
    /// Who runs the program, for the commit and the journal.
    pub user: String,
    /// Who hears of each call to tables and the journal; usually nobody.
    pub calls: Calls,
}

/// What the config knows about one table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableSettings {
    pub known: TableConfig,
    /// What holds for the table.
    pub thresholds: Thresholds,
    /// What holds where the table's section says nothing.
    pub global: Thresholds,
    pub engine: EngineConfig,
    pub layout: Limits,
}

impl TableSettings {
    /// The table's thresholds, to try others.
    pub fn tuning(&self) -> Tuning {
        Tuning::new(self.global.clone(), self.known.gates.clone())
    }
}

impl Context {
    pub fn new(config: Config, read_only: bool) -> Self {
        let user = std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_else(|_| "unknown".into());
        Self {
            read_only: read_only || config.read_only,
            config_file: folders::config_file(),
            state_dir: folders::state_dir(),
            config: Arc::new(config),
            user,
            calls: Calls::default(),
        }
    }

    pub fn journal(&self) -> Journal {
        Journal::watched(&self.state_dir, self.calls.clone())
    }

    /// Where a reference points: `lake.name` from the config, else the path or
    /// URL that it is.
    pub fn resolve(&self, reference: &str) -> String {
        if std::path::Path::new(reference).exists() || reference.contains("://") {
            return reference.to_owned();
        }
        let inside = reference.split_once('.').and_then(|(lake, rest)| Some((self.config.lake(lake)?, rest)));
        let path = match inside {
            Some((root, rest)) => {
                let plain = root.join(rest);
                if plain.exists() { plain } else { root.join(rest.replace('.', "/")) }
            }
            None => match self.config.lake(reference) {
                Some(root) => root,
                None => folders::expand_home(reference),
            },
        };
        path.to_string_lossy().into_owned()
    }

    /// `lake.name` for a table below a configured lake.
    pub fn name_of(&self, location: &str) -> Option<String> {
        self.config.lakes.keys().find_map(|lake| {
            let root = std::fs::canonicalize(self.config.lake(lake)?).ok()?;
            let below = std::path::Path::new(location).strip_prefix(root).ok()?;
            let parts: Vec<String> = below.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
            (!parts.is_empty()).then(|| format!("{lake}.{}", parts.join(".")))
        })
    }

    /// Looks a table's settings up by any of its names.
    ///
    /// # Errors
    /// `BadConfig` for thresholds that do not fit.
    pub fn settings(&self, names: &[&str]) -> Result<TableSettings> {
        let (engine, global) = (self.config.engine.clone(), self.config.gates.clone());
        let layout = self.config.layout.clone();
        Ok(match self.config.table(names) {
            Some((section, known)) => TableSettings {
                known: known.clone(),
                thresholds: self.config.thresholds(section)?,
                global,
                engine,
                layout,
            },
            None => TableSettings { known: TableConfig::default(), thresholds: global.clone(), global, engine, layout },
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
