//! Completion of a source's path: Parquet files and folders near the table.

use std::path::{Path, PathBuf};

use crate::config::folders::expand_home;

/// Candidates that are offered at most.
const LIMIT: usize = 200;

/// What could be meant by what was typed so far: folders (with a slash at the
/// end), Parquet files, and Delta tables. With nothing typed: what lies beside
/// the table and in folders such as `staging` beside it.
pub fn candidates(location: &str, typed: &str) -> Vec<String> {
    let mut found = if typed.is_empty() { nearby(location) } else { below(typed) };
    found.sort();
    found.dedup();
    found.truncate(LIMIT);
    found
}

fn local(location: &str) -> Option<PathBuf> {
    if let Some(rest) = location.strip_prefix("file://") {
        let decoded = percent_encoding::percent_decode_str(rest).decode_utf8().ok()?;
        return Some(PathBuf::from(decoded.as_ref()));
    }
    (!location.contains("://")).then(|| PathBuf::from(location))
}

fn nearby(location: &str) -> Vec<String> {
    let Some(table) = local(location) else { return Vec::new() };
    let mut found = Vec::new();
    // The folder beside the table, and the one above it: `lake/gold/table` has
    // its deliveries in `lake/staging` as often as in `lake/gold/staging`.
    for parent in table.ancestors().skip(1).take(2) {
        for folder in entries(parent).into_iter().filter(|e| e.is_dir() && *e != table && !is_table(e)) {
            let inside = entries(&folder);
            found.extend(inside.iter().filter(|e| is_parquet(e)).map(|e| shown(e)));
            if inside.iter().any(|e| is_parquet(e)) {
                found.push(shown(&folder) + "/");
            }
        }
        found.extend(entries(parent).into_iter().filter(|e| is_parquet(e)).map(|e| shown(&e)));
    }
    found
}

fn below(typed: &str) -> Vec<String> {
    let (folder, start) = match typed.rsplit_once('/') {
        Some((folder, start)) => (format!("{folder}/"), start),
        None => (String::new(), typed),
    };
    let place = if folder.is_empty() { PathBuf::from(".") } else { expand_home(&folder) };
    entries(&place)
        .into_iter()
        .filter_map(|entry| {
            let name = entry.file_name()?.to_str()?.to_owned();
            let wanted = name.starts_with(start) && (!name.starts_with(['.', '_']) || name == start);
            match entry.is_dir() {
                _ if !wanted => None,
                true => Some(format!("{folder}{name}{}", if is_table(&entry) { "" } else { "/" })),
                false => is_parquet(&entry).then(|| format!("{folder}{name}")),
            }
        })
        .collect()
}

/// The entries of a folder; one that cannot be read offers nothing.
fn entries(folder: &Path) -> Vec<PathBuf> {
    match std::fs::read_dir(folder) {
        Ok(list) => list.filter_map(|entry| entry.ok().map(|e| e.path())).collect(),
        Err(error) => {
            tracing::debug!("{}: {error}", folder.display());
            Vec::new()
        }
    }
}

fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "parquet") && path.is_file()
}

fn is_table(path: &Path) -> bool {
    path.join("_delta_log").is_dir()
}

/// Relative to the current folder where it lies below it.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let short = here.as_deref().and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path);
    short.strip_prefix(".").unwrap_or(short).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deliveries_beside_the_table_are_offered_and_typing_narrows() {
        let lake = tempfile::tempdir().unwrap();
        let root = lake.path();
        for folder in ["gold/sales/_delta_log", "staging/parts", "docs"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in ["staging/06.parquet", "staging/07.parquet", "staging/notes.txt", "staging/parts/a.parquet"] {
            std::fs::write(root.join(file), "x").unwrap();
        }
        let table = root.join("gold/sales");
        let found = candidates(&table.display().to_string(), "");
        let base = root.display();
        assert_eq!(
            found,
            [format!("{base}/staging/"), format!("{base}/staging/06.parquet"), format!("{base}/staging/07.parquet")]
        );
        assert_eq!(candidates("", &format!("{base}/staging/p")), [format!("{base}/staging/parts/")]);
        assert_eq!(candidates("", &format!("{base}/gold/")), [format!("{base}/gold/sales")]);
        assert!(candidates("", &format!("{base}/nowhere/x")).is_empty());
    }
}
