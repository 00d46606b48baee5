//! Rows that a plan needs and no other place keeps: a Parquet file in the
//! state folder, named by the plan.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use deltalake::arrow::array::RecordBatch;
use deltalake::logstore::object_store::{local::LocalFileSystem, path::Path as StorePath};

use super::context::Context;
use super::effect_rows::CHUNK;
use crate::error::{Context as _, Error, ErrorKind, Result};
use crate::lake::data::{DataWriter, OpenFile, TableLayout, array_of, arrow_type};
use crate::plan::{Plan, Spec};
use crate::table::{DataType, Field, PrimitiveType, Schema, Value};

/// Plans that nobody carried out are forgotten after so long.
const FORGOTTEN: Duration = Duration::from_secs(7 * 24 * 3600);

/// The folder, made if it is not there. Spools of forgotten plans go.
fn folder(context: &Context) -> Result<PathBuf> {
    let folder = context.state_dir.join("spool");
    let failed = || format!("the state folder {} cannot be written to", folder.display());
    std::fs::create_dir_all(&folder).context(ErrorKind::Storage, failed)?;
    let folder = std::fs::canonicalize(&folder).context(ErrorKind::Storage, failed)?;
    for entry in std::fs::read_dir(&folder).context(ErrorKind::Storage, failed)?.flatten() {
        let modified = entry.metadata().and_then(|meta| meta.modified()).ok();
        let age = modified.and_then(|time| SystemTime::now().duration_since(time).ok());
        if age.is_some_and(|age| age > FORGOTTEN) {
            delete(&entry.path());
        }
    }
    Ok(folder)
}

fn delete(path: &Path) {
    if let Err(error) = std::fs::remove_file(path)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(path = %path.display(), %error, "rows of a plan could not be removed");
    }
}

/// Rows on their way into a spool. Dropped before it is finished, nothing is
/// left of it.
pub struct Spool {
    file: Spooled,
    out: OpenFile,
    layout: TableLayout,
    rows: Vec<Vec<Value>>,
}

impl Spool {
    /// `columns`: the table's and one more, a text that says what each row
    /// means. `name`: the plan's id, perhaps with a part.
    ///
    /// # Errors
    /// `Storage`; `UnsupportedType` for nested columns.
    pub fn create(context: &Context, name: &str, columns: &Schema, meaning: &str) -> Result<Spool> {
        if let Some(nested) = columns.fields.iter().find(|f| f.data_type.is_nested()) {
            return Err(Error::new(
                ErrorKind::UnsupportedType,
                format!(
                    "the column {} is a {}, whose values cannot be taken back by rows yet",
                    nested.name, nested.data_type
                ),
            )
            .hint("`partwise plan restore` goes back by whole files."));
        }
        let plain = |name: &str, data_type: &DataType| Field {
            name: name.to_owned(),
            data_type: data_type.clone(),
            nullable: true,
            metadata: serde_json::Map::new(),
        };
        let mut fields: Vec<Field> = columns.fields.iter().map(|f| plain(&f.name, &f.data_type)).collect();
        fields.push(plain(meaning, &DataType::Primitive(PrimitiveType::String)));
        let folder = folder(context)?;
        let file = format!("{name}.parquet");
        let store = LocalFileSystem::new_with_prefix(&folder)
            .context(ErrorKind::Storage, || format!("the folder {} cannot be written to", folder.display()))?;
        let layout = TableLayout::new(Schema { fields }, Vec::new(), false)?;
        let writer = DataWriter::new(Arc::new(layout.clone()), 0);
        let out = writer.open(Arc::new(store), StorePath::from(file.as_str()))?;
        Ok(Spool { file: Spooled { path: folder.join(file), kept: false, rows: 0 }, out, layout, rows: Vec::new() })
    }

    /// One row, in the order of the columns.
    ///
    /// # Errors
    /// `Storage`.
    pub async fn push(&mut self, mut row: Vec<Value>, meaning: &str) -> Result<()> {
        row.push(Value::String(meaning.to_owned()));
        self.rows.push(row);
        self.file.rows += 1;
        if self.rows.len() >= CHUNK { self.flush().await } else { Ok(()) }
    }

    async fn flush(&mut self) -> Result<()> {
        let columns = self.layout.schema.fields.iter().enumerate().map(|(at, field)| {
            let values: Vec<Value> = self.rows.iter().map(|row| row[at].clone()).collect();
            array_of(&values, &arrow_type(&field.data_type))
        });
        let batch = RecordBatch::try_new(self.layout.arrow_schema(), columns.collect::<Result<_>>()?)
            .context(ErrorKind::Internal, || "rows of a plan do not line up with their columns".into())?;
        self.rows.clear();
        self.out.write(&batch).await
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// `Storage`.
    pub async fn finish(mut self) -> Result<Spooled> {
        self.flush().await?;
        self.out.close().await?;
        Ok(self.file)
    }
}

/// The file of a spool. Dropped, it is removed, unless it is kept.
pub struct Spooled {
    path: PathBuf,
    kept: bool,
    pub rows: u64,
}

impl Spooled {
    pub fn path(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    /// The plan needs it from now on; [`remove`] takes it away.
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Spooled {
    fn drop(&mut self) {
        if !self.kept {
            delete(&self.path);
        }
    }
}

/// The spool of a plan, if it has one.
fn of(plan: &Plan) -> Option<&Path> {
    match &plan.spec {
        Spec::UndoRows(undo) => Some(Path::new(&undo.rows.source)),
        _ => None,
    }
}

/// # Errors
/// `SourceChanged` where the plan needs a spool that is gone.
pub fn check(plan: &Plan) -> Result<()> {
    match of(plan) {
        Some(path) if !path.is_file() => Err(Error::new(
            ErrorKind::SourceChanged,
            format!("the rows that the plan puts back are no longer kept on this machine: {} is gone", path.display()),
        )
        .hint(format!("Nothing was written. Make the plan again: partwise undo {}", plan.table))),
        _ => Ok(()),
    }
}

/// Removes a plan's spool, once the plan was carried out or given up. Nothing
/// but a file of the plan's own name in the spool folder is ever removed.
pub fn remove(context: &Context, plan: &Plan) {
    let Some(path) = of(plan) else { return };
    let own =
        std::fs::canonicalize(context.state_dir.join("spool")).ok().map(|dir| dir.join(format!("{}.parquet", plan.id)));
    if own.as_deref() == Some(path) {
        delete(path);
    }
}
