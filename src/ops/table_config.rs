//! Keeps what is known about a table in `config.toml`: first what would change
//! in the file, then, once that was confirmed, the change.

use std::io::Write;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::browse::OpenTable;
use super::context::Context;
use crate::config::diff::{self, Line};
use crate::config::{Config, TableConfig, edit, edit_gates};
use crate::error::{Context as _, Error, ErrorKind, Result};
use crate::predicate::Predicate;

/// What saving would do to the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigChange {
    pub file: PathBuf,
    /// Where the table is.
    pub location: String,
    /// The name under which the table stands there.
    pub section: String,
    /// `None` where there is no file yet.
    pub before: Option<String>,
    pub after: String,
}

impl ConfigChange {
    pub fn is_none(&self) -> bool {
        self.before.as_deref().unwrap_or_default() == self.after
    }

    /// The lines that differ, with those around them.
    pub fn lines(&self) -> Vec<Line<'_>> {
        diff::lines(self.before.as_deref().unwrap_or_default(), &self.after)
    }
}

/// What was written.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedConfig {
    pub file: PathBuf,
    pub location: String,
    pub section: String,
    /// The settings as they are from now on.
    pub config: Config,
}

/// What has to change in the config file for key, ignored columns, measures and
/// grain of a table; its thresholds stay.
///
/// # Errors
/// `BadConfig` for a file that cannot be read or changed without touching more
/// than it should; `Usage` for a column that the table lacks.
pub fn table_config_change(context: &Context, table: &OpenTable, wanted: &TableConfig) -> Result<ConfigChange> {
    let schema = &table.metadata().schema;
    let lists = [&wanted.key, &wanted.ignore, &wanted.measures, &wanted.grain];
    if let Some(stranger) = lists.into_iter().flatten().find(|column| schema.find(column).is_none()) {
        let all: Vec<&str> = schema.names().collect();
        return Err(Error::new(ErrorKind::Usage, format!("the table has no column {stranger}"))
            .hint(format!("It has {}.", all.join(", "))));
    }
    change(context, table, |text, section| edit::set_table(text, section, wanted))
}

/// What has to change in the config file for a table's own thresholds and
/// severities to be these; what else is known of it stays.
///
/// # Errors
/// `BadConfig` for a file that cannot be read or changed without touching more
/// than it should, and for thresholds that do not go together.
pub fn table_gates_change(context: &Context, table: &OpenTable, gates: &toml::Table) -> Result<ConfigChange> {
    change(context, table, |text, section| edit_gates::set_gates(text, section, gates))
}

/// What has to change in the config file for a table's queries to be these;
/// what else is known of it stays.
///
/// # Errors
/// `BadConfig` for a file that cannot be read or changed without touching more
/// than it should; `Usage` for a text that is no condition.
pub fn table_queries_change(context: &Context, table: &OpenTable, queries: &Vec<String>) -> Result<ConfigChange> {
    for query in queries {
        Predicate::parse(query)?;
    }
    change(context, table, |text, section| edit::set_queries(text, section, queries))
}

fn change(
    context: &Context,
    table: &OpenTable,
    edit: impl FnOnce(&str, &str) -> Result<String>,
) -> Result<ConfigChange> {
    let file = context.config_file.clone().ok_or_else(|| {
        Error::new(ErrorKind::BadConfig, "this machine has no folder for settings").hint("Name a file with --config.")
    })?;
    let before = read(&file)?;
    let text = before.as_deref().unwrap_or_default();
    let config = Config::parse(text).map_err(|e| {
        Error::new(e.kind, format!("{}: {}", file.display(), e.message))
            .hint("Mend the file first; nothing was changed.")
    })?;
    let names = table.config_names();
    let names: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    let section = config.table(&names).map_or(table.name.as_str(), |(section, _)| section).to_owned();
    let after = edit(text, &section)?;
    Ok(ConfigChange { file, location: table.location.clone(), section, before, after })
}

/// Writes a change that was confirmed: a new file beside the old one, which then
/// takes its place.
///
/// # Errors
/// `Conflict` where the file is no longer what was shown; `Storage` where it
/// cannot be written, and then it is as it was.
pub fn save_table_config(change: &ConfigChange) -> Result<SavedConfig> {
    if read(&change.file)? != change.before {
        return Err(Error::new(ErrorKind::Conflict, format!("{} has changed meanwhile", change.file.display()))
            .hint("Nothing was written. Look at the change again, and then save it."));
    }
    let config = Config::parse(&change.after)?;
    if !change.is_none() {
        replace(&change.file, &change.after)
            .context(ErrorKind::Storage, || format!("{} could not be written", change.file.display()))?;
    }
    let ConfigChange { file, location, section, .. } = change.clone();
    Ok(SavedConfig { file, location, section, config })
}

fn read(file: &Path) -> Result<Option<String>> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            Err(error).context(ErrorKind::BadConfig, || format!("the config {} cannot be read", file.display()))
        }
    }
}

/// Settings are often a link into a folder under version control: what the link
/// leads to is replaced, with its permissions.
fn replace(file: &Path, text: &str) -> std::io::Result<()> {
    let real = match std::fs::canonicalize(file) {
        Ok(real) => real,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => file.to_owned(),
        Err(error) => return Err(error),
    };
    let folder = real.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    std::fs::create_dir_all(folder)?;
    let temporary = folder.join(format!(".partwise-{}.toml", Uuid::new_v4()));
    let written = write(&temporary, &real, text);
    if written.is_err()
        && let Err(error) = std::fs::remove_file(&temporary)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!("{} could not be removed: {error}", temporary.display());
    }
    written
}

fn write(temporary: &Path, real: &Path, text: &str) -> std::io::Result<()> {
    let mut out = std::fs::File::create_new(temporary)?;
    if let Ok(old) = std::fs::metadata(real) {
        out.set_permissions(old.permissions())?;
    }
    out.write_all(text.as_bytes())?;
    out.sync_all()?;
    std::fs::rename(temporary, real)
}
