//! Whether what is about to be written stays below the table's folder.

use std::path::Path as FsPath;

use deltalake::logstore::object_store::path::Path;

use super::store::TableStore;
use crate::error::{Context, Error, ErrorKind, Result};

/// Refuses a path that a link leads out of the table's folder: a partition
/// folder, or `_delta_log` itself. The folder may be reached through a link.
/// Only local disks have links.
///
/// # Errors
/// `Refused`, naming the link and where it leads; `Storage`.
pub fn check(store: &TableStore, path: &Path) -> Result<()> {
    let Some(root) = store.local_root() else { return Ok(()) };
    let look = |folder: &FsPath| format!("cannot look at {}", folder.display());
    let real_root = std::fs::canonicalize(&root).context(ErrorKind::Storage, || look(&root))?;
    let mut at = root;
    for part in path.parts() {
        at.push(part.as_ref());
        match std::fs::symlink_metadata(&at) {
            Ok(found) if found.is_symlink() => {}
            Ok(_) => continue,
            // What is not there yet is made below what was looked at.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Error::new(ErrorKind::Storage, look(&at)).because(error)),
        }
        let real = std::fs::canonicalize(&at).ok();
        if !real.as_ref().is_some_and(|real| real.starts_with(&real_root)) {
            let leads = real.map_or_else(|| "nowhere".to_owned(), |real| format!("to {}", real.display()));
            return Err(Error::new(
                ErrorKind::Refused,
                format!("{} is a link that leads {leads}, outside the table's folder", at.display()),
            )
            .hint(
                "partwise writes only below the table's folder. Replace the link by a folder; nothing was written.",
            ));
        }
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_that_lead_out_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (table, other) = (dir.path().join("t"), dir.path().join("other"));
        std::fs::create_dir_all(table.join("p=a")).unwrap();
        std::fs::create_dir(&other).unwrap();
        symlink(&other, table.join("p=b")).unwrap();
        symlink(table.join("p=a"), table.join("p=c")).unwrap();
        symlink(dir.path().join("gone"), table.join("p=d")).unwrap();
        symlink(&table, dir.path().join("alias")).unwrap();
        for reference in [table.clone(), dir.path().join("alias")] {
            let store = TableStore::open(reference.to_str().unwrap()).unwrap();
            for fine in ["x", "p=a/x", "p=c/x", "p=new/q=1/x"] {
                check(&store, &Path::from(fine)).unwrap();
            }
            for (out, leads) in [("p=b/x", "other"), ("p=b/q=1/x", "other"), ("p=d/x", "nowhere")] {
                let error = check(&store, &Path::from(out)).unwrap_err();
                assert_eq!(error.kind, ErrorKind::Refused);
                assert!(error.message.contains(leads), "{}", error.message);
            }
        }
    }
}
