//! What a Spark session is set to, and what is checked before and after the write.

use super::delivered::DELIVERED;
use super::literal::{name, of_partitions, text, type_name, value};
use super::{Engine, Facts, partition_fields, place, tuples, user_metadata};
use crate::error::Result;
use crate::plan::Plan;
use crate::table::schema::PrimitiveType;

/// What the session must be set to, so that texts mean what the plan says.
/// (key, value)
pub(super) fn settings(plan: &Plan, engine: Engine) -> Vec<(&'static str, String)> {
    vec![
        // First: it keeps Spark from replacing `${…}` in what follows.
        ("spark.sql.variable.substitute", "false".into()),
        ("spark.sql.parser.escapedStringLiterals", "false".into()),
        ("spark.sql.session.timeZone", "UTC".into()),
        ("spark.sql.ansi.enabled", "true".into()),
        ("spark.sql.ansi.doubleQuotedIdentifiers", "false".into()),
        ("spark.sql.storeAssignmentPolicy", "ANSI".into()),
        ("spark.sql.caseSensitive", "false".into()),
        ("spark.sql.sources.partitionOverwriteMode", "static".into()),
        ("spark.databricks.delta.schema.autoMerge.enabled", "false".into()),
        // Its commits would come between the write and the check after it.
        ("spark.databricks.delta.autoCompact.enabled", "false".into()),
        ("spark.databricks.delta.commitInfo.userMetadata", user_metadata(plan, engine)),
    ]
}

/// A query whose one cell is the newest version of the table.
pub(super) fn newest(plan: &Plan) -> String {
    format!(
        "SELECT max(try_cast(regexp_extract(path, '([0-9]{{20}})[.]json$', 1) AS BIGINT))\nFROM binaryFile.{}",
        place::spark_commits(&plan.table)
    )
}

/// A query whose one cell is how many rows were delivered.
pub(super) fn source_rows() -> String {
    format!("SELECT count(*) FROM {DELIVERED}")
}

/// A query whose one cell is how many rows the table has.
pub(super) fn table_rows(plan: &Plan) -> String {
    format!("SELECT count(*) FROM {}", place::spark_table(&plan.table))
}

/// What is wrong where the table moved.
pub(super) fn moved(plan: &Plan) -> String {
    format!("the table is no longer at version {}: make a new plan, nothing was written", plan.version)
}

pub(super) fn other_source(plan: &Plan) -> String {
    format!(
        "the source does not have the {} rows that were planned: make a new plan, nothing was written",
        plan.rows.source
    )
}

pub(super) fn others_wrote(plan: &Plan) -> String {
    format!(
        "version {} is not the newest: another writer committed too, see DESCRIBE HISTORY before anything else",
        plan.version + 1
    )
}

/// How to go back, where the outcome is not the planned one.
pub(super) fn way_back(plan: &Plan) -> String {
    format!("to go back: RESTORE TABLE {} TO VERSION AS OF {}", place::spark_table(&plan.table), plan.version)
}

/// A query with a row for each touched partition whose rows are not the planned
/// ones: its values, `planned_rows`, `found_rows`. `None` for a table without
/// partitions.
///
/// # Errors
/// `BadPlan`.
pub(super) fn partitions(plan: &Plan, facts: &Facts) -> Result<Option<String>> {
    let fields = partition_fields(plan, facts)?;
    let touched = tuples(plan, facts, |_| true)?;
    if fields.is_empty() || touched.is_empty() {
        return Ok(None);
    }
    let types: Vec<&PrimitiveType> = fields.iter().filter_map(|f| f.primitive()).collect();
    let places: Vec<String> = (0..fields.len()).map(|at| format!("p{at}")).collect();
    let rows: Vec<String> = touched
        .iter()
        .map(|(tuple, after)| {
            let cells = tuple.0.iter().zip(&types).map(|(v, t)| value(v, t));
            format!("({}, {after}L)", cells.collect::<Vec<_>>().join(", "))
        })
        .collect();
    // A partition column of the table in the type that the value has.
    let found: Vec<String> = fields
        .iter()
        .zip(&types)
        .zip(&places)
        .map(|((f, t), p)| format!("CAST({} AS {}) AS {p}", name(&f.name), type_name(t)))
        .collect();
    let names: Vec<String> = fields.iter().map(|f| name(&f.name)).collect();
    let join: Vec<String> = places.iter().map(|p| format!("found.{p} <=> planned.{p}")).collect();
    let shown: Vec<String> =
        fields.iter().zip(&places).map(|(f, p)| format!("planned.{p} AS {}", name(&f.name))).collect();
    Ok(Some(format!(
        "SELECT {}, planned.n AS planned_rows, coalesce(found.n, 0L) AS found_rows\nFROM (SELECT * FROM VALUES\n  {}\n  AS planned({}, n)) AS planned\nLEFT JOIN (\n  SELECT {}, count(*) AS n FROM {}\n  WHERE {}\n  GROUP BY {}\n) AS found ON {}\nWHERE coalesce(found.n, 0L) <> planned.n",
        shown.join(", "),
        rows.join(",\n  "),
        places.join(", "),
        found.join(", "),
        place::spark_table(&plan.table),
        of_partitions(&fields, &touched, ""),
        names.join(", "),
        join.join(" AND "),
    )))
}

/// A statement that fails with `said` unless a condition holds.
pub(super) fn assert(condition: &str, said: &str) -> String {
    format!("SELECT assert_true({condition}, {})", text(said))
}
