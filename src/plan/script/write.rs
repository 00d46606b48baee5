//! The one statement that writes, in Spark SQL.

use super::delivered::{self, SOURCE};
use super::literal::{name, of_partitions, text};
use super::{Facts, free_name, has_deletions, missing, partition_fields, place, tuples};
use crate::error::Result;
use crate::plan::clauses::{
    Assignments, BySourceAction, BySourceClause, Clauses, InsertClause, KeyPair, MatchedAction, On,
};
use crate::plan::overwrite::Mode;
use crate::plan::view::RowMeaning;
use crate::plan::{Change, Pairing, Plan, Spec};

/// The statement.
///
/// # Errors
/// `BadPlan` for a plan that does not fit its table.
pub(super) fn statement(plan: &Plan, facts: &Facts) -> Result<String> {
    let table = place::spark_table(&plan.table);
    Ok(match &plan.spec {
        Spec::Restore(restore) => format!("RESTORE TABLE {table} TO VERSION AS OF {}", restore.to),
        Spec::Undo(undo) => {
            format!("RESTORE TABLE {table} TO VERSION AS OF {}", undo.undoes_version.saturating_sub(1))
        }
        Spec::Append(_) => {
            format!("INSERT INTO TABLE {table} ({})\n{}", columns(facts), rows(plan, facts)?)
        }
        Spec::Overwrite(o) if o.mode == Mode::Static || plan.partition_columns.is_empty() => {
            format!("INSERT OVERWRITE TABLE {table} ({})\n{}", columns(facts), rows(plan, facts)?)
        }
        Spec::Overwrite(_) => replace(&table, &delivered_partitions(plan, facts, "")?, &rows(plan, facts)?),
        Spec::ReplaceWhere(_) => {
            let predicate = facts.predicate.as_ref().ok_or_else(|| missing("the predicate"))?;
            replace(&table, predicate, &rows(plan, facts)?)
        }
        Spec::Merge(_) | Spec::Scd2(_) => merge(plan, facts, &table)?,
        Spec::Vacuum(vacuum) => format!("VACUUM {table} RETAIN {} HOURS", vacuum.hours()?),
        Spec::RestoreRows(_) | Spec::UndoRows(_) => return Err(missing("a statement for rows that come back")),
        Spec::Repartition(_) | Spec::Optimize(_) => return Err(missing("a statement for another layout")),
    })
}

/// Spark takes the columns of this form by their places: the list is the
/// table's at the version that was checked.
fn replace(table: &str, predicate: &str, rows: &str) -> String {
    format!("INSERT INTO TABLE {table}\nREPLACE WHERE {predicate}\n{rows}")
}

/// A condition that chooses exactly the partitions that occur in the source.
fn delivered_partitions(plan: &Plan, facts: &Facts, alias: &str) -> Result<String> {
    // A partition that only deletions were delivered for is replaced by nothing.
    let replaces = matches!(plan.spec, Spec::Overwrite(_));
    let delivered = tuples(plan, facts, |p| p.source > 0 || replaces && p.deleted > 0)?;
    Ok(of_partitions(&partition_fields(plan, facts)?, &delivered, alias))
}

fn columns(facts: &Facts) -> String {
    facts.schema.names().map(name).collect::<Vec<_>>().join(", ")
}

/// Whole delivered rows in the table's columns and types.
fn rows(plan: &Plan, facts: &Facts) -> Result<String> {
    let columns: Vec<String> = facts
        .schema
        .fields
        .iter()
        .enumerate()
        .map(|(at, field)| Ok(format!("{} AS {}", delivered::column(facts, at)?, name(&field.name))))
        .collect::<Result<_>>()?;
    let deletions = match has_deletions(plan) {
        true => format!("\nWHERE {}", alive(facts)),
        false => String::new(),
    };
    Ok(format!("SELECT {}\nFROM {SOURCE} AS s{deletions}", columns.join(",\n       ")))
}

/// Rows that do not stand for a deletion.
fn alive(facts: &Facts) -> String {
    format!("s.{} <> {}", name(&delivered::meaning(facts)), text(RowMeaning::Delete.words()))
}

