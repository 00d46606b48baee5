//! A Python program for the `deltalake` package (delta-rs), with pyarrow.
//!
//! Its expressions are DataFusion's, not Spark's: conditions are taken where
//! both mean the same, anything else is refused.

use super::data_fusion::{Bare, exactly, python, quoted_name, shared_meaning, taken};
use super::pyspark::text;
use super::{Engine, Facts, head, literal, missing, partition_fields, place, tuples, user_metadata};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::clauses::{Assignments, BySourceAction, MatchedAction, On};
use crate::plan::overwrite::Mode;
use crate::plan::{Change, Pairing, Plan, Spec};
use crate::table::Field;
use crate::table::schema::PrimitiveType;

/// # Errors
/// `UnsupportedFeature`, naming what delta-rs has no word for.
pub(super) fn render(plan: &Plan, facts: &Facts) -> Result<String> {
    refuse_views(plan)?;
    refuse_paths(plan, facts)?;
    let write = write(plan, facts)?;
    let run = "Run it with Python: pip install deltalake pyarrow.";
    let mut out = String::new();
    for line in head(plan, Engine::DeltaRs, run) {
        out += &format!("# {}\n", literal::comment(&line));
    }
    out += "import datetime\nimport decimal\n\nimport pyarrow as pa\nimport pyarrow.compute as pc\nimport pyarrow.dataset as ds\n";
    out += "from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, QueryBuilder, write_deltalake\n\n";
    out += &format!("TABLE = {}\nVERSION = {}\n", text(&plan.table), plan.version);
    out += &format!("METADATA = {{\"userMetadata\": {}}}\n", text(&user_metadata(plan, Engine::DeltaRs)));
    out += "# No second try: if another writer was faster, nothing is written.\n";
    out += "commit = CommitProperties(custom_metadata=METADATA, max_commit_retries=0)\n";
    out += "hooks = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)\n";
    out += PRELUDE;
    out += &format!(
        "table = DeltaTable(TABLE)\ncheck(table.version() == VERSION, {})\nschema = pa.schema(table.schema().to_arrow())\n",
        text(&format!("the table is no longer at version {}: make a new plan, nothing was written", plan.version))
    );
    if plan.spec.rows().is_some() {
        out += &delivered(plan, facts)?;
    }
    out += "\n# The write.\n";
    out += &write;
    out += &afterwards(plan, facts)?;
    Ok(out)
}

pub(super) fn cannot(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::UnsupportedFeature, format!("delta-rs: {}", what.into()))
        .hint("Use --for spark-sql or --for pyspark, or partwise apply.")
}

fn refuse_views(plan: &Plan) -> Result<()> {
    let Some(rows) = plan.spec.rows() else { return Ok(()) };
    let view = &rows.view;
    for (there, what) in [
        (view.filter.is_some(), "a condition on the delivered rows has Spark's meaning, not DataFusion's"),
        (!view.columns.is_empty(), "computed columns of the source have Spark's meaning, not DataFusion's"),
        (view.operations.is_some(), "an operation column cannot be said in its writer"),
        (view.latest_by.is_some(), "the newest row of each key cannot be chosen in its writer"),
    ] {
        if there {
            return Err(cannot(what));
        }
    }
    if matches!(plan.spec, Spec::Scd2(_)) {
        return Err(cannot("SCD type 2 closes and inserts with one row, which its MERGE cannot"));
    }
    Ok(())
}

/// It decodes paths and encodes them again in its own way. A removal that is
/// not the log's path byte for byte removes nothing: old rows would stay beside
/// the new ones.
fn refuse_paths(plan: &Plan, facts: &Facts) -> Result<()> {
    let Change::Rows(rule) = plan.spec.lower() else { return Ok(()) };
    let only_adds = !rule.replaces() && rule.clauses.matched.is_empty() && rule.clauses.by_source.is_empty();
    match &facts.odd_path {
        Some(path) if !only_adds => Err(cannot(format!(
            "it would write the path {path} in another way than the log has it, and the old rows would stay beside the new ones"
        ))),
        _ => Ok(()),
    }
}

fn delivered(plan: &Plan, facts: &Facts) -> Result<String> {
    let source = plan.source.as_ref().ok_or_else(|| missing("a source"))?;
    let mut out = String::from("\n# What was delivered, in the table's columns and types.\n");
    if source.format == "delta" {
        let (location, version) = place::pinned(&source.uri)?;
        out += &format!(
            "staging = DeltaTable({}, version={version})\ndelivered = rows(staging, \"SELECT * FROM t\")\n",
            text(location)
        );
    } else if facts.glob {
        out += &format!(
            "import glob\n\ndelivered = ds.dataset(sorted(glob.glob({}, recursive=True)), format=\"parquet\").to_table()\n",
            text(&source.uri)
        );
    } else {
        out += &format!("delivered = ds.dataset({}, format=\"parquet\").to_table()\n", text(&source.uri));
    }
    out += &format!(
        "check(delivered.num_rows == {}, {})\n",
        plan.rows.source,
        text(&format!(
            "the source does not have the {} rows that were planned: make a new plan, nothing was written",
            plan.rows.source
        ))
    );
    out += "columns = {\n";
    for (field, from) in facts.schema.fields.iter().zip(&facts.columns) {
        if let Some(from) = from {
            out += &format!("    {}: {},\n", text(&field.name), text(from));
        }
    }
    out += "}\n";
    out += "delivered = pa.table(\n    [typed(delivered.column(source), schema.field(name).type) for name, source in columns.items()],\n    names=list(columns),\n)\n";
    Ok(out)
}

