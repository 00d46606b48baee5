//! Dealt rows by bucket, in memory up to a limit and on disk beyond it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use deltalake::arrow::array::RecordBatch;
use deltalake::arrow::buffer::Buffer;
use deltalake::arrow::datatypes::SchemaRef;
use deltalake::arrow::ipc::reader::StreamDecoder;
use deltalake::arrow::ipc::writer::StreamWriter;

use super::super::store::{SpillFile, Spilling};
use super::super::wire::broken;
use super::buckets::Buckets;
use crate::error::{Context, ErrorKind, Result};

/// Rows of one bucket, partition after partition.
#[derive(Debug, Clone)]
pub struct Piece {
    pub batch: RecordBatch,
    /// (partition, rows), as they follow each other in the batch
    pub runs: Vec<(u32, u32)>,
}

impl Piece {
    /// The rows of the partitions that are wanted, without copying them.
    pub fn slices(&self, wanted: impl Fn(u32) -> bool) -> impl Iterator<Item = (u32, RecordBatch)> {
        let mut start = 0;
        self.runs.iter().filter_map(move |(number, rows)| {
            let (from, rows) = (start, *rows as usize);
            start += rows;
            wanted(*number).then(|| (*number, self.batch.slice(from, rows)))
        })
    }
}

/// A piece on the disk.
#[derive(Debug, Clone)]
struct Segment {
    offset: u64,
    length: usize,
    runs: Vec<(u32, u32)>,
}

#[derive(Debug)]
pub struct Pool {
    pub buckets: Buckets,
    schema: SchemaRef,
    spilling: Spilling,
    /// Bytes that may stay in memory.
    limit: usize,
    waiting: Mutex<Waiting>,
    disk: Mutex<Disk>,
}

#[derive(Debug, Default)]
struct Waiting {
    pieces: Vec<Vec<Piece>>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Disk {
    file: Option<SpillFile>,
    segments: Vec<Vec<Segment>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    pub fn new(buckets: Buckets, schema: SchemaRef, spilling: Spilling, limit: usize) -> Pool {
        let count = buckets.len();
        Pool {
            buckets,
            schema,
            spilling,
            limit,
            waiting: Mutex::new(Waiting { pieces: vec![Vec::new(); count], bytes: 0 }),
            disk: Mutex::new(Disk { file: None, segments: vec![Vec::new(); count] }),
        }
    }

    /// Takes the pieces of one gathered batch, which has `bytes` in memory.
    ///
    /// # Errors
    /// `Storage` where the temporary file cannot be written.
    pub fn push(&self, pieces: Vec<(usize, Piece)>, bytes: usize) -> Result<()> {
        let full = {
            let mut waiting = lock(&self.waiting);
            waiting.bytes += bytes;
            for (bucket, piece) in pieces {
                waiting.pieces[bucket].push(piece);
            }
            if waiting.bytes <= self.limit {
                return Ok(());
            }
            let fresh = Waiting { pieces: vec![Vec::new(); self.buckets.len()], bytes: 0 };
            std::mem::replace(&mut *waiting, fresh)
        };
        // Other tasks go on filling while this one writes.
        for (bucket, pieces) in full.pieces.into_iter().enumerate() {
            if !pieces.is_empty() {
                self.spill(bucket, &pieces)?;
            }
        }
        Ok(())
    }

    fn spill(&self, bucket: usize, pieces: &[Piece]) -> Result<()> {
        let bytes = encode(&self.schema, pieces)?;
        let mut disk = lock(&self.disk);
        let mut file = match disk.file.take() {
            Some(file) => file,
            None => SpillFile::new(&self.spilling.folder)?,
        };
        let offset = file.append(&bytes)?;
        disk.file = Some(file);
        let runs = pieces.iter().flat_map(|piece| piece.runs.iter().copied()).collect();
        disk.segments[bucket].push(Segment { offset, length: bytes.len(), runs });
        Ok(())
    }

    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    pub fn folder(&self) -> &std::path::Path {
        &self.spilling.folder
    }

    /// Bytes that all rows together may take in memory.
    pub fn memory(&self) -> usize {
        2 * self.limit
    }

    /// How many pieces a bucket has.
    pub fn pieces(&self, bucket: usize) -> usize {
        lock(&self.disk).segments[bucket].len() + lock(&self.waiting).pieces[bucket].len()
    }

    /// Bytes of a bucket's rows in memory, about.
    pub fn bytes(&self, bucket: usize) -> usize {
        let on_disk: usize = lock(&self.disk).segments[bucket].iter().map(|s| s.length).sum();
        let waiting = lock(&self.waiting);
        on_disk + waiting.pieces[bucket].iter().map(|p| sliced_bytes(&p.batch)).sum::<usize>()
    }

    /// One piece of a bucket; those on the disk come first.
    ///
    /// # Errors
    /// `Storage`, `Internal` for a temporary file that was changed.
    pub fn piece(&self, bucket: usize, at: usize) -> Result<Vec<Piece>> {
        let mut disk = lock(&self.disk);
        let Some(segment) = disk.segments[bucket].get(at).cloned() else {
            let at = at - disk.segments[bucket].len();
            return Ok(lock(&self.waiting).pieces[bucket].get(at).cloned().into_iter().collect());
        };
        let file = disk.file.as_mut().ok_or_else(broken)?;
        let bytes = file.read(segment.offset, segment.length)?;
        drop(disk);
        decode(bytes, segment.runs)
    }

    /// Gives a bucket's memory back once it is written.
    pub fn forget(&self, bucket: usize) {
        lock(&self.waiting).pieces[bucket].clear();
    }
}

/// Bytes of the rows themselves: a slice shares its buffers with others.
pub fn sliced_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|c| c.to_data().get_slice_memory_size().unwrap_or(0)).sum()
}

