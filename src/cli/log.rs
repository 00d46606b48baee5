//! `--log FILE`.

use std::path::Path;
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;

use crate::error::{Context, ErrorKind, Result};

/// Sends the program's events to the end of a file.
pub fn start(file: &Path) -> Result<()> {
    let failed = || format!("cannot write the log {}", file.display());
    let out = std::fs::OpenOptions::new().create(true).append(true).open(file).context(ErrorKind::Storage, failed)?;
    let filter = EnvFilter::try_from_env("PARTWISE_LOG").unwrap_or_else(|_| EnvFilter::new("info,partwise=debug"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(Mutex::new(out))
        .try_init()
        .context(ErrorKind::Internal, || "the log is already running".into())
}
