//! The rows of effects: flags to look at them and to export them, and how they
//! are printed. Plans and diffs share them.

use std::path::PathBuf;

use serde_json::{Value as Json, json};

use super::output::plural;
use super::output::table::Table;
use crate::error::{Error, ErrorKind, Result};
use crate::ops::effect_rows::{ColumnChanges, DiffPage, EffectRows};
use crate::ops::export::{Exported, check_export, export_effect};
use crate::plan::Effect;
use crate::progress::Progress;
use crate::table::Value;
use crate::table::number::{bytes, grouped};
use crate::table::value::escape_controls;

/// Updated rows that are looked at to say which columns differ.
const LOOK_AT: u64 = 100_000;

#[derive(Debug, Clone, Default, clap::Args)]
pub struct EffectArgs {
    /// Print rows of one effect: inserted, updated, deleted, unchanged, zombies
    #[arg(long, value_name = "EFFECT", value_parser = parse_effect)]
    pub rows: Option<Effect>,
    /// Print so many of them at most
    #[arg(long, value_name = "N", default_value_t = 20, requires = "rows")]
    pub limit: usize,
    /// Pass over so many of them first
    #[arg(long, value_name = "K", default_value_t = 0, requires = "rows")]
    pub offset: u64,
    /// Write all rows of one effect to a .parquet, .csv or .md file; updated
    /// rows as old.COLUMN and new.COLUMN. Cells in .md are cut at 60 characters
    #[arg(long, value_name = "EFFECT=FILE", value_parser = parse_export)]
    pub export: Vec<(Effect, PathBuf)>,
    /// Let --export and --out replace a file
    #[arg(long)]
    pub force: bool,
}

fn parse_effect(text: &str) -> std::result::Result<Effect, String> {
    Effect::parse(text).ok_or_else(|| {
        let names: Vec<&str> = Effect::ALL.iter().map(|e| e.name()).collect();
        format!("an effect is one of {}", names.join(", "))
    })
}

fn parse_export(text: &str) -> std::result::Result<(Effect, PathBuf), String> {
    let (effect, file) = text.split_once('=').ok_or("write EFFECT=FILE")?;
    if file.is_empty() {
        return Err("the file's name is empty; write EFFECT=FILE".into());
    }
    Ok((parse_effect(effect)?, PathBuf::from(file)))
}

/// What was looked at.
#[derive(Debug, Default)]
pub struct Looked {
    sample: Option<Sample>,
    exported: Vec<(Effect, PathBuf, Exported)>,
}

#[derive(Debug)]
struct Sample {
    effect: Effect,
    offset: u64,
    page: DiffPage,
    /// Of updated rows.
    changes: Option<ColumnChanges>,
}

impl EffectArgs {
    /// What can be refused before anything is read.
    pub fn check(&self) -> Result<()> {
        for (at, (_, file)) in self.export.iter().enumerate() {
            check_export(file, self.force)?;
            if self.export[..at].iter().any(|(_, other)| other == file) {
                return Err(Error::new(ErrorKind::Usage, format!("two exports name {}", file.display()))
                    .hint("Give each effect a file of its own."));
            }
        }
        Ok(())
    }

    /// # Errors
    /// Whatever reading the rows gives, and writing those to be exported.
    pub async fn look(&self, rows: &EffectRows, progress: &Progress) -> Result<Looked> {
        let mut looked = Looked::default();
        if let Some(effect) = self.rows {
            let page = rows.page(effect, self.offset, self.limit).await?;
            let changes = match effect {
                Effect::Updated if page.total > 0 => Some(rows.changes(LOOK_AT, progress).await?),
                _ => None,
            };
            looked.sample = Some(Sample { effect, offset: self.offset, page, changes });
        }
        for (effect, file) in &self.export {
            let exported = export_effect(rows, *effect, file, self.force, progress).await?;
            looked.exported.push((*effect, file.clone(), exported));
        }
        Ok(looked)
    }

    /// What is said of a plan without rows.
    pub fn nothing(&self) -> Looked {
        let page = DiffPage::default();
        let sample = self.rows.map(|effect| Sample { effect, offset: self.offset, page, changes: None });
        Looked { sample, ..Looked::default() }
    }
}

