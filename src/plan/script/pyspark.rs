//! A Python program for a Spark session: a notebook's `spark`, else its own.

use super::checks::{
    moved, newest, other_source, others_wrote, partitions, settings, source_rows, table_rows, way_back,
};
use super::{Engine, Facts, delivered, head, literal, write};
use crate::error::Result;
use crate::plan::Plan;

/// A text as a Python literal of one line.
pub(super) fn text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\\' | '"' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || matches!(c as u32, 0x200e | 0x200f | 0x2028..=0x202e | 0x2066..=0x2069) => {
                out.push_str(&format!("\\u{:04x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A statement as a Python literal of as many lines as it has. Control
/// characters do not occur in it but for line ends.
fn lines(sql: &str) -> String {
    let safe: String = sql.replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\"");
    format!("\"\"\"\n{safe}\n\"\"\"")
}

/// # Errors
/// What Spark cannot express, and plans that do not fit their table.
pub(super) fn render(plan: &Plan, facts: &Facts) -> Result<String> {
    let run = "Run it in a notebook that has a session named spark, or with spark-submit.";
    let mut out = String::new();
    for line in head(plan, Engine::PySpark, run) {
        out += &format!("# {}\n", literal::comment(&line));
    }
    out += "from pyspark.sql import SparkSession\n\n";
    out += "spark = globals().get(\"spark\") or SparkSession.builder.getOrCreate()\n\n";
    out += "# What the texts below mean; the session gets its own settings back.\nSETTINGS = {\n";
    for (key, value) in settings(plan, Engine::PySpark) {
        out += &format!("    {}: {},\n", text(key), text(&value));
    }
    out += "}\n";
    out += PRELUDE;
    out += "try:\n    for key, value in SETTINGS.items():\n        spark.conf.set(key, value)\n";
    let mut body = String::new();
    let mut step = |title: &str, code: &str| body += &format!("\n# {title}\n{code}\n");
    step(
        "Is the table where it was?",
        &format!("check(one({}) == {}, {})", lines(&newest(plan)), plan.version, text(&moved(plan))),
    );
    if plan.spec.rows().is_some() {
        let views: Vec<String> =
            delivered::views(plan, facts)?.iter().map(|view| format!("spark.sql({})", lines(view))).collect();
        step("What was delivered.", &views.join("\n"));
        let check =
            format!("check(one({}) == {}, {})", lines(&source_rows()), plan.rows.source, text(&other_source(plan)));
        step("Are these the planned rows?", &check);
    }
    step("The write.", &format!("spark.sql({})", lines(&write::statement(plan, facts)?)));
    step(
        "Is it the only commit?",
        &format!("check(one({}) == {}, {})", lines(&newest(plan)), plan.version + 1, text(&others_wrote(plan))),
    );
    if let Some(rows) = plan.rows.table_after {
        let said = format!("the table does not have the {rows} rows that were planned; {}", way_back(plan));
        let check = format!("check(one({}) == {rows}, {})", lines(&table_rows(plan)), text(&said));
        step("Are the table's rows the planned ones?", &check);
    }
    if let Some(wrong) = partitions(plan, facts)? {
        let code = format!(
            "wrong = spark.sql({}).collect()\ncheck(not wrong, f\"{{len(wrong)}} touched partitions do not have the planned rows, such as {{wrong[:3]}}; \" + {})",
            lines(&wrong),
            text(&way_back(plan))
        );
        step("And those of each touched partition?", &code);
    }
    step(
        "Done.",
        &format!(
            "print({})",
            text(&format!("version {} is committed; its partitions have as many rows as planned", plan.version + 1))
        ),
    );
    out += &indented(&body);
    out += "finally:\n    for key, value in before.items():\n        spark.conf.unset(key) if value is None else spark.conf.set(key, value)\n";
    Ok(out)
}

const PRELUDE: &str = "before = {key: spark.conf.get(key, None) for key in SETTINGS}


def one(query):
    return spark.sql(query).first()[0]


def check(holds, said):
    if not holds:
        raise RuntimeError(said)


";

/// Code one level deeper; the lines of statements stay where they are.
fn indented(code: &str) -> String {
    let mut inside = false;
    let mut out = String::new();
    for line in code.lines() {
        let pad = if inside || line.is_empty() { "" } else { "    " };
        out += &format!("{pad}{line}\n");
        if line.replace("\\\"", "").matches("\"\"\"").count() % 2 == 1 {
            inside = !inside;
        }
    }
    out
}
