//! The one predicate language: parsed once, lowered wherever it is needed.

use crate::error::Result;
use crate::table::Value;

/// A parsed SQL predicate over a table's columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicate {
    text: String,
}

impl Predicate {
    /// # Errors
    /// `Usage`, with the place in the text.
    pub fn parse(_text: &str) -> Result<Predicate> {
        todo!()
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Column names that the predicate mentions.
    pub fn columns(&self) -> Vec<String> {
        todo!()
    }

    /// SQL's three-valued result for one row; `None` is unknown (NULL).
    /// `lookup` gives a column's value, or `None` for a column that does not exist.
    ///
    /// # Errors
    /// `Usage` for an unknown column or values that cannot be compared.
    pub fn evaluate(&self, _lookup: &dyn Fn(&str) -> Option<Value>) -> Result<Option<bool>> {
        todo!()
    }
}
