//! Rows on disk, by partition, until it is known how many there are.

use std::collections::BTreeMap;
use std::path::PathBuf;

use deltalake::arrow::array::RecordBatch;
use deltalake::arrow::ipc::reader::StreamReader;
use deltalake::arrow::ipc::writer::StreamWriter;

use super::store::SpillFile;
use crate::error::{Context, ErrorKind, Result};

pub struct Parked {
    folder: PathBuf,
    disk: Option<SpillFile>,
    /// Per partition: (offset, bytes, rows) of each part.
    parts: BTreeMap<u32, Vec<(u64, usize, u64)>>,
}

impl Parked {
    pub fn new(folder: PathBuf) -> Parked {
        Parked { folder, disk: None, parts: BTreeMap::new() }
    }

    /// Puts rows of a partition away.
    ///
    /// # Errors
    /// `Storage`.
    pub fn park(&mut self, partition: u32, batches: &[RecordBatch]) -> Result<()> {
        let Some(first) = batches.first() else { return Ok(()) };
        let failed = || "rows could not be encoded for the temporary file".to_owned();
        let mut bytes = Vec::new();
        let mut writer = StreamWriter::try_new(&mut bytes, &first.schema()).context(ErrorKind::Internal, failed)?;
        for batch in batches {
            writer.write(batch).context(ErrorKind::Internal, failed)?;
        }
        writer.finish().context(ErrorKind::Internal, failed)?;
        drop(writer);
        let disk = match &mut self.disk {
            Some(disk) => disk,
            None => self.disk.insert(SpillFile::new(&self.folder)?),
        };
        let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum();
        self.parts.entry(partition).or_default().push((disk.append(&bytes)?, bytes.len(), rows));
        Ok(())
    }

    pub fn partitions(&self) -> impl Iterator<Item = u32> {
        self.parts.keys().copied()
    }

    pub fn parts(&self, partition: u32) -> usize {
        self.parts.get(&partition).map_or(0, Vec::len)
    }

    pub fn rows(&self, partition: u32) -> u64 {
        self.parts.get(&partition).into_iter().flatten().map(|(_, _, rows)| rows).sum()
    }

    /// Reads one part back, in the order in which rows were put away.
    ///
    /// # Errors
    /// `Storage`.
    pub fn take(&mut self, partition: u32, part: usize) -> Result<Vec<RecordBatch>> {
        let place = self.parts.get(&partition).and_then(|parts| parts.get(part));
        let (Some((offset, length, _)), Some(disk)) = (place, &mut self.disk) else { return Ok(Vec::new()) };
        let bytes = disk.read(*offset, *length)?;
        let failed = || "rows could not be read back from the temporary file".to_owned();
        let reader = StreamReader::try_new(bytes.as_slice(), None).context(ErrorKind::Storage, failed)?;
        reader.collect::<std::result::Result<_, _>>().context(ErrorKind::Storage, failed)
    }
}