impl Looked {
    pub fn render(&self) -> String {
        let mut out = self.sample.as_ref().map(render).unwrap_or_default();
        if !self.exported.is_empty() {
            out += "\n";
        }
        for (effect, file, exported) in &self.exported {
            out += &format!(
                "exported {} {} to {} ({})\n",
                grouped(exported.rows),
                effect.name(),
                escape_controls(&file.display().to_string()),
                bytes(exported.bytes)
            );
        }
        out
    }

    /// Puts `effect_rows` and `exported` into a plan's or a diff's object.
    pub fn add_to(&self, object: &mut Json) {
        let Some(object) = object.as_object_mut() else { return };
        if let Some(sample) = &self.sample {
            object.insert("effect_rows".into(), to_json(sample));
        }
        if !self.exported.is_empty() {
            let exported = self.exported.iter().map(|(effect, file, exported)| {
                json!({
                    "effect": effect.name(), "file": file.to_string_lossy(),
                    "rows": exported.rows, "bytes": exported.bytes,
                })
            });
            object.insert("exported".into(), exported.collect());
        }
    }
}

fn to_json(sample: &Sample) -> Json {
    let page = &sample.page;
    let side = |values: &Option<Vec<Value>>| -> Json {
        values.as_ref().map_or(Json::Null, |list| list.iter().map(|v| v.to_json()).collect())
    };
    let rows: Vec<Json> = page
        .rows
        .iter()
        .map(|row| {
            let changed: Vec<&String> = row.changed.iter().filter_map(|i| page.columns.get(*i)).collect();
            json!({"old": side(&row.old), "new": side(&row.new), "changed": changed, "last_version": row.last_version})
        })
        .collect();
    let mut object = json!({
        "effect": sample.effect.name(), "columns": page.columns, "rows": rows,
        "offset": sample.offset, "total": page.total,
    });
    if let Some(changes) = &sample.changes {
        let columns: Vec<Json> =
            changes.columns.iter().map(|(column, rows)| json!({"column": column, "rows": rows})).collect();
        object["changes"] = json!({"updated": changes.updated, "looked_at": changes.looked_at, "columns": columns});
    }
    object
}

/// Rows of one effect: for an update the old line, then the new one.
fn render(sample: &Sample) -> String {
    let page = &sample.page;
    // Who left a row behind, or wrote what goes, is the next question.
    let dated = matches!(sample.effect, Effect::Zombies | Effect::Deleted);
    let mut table = Table::default().left("");
    for column in &page.columns {
        table = table.left(column);
    }
    if dated {
        table = table.right("last written");
    }
    for row in &page.rows {
        let mut line = |mark: &str, values: &[Value]| {
            let version = row.last_version.map_or_else(|| "?".to_owned(), |v| format!("v{v}"));
            let cells = std::iter::once(mark.to_owned()).chain(values.iter().map(Value::to_string));
            table.push(cells.chain(dated.then_some(version)));
        };
        let (mark, _) = row.effect.mark();
        match (&row.old, &row.new) {
            (Some(old), Some(new)) if !row.changed.is_empty() => {
                line("-", old);
                line("+", new);
            }
            (_, Some(values)) | (Some(values), None) => line(mark, values),
            (None, None) => {}
        }
    }
    let shown = page.rows.len() as u64;
    let after = if sample.offset > 0 { format!(", after the first {}", grouped(sample.offset)) } else { String::new() };
    let changes = sample.changes.as_ref().map(changed_columns).unwrap_or_default();
    format!(
        "\n{}: {} of {}{after}\n{changes}{}",
        sample.effect.name(),
        grouped(shown),
        plural(page.total, "row"),
        table.render()
    )
}

/// In how many rows each column differs, most first.
fn changed_columns(changes: &ColumnChanges) -> String {
    let mut columns: Vec<&(String, u64)> = changes.columns.iter().collect();
    columns.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
    let list: Vec<String> =
        columns.iter().map(|(name, rows)| format!("{} {}", escape_controls(name), grouped(*rows))).collect();
    let of = match changes.is_exact() {
        true => String::new(),
        false => format!(" (in the first {} of them)", grouped(changes.looked_at)),
    };
    format!("columns that differ{of}: {}\n", list.join(", "))
}
