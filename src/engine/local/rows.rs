//! Rows narrowed to what a comparison needs, column by column.

use super::measure::MeasureRows;
use super::wire::{Reader, Wire};
use crate::error::{Error, ErrorKind, Result};

/// Where a row is: a file of its side and the physical row number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(u64);

const POSITION_BITS: u32 = 40;

impl Place {
    /// # Errors
    /// `Internal` beyond 16 million files or 10¹² rows in one.
    pub fn new(file: usize, position: u64) -> Result<Place> {
        let place = (position >> POSITION_BITS == 0).then_some((file as u64) << POSITION_BITS | position);
        place.filter(|_| file >> (u64::BITS - POSITION_BITS) == 0).map(Place).ok_or_else(|| {
            Error::new(ErrorKind::Internal, format!("row {position} of file {file} has no number here"))
                .hint("More than 16 million files, or 10^12 rows in one, cannot be compared at once.")
        })
    }

    pub fn file(self) -> usize {
        (self.0 >> POSITION_BITS) as usize
    }

    pub fn position(self) -> u64 {
        self.0 & ((1 << POSITION_BITS) - 1)
    }

    pub fn bits(self) -> u64 {
        self.0
    }

    pub fn from_bits(bits: u64) -> Place {
        Place(bits)
    }
}

/// The key holds a NULL.
pub const NULL_KEY: u8 = 1;
/// The key holds a NULL in a column that is compared by `=`.
pub const NULL_STRICT: u8 = 2;
/// A source row that stands for a deletion.
pub const DELETION: u8 = 4;
/// A row of the table that the rule's predicate does not choose.
pub const BEYOND: u8 = 8;
/// The same as the first two, of the key without the partition columns.
pub const NULL_NARROW: u8 = 16;
pub const NULL_NARROW_STRICT: u8 = 32;

/// All columns run in parallel; those that are not needed stay empty.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// Hash of the key; empty where rows are identified by all their cells.
    pub key: Vec<u128>,
    /// Hash of the key without the partition columns, where that is searched for.
    pub narrow: Vec<u128>,
    /// Hash of all columns.
    pub row: Vec<u128>,
    /// Hash of all columns that are not ignored; empty where none is ignored.
    pub significant: Vec<u128>,
    pub partition: Vec<u32>,
    pub place: Vec<Place>,
    pub flags: Vec<u8>,
    pub measures: Vec<MeasureRows>,
    pub payload: Payload,
    /// The checks that each row breaks, as bits; empty where nothing is demanded.
    pub broken: Vec<u64>,
}

/// Encoded cells that clauses look at, row by row.
#[derive(Debug, Clone, Default)]
pub struct Payload {
    /// Where each row's bytes end; empty where there are none at all.
    ends: Vec<u64>,
    bytes: Vec<u8>,
}

impl Payload {
    pub fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(self.bytes.len() as u64);
    }

    pub fn row(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.bytes[start..self.ends[row] as usize]
    }

    fn take(&mut self, from: &Payload, picks: &[u32]) {
        if from.ends.is_empty() {
            return;
        }
        for row in picks {
            self.push(|bytes| bytes.extend_from_slice(from.row(*row as usize)));
        }
    }

    fn append(&mut self, more: &Payload) {
        let start = self.bytes.len() as u64;
        self.bytes.extend_from_slice(&more.bytes);
        self.ends.extend(more.ends.iter().map(|end| start + end));
    }
}

impl Rows {
    pub fn len(&self) -> usize {
        self.place.len()
    }

    pub fn is_empty(&self) -> bool {
        self.place.is_empty()
    }

    /// What identifies a row: its key, else all of its cells.
    pub fn identity(&self, row: usize) -> u128 {
        if self.key.is_empty() { self.row[row] } else { self.key[row] }
    }

    /// What rows are dealt into buckets by: equal keys are equal here too.
    pub fn dealt_by(&self, row: usize) -> u128 {
        if self.narrow.is_empty() { self.identity(row) } else { self.narrow[row] }
    }

    pub fn significant(&self, row: usize) -> u128 {
        if self.significant.is_empty() { self.row[row] } else { self.significant[row] }
    }

    pub fn has(&self, row: usize, flag: u8) -> bool {
        self.flags[row] & flag != 0
    }

    /// Appends some rows of another set of the same shape.
    pub fn take(&mut self, from: &Rows, picks: &[u32]) {
        fn pick<T: Copy>(to: &mut Vec<T>, from: &[T], picks: &[u32]) {
            if !from.is_empty() {
                to.extend(picks.iter().map(|i| from[*i as usize]));
            }
        }
        pick(&mut self.key, &from.key, picks);
        pick(&mut self.narrow, &from.narrow, picks);
        pick(&mut self.row, &from.row, picks);
        pick(&mut self.significant, &from.significant, picks);
        pick(&mut self.partition, &from.partition, picks);
        pick(&mut self.place, &from.place, picks);
        pick(&mut self.flags, &from.flags, picks);
        if self.measures.is_empty() {
            self.measures = from.measures.iter().map(MeasureRows::empty).collect();
        }
        self.measures.iter_mut().zip(&from.measures).for_each(|(to, from)| to.take(from, picks));
        self.payload.take(&from.payload, picks);
        pick(&mut self.broken, &from.broken, picks);
    }

