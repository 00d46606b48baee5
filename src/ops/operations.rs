//! partwise's own operations in a table's history: which of them stand, which
//! were taken back, and what comes next on the way back and forth.

use std::collections::HashMap;

use futures::{StreamExt, TryStreamExt, stream};
use serde_json::Value as Json;

use crate::error::{Error, ErrorKind, Result};
use crate::lake::Snapshot;
use crate::lake::log::action::Line;
use crate::lake::log::snapshot::read_commit;

/// One of partwise's commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    pub id: String,
    /// The version that it committed.
    pub version: u64,
    /// The operation that it takes back.
    pub undoes: Option<String>,
    /// The columns by which it told rows apart.
    pub key: Vec<String>,
    /// The version that took it back, if one did and stands itself.
    pub taken_back: Option<u64>,
}

fn operation(version: u64, lines: &[Line]) -> Option<Operation> {
    let info = lines.iter().find_map(|l| l.commit_info.as_ref())?;
    let own = info.get("partwise").and_then(Json::as_object)?;
    let text = |key: &str| own.get(key).and_then(Json::as_str).map(str::to_owned);
    // What left the folder does not come back.
    if text("operation").as_deref() == Some("vacuum") {
        return None;
    }
    let names = own.get("key").and_then(Json::as_array).into_iter().flatten();
    Some(Operation {
        id: text("id")?,
        version,
        undoes: text("undoes"),
        key: names.filter_map(|name| name.as_str().map(str::to_owned)).collect(),
        taken_back: None,
    })
}

/// Every operation that the log still has, newest first.
///
/// # Errors
/// `BadCommit`, `Storage`.
pub async fn operations(newest: &Snapshot) -> Result<Vec<Operation>> {
    let versions: Vec<u64> = newest.listing().commits.range(..=newest.version()).rev().map(|(v, _)| *v).collect();
    let mut commits = stream::iter(versions)
        .map(|version| async move {
            match read_commit(newest.store(), version).await {
                Ok(lines) => Ok(operation(version, &lines)),
                // Log clean-up may be faster than we are.
                Err(error) if error.kind == ErrorKind::MissingFiles => Ok(None),
                Err(error) => Err(error),
            }
        })
        .buffered(32);
    let mut found: Vec<Operation> = Vec::new();
    let mut taken_back: HashMap<String, u64> = HashMap::new();
    while let Some(operation) = commits.try_next().await? {
        let Some(mut operation) = operation else { continue };
        operation.taken_back = taken_back.get(&operation.id).copied();
        // An undo that was itself taken back no longer counts.
        if let (Some(undone), None) = (&operation.undoes, operation.taken_back) {
            taken_back.insert(undone.clone(), operation.version);
        }
        found.push(operation);
    }
    Ok(found)
}

/// The operation that an undo takes back: the given one, else the last that
/// stands and is no undo itself.
///
/// # Errors
/// `NoSuchOperation`; `Conflict` for one that was taken back already.
pub fn to_undo(operations: &[Operation], wanted: Option<&str>) -> Result<Operation> {
    let Some(id) = wanted else {
        let last = operations.iter().find(|o| o.undoes.is_none() && o.taken_back.is_none());
        return last.cloned().ok_or_else(|| {
            Error::new(ErrorKind::NoSuchOperation, "the table's history has no operation of partwise to take back")
                .hint("Commits of other writers can be taken back with `partwise plan restore`.")
        });
    };
    let found = operations.iter().find(|o| o.id == id).ok_or_else(|| {
        Error::new(ErrorKind::NoSuchOperation, format!("the table's history has no operation {id}"))
            .hint("`partwise history TABLE` lists them; entries older than delta.logRetentionDuration are gone.")
    })?;
    match found.taken_back {
        None => Ok(found.clone()),
        Some(version) => Err(Error::new(
            ErrorKind::Conflict,
            format!("the operation of version {} was taken back already, by version {version}", found.version),
        )
        .hint("`partwise redo TABLE` carries out again what was taken back last.")),
    }
}

