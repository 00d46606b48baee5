//! What is known about a key, and what it means.

use serde::{Serialize, Serializer};

use crate::engine::local::near_keys::NearKeys;
use crate::plan::near_keys::Rule;
use crate::table::Value;
use crate::table::number::grouped;

/// Everything that `partwise keys` says. Counts are rows unless a name says
/// otherwise; `None` means that it was not looked at.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeyReport {
    pub table: String,
    pub version: u64,
    pub source: Option<String>,
    /// As the table writes the names; empty where no key is known.
    pub key: Vec<String>,
    pub filter: Option<String>,
    pub table_keys: Option<SideKeys>,
    pub source_keys: Option<SideKeys>,
    /// Keys of the source that the table has; `None` where the types differ so
    /// that this was not counted.
    pub matched: Option<u64>,
    pub types: Vec<TypeDifference>,
    pub floats: Vec<FloatKey>,
    /// `None` where the key holds no text.
    pub near: Option<Near>,
    /// `None` where no key can be in two partitions.
    pub elsewhere: Option<Elsewhere>,
    pub candidates: Vec<Candidate>,
    /// What all that means, one sentence each; empty where the key is sound.
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// `duplicate-keys`, `null-keys`, `key-types`, `near-duplicates`,
    /// `float-keys`, `keys-elsewhere`
    pub name: &'static str,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SideKeys {
    pub rows: u64,
    pub distinct: u64,
    /// Otherwise the numbers of keys are estimates from one key of `one_of`.
    pub exact: bool,
    pub one_of: u64,
    pub duplicate_keys: u64,
    /// Rows beyond the first of each key.
    pub duplicate_rows: u64,
    /// Rows with a NULL in the key, and the same by column.
    pub null_rows: u64,
    pub nulls: Vec<(String, u64)>,
    /// Names of the values of `groups`' rows.
    pub columns: Vec<String>,
    /// The first repeated keys.
    pub groups: Vec<Group>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    #[serde(serialize_with = "json_values")]
    pub key: Vec<Value>,
    pub rows: u64,
    pub shown: Vec<GroupRow>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupRow {
    pub partition: Option<String>,
    /// The row's number in its file, from 0.
    pub position: u64,
    #[serde(serialize_with = "json_values")]
    pub values: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TypeDifference {
    pub column: String,
    pub table: String,
    pub source: String,
    /// Otherwise every value of the source has one of the table's type.
    pub refused: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FloatKey {
    pub side: String,
    pub column: String,
    #[serde(rename = "type")]
    pub data_type: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Near {
    /// Groups of keys that are the same but for the rules below.
    pub groups: u64,
    pub exact: bool,
    pub by_rules: Vec<NearRules>,
    pub examples: Vec<NearExample>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NearRules {
    pub rules: Vec<Rule>,
    pub groups: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NearExample {
    pub rules: Vec<Rule>,
    pub members: Vec<NearMember>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NearMember {
    #[serde(serialize_with = "json_values")]
    pub key: Vec<Value>,
    pub table_rows: u64,
    pub source_rows: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Elsewhere {
    /// Keys of the table that occur in more than one partition.
    pub keys: u64,
    pub rows: u64,
    pub exact: bool,
    pub examples: Vec<ElsewhereKey>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ElsewhereKey {
    #[serde(serialize_with = "json_values")]
    pub key: Vec<Value>,
    pub rows: u64,
    pub partitions: Vec<String>,
}

/// Columns that could be the key of a side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Candidate {
    pub side: String,
    pub columns: Vec<String>,
    pub unique: bool,
    pub rows: u64,
    pub distinct: u64,
    /// Otherwise `distinct` is an estimate.
    pub exact: bool,
    pub null_rows: u64,
}

fn json_values<S: Serializer>(values: &[Value], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(Value::to_json))
}

impl Near {
    pub(super) fn of(found: &NearKeys) -> Near {
        let side = |rows: &[u64], at: usize| rows.get(at).copied().unwrap_or(0);
        let examples = found.examples.iter().map(|group| NearExample {
            rules: group.rules.clone(),
            members: group
                .members
                .iter()
                .map(|m| NearMember { key: m.key.clone(), table_rows: side(&m.rows, 0), source_rows: side(&m.rows, 1) })
                .collect(),
        });
        Near {
            groups: found.groups,
            exact: found.one_of <= 1,
            by_rules: found.by_rules.iter().map(|(rules, n)| NearRules { rules: rules.clone(), groups: *n }).collect(),
            examples: examples.collect(),
        }
    }
}

impl KeyReport {
    pub(super) fn new(table: String, version: u64, source: Option<String>) -> KeyReport {
        KeyReport {
            table,
            version,
            source,
            key: Vec::new(),
            filter: None,
            table_keys: None,
            source_keys: None,
            matched: None,
            types: Vec::new(),
            floats: Vec::new(),
            near: None,
            elsewhere: None,
            candidates: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// Draws the conclusions from what was counted.
    pub(super) fn conclude(&mut self) {
        let mut found = Vec::new();
        let mut say = |name, message| found.push(Finding { name, message });
        for difference in self.types.iter().filter(|t| t.refused) {
            say(
                "key-types",
                format!(
                    "{}: the table has {}, the source {}; a MERGE or an overwrite by this key is refused.",
                    difference.column, difference.table, difference.source
                ),
            );
        }
        let sides = [("table", &self.table_keys), ("source", &self.source_keys)];
        for (side, keys) in sides.iter().filter_map(|(side, keys)| Some((*side, keys.as_ref()?))) {
            if keys.duplicate_keys > 0 {
                let about = if keys.exact { "" } else { "about " };
                say(
                    "duplicate-keys",
                    format!(
                        "{about}{} {} more than once in the {side} ({} rows too many){}",
                        grouped(keys.duplicate_keys),
                        if keys.duplicate_keys == 1 { "key occurs" } else { "keys occur" },
                        grouped(keys.duplicate_rows),
                        match side {
                            "source" =>
                                ": a MERGE is refused where one matches a row, and inserts each where none does.",
                            _ => ": a MERGE updates every one of them.",
                        }
                    ),
                );
            }
            if keys.null_rows > 0 {
                say("null-keys", null_effect(side, keys));
            }
        }
        for float in &self.floats {
            say(
                "float-keys",
                format!(
                    "{} of the {} is a {}: two computations of the same number may differ in the last bit and not match.",
                    float.column, float.side, float.data_type
                ),
            );
        }
        if let Some(near) = self.near.as_ref().filter(|near| near.groups > 0) {
            let kinds: Vec<String> = near
                .by_rules
                .iter()
                .map(|kind| format!("{}: {}", rules_text(&kind.rules), grouped(kind.groups)))
                .collect();
            say(
                "near-duplicates",
                format!(
                    "{}{} of keys differ in nothing but {}.",
                    if near.exact { "" } else { "about " },
                    if near.groups == 1 { "1 group".into() } else { format!("{} groups", grouped(near.groups)) },
                    kinds.join(", ")
                ),
            );
        }
        if let Some(elsewhere) = self.elsewhere.as_ref().filter(|e| e.keys > 0) {
            say(
                "keys-elsewhere",
                format!(
                    "{}{} of the table in several partitions ({} rows): an overwrite of one leaves the others as they are.",
                    if elsewhere.exact { "" } else { "about " },
                    if elsewhere.keys == 1 {
                        "1 key is".into()
                    } else {
                        format!("{} keys are", grouped(elsewhere.keys))
                    },
                    grouped(elsewhere.rows)
                ),
            );
        }
        self.findings = found;
    }
}

/// What a NULL in the key does on each run.
fn null_effect(side: &str, keys: &SideKeys) -> String {
    let columns: Vec<String> =
        keys.nulls.iter().map(|(column, rows)| format!("{column}: {}", grouped(*rows))).collect();
    let rows = if keys.null_rows == 1 { "1 row".into() } else { format!("{} rows", grouped(keys.null_rows)) };
    let have = if keys.null_rows == 1 { "has" } else { "have" };
    let effect = match side {
        "source" => format!(
            "a MERGE matches none of them and inserts {rows} again on every run; with --null-safe-keys, and in an overwrite, NULL matches NULL"
        ),
        _ => "a MERGE never updates or deletes them; with --null-safe-keys, and in an overwrite, NULL matches NULL"
            .into(),
    };
    format!("{rows} of the {side} {have} NULL in the key ({}): {effect}.", columns.join(", "))
}

/// `blanks around it and leading zeros`
pub fn rules_text(rules: &[Rule]) -> String {
    let words: Vec<&str> = rules.iter().map(|rule| rule.words()).collect();
    words.join(" and ")
}
