//! A file of statements for `spark-sql -f`, which stops at the first that fails.

use super::checks::{
    assert, moved, newest, other_source, others_wrote, partitions, settings, source_rows, table_rows, way_back,
};
use super::{Engine, Facts, delivered, head, literal, write};
use crate::error::Result;
use crate::plan::Plan;

/// # Errors
/// What Spark cannot express, and plans that do not fit their table.
pub(super) fn render(plan: &Plan, facts: &Facts) -> Result<String> {
    let run = "Run it with spark-sql -f FILE: it stops at the first statement that fails.";
    let mut out = String::new();
    for line in head(plan, Engine::SparkSql, run) {
        out += &format!("-- {}\n", comment(&line));
    }
    let settings = settings(plan, Engine::SparkSql);
    out += "\n-- 1. What the texts below mean.\n";
    for (key, value) in &settings {
        out += &format!("SET {key} = {value};\n");
    }
    let mut say = |title: &str, statement: &str| out += &format!("\n-- {title}\n{statement};\n");
    let query = |sql: &str| format!("(\n{sql}\n)");
    say(
        "2. Is the table where it was?",
        &assert(&format!("{} = {}", query(&newest(plan)), plan.version), &moved(plan)),
    );
    if plan.spec.rows().is_some() {
        let views = delivered::views(plan, facts)?;
        say("3. What was delivered.", &views.join(";\n\n"));
        let delivered = assert(&format!("{} = {}", query(&source_rows()), plan.rows.source), &other_source(plan));
        say("4. Are these the planned rows?", &delivered);
    }
    say("5. The write.", &write::statement(plan, facts)?);
    let committed = assert(&format!("{} = {}", query(&newest(plan)), plan.version + 1), &others_wrote(plan));
    say("6. Is it the only commit?", &committed);
    let differs = |what: &str| format!("{what}; {}", way_back(plan));
    if let Some(rows) = plan.rows.table_after {
        let said = differs(&format!("the table does not have the {rows} rows that were planned"));
        say(
            "7. Are the table's rows the planned ones?",
            &assert(&format!("{} = {rows}", query(&table_rows(plan))), &said),
        );
    }
    if let Some(wrong) = partitions(plan, facts)? {
        let said = differs("the rows of a touched partition are not the planned ones");
        let none = format!("(\nSELECT count(*) FROM (\n{wrong}\n)\n) = 0");
        say("8. And those of each touched partition?", &assert(&none, &said));
    }
    out += "\n-- 9. The session as it was configured.\n";
    for (key, _) in &settings {
        out += &format!("RESET {key};\n");
    }
    Ok(out)
}

/// The shell splits the file at `;` and looks for quotes, in old versions also
/// in comments.
fn comment(line: &str) -> String {
    literal::comment(line).replace(';', ",").replace(['\'', '"', '`'], "\u{2019}")
}

/// The statements of a script, as the shell splits it: for tests.
#[cfg(test)]
pub(super) fn split(script: &str) -> Vec<String> {
    let code: Vec<&str> = script.lines().filter(|line| !line.starts_with("--")).collect();
    let statements = code.join("\n");
    statements.split(";\n").map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()).collect()
}