/// The undo that a redo takes back: the last that stands. As in an editor, an
/// operation after it ends the way forth.
///
/// # Errors
/// `NoSuchOperation`; `Conflict` where another operation came after the undo.
pub fn to_redo(operations: &[Operation]) -> Result<Operation> {
    // An undo of an undo is a redo, and so on.
    let by_id: HashMap<&str, &Operation> = operations.iter().map(|o| (o.id.as_str(), o)).collect();
    let depth = |operation: &Operation| {
        let mut steps = 0u32;
        let mut at = operation;
        while let Some(undone) = &at.undoes {
            steps += 1;
            match by_id.get(undone.as_str()) {
                // The log only knows older operations, so this ends.
                Some(next) if next.version < at.version => at = next,
                _ => break,
            }
        }
        steps
    };
    let mut newer: Option<&Operation> = None;
    for operation in operations.iter().filter(|o| o.taken_back.is_none()) {
        match (depth(operation), newer) {
            (0, _) => newer = newer.or(Some(operation)),
            (steps, None) if steps % 2 == 1 => return Ok(operation.clone()),
            (steps, Some(newer)) if steps % 2 == 1 => {
                return Err(Error::new(
                    ErrorKind::Conflict,
                    format!(
                        "the last undo is version {}, and version {} came after it",
                        operation.version, newer.version
                    ),
                )
                .hint(format!("To carry out again what it took back: --operation {} with undo.", operation.id)));
            }
            _ => {}
        }
    }
    Err(Error::new(ErrorKind::NoSuchOperation, "the table's history has no undo that could be taken back")
        .hint("A redo carries out again what the last undo took back."))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Newest first, with what was taken back worked out as from a log.
    fn history(list: &[(&str, Option<&str>)]) -> Vec<Operation> {
        let mut taken: HashMap<String, u64> = HashMap::new();
        let mut all: Vec<Operation> = Vec::new();
        for (version, (id, undoes)) in list.iter().enumerate().rev() {
            let version = version as u64;
            let taken_back = taken.get(*id).copied();
            if let (Some(undone), None) = (undoes, taken_back) {
                taken.insert((*undone).to_owned(), version);
            }
            let undoes = undoes.map(str::to_owned);
            all.push(Operation { id: (*id).to_owned(), version, undoes, key: Vec::new(), taken_back });
        }
        all
    }

    fn next(list: &[(&str, Option<&str>)]) -> (String, String) {
        let all = history(list);
        let name = |found: Result<Operation>| found.map_or_else(|e| e.kind.to_string(), |o| o.id);
        (name(to_undo(&all, None)), name(to_redo(&all)))
    }

    #[test]
    fn undo_and_redo_walk_back_and_forth() {
        let none = "NoSuchOperation";
        let mut list = vec![("a", None), ("b", None)];
        assert_eq!(next(&list), ("b".into(), none.into()));
        list.push(("ub", Some("b")));
        assert_eq!(next(&list), ("a".into(), "ub".into()));
        list.push(("ua", Some("a")));
        assert_eq!(next(&list), (none.into(), "ua".into()));
        list.push(("ra", Some("ua")));
        assert_eq!(next(&list), ("a".into(), "ub".into()));
        list.push(("rb", Some("ub")));
        assert_eq!(next(&list), ("b".into(), none.into()));
        list.push(("ub2", Some("b")));
        assert_eq!(next(&list), ("a".into(), "ub2".into()));
        // The undo of a redo takes the operation back once more.
        list.pop();
        list.push(("u3", Some("rb")));
        assert_eq!(next(&list), ("a".into(), "u3".into()));
    }

    #[test]
    fn a_new_operation_ends_the_way_forth() {
        let list = [("a", None), ("ua", Some("a")), ("b", None)];
        assert_eq!(next(&list), ("b".into(), "Conflict".into()));
        let back = [("a", None), ("ua", Some("a")), ("b", None), ("ub", Some("b"))];
        assert_eq!(next(&back), ("NoSuchOperation".into(), "ub".into()));
        // The log no longer has what was taken back.
        assert_eq!(next(&[("ux", Some("x"))]), ("NoSuchOperation".into(), "ux".into()));
    }

    #[test]
    fn what_was_taken_back_is_not_taken_back_again() {
        let all = history(&[("a", None), ("ua", Some("a"))]);
        assert_eq!(to_undo(&all, Some("a")).unwrap_err().kind, ErrorKind::Conflict);
        assert_eq!(to_undo(&all, Some("ua")).unwrap().id, "ua");
        assert_eq!(to_undo(&all, Some("zz")).unwrap_err().kind, ErrorKind::NoSuchOperation);
    }
}