    pub fn append(&mut self, more: &Rows) {
        self.key.extend_from_slice(&more.key);
        self.narrow.extend_from_slice(&more.narrow);
        self.row.extend_from_slice(&more.row);
        self.significant.extend_from_slice(&more.significant);
        self.partition.extend_from_slice(&more.partition);
        self.place.extend_from_slice(&more.place);
        self.flags.extend_from_slice(&more.flags);
        if self.measures.is_empty() {
            self.measures = more.measures.iter().map(MeasureRows::empty).collect();
        }
        self.measures.iter_mut().zip(&more.measures).for_each(|(to, more)| to.append(more));
        self.payload.append(&more.payload);
        self.broken.extend_from_slice(&more.broken);
    }

    /// The checks that a row breaks.
    pub fn broken(&self, row: usize) -> u64 {
        self.broken.get(row).copied().unwrap_or(0)
    }

    /// Makes room for as many rows as `parts` hold.
    pub fn joined(parts: &[Rows]) -> Rows {
        let rows = parts.iter().map(Rows::len).sum();
        let mut whole = Rows::default();
        if let Some(first) = parts.first() {
            let room = |empty: bool| if empty { 0 } else { rows };
            whole.key.reserve_exact(room(first.key.is_empty()));
            whole.narrow.reserve_exact(room(first.narrow.is_empty()));
            whole.row.reserve_exact(room(first.row.is_empty()));
            whole.significant.reserve_exact(room(first.significant.is_empty()));
            whole.partition.reserve_exact(room(first.partition.is_empty()));
            whole.place.reserve_exact(rows);
            whole.flags.reserve_exact(rows);
        }
        parts.iter().for_each(|part| whole.append(part));
        whole
    }

    /// Bytes in memory, near enough for a budget.
    pub fn bytes(&self) -> usize {
        let sums: usize = self
            .measures
            .iter()
            .map(|m| match m {
                MeasureRows::Narrow { values, .. } => values.capacity() * 8,
                MeasureRows::Wide { values, .. } => values.capacity() * 16,
                MeasureRows::Float(values) => values.capacity() * 8,
            })
            .sum();
        (self.key.capacity() + self.narrow.capacity() + self.row.capacity() + self.significant.capacity()) * 16
            + self.partition.capacity() * 4
            + self.place.capacity() * 8
            + self.flags.capacity()
            + self.payload.ends.capacity() * 8
            + self.payload.bytes.capacity()
            + self.broken.capacity() * 8
            + sums
            + size_of::<Rows>()
    }

    /// The bytes that [`Rows::decode`] reads.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes());
        self.key.put(&mut out);
        self.narrow.put(&mut out);
        self.row.put(&mut out);
        self.significant.put(&mut out);
        self.partition.put(&mut out);
        self.place.iter().map(|p| p.bits()).collect::<Vec<u64>>().put(&mut out);
        self.flags.put(&mut out);
        self.payload.ends.put(&mut out);
        self.payload.bytes.put(&mut out);
        self.broken.put(&mut out);
        for measure in &self.measures {
            match measure {
                MeasureRows::Narrow { values, .. } => values.put(&mut out),
                MeasureRows::Wide { values, .. } => values.put(&mut out),
                MeasureRows::Float(values) => values.put(&mut out),
            }
        }
        out
    }

    /// `shape` tells which measures there are.
    ///
    /// # Errors
    /// `Internal` where the bytes are not what was written.
    pub fn decode(bytes: &[u8], shape: &[MeasureRows]) -> Result<Rows> {
        let mut from = Reader::new(bytes);
        let mut rows = Rows {
            key: from.list()?,
            narrow: from.list()?,
            row: from.list()?,
            significant: from.list()?,
            partition: from.list()?,
            place: from.list::<u64>()?.into_iter().map(Place::from_bits).collect(),
            flags: from.list()?,
            payload: Payload { ends: from.list()?, bytes: from.list()? },
            broken: from.list()?,
            measures: Vec::new(),
        };
        for measure in shape {
            rows.measures.push(match measure {
                MeasureRows::Narrow { scale, .. } => MeasureRows::Narrow { scale: *scale, values: from.list()? },
                MeasureRows::Wide { scale, .. } => MeasureRows::Wide { scale: *scale, values: from.list()? },
                MeasureRows::Float(_) => MeasureRows::Float(from.list()?),
            });
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_keep_file_and_position() {
        let place = Place::new(70_000, 5_000_000_000).unwrap();
        assert_eq!((place.file(), place.position()), (70_000, 5_000_000_000));
        assert!(Place::new(1 << 24, 0).is_err() && Place::new(0, 1 << 40).is_err());
        assert!(Place::new(1, 0).unwrap() > Place::new(0, 9).unwrap());
    }

    #[test]
    fn rows_survive_the_disk() {
        let mut payload = Payload::default();
        payload.push(|b| b.extend(b"one"));
        payload.push(|_| {});
        let rows = Rows {
            key: vec![1, u128::MAX],
            row: vec![7, 8],
            partition: vec![0, 3],
            place: vec![Place::new(0, 1).unwrap(), Place::new(2, 3).unwrap()],
            flags: vec![NULL_KEY, 0],
            measures: vec![MeasureRows::Narrow { scale: 2, values: vec![-1, 5] }, MeasureRows::Float(vec![0.5, -0.0])],
            payload,
            ..Rows::default()
        };
        let back = Rows::decode(&rows.encode(), &rows.measures).unwrap();
        assert_eq!(format!("{back:?}"), format!("{rows:?}"));
        let mut picked = Rows::default();
        picked.take(&back, &[1]);
        picked.append(&back);
        assert_eq!((picked.len(), picked.key[0], picked.payload.row(1)), (3, u128::MAX, &b"one"[..]));
        assert_eq!(picked.measures[0].row(0).to_string(), "0.05");
        assert!(Rows::decode(&rows.encode()[..20], &rows.measures).is_err());
    }
}
