//! What was delivered, looked at through an operation column, a filter and an
//! order among the rows of one key.

use partwise::table::Value;

use super::{Expr, Pair};
use crate::support::Row;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    Upsert,
    Delete,
    BeforeImage,
}

/// Rows as they lie in the source, with the source's own columns.
#[derive(Debug, Clone, Default)]
pub struct Feed {
    pub rows: Vec<Row>,
    /// Per column of the table its place in the source's rows.
    pub columns: Vec<Option<usize>>,
    pub filter: Option<Expr>,
    /// (place, meaning of each value)
    pub operations: Option<(usize, Vec<(Value, Meaning)>)>,
    /// Place of the column that newer rows are told by.
    pub latest: Option<usize>,
}

/// A delivered row that says something.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivered {
    /// In the source's columns.
    pub cells: Row,
    /// In the table's columns.
    pub row: Row,
    pub deletion: bool,
}

#[derive(Debug, Default)]
pub struct Looked {
    /// The rows that the rule works with.
    pub rows: Vec<Delivered>,
    /// A newer row of their key came, or the same one once more.
    pub superseded: Vec<Delivered>,
    pub before_images: u64,
}

impl Feed {
    /// Rows in the columns of a table, as many as it has.
    pub fn plain(rows: &[Row], columns: usize) -> Feed {
        Feed { rows: rows.to_vec(), columns: (0..columns).map(Some).collect(), ..Feed::default() }
    }

    fn delivered(&self, cells: &Row, deletion: bool) -> Delivered {
        let row = self.columns.iter().map(|at| at.map_or(Value::Null, |at| cells[at].clone())).collect();
        Delivered { cells: cells.clone(), row, deletion }
    }

    pub fn look(&self, pairs: &[Pair]) -> Looked {
        let mut looked = Looked::default();
        for cells in &self.rows {
            if self.filter.as_ref().is_some_and(|filter| !filter.holds(Some(cells), None)) {
                continue;
            }
            let meaning = match &self.operations {
                None => Meaning::Upsert,
                Some((at, codes)) => {
                    codes.iter().find(|(code, _)| *code == cells[*at]).expect("a code of every value").1
                }
            };
            match meaning {
                Meaning::BeforeImage => looked.before_images += 1,
                meaning => looked.rows.push(self.delivered(cells, meaning == Meaning::Delete)),
            }
        }
        if let Some(latest) = self.latest
            && !pairs.is_empty()
        {
            let (mut kept, mut old): (Vec<Delivered>, Vec<Delivered>) = (Vec::new(), Vec::new());
            for row in &looked.rows {
                let same_key = |other: &&Delivered| pairs.iter().all(|p| other.cells[p.source] == row.cells[p.source]);
                let newest = looked.rows.iter().filter(same_key).map(|other| &other.cells[latest]).max();
                let again = kept.iter().any(|k| same_key(&k) && k.row == row.row && k.deletion == row.deletion);
                if newest != Some(&row.cells[latest]) || again {
                    old.push(row.clone());
                } else {
                    kept.push(row.clone());
                }
            }
            (looked.rows, looked.superseded) = (kept, old);
        }
        looked
    }
}
