//! Plan files. A plan is carried out as it stands in its file, so the file
//! holds a checksum: one that was damaged, cut off or edited is refused before
//! anything is opened.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::path::Path;

use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};

use crate::error::{Context, Error, ErrorKind, Result};
use crate::plan::{PLAN_SCHEMA, Plan, arithmetic};
use crate::table::DataFile;

/// The field of the checksum, beside those of the plan.
const DIGEST: &str = "digest";
/// Far more than a plan over a million partitions takes, in bytes.
const LARGEST: u64 = 4 << 30;

/// The contract's plan object with its checksum, as `apply` takes it.
///
/// # Errors
/// `Internal` where the plan cannot be printed.
pub fn to_json(plan: &Plan) -> Result<Json> {
    let failed = || "cannot print the plan".into();
    let mut object = serde_json::to_value(plan).context(ErrorKind::Internal, failed)?;
    // As it will be read: a number may change its last digit on the way.
    let read: Plan = serde_json::from_str(&object.to_string()).context(ErrorKind::Internal, failed)?;
    object[DIGEST] = Json::String(digest(&read)?);
    Ok(object)
}

/// # Errors
/// As [`write_beside`], `Internal`.
pub fn write(plan: &Plan, file: &Path, replace: bool) -> Result<()> {
    let failed = || format!("cannot write the plan {}", file.display());
    let text = serde_json::to_string_pretty(&to_json(plan)?).context(ErrorKind::Internal, failed)?;
    write_beside(plan, file, &(text + "\n"), replace)
}

/// Writes what was made of a plan (the plan, a script) to a file: never over
/// one that is there unless that is asked for, and never into the table.
///
/// # Errors
/// `Refused` for a file that exists or lies in the table's folder, `Storage`.
pub fn write_beside(plan: &Plan, file: &Path, text: &str, replace: bool) -> Result<()> {
    let name = file.display();
    let folder = match file.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => std::fs::canonicalize(parent),
        None => std::env::current_dir(),
    };
    let failed = || format!("cannot write {name}");
    let folder = folder.context(ErrorKind::Storage, failed)?;
    if std::fs::canonicalize(&plan.table).is_ok_and(|table| folder.starts_with(table)) {
        return Err(Error::new(ErrorKind::Refused, format!("{name} would lie in the table's folder"))
            .hint("Nothing was written. Choose a place outside the table."));
    }
    if replace {
        return std::fs::write(file, text).context(ErrorKind::Storage, failed);
    }
    let written = std::fs::File::create_new(file).and_then(|mut out| out.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Error::new(ErrorKind::Refused, format!("{name} exists"))
            .hint("Nothing was written. Choose another name, or let --force replace it."),
        _ => Error::new(ErrorKind::Storage, failed()).because(error),
    })
}

/// # Errors
/// `BadPlan` where the file cannot be read, is no plan of this schema, or is
/// not as it was written.
pub fn read(file: &Path) -> Result<Plan> {
    let failed = || format!("cannot read the plan {}", file.display());
    let mut text = Vec::new();
    let opened = std::fs::File::open(file).context(ErrorKind::BadPlan, failed)?;
    opened.take(LARGEST).read_to_end(&mut text).context(ErrorKind::BadPlan, failed)?;
    parse(&file.display().to_string(), &text)
}

/// As [`read`], of a text; `name` stands in messages.
///
/// # Errors
/// As [`read`].
pub fn parse(name: &str, text: &[u8]) -> Result<Plan> {
    let bad = |said: String| {
        Error::new(ErrorKind::BadPlan, format!("{name} is no plan: {said}"))
            .hint("partwise plan … --out FILE writes one.")
    };
    // The schema is looked at first: another one explains every other difference.
    let json: Json = serde_json::from_slice(text).map_err(|e| bad(e.to_string()))?;
    match json.get("schema").and_then(Json::as_u64) {
        Some(schema) if schema == u64::from(PLAN_SCHEMA) => {}
        Some(schema) => return Err(bad(format!("it has schema {schema}, this program writes {PLAN_SCHEMA}"))),
        None => return Err(bad("it has no schema number".into())),
    }
    let stated = json.get(DIGEST).and_then(Json::as_str).map(str::to_owned);
    let plan: Plan = serde_json::from_value(json).map_err(|e| bad(e.to_string()))?;
    if stated.as_deref() != Some(digest(&plan)?.as_str()) {
        let what = if stated.is_some() { "does not match its checksum" } else { "has no checksum" };
        return Err(Error::new(ErrorKind::BadPlan, format!("the plan in {name} {what}: it is not as it was written"))
            .hint("A plan is carried out as it was shown and cannot be edited. Make a new one."));
    }
    Ok(plan)
}

/// That a plan's numbers add up, wherever it came from.
///
/// # Errors
/// `BadPlan`, with the sums that do not.
pub(super) fn check_numbers(plan: &Plan) -> Result<()> {
    let wrong = arithmetic::violations(plan);
    if wrong.is_empty() { Ok(()) } else { Err(changed(format!("its numbers do not add up: {}", wrong.join("; ")))) }
}

