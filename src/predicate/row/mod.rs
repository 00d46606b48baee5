//! Expressions over a delivered row `s` and a table's row `t`: conditions and
//! values of MERGE clauses, with the meaning that Spark 4 gives them (ANSI mode
//! on, session zone UTC).
//!
//! A text is parsed once ([`RowExpr`]), bound to two schemas ([`Bound`]), then
//! evaluated row by row.

mod bind;
mod call;
mod calls;
mod cast;
mod coerce;
pub(crate) mod cursor;
mod dates;
mod evaluate;
mod functions;
pub(crate) mod lexer;
mod literals;
pub(crate) mod node;
mod numbers;
mod parse;
mod partition;
mod primary;
mod store;
#[cfg(test)]
mod tests;
mod text;
mod typed;

pub use node::Side;
pub(crate) use text::quoted_name;

use super::Comparison;
use crate::error::Result;
use crate::table::Value;
use crate::table::schema::{DataType, PrimitiveType, Schema};

use coerce::Type;
use cursor::{Aliases, Cursor};
use node::{Clock, Node};
use typed::Typed;

/// The schemas of the two rows.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    pub source: &'a Schema,
    pub target: &'a Schema,
}

impl Scope<'_> {
    fn schema(&self, side: Side) -> &Schema {
        match side {
            Side::Source => self.source,
            Side::Target => self.target,
        }
    }
}

/// A parsed expression.
#[derive(Debug, Clone, PartialEq)]
pub struct RowExpr {
    node: Node,
    text: String,
}

impl RowExpr {
    /// Parses an expression in Spark's dialect over the aliases `s` (or
    /// `source`) and `t` (or `target`).
    ///
    /// # Errors
    /// `Usage` with line and column, for what is not understood and for what
    /// is not supported, by its name.
    pub fn parse(text: &str) -> Result<RowExpr> {
        let names = |names: [&str; 2]| names.map(|name| vec![name.to_owned()]).to_vec();
        RowExpr::parse_with(text, Aliases { source: names(["s", "source"]), target: names(["t", "target"]) })
    }

    /// Parses an expression over the columns of one row, without aliases: what
    /// a table's constraints and generated columns are written in.
    ///
    /// # Errors
    /// As [`RowExpr::parse`]; also for fields of nested columns.
    pub fn parse_plain(text: &str) -> Result<RowExpr> {
        RowExpr::parse_with(text, Aliases::default())
    }

    fn parse_with(text: &str, aliases: Aliases) -> Result<RowExpr> {
        let mut cursor = Cursor::new(text, aliases)?;
        let node = cursor.expression()?;
        if !cursor.at_end() {
            return Err(cursor.unexpected("the end of the expression"));
        }
        Ok(RowExpr::from_node(node))
    }

    pub(crate) fn from_node(node: Node) -> RowExpr {
        RowExpr { text: node.to_string(), node }
    }

    /// The canonical text: Spark SQL over `s` and `t` that parses to the same expression.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The column that it is, with its side where an alias says it, if it is
    /// nothing more.
    pub fn as_column(&self) -> Option<(Option<Side>, &str)> {
        match &self.node {
            Node::Column { side, name } => Some((*side, name)),
            _ => None,
        }
    }

    /// The columns of one side that are named with their alias, each once.
    pub fn columns(&self, side: Side) -> Vec<String> {
        self.names(Some(side))
    }

    /// The columns that are named without an alias, each once.
    pub fn unqualified(&self) -> Vec<String> {
        self.names(None)
    }

