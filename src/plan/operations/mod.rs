//! Operation columns of extracts and change feeds: recognised by the column's
//! name and by every value that occurs in it.
//!
//! A name alone proves nothing (`status`, `op` and `type` are also business
//! columns), so a proposal is only made where each value is understood. One
//! value that is not is named, and nothing is proposed.

mod parse;

pub use parse::parse;

use serde::{Deserialize, Serialize};

use super::view::{OperationColumn, RowMeaning, SourceView};
use crate::table::{DataType, Field, PrimitiveType, Value};

/// More distinct values than this are no codes.
pub const MOST_CODES: usize = 1_000;

/// What a candidate column says, with how many rows say it.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    pub value: Value,
    /// The value of the companion column (see [`companion`]), where there is one.
    pub companion: Option<Value>,
    pub rows: u64,
}

/// A way to read a source's operation column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationProposal {
    /// The column as it was delivered.
    pub delivered: String,
    pub operations: OperationColumn,
    /// (name, SQL over the alias `s`): where the delivered column has no codes
    /// but a time of deletion, a column of codes is computed from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<(String, String)>,
    pub rows: MeaningRows,
    /// One sentence.
    pub because: String,
    /// The column marks deleted rows in something that may be a full extract;
    /// such a column is no sign of a change feed by itself.
    pub soft_delete: bool,
}

/// Source rows by what they mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MeaningRows {
    pub upserts: u64,
    pub deletes: u64,
    pub before_images: u64,
}

impl MeaningRows {
    fn add(&mut self, meaning: RowMeaning, rows: u64) {
        match meaning {
            RowMeaning::Upsert => self.upserts += rows,
            RowMeaning::Delete => self.deletes += rows,
            RowMeaning::BeforeImage => self.before_images += rows,
        }
    }
}

impl OperationProposal {
    /// Codes that a person gave; how many rows have which was not counted.
    pub fn stated(operations: &OperationColumn) -> OperationProposal {
        OperationProposal {
            delivered: operations.column.clone(),
            operations: operations.clone(),
            columns: Vec::new(),
            rows: MeaningRows::default(),
            because: format!("{} was named as the operation column.", operations.column),
            soft_delete: false,
        }
    }

    /// Adds what was proposed to a view; computed columns of the same name are kept.
    pub fn apply(&self, view: &mut SourceView) {
        for column in &self.columns {
            if !view.columns.iter().any(|(name, _)| *name == column.0) {
                view.columns.push(column.clone());
            }
        }
        view.operations = Some(self.operations.clone());
    }
}

/// What came of looking at a candidate.
#[derive(Debug, Clone, PartialEq)]
pub enum Recognised {
    Proposal(OperationProposal),
    /// It looks like an operation column, but this is not understood.
    NotUnderstood {
        /// One sentence that names the value.
        because: String,
    },
}

/// The families of columns, by who writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// SAP BW record mode.
    RecordMode,
    /// SAP ODP change mode.
    ChangeMode,
    /// Delta's change data feed.
    ChangeType,
    /// SQL Server change data capture, numbers.
    SqlServer,
    /// One letter or one word of a general capture tool.
    General,
    /// A mark of deletion: a boolean, or a text or number that stands for one.
    Flag,
    /// The time of deletion; NULL where the row lives.
    DeletedAt,
    /// Snowflake streams.
    Stream,
}

impl Family {
    fn words(self) -> &'static str {
        match self {
            Family::RecordMode => "an SAP record mode",
            Family::ChangeMode => "an SAP ODP change mode",
            Family::ChangeType => "the change type of a change data feed",
            Family::SqlServer => "the operation of SQL Server's change data capture",
            Family::General => "an operation column",
            Family::Flag => "a mark of deleted rows",
            Family::DeletedAt => "the time at which a row was deleted",
            Family::Stream => "the action of a Snowflake stream",
        }
    }
}

