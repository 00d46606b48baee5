//! Buckets of whole partitions: what is brought into memory at a time.

use deltalake::arrow::datatypes::{DataType, Schema};

use super::count::Counted;
use super::read::Reading;

/// More buckets would make their pieces on the disk too small.
const MOST: u64 = 1024;

/// Which bucket each partition is dealt into, by its number.
#[derive(Debug)]
pub struct Buckets {
    of: Vec<u32>,
    count: usize,
    /// Bytes of rows that may be in memory before a bucket is written in parts.
    pub limit: usize,
}

impl Buckets {
    /// Neighbouring partitions share a bucket; one that is larger than a bucket
    /// has its own.
    pub fn new(reading: &Reading, counted: &Counted) -> Buckets {
        let limit = (memory(reading) / 16).max(16 << 10);
        let bytes: u64 = reading.job.files.iter().map(|f| f.size).sum();
        let rows = counted.rows().max(1);
        let per_row = row_bytes(&reading.schema()).max(bytes / rows);
        let most = (limit as u64).max(rows.saturating_mul(per_row) / MOST);
        let (mut of, mut bucket, mut held) = (Vec::with_capacity(counted.tuples.len()), 0u32, 0u64);
        for tuple in &counted.tuples {
            let size = tuple.rows.saturating_mul(per_row);
            if held > 0 && held.saturating_add(size) > most {
                (bucket, held) = (bucket + 1, 0);
            }
            of.push(bucket);
            held = held.saturating_add(size);
        }
        Buckets { of, count: bucket as usize + 1, limit }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn of(&self, partition: u32) -> usize {
        self.of.get(partition as usize).map_or(0, |bucket| *bucket as usize)
    }
}

/// Bytes for rows in memory.
pub fn memory(reading: &Reading) -> usize {
    reading.job.spilling.limit.min(super::MOST_MEMORY)
}

/// A guess at what a row takes in memory.
fn row_bytes(schema: &Schema) -> u64 {
    fn of(t: &DataType) -> u64 {
        match t {
            DataType::Utf8 | DataType::Binary => 28,
            DataType::Struct(fields) => fields.iter().map(|f| of(f.data_type())).sum(),
            DataType::List(item) => 4 + 4 * of(item.data_type()),
            DataType::Map(entries, _) => 4 + 4 * of(entries.data_type()),
            other => other.primitive_width().map_or(16, |width| width as u64),
        }
    }
    schema.fields().iter().map(|f| of(f.data_type())).sum::<u64>().max(1)
}