    fn names(&self, wanted: Option<Side>) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        self.node.walk(&mut |node| {
            if let Node::Column { side, name } = node
                && *side == wanted
                && !names.contains(name)
            {
                names.push(name.clone());
            }
        });
        names
    }

    /// Whether it has a value of its own: no clock is read.
    pub fn is_pinned(&self) -> bool {
        let mut pinned = true;
        self.node.walk(&mut |node| pinned &= !matches!(node, Node::Clock(_)));
        pinned
    }

    /// The same expression with the clock stopped at `now`, in microseconds
    /// since 1970 in UTC.
    pub fn pin(&self, now_micros: i64) -> RowExpr {
        let mut node = self.node.clone();
        node.change(&mut |node| {
            *node = match node {
                Node::Clock(Clock::Date) => {
                    let day = i32::try_from(now_micros.div_euclid(dates::MICROS_PER_DAY)).unwrap_or(i32::MAX);
                    Node::Literal(Value::Date(day), Some(PrimitiveType::Date))
                }
                Node::Clock(Clock::Timestamp) => {
                    Node::Literal(Value::Timestamp(now_micros), Some(PrimitiveType::Timestamp))
                }
                _ => return,
            }
        });
        RowExpr::from_node(node)
    }

    /// The same expression with another one in the place of each column.
    ///
    /// # Errors
    /// Whatever `other` gives.
    pub fn replace_columns(&self, other: &dyn Fn(Option<Side>, &str) -> Result<RowExpr>) -> Result<RowExpr> {
        Ok(RowExpr::from_node(self.node.clone().map_columns(other)?))
    }

    /// `CAST(… AS type)`.
    pub fn cast_to(&self, to: &PrimitiveType) -> RowExpr {
        let value = Box::new(self.node.clone());
        RowExpr::from_node(Node::Cast { value, to: to.clone(), lenient: false })
    }

    /// `column <=> …` for a column of one side.
    pub fn equals_column(&self, side: Side, name: &str) -> RowExpr {
        let column = Node::Column { side: Some(side), name: name.to_owned() };
        RowExpr::from_node(Node::Compare(Comparison::NullSafeEq, column.boxed(), self.node.clone().boxed()))
    }

    /// A column of one side.
    pub fn of_column(side: Side, name: &str) -> RowExpr {
        RowExpr::from_node(Node::Column { side: Some(side), name: name.to_owned() })
    }

    pub fn null() -> RowExpr {
        RowExpr::from_node(Node::Literal(Value::Null, None))
    }

    /// The same expression with bare names of columns: for statements over one
    /// table, in which no alias can be given.
    pub fn unaliased(&self) -> RowExpr {
        let mut node = self.node.clone();
        node.change(&mut |node| {
            if let Node::Column { side, .. } = node {
                *side = None;
            }
        });
        RowExpr::from_node(node)
    }

    /// Finds the columns and gives every part its type. A name without an
    /// alias is a column of the one side that has it.
    ///
    /// # Errors
    /// `Usage` for unknown and ambiguous names and for types that do not go together.
    pub fn bind(&self, scope: &Scope<'_>) -> Result<Bound> {
        Ok(Bound::new(bind::bind(&self.node, scope)?, self.text.clone()))
    }
}

/// An expression over two schemas, with types.
#[derive(Debug, Clone)]
pub struct Bound {
    node: Typed,
    text: String,
    data_type: DataType,
    columns: Vec<(Side, usize)>,
}

impl Bound {
    fn new(node: Typed, text: String) -> Bound {
        let data_type = match &node.t {
            Type::Void => DataType::Primitive(PrimitiveType::String),
            Type::Plain(t) => DataType::Primitive(t.clone()),
            Type::Nested(t) => t.clone(),
        };
        let mut columns = Vec::new();
        node.collect_columns(&mut columns);
        Bound { node, text, data_type, columns }
    }

    /// The type of its values; `string` for a bare NULL, which has none.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// Whether it is NULL whatever the rows are, without a type.
    pub fn is_void(&self) -> bool {
        self.node.t == Type::Void
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The columns that it reads, each once, by their index in their schema.
    pub fn columns(&self) -> &[(Side, usize)] {
        &self.columns
    }

    /// The value for one pair of rows; `cell` gives a column's value.
    ///
    /// # Errors
    /// `Usage` where Spark fails too: an overflow, a division by zero, a text
    /// that cannot be cast. `Internal` for a clock that is not pinned.
    pub fn evaluate(&self, cell: &dyn Fn(Side, usize) -> Value) -> Result<Value> {
        evaluate::evaluate(&self.node, cell)
    }

    /// Whether the condition is true, not false and not unknown.
    ///
    /// # Errors
    /// As [`Bound::evaluate`]; `Usage` where it is no condition.
    pub fn holds(&self, cell: &dyn Fn(Side, usize) -> Value) -> Result<bool> {
        match self.evaluate(cell)? {
            Value::Boolean(b) => Ok(b),
            Value::Null => Ok(false),
            _ => Err(self.no_condition()),
        }
    }

    /// The same, if it is a condition.
    ///
    /// # Errors
    /// `Usage` where its type is not boolean.
    pub fn condition(self) -> Result<Bound> {
        match self.node.t {
            Type::Void | Type::Plain(PrimitiveType::Boolean) => Ok(self),
            _ => Err(self.no_condition()),
        }
    }

    fn no_condition(&self) -> crate::error::Error {
        let said = format!("`{}` is a {} and no condition", bind::short(&self.text), self.node.t);
        crate::error::Error::new(crate::error::ErrorKind::Usage, said).hint("Compare it: … = …, … IS NOT NULL.")
    }
}
