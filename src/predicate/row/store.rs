//! Storing a value in a column of the table.

use super::Bound;
use super::bind::short;
use super::coerce::Type;
use super::typed::{Kind, Typed};
use crate::error::{Error, ErrorKind, Result};
use crate::table::Value;
use crate::table::schema::{Field, PrimitiveType};

enum Fit {
    Yes,
    /// The types go together in Spark, but something would be lost silently.
    Lossy,
    No,
}

impl Bound {
    /// The expression as a value of a column: of exactly its type, decimals at
    /// its scale. What may not fit a narrower type is checked row by row;
    /// computed decimals are rounded half up, as Spark does.
    ///
    /// # Errors
    /// `LossyType` where something would be lost without a word, `Usage` where
    /// the types do not go together.
    pub fn assign_to(self, target: &Field) -> Result<Bound> {
        let to = Type::of(&target.data_type);
        let Bound { node, text, .. } = self;
        if node.t == to {
            return Ok(Bound::new(node, text));
        }
        let is_column = matches!(node.kind, Kind::Column(..));
        let refused = |kind, said: &str| {
            let said = format!("`{}` is a {} and {said} column {}, a {to}", short(&text), node.t, target.name);
            Err(Error::new(kind, said).hint(format!("Say it with CAST(… AS {to}) where it is meant.")))
        };
        match (&node.t, &to) {
            (Type::Void, _) => return Ok(Bound::new(Typed::literal(Value::Null, to), text)),
            (Type::Plain(from), Type::Plain(plain)) => match fit(from, plain, is_column) {
                Fit::Yes => {}
                Fit::Lossy => return refused(ErrorKind::LossyType, "would lose something in"),
                Fit::No => return refused(ErrorKind::Usage, "cannot be stored in"),
            },
            _ => return refused(ErrorKind::Usage, "cannot be stored in"),
        }
        let place = format!("{} = {text}", target.name);
        Ok(Bound::new(node.into_type(&to, &place), text))
    }
}

fn fit(from: &PrimitiveType, to: &PrimitiveType, is_column: bool) -> Fit {
    use super::cast::is_whole;
    use PrimitiveType::{Binary, Date, Decimal, Double, Float, String, Timestamp, TimestampNtz};
    match (from, to) {
        (Binary, _) | (_, Binary) => Fit::No,
        (_, String) => Fit::Yes,
        (Date, Timestamp | TimestampNtz) | (Timestamp, TimestampNtz) | (TimestampNtz, Timestamp) => Fit::Yes,
        (Timestamp | TimestampNtz, Date) => Fit::Lossy,
        (from, to) if is_whole(from) && super::cast::is_number(to) => Fit::Yes,
        (Decimal { scale: own, .. }, Decimal { scale, .. }) if own > scale && is_column => Fit::Lossy,
        (Decimal { .. }, Decimal { .. } | Float | Double) | (Float, Double) => Fit::Yes,
        (from, to) if super::cast::is_number(from) && super::cast::is_number(to) => Fit::Lossy,
        _ => Fit::No,
    }
}
