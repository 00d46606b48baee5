//! Opening a Parquet file in an object store.

use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bytes::Bytes;
use deltalake::arrow::datatypes::{
    DataType as ArrowDataType, Field as ArrowField, FieldRef, Fields, Schema as ArrowSchema, SchemaRef, TimeUnit,
};
use deltalake::logstore::object_store::{self, ObjectStore, ObjectStoreExt, path::Path};
use deltalake::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use deltalake::parquet::arrow::async_reader::AsyncFileReader;
use deltalake::parquet::basic::Type as PhysicalType;
use deltalake::parquet::errors::ParquetError;
use deltalake::parquet::file::FOOTER_SIZE;
use deltalake::parquet::file::metadata::{FooterTail, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::guard;
use crate::error::{Error, ErrorKind, Result};

/// Fetched with the first request; most footers fit, which saves a round trip.
const FOOTER_GUESS: u64 = 64 * 1024;

/// Where a file's bytes come from. Requests beyond its size are refused
/// before they reach the store, because a damaged footer can ask for anything.
#[derive(Debug, Clone)]
pub(super) struct StoreReader {
    pub store: Arc<dyn ObjectStore>,
    pub path: Path,
    /// bytes, as the log has it
    pub size: u64,
}

impl StoreReader {
    fn check(&self, range: &Range<u64>) -> Result<(), ParquetError> {
        if range.start <= range.end && range.end <= self.size {
            return Ok(());
        }
        Err(ParquetError::EOF(format!(
            "bytes {} to {} are asked for, the file has {}",
            range.start, range.end, self.size
        )))
    }

    /// The footer's bytes, without its length and the magic at the end.
    async fn footer(&mut self) -> Result<Bytes, ParquetError> {
        let size = self.size;
        let too_few = || ParquetError::EOF(format!("{size} bytes are too few for a Parquet file"));
        // A store refuses to read nothing.
        if size == 0 {
            return Err(too_few());
        }
        let tail_start = size.saturating_sub(FOOTER_GUESS);
        let tail = self.get_bytes(tail_start..size).await?;
        let Some((_, end)) = tail.split_last_chunk::<FOOTER_SIZE>() else { return Err(too_few()) };
        let end = FooterTail::try_new(end)?;
        if end.is_encrypted_footer() {
            return Err(ParquetError::General("its footer is encrypted".into()));
        }
        let footer_end = size - FOOTER_SIZE as u64;
        let start = footer_end.checked_sub(end.metadata_length() as u64).ok_or_else(|| {
            ParquetError::EOF(format!("its footer states {} bytes, the file has {size}", end.metadata_length()))
        })?;
        if start < tail_start {
            return self.get_bytes(start..footer_end).await;
        }
        // Both offsets lie within the tail.
        let within = |at: u64| (at - tail_start) as usize;
        Ok(tail.slice(within(start)..within(footer_end)))
    }

    /// Our error for one of Parquet's: a missing file, a file of another size
    /// than the log says, a store that does not answer, or damaged content.
    pub async fn explain(&self, error: ParquetError) -> Error {
        let from_store = store_error(&error);
        if matches!(from_store, Some(object_store::Error::NotFound { .. })) {
            return self.missing();
        }
        match self.store.head(&self.path).await {
            Err(object_store::Error::NotFound { .. }) => self.missing(),
            Ok(found) if found.size != self.size => {
                self.damaged(format!("it has {} bytes where {} are recorded", found.size, self.size))
            }
            _ if from_store.is_some() => {
                Error::new(ErrorKind::Storage, format!("cannot read the data file '{}'", self.path)).because(error)
            }
            _ => self.damaged(error.to_string()),
        }
    }

    fn missing(&self) -> Error {
        Error::new(ErrorKind::MissingFiles, format!("the data file '{}' does not exist", self.path)).hint(
            "VACUUM or another program removed it. Restore it from a backup, or go to a version that is complete.",
        )
    }

    pub fn damaged(&self, why: impl std::fmt::Display) -> Error {
        Error::new(ErrorKind::BadDataFile, format!("cannot read the data file '{}': {why}", self.path))
    }
}

fn fetched(bytes: Bytes, range: &Range<u64>) -> Result<Bytes, ParquetError> {
    if bytes.len() as u64 == range.end - range.start {
        return Ok(bytes);
    }
    Err(ParquetError::EOF(format!("the store returned {} of {} bytes", bytes.len(), range.end - range.start)))
}

impl AsyncFileReader for StoreReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, Result<Bytes, ParquetError>> {
        async move {
            self.check(&range)?;
            fetched(self.store.get_range(&self.path, range.clone()).await?, &range)
        }
        .boxed()
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, Result<Vec<Bytes>, ParquetError>> {
        async move {
            ranges.iter().try_for_each(|range| self.check(range))?;
            let all = self.store.get_ranges(&self.path, &ranges).await?;
            // Without a page index, which is never loaded, each range is a whole column chunk.
            let chunk = |bytes, range| {
                let bytes = fetched(bytes, range)?;
                guard::check_pages(&bytes).map_err(ParquetError::General)?;
                Ok(bytes)
            };
            all.into_iter().zip(&ranges).map(|(bytes, range)| chunk(bytes, range)).collect()
        }
        .boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, Result<Arc<ParquetMetaData>, ParquetError>> {
        async move {
            let footer = self.footer().await?;
            guard::check_footer(&footer).map_err(ParquetError::General)?;
            let options = options.map(ArrowReaderOptions::metadata_options);
            Ok(Arc::new(ParquetMetaDataReader::decode_metadata_with_options(&footer, options)?))
        }
        .boxed()
    }
}

fn store_error(error: &ParquetError) -> Option<&object_store::Error> {
    let mut next: Option<&(dyn std::error::Error + 'static)> = match error {
        ParquetError::External(inner) => Some(inner.as_ref()),
        other => std::error::Error::source(other),
    };
    while let Some(cause) = next {
        if let Some(found) = cause.downcast_ref() {
            return Some(found);
        }
        next = cause.source();
    }
    None
}

/// A file whose footer was read.
#[derive(Debug)]
pub(super) struct Opened {
    pub reader: StoreReader,
    /// Its schema has plain types only: no dictionaries, views or INT96.
    pub metadata: ArrowReaderMetadata,
    /// physical rows, deleted ones included
    pub rows: u64,
}

/// # Errors
/// `MissingFiles`, `BadDataFile`, `Storage`.
pub(super) async fn open(store: Arc<dyn ObjectStore>, path: Path, size: u64) -> Result<Opened> {
    let reader = StoreReader { store, path, size };
    let footer = footer(&reader).await?;
    let rows = row_count(&reader, &footer)?;
    let metadata = schema_of(&reader, || plain_metadata(&footer))?;
    Ok(Opened { reader, metadata, rows })
}

/// The Arrow schema of a Parquet file, as its writer meant it, and its rows.
///
/// # Errors
/// `MissingFiles`, `BadDataFile`, `Storage`.
pub async fn parquet_schema(store: Arc<dyn ObjectStore>, path: Path, size: u64) -> Result<(SchemaRef, u64)> {
    let reader = StoreReader { store, path, size };
    let footer = footer(&reader).await?;
    let rows = row_count(&reader, &footer)?;
    let options = ArrowReaderOptions::new();
    let metadata = schema_of(&reader, || {
        ArrowReaderMetadata::try_new(Arc::clone(&footer), options.clone())
            .or_else(|_| ArrowReaderMetadata::try_new(footer.clone(), options.with_skip_arrow_metadata(true)))
    })?;
    Ok((Arc::clone(metadata.schema()), rows))
}

async fn footer(reader: &StoreReader) -> Result<Arc<ParquetMetaData>> {
    let mut source = reader.clone();
    // The decoder checks what it reads, but a panic in it must not end the program.
    match AssertUnwindSafe(source.get_metadata(None)).catch_unwind().await {
        Ok(Ok(footer)) => Ok(footer),
        Ok(Err(error)) => Err(reader.explain(error).await),
        Err(_) => Err(reader.damaged("its footer is damaged")),
    }
}

/// As for the footer: a panic over a strange schema must not end the program.
fn schema_of(
    reader: &StoreReader,
    derive: impl FnOnce() -> Result<ArrowReaderMetadata, ParquetError>,
) -> Result<ArrowReaderMetadata> {
    match std::panic::catch_unwind(AssertUnwindSafe(derive)) {
        Ok(derived) => derived.map_err(|e| reader.damaged(e)),
        Err(_) => Err(reader.damaged("its schema is damaged")),
    }
}

/// By the row groups, because those are what a scan decodes.
/// A row has a value or more in every column, so a group cannot have more rows
/// than a column has values.
fn row_count(reader: &StoreReader, footer: &ParquetMetaData) -> Result<u64> {
    let rows = |group: &RowGroupMetaData| {
        let enough = group.columns().iter().all(|column| column.num_values() >= group.num_rows());
        u64::try_from(group.num_rows()).ok().filter(|_| enough)
    };
    footer
        .row_groups()
        .iter()
        .try_fold(0u64, |sum, group| sum.checked_add(rows(group)?))
        .ok_or_else(|| reader.damaged("its footer has an impossible number of rows"))
}

/// The reader's schema, made plain. The Arrow schema that a writer embedded
/// tells units that Parquet lacks; where it contradicts the file, it is left out.
fn plain_metadata(footer: &Arc<ParquetMetaData>) -> Result<ArrowReaderMetadata, ParquetError> {
    plain_metadata_with(footer, false).or_else(|_| plain_metadata_with(footer, true))
}

fn plain_metadata_with(footer: &Arc<ParquetMetaData>, skip: bool) -> Result<ArrowReaderMetadata, ParquetError> {
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(skip);
    let derived = ArrowReaderMetadata::try_new(Arc::clone(footer), options)?;
    let mut leaves = derived.parquet_schema().columns().iter().map(|column| column.physical_type());
    let plain = plain_fields(derived.schema().fields(), &mut leaves);
    if plain == *derived.schema().fields() {
        return Ok(derived);
    }
    let options = ArrowReaderOptions::new().with_schema(Arc::new(ArrowSchema::new(plain)));
    ArrowReaderMetadata::try_new(Arc::clone(footer), options)
}

fn plain_fields(fields: &Fields, leaves: &mut impl Iterator<Item = PhysicalType>) -> Fields {
    fields.iter().map(|field| plain_field(field, leaves)).collect()
}

fn plain_field(field: &FieldRef, leaves: &mut impl Iterator<Item = PhysicalType>) -> FieldRef {
    let data_type = plain_type(field.data_type(), leaves);
    Arc::new(ArrowField::clone(field).with_data_type(data_type))
}

/// Consumes one of the file's leaf columns per leaf of the type: both are in
/// depth-first order.
fn plain_type(t: &ArrowDataType, leaves: &mut dyn Iterator<Item = PhysicalType>) -> ArrowDataType {
    use ArrowDataType as A;
    let mut leaves = leaves;
    match t {
        A::Struct(fields) => A::Struct(plain_fields(fields, &mut leaves)),
        A::List(element) => A::List(plain_field(element, &mut leaves)),
        A::LargeList(element) => A::LargeList(plain_field(element, &mut leaves)),
        A::FixedSizeList(element, length) => A::FixedSizeList(plain_field(element, &mut leaves), *length),
        A::Map(entries, sorted) => A::Map(plain_field(entries, &mut leaves), *sorted),
        leaf => {
            let physical = leaves.next();
            match leaf {
                // In nanoseconds, the default, years outside 1677 to 2262 overflow.
                A::Timestamp(..) if physical == Some(PhysicalType::INT96) => A::Timestamp(TimeUnit::Microsecond, None),
                other => plain_leaf(other),
            }
        }
    }
}

fn plain_leaf(t: &ArrowDataType) -> ArrowDataType {
    use ArrowDataType as A;
    match t {
        A::Dictionary(_, value) => plain_leaf(value),
        A::RunEndEncoded(_, values) => plain_leaf(values.data_type()),
        A::LargeUtf8 | A::Utf8View => A::Utf8,
        A::LargeBinary | A::BinaryView => A::Binary,
        A::Decimal32(precision, scale) | A::Decimal64(precision, scale) => A::Decimal128(*precision, *scale),
        other => other.clone(),
    }
}
