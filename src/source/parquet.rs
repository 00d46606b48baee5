//! Parquet files on a local disk.

use std::path::{Path as FsPath, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use deltalake::logstore::object_store::ObjectStoreExt;
use deltalake::logstore::object_store::local::LocalFileSystem;
use deltalake::logstore::object_store::path::Path;
use futures::TryStreamExt;
use sha2::{Digest, Sha256};

use super::{Format, Source};
use crate::error::{Context, Error, ErrorKind, Result};
use crate::lake::data::{ReadFile, TableLayout, parquet_schema, schema_from_arrow};
use crate::table::PartitionTuple;
use crate::table::Schema;

/// Opens a file, every `.parquet` file below a folder, or a glob.
///
/// # Errors
/// `BadSource`, `UnsupportedType`; files whose columns differ are named.
pub async fn open(reference: &str) -> Result<Source> {
    let paths = find(reference)?;
    let store = Arc::new(LocalFileSystem::new());
    let mut hash = Sha256::new();
    let mut files = Vec::with_capacity(paths.len());
    let mut schema: Option<(Schema, PathBuf)> = None;
    for path in &paths {
        let meta =
            std::fs::metadata(path).context(ErrorKind::BadSource, || format!("cannot read {}", path.display()))?;
        hash.update(pin(path, &meta));
        let object = Path::from_absolute_path(path)
            .context(ErrorKind::BadSource, || format!("strange path {}", path.display()))?;
        let (arrow, _) = parquet_schema(store.clone(), object.clone(), meta.len()).await.map_err(|e| {
            Error::new(ErrorKind::BadSource, format!("{} is no readable Parquet file", path.display())).because(e)
        })?;
        let here = schema_from_arrow(&arrow)?;
        match &schema {
            None => schema = Some((here, path.clone())),
            Some((first, first_path)) => same_columns(first, first_path, &here, path)?,
        }
        files.push(ReadFile {
            store: store.clone(),
            path: object,
            size: meta.len(),
            partition: PartitionTuple::default(),
            deleted: None,
        });
    }
    let Some((schema, _)) = schema else {
        return Err(Error::new(ErrorKind::BadSource, format!("{reference} holds no Parquet file"))
            .hint("A source is a Parquet file, a folder or glob of them, or a Delta table."));
    };
    Ok(Source {
        uri: absolute(reference),
        format: Format::Parquet,
        files: Arc::new(files),
        layout: Arc::new(TableLayout::new(schema, Vec::new(), false)?),
        fingerprint: hex(&hash.finalize()),
    })
}

/// The digest of the files' bytes, in any order of the files.
///
/// # Errors
/// `BadSource`.
pub async fn content(files: &[ReadFile]) -> Result<String> {
    let mut digests = Vec::with_capacity(files.len());
    for file in files {
        let unreadable = || format!("cannot read {}", file.path);
        let got = file.store.get(&file.path).await.context(ErrorKind::BadSource, unreadable)?;
        let mut chunks = got.into_stream();
        let mut hash = Sha256::new();
        while let Some(chunk) = chunks.try_next().await.context(ErrorKind::BadSource, unreadable)? {
            hash.update(&chunk);
        }
        digests.push(hex(&hash.finalize()));
    }
    digests.sort();
    Ok(hex(&Sha256::digest(digests.concat())))
}

/// Path, size, modification time in ns and inode: what changes when a file is
/// replaced or written to.
fn pin(path: &FsPath, meta: &std::fs::Metadata) -> String {
    let modified = meta.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok()).map_or(0, |d| d.as_nanos());
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(meta);
    #[cfg(not(unix))]
    let inode = 0;
    format!("{}\0{}\0{modified}\0{inode}\n", path.display(), meta.len())
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, b| text + &format!("{b:02x}"))
}

fn absolute(reference: &str) -> String {
    let reference = local(reference);
    std::path::absolute(&reference).unwrap_or(reference).to_string_lossy().into_owned()
}

fn local(reference: &str) -> PathBuf {
    match url::Url::parse(reference) {
        Ok(url) if url.scheme() == "file" => url.to_file_path().unwrap_or_else(|()| PathBuf::from(reference)),
        _ => PathBuf::from(reference),
    }
}

fn find(reference: &str) -> Result<Vec<PathBuf>> {
    let path = local(reference);
    let missing = || {
        Error::new(ErrorKind::BadSource, format!("there is no source {reference}"))
            .hint("A source is a Parquet file, a folder or glob of them, or a Delta table.")
    };
    let mut found = Vec::new();
    if path.is_file() {
        found.push(path);
    } else if path.is_dir() {
        below(&path, &mut found)?;
    } else if reference.contains(['*', '?', '[']) {
        let pattern = path.to_string_lossy().into_owned();
        let matches = glob::glob(&pattern).context(ErrorKind::BadSource, || format!("{reference} is no glob"))?;
        for entry in matches {
            let entry = entry.context(ErrorKind::BadSource, || format!("cannot read all of {reference}"))?;
            if entry.is_file() {
                found.push(entry);
            }
        }
        if found.is_empty() {
            return Err(missing());
        }
    } else {
        return Err(missing());
    }
    let mut real: Vec<PathBuf> = found
        .iter()
        .map(|p| std::fs::canonicalize(p).context(ErrorKind::BadSource, || format!("cannot read {}", p.display())))
        .collect::<Result<_>>()?;
    real.sort();
    real.dedup();
    Ok(real)
}

/// Data files below a folder; names that start with `_` or `.` are not data.
fn below(folder: &FsPath, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries =
        std::fs::read_dir(folder).context(ErrorKind::BadSource, || format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry.context(ErrorKind::BadSource, || format!("cannot list {}", folder.display()))?.path();
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with(['_', '.']) {
            continue;
        }
        if path.is_dir() {
            below(&path, found)?;
        } else if name.ends_with(".parquet") {
            found.push(path);
        }
    }
    Ok(())
}

fn same_columns(first: &Schema, first_path: &FsPath, here: &Schema, path: &FsPath) -> Result<()> {
    let columns = |schema: &Schema| {
        let mut all: Vec<(String, String)> =
            schema.fields.iter().map(|f| (f.name.clone(), f.data_type.to_string())).collect();
        all.sort();
        all
    };
    if columns(first) == columns(here) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::BadSource,
        format!("the files of the source have different columns: {} and {}", first_path.display(), path.display()),
    )
    .hint("Deliver them with one schema, or name them one by one."))
}