/// Names without case; the first column of a pair is matched whole.
const NAMES: &[(&str, Family)] = &[
    ("0recordmode", Family::RecordMode),
    ("recordmode", Family::RecordMode),
    ("record_mode", Family::RecordMode),
    ("rocancel", Family::RecordMode),
    ("odq_changemode", Family::ChangeMode),
    ("_change_type", Family::ChangeType),
    ("__$operation", Family::SqlServer),
    ("_metadata_change_type", Family::General),
    ("metadata$action", Family::Stream),
    ("op", Family::General),
    ("_op", Family::General),
    ("__op", Family::General),
    ("op_type", Family::General),
    ("optype", Family::General),
    ("opcode", Family::General),
    ("operation", Family::General),
    ("_operation", Family::General),
    ("__operation", Family::General),
    ("operation_type", Family::General),
    ("cdc_operation", Family::General),
    ("cdc_operation_type", Family::General),
    ("_cdc_operation", Family::General),
    ("cdc_op", Family::General),
    ("_cdc_op", Family::General),
    ("change_type", Family::General),
    ("change_oper", Family::General),
    ("header__change_oper", Family::General),
    ("header__operation", Family::General),
    ("q_h_operation", Family::General),
    ("iuut_operat_flag", Family::General),
    ("operation_flag", Family::General),
    ("dm_operation_type", Family::General),
    ("_hoodie_operation", Family::General),
    ("row_kind", Family::General),
    ("rowkind", Family::General),
    ("dml_type", Family::General),
    ("_fivetran_deleted", Family::Flag),
    ("is_deleted", Family::Flag),
    ("isdeleted", Family::Flag),
    ("_is_deleted", Family::Flag),
    ("__deleted", Family::Flag),
    ("_deleted", Family::Flag),
    ("_hoodie_is_deleted", Family::Flag),
    ("__hevo__marked_deleted", Family::Flag),
    ("delete_flag", Family::Flag),
    ("deleted_flag", Family::Flag),
    ("_ab_cdc_deleted_at", Family::DeletedAt),
    ("_sdc_deleted_at", Family::DeletedAt),
];

fn family(name: &str) -> Option<Family> {
    let lower = name.to_lowercase();
    NAMES.iter().find(|(known, _)| *known == lower).map(|(_, family)| *family)
}

/// Whether a column's name and type are those of an operation column.
pub fn is_candidate(field: &Field) -> bool {
    let DataType::Primitive(data_type) = &field.data_type else { return false };
    use PrimitiveType::*;
    match family(&field.name) {
        None => false,
        Some(Family::DeletedAt) => matches!(data_type, Timestamp | TimestampNtz | Date | String),
        Some(Family::SqlServer) => matches!(data_type, Byte | Short | Integer | Long | String),
        Some(Family::Flag) => matches!(data_type, Boolean | Byte | Short | Integer | Long | String),
        Some(_) => *data_type == String,
    }
}

/// The column without which the codes of `name` cannot be read, if the source has it.
pub fn companion<'a>(name: &str, mut others: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = match family(name)? {
        Family::ChangeMode => "odq_entitycntr",
        Family::Stream => "metadata$isupdate",
        _ => return None,
    };
    others.find(|other| other.to_lowercase() == wanted)
}

/// Whether only NULL or not is to be counted: the values themselves are no codes.
pub fn only_nullness(name: &str) -> bool {
    family(name) == Some(Family::DeletedAt)
}

/// Reads a candidate. `observed` holds every value that occurs, each once per
/// companion value; `complete` says that there were not more than
/// [`MOST_CODES`] of them. `None` where the column is no candidate or has no rows.
pub fn recognise(field: &Field, observed: &[Observed], complete: bool) -> Option<Recognised> {
    if !is_candidate(field) || observed.is_empty() {
        return None;
    }
    let family = family(&field.name)?;
    if family == Family::DeletedAt {
        return Some(Recognised::Proposal(deleted_at(&field.name, observed)));
    }
    if !complete {
        let because = format!("{} has more than {MOST_CODES} different values: these are no codes.", field.name);
        return Some(Recognised::NotUnderstood { because });
    }
    // A name such as `operation` over nothing but NULL says nothing.
    if observed.iter().all(|seen| seen.value.is_null()) && family != Family::RecordMode {
        return Some(Recognised::NotUnderstood { because: format!("{} is NULL in every row.", field.name) });
    }
    let mut codes: Vec<(Option<String>, RowMeaning)> = Vec::new();
    let mut rows = MeaningRows::default();
    for seen in observed {
        let text = (!seen.value.is_null()).then(|| seen.value.plain());
        let meaning = match meaning(family, text.as_deref(), seen.companion.as_ref()) {
            Ok(meaning) => meaning,
            Err(why) => {
                return Some(Recognised::NotUnderstood {
                    because: format!("{} looks like {}, but {why}.", field.name, family.words()),
                });
            }
        };
        rows.add(meaning, seen.rows);
        match codes.iter().find(|(code, _)| *code == text) {
            Some((_, known)) if *known == meaning => {}
            Some(_) => {
                return Some(Recognised::NotUnderstood {
                    because: format!(
                        "{} is {} only together with its companion column: {} means two things.",
                        field.name,
                        family.words(),
                        shown(text.as_deref())
                    ),
                });
            }
            None => codes.push((text, meaning)),
        }
    }
    codes.sort_by(|a, b| a.0.cmp(&b.0));
    let said: Vec<String> =
        codes.iter().map(|(code, meaning)| format!("{} {}", shown(code.as_deref()), meaning.words())).collect();
    let because = format!("{} is {}: {}.", field.name, family.words(), said.join(", "));
    Some(Recognised::Proposal(OperationProposal {
        delivered: field.name.clone(),
        operations: OperationColumn { column: field.name.clone(), codes },
        columns: Vec::new(),
        rows,
        because,
        soft_delete: family == Family::Flag,
    }))
}

