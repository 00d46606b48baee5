//! Where the config and the state live on this platform.

use std::path::{Path, PathBuf};

use directories::{BaseDirs, ProjectDirs};

/// `config.toml` in the platform's config folder.
pub fn config_file() -> Option<PathBuf> {
    Some(ProjectDirs::from("", "", "partwise")?.config_dir().join("config.toml"))
}

/// The journal and the logs. `PARTWISE_STATE` replaces it, for tests and for
/// machines whose home is not writable.
pub fn state_dir() -> PathBuf {
    if let Some(dir) = std::env::var_os("PARTWISE_STATE") {
        return PathBuf::from(dir);
    }
    match ProjectDirs::from("", "", "partwise") {
        Some(dirs) => dirs.state_dir().unwrap_or_else(|| dirs.data_local_dir()).to_owned(),
        None => std::env::temp_dir().join("partwise-state"),
    }
}

/// Where temporary files go: not the system's own folder for them, which is
/// often kept in memory.
pub fn cache_dir() -> PathBuf {
    match ProjectDirs::from("", "", "partwise") {
        Some(dirs) => dirs.cache_dir().to_owned(),
        None => std::env::temp_dir().join("partwise-cache"),
    }
}

/// `~/lake` → the home folder's lake.
pub fn expand_home(text: &str) -> PathBuf {
    match (text.strip_prefix("~/"), BaseDirs::new()) {
        (Some(rest), Some(base)) => base.home_dir().join(rest),
        _ => Path::new(text).to_owned(),
    }
}