fn encode(schema: &SchemaRef, pieces: &[Piece]) -> Result<Vec<u8>> {
    let failed = || "rows cannot be laid out for the temporary file".to_owned();
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, schema).context(ErrorKind::Internal, failed)?;
    for piece in pieces {
        writer.write(&piece.batch).context(ErrorKind::Internal, failed)?;
    }
    writer.finish().context(ErrorKind::Internal, failed)?;
    drop(writer);
    Ok(bytes)
}

fn decode(bytes: Vec<u8>, runs: Vec<(u32, u32)>) -> Result<Vec<Piece>> {
    let mut buffer = Buffer::from_vec(bytes);
    let mut decoder = StreamDecoder::new();
    let mut runs = runs.into_iter().peekable();
    let mut pieces = Vec::new();
    while !buffer.is_empty() {
        let Some(batch) = decoder.decode(&mut buffer).map_err(|e| broken().because(e))? else { break };
        let (mut held, mut of) = (0, Vec::new());
        while let Some((_, rows)) = runs.peek()
            && held + *rows as usize <= batch.num_rows()
        {
            held += *rows as usize;
            of.extend(runs.next());
        }
        if held != batch.num_rows() {
            return Err(broken());
        }
        pieces.push(Piece { batch, runs: of });
    }
    match runs.next() {
        None => Ok(pieces),
        Some(_) => Err(broken()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use deltalake::arrow::array::{Int64Array, StringArray};
    use deltalake::arrow::datatypes::{DataType, Field, Schema};

    use super::*;

    #[test]
    fn pieces_come_back_with_their_runs() {
        let schema: SchemaRef =
            Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, true), Field::new("s", DataType::Utf8, true)]));
        let batch = |from: i64, rows: i64| {
            let numbers = Int64Array::from_iter((from..from + rows).map(|n| (n % 3 != 0).then_some(n)));
            let texts = StringArray::from_iter((from..from + rows).map(|n| Some(format!("row {n}"))));
            RecordBatch::try_new(schema.clone(), vec![Arc::new(numbers), Arc::new(texts)]).unwrap()
        };
        let pieces = [
            Piece { batch: batch(0, 10).slice(2, 5), runs: vec![(7, 2), (9, 3)] },
            Piece { batch: batch(100, 4), runs: vec![(7, 4)] },
        ];
        let bytes = encode(&schema, &pieces).unwrap();
        let runs = pieces.iter().flat_map(|p| p.runs.clone()).collect::<Vec<_>>();
        let back = decode(bytes.clone(), runs.clone()).unwrap();
        assert_eq!(back.len(), 2);
        for (a, b) in pieces.iter().zip(&back) {
            assert_eq!((&a.batch, &a.runs), (&b.batch, &b.runs));
        }
        let seven: usize = back.iter().flat_map(|p| p.slices(|n| n == 7)).map(|(_, b)| b.num_rows()).sum();
        assert_eq!(seven, 6);
        assert!(decode(bytes, runs[..2].to_vec()).is_err(), "rows without a run");
    }
}
