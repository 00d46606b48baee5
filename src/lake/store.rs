//! One table's place in an object store.

use std::path::{Path as FsPath, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use deltalake::logstore::object_store::path::Path;
use deltalake::logstore::object_store::{Error as StoreError, ObjectMeta, ObjectStore, ObjectStoreExt};
use deltalake::logstore::{LogStoreRef, StorageConfig, logstore_for, logstore_with};
use futures::TryStreamExt;
use percent_encoding::percent_decode_str;
use url::Url;

use super::watched::Watched;
use crate::calls::{Calls, Op};
use crate::error::{Context, Error, ErrorKind, Result};

/// A table's root, with the stores that reach it. Cheap to clone.
#[derive(Clone)]
pub struct TableStore {
    root: Url,
    log_store: LogStoreRef,
    calls: Calls,
}

/// Where a data file that the log names really is.
#[derive(Clone)]
pub struct Located {
    pub store: Arc<dyn ObjectStore>,
    pub path: Path,
}

impl TableStore {
    /// Opens a folder by path or `file://` URL. Nothing is created.
    ///
    /// # Errors
    /// `NotATable` where there is no such folder, `Usage` for a scheme that
    /// this build does not reach.
    pub fn open(reference: &str) -> Result<TableStore> {
        Self::open_watched(reference, Calls::default())
    }

    /// As [`TableStore::open`], with somebody who hears of each call.
    ///
    /// # Errors
    /// As [`TableStore::open`].
    pub fn open_watched(reference: &str, calls: Calls) -> Result<TableStore> {
        let root = root_url(reference)?;
        let failed = || format!("cannot reach {reference}");
        let mut log_store = logstore_for(&root, StorageConfig::default()).context(ErrorKind::Storage, failed)?;
        if calls.is_watched() {
            let watched = Watched::new(log_store.root_object_store(None), calls.clone());
            log_store = logstore_with(Arc::new(watched), &root, StorageConfig::default())
                .context(ErrorKind::Storage, failed)?;
        }
        Ok(TableStore { root, log_store, calls })
    }

    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Flushes a local file to the disk.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn sync_file(&self, path: &FsPath) -> std::io::Result<()> {
        self.calls.around(Op::SyncFile, path, || std::fs::File::open(path)?.sync_all())
    }

    /// Flushes a local folder's entries to the disk, where the platform can.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn sync_folder(&self, path: &FsPath) -> std::io::Result<()> {
        let sync = || if cfg!(unix) { std::fs::File::open(path)?.sync_all() } else { Ok(()) };
        self.calls.around(Op::SyncFolder, path, sync)
    }

    pub fn root(&self) -> &Url {
        &self.root
    }

    /// The folder, for a table on a local disk.
    pub fn local_root(&self) -> Option<PathBuf> {
        self.root.to_file_path().ok()
    }

    /// The text that opens the table again.
    pub fn location(&self) -> String {
        match self.local_root() {
            Some(path) => path.to_string_lossy().trim_end_matches('/').to_owned(),
            None => self.root.to_string(),
        }
    }

    /// The last part of the path.
    pub fn folder_name(&self) -> String {
        let location = self.location();
        location.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&location).to_owned()
    }

    pub fn log_store(&self) -> &LogStoreRef {
        &self.log_store
    }

    /// The store whose paths start at the table's root.
    pub fn objects(&self) -> Arc<dyn ObjectStore> {
        self.log_store.object_store(None)
    }

    /// # Errors
    /// `MissingFiles`, `Storage`.
    pub async fn get(&self, path: &Path) -> Result<Bytes> {
        let read = async { self.objects().get(path).await?.bytes().await };
        read.await.map_err(|e| read_error(path.as_ref(), e))
    }

    /// Everything below a folder of the table, `None` where it does not exist.
    ///
    /// # Errors
    /// `Storage`.
    pub async fn list(&self, prefix: &Path) -> Result<Vec<ObjectMeta>> {
        match self.objects().list(Some(prefix)).try_collect::<Vec<_>>().await {
            Ok(found) => Ok(found),
            Err(StoreError::NotFound { .. }) => Ok(Vec::new()),
            Err(e) => {
                Err(Error::new(ErrorKind::Storage, format!("cannot list {prefix} of {}", self.location())).because(e))
            }
        }
    }

    /// Resolves a path of the log: URL-decoded, below the root if relative
    /// (protocol, "Add File and Remove File").
    ///
    /// # Errors
    /// `BadDataFile` for a path that leaves the table's folder or another store.
    pub fn locate(&self, raw: &str) -> Result<Located> {
        let bad = |why: &str| {
            Error::new(ErrorKind::BadDataFile, format!("the log names a data file that {why}: {raw}"))
                .hint("partwise reads only files of this table's folder, or absolute paths on the same store.")
        };
        let decoded = percent_decode_str(raw).decode_utf8().map_err(|_| bad("is not UTF-8"))?;
        let absolute = if raw.starts_with('/') {
            Some(decoded.to_string())
        } else if let Some((scheme, _)) =
            raw.split_once(':').filter(|(s, _)| !s.is_empty() && s.chars().all(|c| c.is_ascii_alphanumeric()))
        {
            if scheme != self.root.scheme() {
                return Err(bad("is on another store"));
            }
            let url = Url::parse(raw).map_err(|_| bad("is not a URL"))?;
            Some(percent_decode_str(url.path()).decode_utf8().map_err(|_| bad("is not UTF-8"))?.to_string())
        } else {
            None
        };
        match absolute {
            Some(path) => {
                let path = Path::parse(path.trim_start_matches('/')).map_err(|_| bad("has a strange path"))?;
                Ok(Located { store: self.log_store.root_object_store(None), path })
            }
            None => {
                let path = Path::parse(decoded.as_ref()).map_err(|_| bad("leaves the table's folder"))?;
                Ok(Located { store: self.objects(), path })
            }
        }
    }

    /// Whether the file exists; any other answer than yes or no is an error.
    ///
    /// # Errors
    /// `Storage`, `BadDataFile`.
    pub async fn exists(&self, raw: &str) -> Result<bool> {
        let located = self.locate(raw)?;
        match located.store.head(&located.path).await {
            Ok(_) => Ok(true),
            Err(StoreError::NotFound { .. }) => Ok(false),
            Err(e) => Err(Error::new(ErrorKind::Storage, format!("cannot look for {raw}")).because(e)),
        }
    }
}