fn write(plan: &Plan, facts: &Facts) -> Result<String> {
    let overwrite = |predicate: Option<&str>| {
        let predicate = predicate.map(|p| format!(", predicate={}", text(p))).unwrap_or_default();
        format!(
            "write_deltalake(table, delivered, mode=\"overwrite\"{predicate}, commit_properties=commit, post_commithook_properties=hooks)\n"
        )
    };
    Ok(match &plan.spec {
        Spec::Restore(restore) => restored(restore.to),
        Spec::Undo(undo) => restored(undo.undoes_version.saturating_sub(1)),
        Spec::Append(_) => {
            "write_deltalake(table, delivered, mode=\"append\", commit_properties=commit, post_commithook_properties=hooks)\n"
                .into()
        }
        Spec::Overwrite(o) if o.mode == Mode::Static || plan.partition_columns.is_empty() => overwrite(None),
        // It has no dynamic overwrite: the partitions are said one by one.
        Spec::Overwrite(_) => overwrite(Some(&exactly(plan, facts, "")?)),
        Spec::ReplaceWhere(_) => {
            let predicate = facts.predicate.as_ref().ok_or_else(|| missing("the predicate"))?;
            overwrite(Some(&shared_meaning(predicate, facts, Bare::Only)?))
        }
        Spec::Merge(_) | Spec::Scd2(_) => merge(plan, facts)?,
        Spec::Vacuum(vacuum) => format!(
            "table.vacuum(retention_hours={}, dry_run=False, commit_properties=commit, post_commithook_properties=hooks)\n",
            vacuum.hours()?
        ),
        Spec::RestoreRows(_) | Spec::UndoRows(_) => return Err(missing("a statement for rows that come back")),
        Spec::Repartition(_) | Spec::Optimize(_) => return Err(missing("a statement for another layout")),
    })
}

fn restored(version: u64) -> String {
    format!("table.restore({version}, commit_properties=commit)\n")
}

fn merge(plan: &Plan, facts: &Facts) -> Result<String> {
    let Change::Rows(rule) = plan.spec.lower() else { return Err(missing("a rule for rows")) };
    let Pairing::Join(on) = &rule.pairing else { return Err(missing("a join")) };
    let condition = |c: Option<&String>, bare: Bare| c.map(|c| shared_meaning(c, facts, bare)).transpose();
    let argument = |predicate: Option<String>| predicate.map(|p| format!("predicate={}", text(&p))).unwrap_or_default();
    let mut lines = vec![
        "(\ntable.merge(".to_owned(),
        "    source=delivered,".to_owned(),
        format!("    predicate={},", text(&join(on, facts)?)),
        "    source_alias=\"s\",\n    target_alias=\"t\",\n    merge_schema=False,".to_owned(),
        "    commit_properties=commit,\n    post_commithook_properties=hooks,".to_owned(),
        ")".to_owned(),
    ];
    let updates = |values: &Assignments, bare: Bare| -> Result<String> {
        let list = assignments(values, facts, bare)?;
        let list: Vec<String> = list.iter().map(|(c, v)| format!("{}: {}", text(&quoted_name(c)), text(v))).collect();
        Ok(format!("updates={{{}}}", list.join(", ")))
    };
    let call = |name: &str, arguments: Vec<String>| {
        let arguments: Vec<String> = arguments.into_iter().filter(|a| !a.is_empty()).collect();
        format!(".{name}({})", arguments.join(", "))
    };
    for clause in &rule.clauses.matched {
        let when = argument(condition(clause.condition.as_ref(), Bare::Either)?);
        lines.push(match &clause.action {
            MatchedAction::Update(values) => call("when_matched_update", vec![updates(values, Bare::Either)?, when]),
            MatchedAction::Delete => call("when_matched_delete", vec![when]),
            MatchedAction::Close { .. } => return Err(cannot("one row cannot be updated and inserted")),
        });
    }
    for clause in &rule.clauses.not_matched {
        let when = argument(condition(clause.condition.as_ref(), Bare::Either)?);
        lines.push(call("when_not_matched_insert", vec![updates(&clause.values, Bare::Either)?, when]));
    }
    for clause in &rule.clauses.by_source {
        let own = condition(clause.condition.as_ref(), Bare::Target)?.map(|c| format!("({c})"));
        let slice = (clause.within_slice && !plan.partition_columns.is_empty())
            .then(|| exactly(plan, facts, "t."))
            .transpose()?;
        let terms: Vec<String> = slice.into_iter().chain(own).collect();
        let when = argument((!terms.is_empty()).then(|| terms.join(" AND ")));
        lines.push(match &clause.action {
            BySourceAction::Delete => call("when_not_matched_by_source_delete", vec![when]),
            BySourceAction::Update(list) => {
                let updates = updates(&Assignments::Set(list.clone()), Bare::Target)?;
                call("when_not_matched_by_source_update", vec![updates, when])
            }
        });
    }
    lines.push(".execute()\n)\n".into());
    Ok(lines.join("\n"))
}

