//! The write plans of `tests/corpus` against what a real Spark made of them.
//!
//! Spark is not needed here: `tests/spark/corpus.py record` wrote the truth
//! into each case. Fixtures are written without the crate's own code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::result::Result as StdResult;

use partwise::error::{ErrorKind, Result};
use partwise::ops::{Binding, Scd2Columns, SourceRequest, Strategy, from_statement, merge_of_clauses, prepare};
use partwise::plan::Plan;
use partwise::progress::Progress;

use crate::support::corpus::{Case, cases};
use crate::support::road::request;
use crate::support::{Bench, block_on, replay, rows_of};

/// How a case is put to partwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Flags,
    Statement,
}

/// The operation that a case asks for, from its flags.
fn from_flags(case: &Case) -> Result<Strategy> {
    let one = |name: &str| case.flag(name).first().map(|text| (*text).to_owned());
    let list = |name: &str| -> Vec<String> {
        case.flag(name).into_iter().flat_map(|text| text.split(',')).map(str::to_owned).collect()
    };
    let null_safe_keys = case.has_flag("--null-safe-keys");
    let whens: Vec<String> = case.flag("--when").into_iter().map(str::to_owned).collect();
    Ok(match case.write.kind.as_str() {
        "overwrite" if case.flag("--mode") == ["static"] => Strategy::OverwriteAll,
        "overwrite" => Strategy::Overwrite,
        "append" => Strategy::Append,
        "replace-where" => Strategy::ReplaceWhere { predicate: one("--where").expect("a predicate") },
        "merge" if !whens.is_empty() || case.has_flag("--on") => {
            merge_of_clauses(one("--on").as_deref(), &list("--key"), null_safe_keys, &whens)?
        }
        "merge" if case.has_flag("--insert-only") => Strategy::InsertOnly { null_safe_keys },
        "merge" => Strategy::Merge { null_safe_keys, delete_missing: case.has_flag("--delete-missing") },
        "scd2" => Strategy::Scd2(Scd2Columns {
            track: list("--track"),
            effective_from: one("--effective-from").expect("a column"),
            effective_to: one("--effective-to").expect("a column"),
            current: one("--current"),
            effective_at: one("--effective-at").expect("a value"),
        }),
        other => panic!("{}: a kind {other}", case.name),
    })
}

/// The plan of one form.
fn plan(case: &Case, form: Form, bench: &Bench, table: &Path, source: &str) -> Result<Plan> {
    let request = request(source, &case.key());
    let open = bench.open(table)?;
    let (request, strategy) = match form {
        Form::Flags => (request, from_flags(case)?),
        Form::Statement => {
            let dynamic = case.write.conf.get("spark.sql.sources.partitionOverwriteMode");
            let mode = if dynamic.is_some_and(|mode| mode == "dynamic") { "dynamic" } else { "static" };
            let sql = format!("SET spark.sql.sources.partitionOverwriteMode = {mode};\n{}", case.write.sql.text());
            let bindings = [Binding { name: "staging".into(), source: source.into() }];
            block_on(from_statement(&open, &sql, &bindings, None, SourceRequest { source: String::new(), ..request }))?
        }
    };
    block_on(prepare(&bench.context, &open, &request, strategy, &Progress::default())).map(|prepared| prepared.plan)
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// The same rows and numbers.
    Same,
    /// Spark refuses, and so does partwise.
    Refused,
    /// Another result, which the case states and gives a reason for.
    Stated,
    /// Only the statement can say it, or only the flags.
    Unsaid,
}

/// Whether the kind says something about the plan, and not that something broke.
fn is_an_answer(kind: ErrorKind) -> bool {
    use ErrorKind::*;
    !matches!(
        kind,
        Internal | Storage | NotATable | LogGap | BadCommit | BadCheckpoint | BadMetadata | BadDataFile | BadSource
    )
}

#[test]
fn the_corpus_agrees_with_spark() {
    let (mut outcomes, mut wrong) = (BTreeMap::<Outcome, u64>::new(), Vec::new());
    for case in cases() {
        for form in [Form::Flags, Form::Statement] {
            match judge(&case, form) {
                Ok(outcome) => *outcomes.entry(outcome).or_default() += 1,
                Err(what) => wrong.push(format!("{} ({form:?}): {what}", case.name)),
            }
        }
    }
    println!("{outcomes:?}");
    assert!(wrong.is_empty(), "{} differ from Spark:\n{}", wrong.len(), wrong.join("\n"));
    assert!(outcomes.get(&Outcome::Same).is_some_and(|n| *n >= 120), "too few cases are compared: {outcomes:?}");
}

#[test]
fn every_case_says_what_it_is_about() {
    let cases = cases();
    let names: BTreeSet<&String> = cases.iter().map(|c| &c.name).collect();
    assert_eq!(names.len(), cases.len(), "two cases of one name");
    for case in &cases {
        assert!(case.shows.ends_with('.'), "{} says nothing in a sentence", case.name);
        assert!(case.truth.error.is_none() || !case.truth.committed, "{}: an error and a commit", case.name);
        if case.write.kind == "overwrite" {
            let mode = case.write.conf.get("spark.sql.sources.partitionOverwriteMode").map(String::as_str);
            let dynamic = case.flag("--mode") != ["static"];
            assert_eq!(mode == Some("dynamic"), dynamic, "{}: two modes for one case", case.name);
        }
        for ours in [&case.partwise, &case.statement].into_iter().flatten() {
            assert!(!ours.because.is_empty(), "{}: a difference without a reason", case.name);
            assert!(ours.refuses.is_some() != ours.rows.is_some(), "{}: one difference a case", case.name);
        }
    }
}