fn merge(plan: &Plan, facts: &Facts, table: &str) -> Result<String> {
    let Change::Rows(rule) = plan.spec.lower() else { return Err(missing("a rule for rows")) };
    let Pairing::Join(on) = &rule.pairing else { return Err(missing("a join")) };
    let deletions = has_deletions(plan);
    let closes = rule.clauses.matched.iter().find_map(|clause| match &clause.action {
        MatchedAction::Close { insert, .. } => Some((clause.condition.as_ref(), insert)),
        _ => None,
    });
    let mut condition = join(on, facts)?;
    let new = format!("s.{}", name(&free_name(facts, "partwise_new_version")));
    let mut using = format!("{SOURCE} AS s");
    if let Some((when, _)) = closes {
        // MERGE does one thing with a delivered row. One that closes a version
        // comes twice: to close it, and to be inserted.
        let column = new.trim_start_matches("s.");
        let mut terms: Vec<String> = when.iter().map(|w| format!("({w})")).collect();
        terms.extend(deletions.then(|| alive(facts)));
        terms.insert(0, condition.clone());
        using = format!(
            "(\n  SELECT s.*, FALSE AS {column} FROM {SOURCE} AS s\n  UNION ALL\n  SELECT s.*, TRUE AS {column} FROM {SOURCE} AS s\n  \
             LEFT SEMI JOIN {table} AS t\n  ON {}\n) AS s",
            terms.join("\n  AND ")
        );
        condition = format!("NOT {new} AND {condition}");
    }
    let mut lines = vec![format!("MERGE INTO {table} AS t"), format!("USING {using}"), format!("ON {condition}")];
    if deletions {
        lines.push(format!("WHEN MATCHED AND NOT ({}) THEN DELETE", alive(facts)));
    }
    lines.extend(matched(&rule.clauses, facts)?);
    if let Some((_, insert)) = closes {
        lines.push(format!("WHEN NOT MATCHED AND {new} THEN {}", inserted(insert, facts)?));
    }
    for clause in &rule.clauses.not_matched {
        lines.push(not_matched(clause, deletions, facts)?);
    }
    for clause in &rule.clauses.by_source {
        lines.push(by_source(plan, clause, facts)?);
    }
    Ok(lines.join("\n"))
}

fn join(on: &On, facts: &Facts) -> Result<String> {
    let pair = |KeyPair { target, source, null_safe }: &KeyPair| {
        let at = facts.schema.fields.iter().position(|f| f.name.eq_ignore_ascii_case(target));
        let at = at.ok_or_else(|| missing("a column of the key"))?;
        let equals = if *null_safe { "<=>" } else { "=" };
        Ok(format!("(t.{} {equals} {})", name(&facts.schema.fields[at].name), delivered::typed(facts, source, at)))
    };
    let mut terms: Vec<String> = on.keys.iter().map(pair).collect::<Result<_>>()?;
    terms.extend(on.condition.iter().map(|c| format!("({c})")));
    Ok(terms.join(" AND "))
}

fn and(condition: Option<&String>) -> String {
    condition.map(|c| format!(" AND ({c})")).unwrap_or_default()
}

fn matched(clauses: &Clauses, facts: &Facts) -> Result<Vec<String>> {
    let one = |clause: &crate::plan::clauses::MatchedClause| {
        let action = match &clause.action {
            MatchedAction::Update(values) | MatchedAction::Close { update: values, .. } => updated(values, facts)?,
            MatchedAction::Delete => "DELETE".into(),
        };
        Ok(format!("WHEN MATCHED{} THEN {action}", and(clause.condition.as_ref())))
    };
    clauses.matched.iter().map(one).collect()
}

fn not_matched(clause: &InsertClause, deletions: bool, facts: &Facts) -> Result<String> {
    let alive = if deletions { format!(" AND {}", alive(facts)) } else { String::new() };
    let condition = and(clause.condition.as_ref());
    Ok(format!("WHEN NOT MATCHED{alive}{condition} THEN {}", inserted(&clause.values, facts)?))
}

fn by_source(plan: &Plan, clause: &BySourceClause, facts: &Facts) -> Result<String> {
    let mut condition = and(clause.condition.as_ref());
    if clause.within_slice && !plan.partition_columns.is_empty() {
        condition = format!(" AND {}{condition}", delivered_partitions(plan, facts, "t.")?);
    }
    let action = match &clause.action {
        BySourceAction::Delete => "DELETE".into(),
        BySourceAction::Update(list) => format!("UPDATE SET {}", set(list)),
    };
    Ok(format!("WHEN NOT MATCHED BY SOURCE{condition} THEN {action}"))
}

fn set(list: &[(String, String)]) -> String {
    list.iter().map(|(column, value)| format!("{} = {value}", name(column))).collect::<Vec<_>>().join(", ")
}

/// (column, value) of every column of the table.
fn all(facts: &Facts) -> Result<Vec<(String, String)>> {
    let one = |(at, field): (usize, &crate::table::Field)| Ok((field.name.clone(), delivered::column(facts, at)?));
    facts.schema.fields.iter().enumerate().map(one).collect()
}

fn updated(values: &Assignments, facts: &Facts) -> Result<String> {
    Ok(match values {
        Assignments::All => format!("UPDATE SET {}", set(&all(facts)?)),
        Assignments::Set(list) => format!("UPDATE SET {}", set(list)),
    })
}

fn inserted(values: &Assignments, facts: &Facts) -> Result<String> {
    let list = match values {
        Assignments::All => all(facts)?,
        Assignments::Set(list) => list.clone(),
    };
    let (columns, values): (Vec<String>, Vec<String>) = list.into_iter().map(|(c, v)| (name(&c), v)).unzip();
    Ok(format!("INSERT ({}) VALUES ({})", columns.join(", "), values.join(", ")))
}
