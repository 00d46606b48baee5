//! All rows of one effect into a file: Parquet, CSV or Markdown.

mod text;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use deltalake::arrow::array::RecordBatch;
use deltalake::logstore::object_store::{local::LocalFileSystem, path::Path as StorePath};
use tempfile::TempPath;

use super::effect_rows::{CHUNK, DiffRow, EffectRows};
use crate::error::{Context, Error, ErrorKind, Result};
use crate::lake::data::{DataWriter, OpenFile, TableLayout, array_of, arrow_type};
use crate::plan::Effect;
use crate::progress::Progress;
use crate::table::{DataType, Field, PrimitiveType, Schema, Value};

pub use text::CELL;

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exported {
    pub rows: u64,
    pub bytes: u64,
}

/// The kinds of files that rows can be exported to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    Parquet,
    Csv,
    Markdown,
}

impl ExportFormat {
    /// By the file's ending.
    ///
    /// # Errors
    /// `Usage` for any other.
    pub fn of(path: &Path) -> Result<ExportFormat> {
        let ending = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
        match ending.as_str() {
            "parquet" => Ok(ExportFormat::Parquet),
            "csv" => Ok(ExportFormat::Csv),
            "md" | "markdown" => Ok(ExportFormat::Markdown),
            _ => {
                let said = if ending.is_empty() { "no ending".to_owned() } else { format!("the ending .{ending}") };
                Err(Error::new(
                    ErrorKind::Usage,
                    format!("rows cannot be exported to {}: {said} says no format", path.display()),
                )
                .hint("Name the file .parquet, .csv or .md."))
            }
        }
    }
}

/// What can be refused before anything is read.
///
/// # Errors
/// `Usage` for an ending of no format and a folder that is not there;
/// `Refused` where the file exists and `force` is not set.
pub fn check_export(path: &Path, force: bool) -> Result<ExportFormat> {
    let format = ExportFormat::of(path)?;
    if path.is_dir() {
        return Err(Error::new(ErrorKind::Usage, format!("{} is a folder", path.display())).hint("Name a file in it."));
    }
    let folder = folder_of(path);
    if !folder.is_dir() {
        return Err(Error::new(ErrorKind::Usage, format!("there is no folder {}", folder.display()))
            .hint("Make it first, or name another file."));
    }
    if !force && std::fs::symlink_metadata(path).is_ok() {
        return Err(exists(path));
    }
    Ok(format)
}

fn exists(path: &Path) -> Error {
    Error::new(ErrorKind::Refused, format!("{} exists", path.display()))
        .hint("Name another file, or give --force to replace it.")
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent().filter(|p| !p.as_os_str().is_empty()).map_or_else(|| PathBuf::from("."), Path::to_owned)
}

/// Writes every row of an effect, in the order of the pages. The columns are
/// the table's, for updated rows as pairs `old.c` and `new.c` with the names
/// of those that differ in `changed`; then `last_version`, the version that
/// last wrote the old row's file. Nested cells are JSON texts. Rows are read
/// and written in pages; the file gets its name once it is complete.
///
/// # Errors
/// As [`check_export`]; `Storage`; `SourceChanged`; `Cancelled`. Then nothing
/// is left of it.
pub async fn export_effect(
    rows: &EffectRows,
    effect: Effect,
    path: &Path,
    force: bool,
    progress: &Progress,
) -> Result<Exported> {
    let format = check_export(path, force)?;
    let failed = || format!("rows cannot be exported to {}", path.display());
    let folder = std::path::absolute(folder_of(path)).context(ErrorKind::Storage, failed)?;
    // Its own name, so that two exports at once do not meet.
    let name = format!(".partwise-export-{}.tmp", uuid::Uuid::new_v4());
    let whole = folder.join(&name);
    let file = std::fs::File::create_new(&whole).context(ErrorKind::Storage, failed)?;
    let temporary = TempPath::try_from_path(&whole).context(ErrorKind::Storage, failed)?;
    let shape = Shape::new(rows, effect);
    let mut out = match format {
        ExportFormat::Parquet => Out::Parquet(Box::new(parquet(&shape, &folder, &name)?)),
        ExportFormat::Csv => Out::Text(text::Writer::csv(file)),
        ExportFormat::Markdown => Out::Text(text::Writer::markdown(file)),
    };
    if let Out::Text(writer) = &mut out {
        writer.head(shape.schema.names()).context(ErrorKind::Storage, failed)?;
    }
    let mut written = 0u64;
    loop {
        progress.check()?;
        let page = rows.page(effect, written, CHUNK).await?;
        if page.rows.is_empty() {
            break;
        }
        written += page.rows.len() as u64;
        let records: Vec<Vec<Value>> = page.rows.into_iter().map(|row| shape.record(row)).collect();
        match &mut out {
            Out::Parquet(open) => open.write(&shape.batch(&records)?).await?,
            Out::Text(writer) => {
                records.iter().try_for_each(|record| writer.row(record)).context(ErrorKind::Storage, failed)?;
            }
        }
        progress.advance(0, records.len() as u64, 0);
    }
    if written != rows.count(effect) {
        return Err(Error::new(
            ErrorKind::Internal,
            format!("{} rows are {}, and {written} could be read", rows.count(effect), effect.name()),
        ));
    }
    match out {
        Out::Parquet(open) => {
            open.close().await?;
        }
        Out::Text(writer) => writer.finish().context(ErrorKind::Storage, failed)?,
    }
    let bytes = std::fs::File::options().append(true).open(&whole).and_then(|file| {
        file.sync_all()?;
        Ok(file.metadata()?.len())
    });
    let bytes = bytes.context(ErrorKind::Storage, failed)?;
    name_it(temporary, path, force)?;
    Ok(Exported { rows: written, bytes })
}

