//! Which partitions a filter lets through: a condition on columns and figures,
//! or a word that a partition's text contains.

use crate::predicate::Predicate;
use crate::table::{PartitionStats, Value};

pub enum Wanted {
    All,
    Condition(Predicate),
    Word(String),
}

/// Figures that a condition may name beside the partition columns, as on the
/// command line. A partition column of such a name hides the figure.
const FIGURES: [&str; 6] = ["rows", "files", "bytes", "last_modified", "last_version", "deletion_vectors"];

impl Wanted {
    /// # Errors
    /// What is wrong with a condition, for the input line.
    pub fn new(filter: &str, columns: &[String]) -> Result<Wanted, String> {
        if filter.is_empty() {
            return Ok(Wanted::All);
        }
        if !is_condition(filter) {
            return Ok(Wanted::Word(filter.to_lowercase()));
        }
        let predicate = Predicate::parse(filter).map_err(|e| e.message)?;
        let known =
            |name: &str| columns.iter().map(String::as_str).chain(FIGURES).any(|c| c.eq_ignore_ascii_case(name));
        match predicate.columns().into_iter().find(|name| !known(name)) {
            Some(unknown) => {
                Err(format!("no column {unknown}; there are {}, {}", columns.join(", "), FIGURES.join(", ")))
            }
            None => Ok(Wanted::Condition(predicate)),
        }
    }

    /// # Errors
    /// Values that cannot be compared.
    pub fn keeps(&self, partition: &PartitionStats, columns: &[String]) -> Result<bool, String> {
        match self {
            Wanted::All => Ok(true),
            Wanted::Word(word) => Ok(partition.values.label(columns).to_lowercase().contains(word)),
            Wanted::Condition(predicate) => {
                let lookup = |name: &str| match columns.iter().position(|c| c.eq_ignore_ascii_case(name)) {
                    Some(at) => partition.values.0.get(at).cloned(),
                    None => figure(partition, name),
                };
                predicate.evaluate(&lookup).map(|holds| holds == Some(true)).map_err(|e| e.message)
            }
        }
    }
}

/// Whether the text has an operator; `2026` and `dt=2026-08` as a label do not
/// look the same, but a person who writes an operator wants it judged.
fn is_condition(text: &str) -> bool {
    let words = text.to_lowercase();
    text.contains(['=', '<', '>'])
        || [" is ", " in ", " in(", " like ", " between "].iter().any(|operator| words.contains(operator))
}

fn figure(partition: &PartitionStats, name: &str) -> Option<Value> {
    let number = |n: Option<u64>| n.and_then(|n| i64::try_from(n).ok()).map_or(Value::Null, Value::Int);
    Some(match name.to_lowercase().as_str() {
        "rows" => number(partition.rows.exact()),
        "files" => number(Some(partition.files)),
        "bytes" => number(Some(partition.bytes)),
        "last_modified" => partition.last_modified.map_or(Value::Null, |ms| Value::Timestamp(ms.saturating_mul(1000))),
        "last_version" => number(partition.last_version),
        "deletion_vectors" => number(Some(partition.deleted_rows)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::PartitionTuple;

    fn kept(filter: &str) -> Result<Vec<&'static str>, String> {
        let columns = ["dt".to_owned()];
        let wanted = Wanted::new(filter, &columns)?;
        let mut names = Vec::new();
        for (name, rows) in [("2026-08-01", Some(10)), ("2026-08-02", Some(200)), ("2026-09-01", None)] {
            let mut stats = PartitionStats::new(PartitionTuple(vec![Value::String(name.into())]));
            stats.rows.add(rows);
            if wanted.keeps(&stats, &columns)? {
                names.push(name);
            }
        }
        Ok(names)
    }

    #[test]
    fn words_and_conditions_both_filter() {
        assert_eq!(kept("08").unwrap(), ["2026-08-01", "2026-08-02"]);
        assert_eq!(kept("rows > 100").unwrap(), ["2026-08-02"]);
        assert_eq!(kept("dt >= '2026-08-02' AND rows IS NULL").unwrap(), ["2026-09-01"]);
        assert!(kept("amount > 1").unwrap_err().contains("amount"));
        assert!(kept("rows > ").is_err());
    }
}