/// A time of deletion has too many values to be codes: codes are computed.
fn deleted_at(name: &str, observed: &[Observed]) -> OperationProposal {
    let mut rows = MeaningRows::default();
    for seen in observed {
        rows.add(if seen.value.is_null() { RowMeaning::Upsert } else { RowMeaning::Delete }, seen.rows);
    }
    let computed = format!("{name}_operation");
    let quoted = name.replace('`', "``");
    let all = [("upsert", RowMeaning::Upsert, rows.upserts), ("delete", RowMeaning::Delete, rows.deletes)];
    let codes = all.iter().filter(|(_, _, rows)| *rows > 0).map(|(code, m, _)| (Some((*code).to_owned()), *m));
    OperationProposal {
        delivered: name.to_owned(),
        operations: OperationColumn { column: computed.clone(), codes: codes.collect() },
        columns: vec![(computed, format!("CASE WHEN s.`{quoted}` IS NULL THEN 'upsert' ELSE 'delete' END"))],
        rows,
        because: format!("{name} is {}: NULL is a row that lives.", Family::DeletedAt.words()),
        soft_delete: true,
    }
}

fn shown(code: Option<&str>) -> String {
    code.map_or("NULL".into(), |text| format!("'{}'", crate::table::value::escape_controls(text)))
}

/// What one code means, or why that is not known.
fn meaning(family: Family, code: Option<&str>, companion: Option<&Value>) -> Result<RowMeaning, String> {
    use RowMeaning::{BeforeImage, Delete, Upsert};
    let unknown = || format!("{} is not known", shown(code));
    let trimmed = code.map(str::trim);
    match family {
        Family::RecordMode => Ok(match trimmed {
            None | Some("") | Some("N") => Upsert,
            Some("X") => BeforeImage,
            // A reverse image takes the row back as a whole.
            Some("D" | "R") => Delete,
            Some("A") => return Err("'A' is an additive image: it carries differences, not the row as it is".into()),
            Some(_) => return Err(unknown()),
        }),
        Family::ChangeMode => {
            let count = companion.map(Value::plain);
            match (trimmed, count.as_deref()) {
                // With an entity counter of −1 an update is the old image.
                (Some("U" | ""), Some("-1")) => Ok(BeforeImage),
                (Some("C" | "U" | "") | None, _) => Ok(Upsert),
                (Some("D"), _) => Ok(Delete),
                _ => Err(unknown()),
            }
        }
        Family::ChangeType => Ok(match trimmed {
            Some("insert" | "update_postimage") => Upsert,
            Some("update_preimage") => BeforeImage,
            Some("delete") => Delete,
            _ => return Err(unknown()),
        }),
        Family::SqlServer => Ok(match trimmed {
            Some("1") => Delete,
            Some("2" | "4" | "5") => Upsert,
            Some("3") => BeforeImage,
            _ => return Err(unknown()),
        }),
        Family::Stream => {
            let update = matches!(companion, Some(Value::Boolean(true)));
            match trimmed.map(str::to_ascii_uppercase).as_deref() {
                Some("INSERT") => Ok(Upsert),
                Some("DELETE") if update => Ok(BeforeImage),
                Some("DELETE") => Ok(Delete),
                _ => Err(unknown()),
            }
        }
        Family::Flag => Ok(match trimmed.map(str::to_ascii_lowercase).as_deref() {
            None | Some("" | "false" | "f" | "0" | "n" | "no") => Upsert,
            Some("true" | "t" | "1" | "y" | "yes" | "x" | "d") => Delete,
            _ => return Err(unknown()),
        }),
        Family::General => general(trimmed).ok_or_else(unknown),
        Family::DeletedAt => Ok(if code.is_some() { Delete } else { Upsert }),
    }
}

/// Letters and words of capture tools. A truncate (`t`) or a message (`m`)
/// speaks of no row, so it is not understood.
fn general(code: Option<&str>) -> Option<RowMeaning> {
    use RowMeaning::{BeforeImage, Delete, Upsert};
    let code = code?.to_ascii_lowercase().replace(['-', ' '], "_");
    Some(match code.as_str() {
        "c" | "r" | "i" | "u" | "l" | "+i" | "_i" | "+u" | "create" | "created" | "read" | "snapshot" | "refresh"
        | "insert" | "inserted" | "update" | "updated" | "upsert" | "merge" | "modify" | "update_insert"
        | "update_after" | "update_postimage" | "load" => Upsert,
        "d" | "_d" | "delete" | "deleted" | "remove" | "removed" => Delete,
        "b" | "_u" | "update_before" | "update_preimage" | "update_delete" | "before" | "beforeimage" => BeforeImage,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