/// The kind of a failed read: a file that is gone is not a failing store.
pub fn read_error(path: &str, error: StoreError) -> Error {
    match error {
        StoreError::NotFound { .. } => {
            Error::new(ErrorKind::MissingFiles, format!("the file {path} is gone")).because(error)
        }
        _ => Error::new(ErrorKind::Storage, format!("cannot read {path}")).because(error),
    }
}

fn root_url(reference: &str) -> Result<Url> {
    let not_there = |path: &FsPath| {
        Error::new(ErrorKind::NotATable, format!("there is no folder {}", path.display()))
            .hint("Name a folder that holds a _delta_log, or lake.table from the config.")
    };
    if let Some((scheme, _)) = reference.split_once("://")
        && scheme != "file"
    {
        return Err(Error::new(
            ErrorKind::Usage,
            format!("{scheme}:// is not reached by this build; tables on local disks are"),
        )
        .hint("Object stores are planned. Give a path or a file:// URL."));
    }
    let path = match Url::parse(reference) {
        Ok(url) if url.scheme() == "file" => url
            .to_file_path()
            .map_err(|()| Error::new(ErrorKind::Usage, format!("{reference} is no path on this machine")))?,
        _ => PathBuf::from(reference),
    };
    let absolute = std::fs::canonicalize(&path).map_err(|_| not_there(&path))?;
    if !absolute.is_dir() {
        return Err(not_there(&path));
    }
    Url::from_directory_path(&absolute).map_err(|()| not_there(&absolute))
}
