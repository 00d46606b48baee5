//! Bytes for the temporary files: little-endian lists with their lengths
//! before them, and values. Written and read by one process only.

use crate::error::{Error, ErrorKind, Result};
use crate::table::Value;

/// Fixed-width numbers.
pub trait Wire: Sized {
    fn put(&self, out: &mut Vec<u8>);
}

pub trait Number: Sized + Copy {
    const WIDTH: usize;
    fn write(self, out: &mut Vec<u8>);
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! numbers {
    ($($t:ty),*) => {$(
        impl Number for $t {
            const WIDTH: usize = size_of::<$t>();

            fn write(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn read(bytes: &[u8]) -> Self {
                let mut array = [0u8; size_of::<$t>()];
                array.copy_from_slice(bytes);
                <$t>::from_le_bytes(array)
            }
        }
    )*};
}

numbers!(u8, u32, u64, u128, i64, i128, f64);

impl<T: Number> Wire for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).write(out);
        self.iter().for_each(|number| number.write(out));
    }
}

/// Reads what was written, in its order.
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn cut(&mut self, length: usize) -> Result<&'a [u8]> {
        let (head, tail) = self.bytes.split_at_checked(length).ok_or_else(broken)?;
        self.bytes = tail;
        Ok(head)
    }

    pub fn number<T: Number>(&mut self) -> Result<T> {
        Ok(T::read(self.cut(T::WIDTH)?))
    }

    pub fn list<T: Number>(&mut self) -> Result<Vec<T>> {
        let count = usize::try_from(self.number::<u64>()?).map_err(|_| broken())?;
        let bytes = self.cut(count.checked_mul(T::WIDTH).ok_or_else(broken)?)?;
        Ok(bytes.chunks_exact(T::WIDTH).map(T::read).collect())
    }

    fn sized(&mut self) -> Result<&'a [u8]> {
        let length = usize::try_from(self.number::<u64>()?).map_err(|_| broken())?;
        self.cut(length)
    }

    pub fn value(&mut self) -> Result<Value> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| broken());
        Ok(match self.number::<u8>()? {
            0 => Value::Null,
            1 => Value::Boolean(self.number::<u8>()? != 0),
            2 => Value::Int(self.number()?),
            3 => Value::Float(self.number::<f64>()? as f32),
            4 => Value::Double(self.number()?),
            5 => Value::Decimal { unscaled: self.number()?, scale: self.number()? },
            6 => Value::String(text(self.sized()?)?),
            7 => Value::Binary(self.sized()?.to_vec()),
            8 => Value::Date(i32::try_from(self.number::<i64>()?).map_err(|_| broken())?),
            9 => Value::Timestamp(self.number()?),
            10 => Value::TimestampNtz(self.number()?),
            11 => Value::Nested(text(self.sized()?)?),
            _ => return Err(broken()),
        })
    }
}

pub fn put_value(value: &Value, out: &mut Vec<u8>) {
    let sized = |tag: u8, bytes: &[u8], out: &mut Vec<u8>| {
        tag.write(out);
        (bytes.len() as u64).write(out);
        out.extend_from_slice(bytes);
    };
    match value {
        Value::Null => 0u8.write(out),
        Value::Boolean(b) => {
            1u8.write(out);
            u8::from(*b).write(out);
        }
        Value::Int(i) => {
            2u8.write(out);
            i.write(out);
        }
        Value::Float(x) => {
            3u8.write(out);
            f64::from(*x).write(out);
        }
        Value::Double(x) => {
            4u8.write(out);
            x.write(out);
        }
        Value::Decimal { unscaled, scale } => {
            5u8.write(out);
            unscaled.write(out);
            scale.write(out);
        }
        Value::String(s) => sized(6, s.as_bytes(), out),
        Value::Binary(bytes) => sized(7, bytes, out),
        Value::Date(days) => {
            8u8.write(out);
            i64::from(*days).write(out);
        }
        Value::Timestamp(us) => {
            9u8.write(out);
            us.write(out);
        }
        Value::TimestampNtz(us) => {
            10u8.write(out);
            us.write(out);
        }
        Value::Nested(text) => sized(11, text.as_bytes(), out),
    }
}

/// What a temporary file gives back is not what was written to it.
pub(super) fn broken() -> Error {
    Error::new(ErrorKind::Internal, "a temporary file does not hold what was written to it")
        .hint("Is the disk damaged? Nothing was written to the table.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_comes_back() {
        let values = [
            Value::Null,
            Value::Boolean(true),
            Value::Int(i64::MIN),
            Value::Float(1.5),
            Value::Double(f64::NAN),
            Value::Decimal { unscaled: -12, scale: 3 },
            Value::String("é\0".into()),
            Value::Binary(vec![0, 255]),
            Value::Date(-1),
            Value::Timestamp(5),
            Value::TimestampNtz(6),
            Value::Nested("{}".into()),
        ];
        let mut bytes = Vec::new();
        values.iter().for_each(|v| put_value(v, &mut bytes));
        let mut reader = Reader::new(&bytes);
        for value in &values {
            assert_eq!(reader.value().unwrap(), *value);
        }
        assert!(reader.is_empty() && reader.value().is_err());
    }
}