fn join(on: &On, facts: &Facts) -> Result<String> {
    let mut terms = Vec::new();
    for pair in &on.keys {
        let target = facts.schema.find(&pair.target).ok_or_else(|| missing("a column of the key"))?;
        let source = taken(&pair.source, facts)?;
        let (t, s) = (quoted_name(&target.name), quoted_name(&source));
        terms.push(match pair.null_safe {
            // In parentheses, or its parser takes AND for a part of the right side.
            true => format!("(t.{t} IS NOT DISTINCT FROM s.{s})"),
            false => format!("t.{t} = s.{s}"),
        });
    }
    if let Some(condition) = &on.condition {
        terms.push(format!("({})", shared_meaning(condition, facts, Bare::Either)?));
    }
    Ok(terms.join(" AND "))
}

fn assignments(values: &Assignments, facts: &Facts, bare: Bare) -> Result<Vec<(String, String)>> {
    match values {
        Assignments::All => Ok(facts.schema.names().map(|c| (c.to_owned(), format!("s.{}", quoted_name(c)))).collect()),
        Assignments::Set(list) => list.iter().map(|(c, v)| Ok((c.clone(), shared_meaning(v, facts, bare)?))).collect(),
    }
}

fn afterwards(plan: &Plan, facts: &Facts) -> Result<String> {
    let back = format!("to go back: DeltaTable({}).restore({})", text(&plan.table), plan.version);
    let mut out = format!(
        "\n# What was written, against the plan.\ntable = DeltaTable(TABLE)\ncheck(table.version() == VERSION + 1, {})\n",
        text(&format!("version {} is not the newest: look at the history before anything else", plan.version + 1))
    );
    if let Some(rows) = plan.rows.table_after {
        out += &format!(
            "found = rows(table, \"SELECT count(*) AS n FROM t\").column(\"n\")[0].as_py()\ncheck(found == {rows}, f\"the table has {{found}} rows, not the planned {rows}; \" + {})\n",
            text(&back)
        );
    }
    let fields = partition_fields(plan, facts)?;
    let touched = tuples(plan, facts, |_| true)?;
    // NaN is not NaN in Python: partitions of floats are not looked up.
    let float = |f: &&Field| matches!(f.primitive(), Some(PrimitiveType::Float | PrimitiveType::Double));
    if !fields.is_empty() && !fields.iter().any(float) && !touched.is_empty() {
        let names: Vec<String> = fields.iter().map(|f| quoted_name(&f.name)).collect();
        out += "planned = {\n";
        for (tuple, after) in &touched {
            let values: Vec<String> = tuple.0.iter().map(python).collect();
            out += &format!("    ({},): {after},\n", values.join(", "));
        }
        out += "}\n";
        out += &format!(
            "counted = rows(table, {})\n",
            text(&format!("SELECT {0}, count(*) AS partwise_rows FROM t GROUP BY {0}", names.join(", ")))
        );
        out += "counted = {tuple(row[:-1]): row[-1] for row in zip(*(column.to_pylist() for column in counted.columns))}\n";
        out += "wrong = {key: (n, counted.get(key, 0)) for key, n in planned.items() if counted.get(key, 0) != n}\n";
        out += &format!(
            "check(not wrong, f\"touched partitions do not have the planned rows (planned, found): {{wrong}}; \" + {})\n",
            text(&back)
        );
    }
    Ok(out + "print(f\"version {VERSION + 1} is committed; its partitions have as many rows as planned\")\n")
}

const PRELUDE: &str = "

def check(holds, said):
    if not holds:
        raise RuntimeError(said)


def rows(table, query):
    \"\"\"What a query over the table `t` gives.\"\"\"
    return pa.table(QueryBuilder().register(\"t\", table).execute(query).read_all())


def typed(column, to):
    \"\"\"A column in the table's type: nothing is cut, a time without a zone is UTC.\"\"\"
    if pa.types.is_timestamp(to) and to.tz and pa.types.is_timestamp(column.type) and not column.type.tz:
        column = pc.assume_timezone(column, \"UTC\")
    return column if column.type == to else column.cast(to)


";
