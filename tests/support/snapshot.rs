//! What stands below a folder, to see that nothing was written there.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

/// Size, time of change in seconds and nanoseconds, inode, and the content's hash or the link's target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stood {
    size: u64,
    modified: (i64, i64),
    inode: u64,
    content: u64,
}

pub type Snapshot = BTreeMap<PathBuf, Stood>;

/// Everything below a folder, folders too. Links are not followed.
pub fn snapshot(folder: &Path) -> Snapshot {
    look(folder, true)
}

/// As [`snapshot`], without folders and without reading the files: a write sets
/// their time.
pub fn listing(folder: &Path) -> Snapshot {
    look(folder, false)
}

fn look(folder: &Path, content: bool) -> Snapshot {
    let mut found = Snapshot::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder that can be listed") {
            let path = entry.expect("an entry").path();
            let meta = fs::symlink_metadata(&path).expect("what was listed");
            if meta.is_dir() {
                folders.push(path.clone());
                if !content {
                    continue;
                }
            }
            let content = if meta.is_symlink() {
                xxh3_64(fs::read_link(&path).expect("a link").as_os_str().as_encoded_bytes())
            } else if content && meta.is_file() {
                xxh3_64(&fs::read(&path).expect("a file"))
            } else {
                0
            };
            // What a folder holds says more than its own size and time.
            let stood = match meta.is_dir() {
                true => Stood { size: 0, modified: (0, 0), inode: meta.ino(), content },
                false => {
                    Stood { size: meta.len(), modified: (meta.mtime(), meta.mtime_nsec()), inode: meta.ino(), content }
                }
            };
            found.insert(path, stood);
        }
    }
    found
}

/// What went, came or is no longer the same.
pub fn differences(before: &Snapshot, after: &Snapshot) -> Vec<PathBuf> {
    let gone = before.iter().filter(|(path, was)| after.get(*path) != Some(was)).map(|(path, _)| path.clone());
    let new = after.keys().filter(|path| !before.contains_key(*path)).cloned();
    gone.chain(new).collect()
}
