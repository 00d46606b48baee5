//! Which output column of a query goes to which column of the table.

use super::query::Output;
use super::{PartitionPart, Statement, StatementKind};
use crate::error::{Error, ErrorKind, Result};

/// How an INSERT matches columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnOrder {
    /// `BY NAME`
    ByName,
    /// Spark's way where nothing is said: the nth column of the query goes to
    /// the nth of `columns`, or, where these are empty, to the nth of the
    /// table that `PARTITION (…)` gives no value.
    ByPosition { columns: Vec<String> },
}

impl Statement {
    /// The pairs (column of the table, column of the source's view) of an
    /// INSERT, in the query's order; partition columns with a value come last.
    /// `None` for a MERGE. `source` are the columns that the named source has,
    /// `table` those of the table, both in their order.
    ///
    /// # Errors
    /// `ColumnMissing` and `ColumnUnknown` where the numbers of columns differ
    /// or a name is not the table's; `Usage` where a column is given twice.
    pub fn column_pairs(&self, source: &[&str], table: &[&str]) -> Result<Option<Vec<(String, String)>>> {
        let (order, partition): (_, &[PartitionPart]) = match &self.kind {
            StatementKind::Merge { .. } => return Ok(None),
            StatementKind::Overwrite { order, partition, .. } => (order, partition),
            StatementKind::ReplaceWhere { order, .. } | StatementKind::Append { order } => (order, &[]),
        };
        let output = self.source.expanded(source);
        let fixed: Vec<&str> =
            partition.iter().filter(|part| part.value.is_some()).map(|part| part.column.as_str()).collect();
        let in_table = |name: &str| -> Result<String> {
            table.iter().find(|column| column.eq_ignore_ascii_case(name)).map(|c| (*c).to_owned()).ok_or_else(|| {
                Error::new(ErrorKind::ColumnUnknown, format!("the table has no column '{name}'"))
                    .hint(format!("Its columns are {}.", table.join(", ")))
            })
        };
        let mut pairs = Vec::new();
        match order {
            ColumnOrder::ByName => {
                for name in output {
                    pairs.push((in_table(&name)?, name));
                }
            }
            ColumnOrder::ByPosition { columns } => {
                let targets: Vec<String> = if columns.is_empty() {
                    self.positions(table, partition)
                } else {
                    columns.iter().map(|column| in_table(column)).collect::<Result<_>>()?
                };
                if targets.len() != output.len() {
                    let kind =
                        if output.len() < targets.len() { ErrorKind::ColumnMissing } else { ErrorKind::ColumnUnknown };
                    let said = format!("the query gives {} columns for {}", output.len(), targets.len());
                    return Err(Error::new(kind, said).hint(format!(
                        "By position: ({}) to ({}). INSERT … BY NAME matches names.",
                        output.join(", "),
                        targets.join(", ")
                    )));
                }
                pairs.extend(targets.into_iter().zip(output));
            }
        }
        for column in fixed {
            pairs.push((in_table(column)?, column.to_owned()));
        }
        for (at, (column, _)) in pairs.iter().enumerate() {
            if pairs[..at].iter().any(|(before, _)| before == column) {
                return Err(Error::new(ErrorKind::Usage, format!("the column '{column}' is given twice")));
            }
        }
        Ok(Some(pairs))
    }

    /// The table's columns in the order that Spark fills them: those of
    /// `PARTITION (…)` without a value are the last.
    fn positions(&self, table: &[&str], partition: &[PartitionPart]) -> Vec<String> {
        let part_of = |name: &str| partition.iter().find(|part| part.column.eq_ignore_ascii_case(name));
        let plain = table.iter().filter(|name| part_of(name).is_none()).map(|name| (*name).to_owned());
        let open = partition.iter().filter(|part| part.value.is_none()).map(|part| part.column.clone());
        plain.chain(open).collect()
    }
}

impl super::SourceQuery {
    /// The names of the columns that the query gives, where its source has `source`.
    pub fn expanded(&self, source: &[&str]) -> Vec<String> {
        let mut names = Vec::new();
        for output in &self.output {
            match output {
                Output::Column(name) => names.push(name.clone()),
                Output::All { except } => names.extend(
                    source
                        .iter()
                        .filter(|name| !except.iter().any(|other| other.eq_ignore_ascii_case(name)))
                        .map(|name| (*name).to_owned()),
                ),
            }
        }
        names
    }
}