fn name_it(temporary: TempPath, path: &Path, force: bool) -> Result<()> {
    let done = if force { temporary.persist(path) } else { temporary.persist_noclobber(path) };
    done.map_err(|e| match e.error.kind() {
        std::io::ErrorKind::AlreadyExists => exists(path),
        _ => Error::new(ErrorKind::Storage, format!("{} cannot be given its name", path.display())).because(e.error),
    })
}

enum Out {
    Parquet(Box<OpenFile>),
    Text(text::Writer),
}

fn parquet(shape: &Shape, folder: &Path, name: &str) -> Result<OpenFile> {
    let store = LocalFileSystem::new_with_prefix(folder)
        .context(ErrorKind::Storage, || format!("the folder {} cannot be written to", folder.display()))?;
    let layout = TableLayout::new(shape.schema.clone(), Vec::new(), false)?;
    DataWriter::new(Arc::new(layout), 0).open(Arc::new(store), StorePath::from(name))
}

/// The columns of an export, and how a row fills them.
struct Shape {
    effect: Effect,
    schema: Schema,
    names: Vec<String>,
}

impl Shape {
    fn new(rows: &EffectRows, effect: Effect) -> Shape {
        let field = |name: String, data_type: DataType| Field {
            name,
            data_type,
            nullable: true,
            metadata: serde_json::Map::new(),
        };
        let text = || DataType::Primitive(PrimitiveType::String);
        // A nested cell is a JSON text.
        let plain = |f: &Field| if f.data_type.is_nested() { text() } else { f.data_type.clone() };
        let table = rows.fields();
        let mut fields: Vec<Field> = Vec::new();
        for column in table {
            if effect == Effect::Updated {
                fields.extend(["old", "new"].map(|side| field(format!("{side}.{}", column.name), plain(column))));
            } else {
                fields.push(field(column.name.clone(), plain(column)));
            }
        }
        if effect == Effect::Updated {
            fields.push(field(free(&fields, "changed"), text()));
        }
        fields.push(field(free(&fields, "last_version"), DataType::Primitive(PrimitiveType::Long)));
        Shape { effect, schema: Schema { fields }, names: table.iter().map(|f| f.name.clone()).collect() }
    }

    fn record(&self, row: DiffRow) -> Vec<Value> {
        let mut record = Vec::with_capacity(self.schema.fields.len());
        let blank = || vec![Value::Null; self.names.len()];
        if self.effect == Effect::Updated {
            let (old, new) = (row.old.unwrap_or_else(blank), row.new.unwrap_or_else(blank));
            record.extend(old.into_iter().zip(new).flat_map(|(old, new)| [old, new]));
            let changed = row.changed.iter().filter_map(|i| self.names.get(*i)).map(String::as_str);
            record.push(Value::String(changed.collect::<Vec<_>>().join(", ")));
        } else {
            record.extend(row.old.or(row.new).unwrap_or_else(blank));
        }
        record.push(row.last_version.map_or(Value::Null, |v| Value::Int(v.try_into().unwrap_or(i64::MAX))));
        record
    }

    fn batch(&self, records: &[Vec<Value>]) -> Result<RecordBatch> {
        let layout = TableLayout::new(self.schema.clone(), Vec::new(), false)?;
        let columns = self.schema.fields.iter().enumerate().map(|(i, field)| {
            let values: Vec<Value> = records
                .iter()
                .map(|record| match &record[i] {
                    Value::Nested(json) => Value::String(json.clone()),
                    value => value.clone(),
                })
                .collect();
            array_of(&values, &arrow_type(&field.data_type))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        RecordBatch::try_new(layout.arrow_schema(), columns)
            .context(ErrorKind::Internal, || "exported rows do not line up with their columns".into())
    }
}

/// A name that no column has.
fn free(fields: &[Field], name: &str) -> String {
    let mut name = name.to_owned();
    while fields.iter().any(|f| f.name.eq_ignore_ascii_case(&name)) {
        name.insert(0, '_');
    }
    name
}