/// That the files which a plan exchanges are those that its numbers count, each
/// named once.
///
/// # Errors
/// `BadPlan`.
pub(super) fn check_exchange(plan: &Plan, removed: &[DataFile], restored: &[DataFile]) -> Result<()> {
    let bytes: u128 = removed.iter().map(|f| u128::from(f.size)).sum();
    let found = (removed.len() as u64, restored.len() as u64, bytes);
    let said = (plan.files.removed, plan.files.restored, u128::from(plan.files.removed_bytes));
    if found != said {
        return Err(changed(format!(
            "it counts {} files that go ({} bytes) and {} that come back, and names {} ({} bytes) and {}",
            said.0, said.2, said.1, found.0, found.2, found.1
        )));
    }
    let mut named = HashSet::new();
    match removed.iter().chain(restored).find(|file| !named.insert(file.id())) {
        Some(twice) => Err(changed(format!("it names the file {} twice", twice.path))),
        None => Ok(()),
    }
}

fn changed(what: String) -> Error {
    Error::new(ErrorKind::BadPlan, format!("the plan is not as it was made: {what}")).hint("Make a new plan.")
}

/// Of what the plan says, however its text is laid out.
fn digest(plan: &Plan) -> Result<String> {
    let json = serde_json::to_value(plan).context(ErrorKind::Internal, || "cannot print the plan".into())?;
    let hash = Sha256::digest(sorted(json).to_string());
    Ok(hash.iter().fold(String::from("sha256:"), |text, byte| text + &format!("{byte:02x}")))
}

fn sorted(json: Json) -> Json {
    match json {
        Json::Object(fields) => {
            let mut fields: Vec<(String, Json)> = fields.into_iter().collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            Json::Object(fields.into_iter().map(|(name, value)| (name, sorted(value))).collect::<Map<_, _>>())
        }
        Json::Array(items) => Json::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::algebra::FileExchange;
    use crate::plan::restore::Restore;
    use crate::plan::{FileTotals, Spec};
    use crate::table::PartitionTuple;

    fn plan() -> Plan {
        let files = FileExchange { remove: Vec::new(), add: Vec::new() };
        Plan {
            version: 7,
            ..Plan::blank(Spec::Restore(Restore {
                to: 3,
                files,
                metadata: false,
                partitions: None,
                data_only: false,
                files_lost: 0,
                switches: false,
                breakers: Vec::new(),
            }))
        }
    }

    #[test]
    fn a_plan_is_read_back_however_it_is_laid_out() {
        let json = to_json(&plan()).unwrap();
        for text in [json.to_string(), serde_json::to_string_pretty(&sorted(json.clone())).unwrap()] {
            assert_eq!(parse("p", text.as_bytes()).unwrap(), plan());
        }
        let mut more = json;
        more["effect_rows"] = Json::Null;
        assert_eq!(parse("p", more.to_string().as_bytes()).unwrap(), plan());
    }

    #[test]
    fn numbers_that_do_not_add_up_are_refused() {
        let mut wrong = plan();
        wrong.rows.deleted = u64::MAX;
        wrong.rows.inserted = 1;
        wrong.settle();
        assert!(wrong.changes_something());
        let error = check_numbers(&wrong).unwrap_err();
        assert_eq!(error.kind, ErrorKind::BadPlan);
        assert!(error.message.contains("deleted in total: 0 is not 18446744073709551615"), "{}", error.message);
        check_numbers(&plan()).unwrap();
    }

    #[test]
    fn a_file_that_is_named_twice_is_refused() {
        let file = |path: &str| DataFile {
            path: path.into(),
            partition: PartitionTuple::default(),
            raw_partition_values: Vec::new(),
            size: 5,
            modified: 0,
            num_records: None,
            deletion_vector: None,
            version: None,
            rest: None,
        };
        let mut plan = plan();
        plan.files = FileTotals { removed: 2, removed_bytes: 10, ..FileTotals::default() };
        check_exchange(&plan, &[file("a"), file("b")], &[]).unwrap();
        let said = |removed: &[DataFile]| check_exchange(&plan, removed, &[]).unwrap_err().message;
        assert!(said(&[file("a"), file("a")]).contains("names the file a twice"));
        assert!(said(&[file("a")]).contains("counts 2 files that go (10 bytes)"));
    }

    #[test]
    fn a_plan_that_was_edited_is_refused() {
        let json = to_json(&plan()).unwrap();
        for (field, value) in [("version", 6.into()), ("verdict", "ready".into()), ("table", "/other".into())] {
            let mut edited = json.clone();
            edited[field] = value;
            if edited == json {
                continue;
            }
            let error = parse("p.json", edited.to_string().as_bytes()).unwrap_err();
            assert_eq!(error.kind, ErrorKind::BadPlan);
            assert!(error.message.contains("p.json does not match its checksum"), "{field}: {}", error.message);
        }
        let mut bare = json;
        bare.as_object_mut().unwrap().shift_remove(DIGEST);
        assert!(parse("p", bare.to_string().as_bytes()).unwrap_err().message.contains("has no checksum"));
    }
}