#[test]
fn a_wrong_truth_is_found() {
    let all = cases();
    let case = |name: &str| all.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("no case {name}")).clone();
    let mut cell = case("upsert");
    assert_eq!(judge(&cell, Form::Flags), Ok(Outcome::Same));
    cell.truth.rows[0][0] = serde_json::json!(77);
    assert!(judge(&cell, Form::Flags).expect_err("another cell").contains("rows"), "another cell");
    for metric in ["numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted", "numSourceRows"] {
        let mut number = case("delete-missing-in-slice");
        *number.truth.metrics.get_mut(metric).expect("a metric of a MERGE") += 1;
        judge(&number, Form::Flags).expect_err(metric);
    }
    let mut written = case("dynamic-several-partitions");
    *written.truth.metrics.get_mut("numOutputRows").expect("a metric of a WRITE") += 1;
    judge(&written, Form::Flags).expect_err("numOutputRows");
    let mut error = case("upsert");
    error.truth.error = Some("SOME_CLASS".into());
    judge(&error, Form::Flags).expect_err("partwise goes on where Spark refuses");
    let mut refusal = case("two-source-rows-match");
    assert_eq!(judge(&refusal, Form::Flags), Ok(Outcome::Refused));
    refusal.truth.error = None;
    judge(&refusal, Form::Flags).expect_err("partwise refuses where Spark goes on");
}

/// Runs a case and compares.
fn judge(case: &Case, form: Form) -> StdResult<Outcome, String> {
    if form == Form::Flags && case.write.flags.is_none() {
        return Ok(Outcome::Unsaid);
    }
    let only_statement = case.statement.as_ref().filter(|_| form == Form::Statement);
    let ours = case.partwise.as_ref().or(only_statement);
    let bench = Bench::default();
    let table = case.write_table(&bench);
    let source = case.write_source(&bench);
    let (before, version) = (rows_of(&table.path), replay::newest(&table.path));
    let refused = |kind: ErrorKind, message: &str| {
        if (rows_of(&table.path), replay::newest(&table.path)) != (before.clone(), version) {
            return Err(format!("a refusal ({message}) and a changed table"));
        }
        if !is_an_answer(kind) {
            return Err(format!("{kind}: {message}"));
        }
        match (&case.truth.error, ours.and_then(|ours| ours.refuses)) {
            (Some(_), _) => Ok(Outcome::Refused),
            (None, Some(stated)) if stated == kind => Ok(Outcome::Stated),
            _ => Err(format!("refuses where Spark goes on, {kind}: {message}")),
        }
    };
    let plan = match plan(case, form, &bench, &table.path, &source) {
        Ok(plan) => plan,
        Err(error) => return refused(error.kind, &error.full_message()),
    };
    if let Some(refusal) = plan.refusals.first() {
        return refused(refusal.kind, &refusal.message);
    }
    if let Some(class) = &case.truth.error {
        return Err(format!("plans what Spark refuses with {class}"));
    }
    if let Some(kind) = ours.and_then(|ours| ours.refuses) {
        return Err(format!("plans, though the case says that it refuses with {kind}"));
    }
    bench.apply(&plan).map_err(|e| format!("apply: {} {}", e.kind, e.full_message()))?;
    let (have, want) = (rows_of(&table.path), case.rows_after());
    if have != want {
        return Err(format!("rows {have:?}, where Spark has {want:?}"));
    }
    numbers(case, &plan, want.len() as u64)?;
    Ok(if case.partwise.is_some() { Outcome::Stated } else { Outcome::Same })
}

/// The plan's numbers against the metrics of Spark's commit.
fn numbers(case: &Case, plan: &Plan, after: u64) -> StdResult<(), String> {
    let (r, metrics) = (&plan.rows, &case.truth.metrics);
    let metric = |name: &str| metrics.get(name).copied();
    let written = r.inserted + r.updated.unwrap_or(0) + r.unchanged;
    let mut pairs = vec![("table_after", r.table_after.unwrap_or(after), after)];
    let spark = |name: &str| metric(name).unwrap_or(0);
    match case.write.kind.as_str() {
        "merge" => {
            pairs.push(("inserted", r.inserted, spark("numTargetRowsInserted")));
            // Spark counts a matched row that it rewrites as it was as updated.
            let rewritten = r.updated.unwrap_or(0) + r.unchanged;
            pairs.push(("updated and unchanged", rewritten, spark("numTargetRowsUpdated")));
            pairs.push(("deleted", r.deleted, spark("numTargetRowsDeleted")));
            // A source in a subquery has other rows than the delivered ones.
            if let Some(rows) = metric("numSourceRows").filter(|_| case.write.sql.text().contains("USING staging ")) {
                pairs.push(("source", r.source, rows));
            }
        }
        // Where whole files go, Spark counts what it writes, and with data
        // columns in the predicate also the rows that it copies.
        "overwrite" | "append" | "replace-where" => {
            if let Some(rows) = metric("numOutputRows") {
                pairs.push(("rows written", written, rows - spark("numCopiedRows")));
            }
        }
        _ => {}
    }
    let wrong: Vec<String> = pairs
        .into_iter()
        .filter(|(_, have, want)| have != want)
        .map(|(name, have, want)| format!("{name} {have}, Spark {want}"))
        .collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}
