//! Which columns could be the key: grown on a sample of real rows, then counted
//! over all of them.

use super::key_scan::{Go, HashSet128, KeyCounter, KeySide, column_hashes, key_hashes, null_rows};
use crate::error::Result;
use crate::plan::key_candidates::{Sampled, grow, rank};
use crate::predicate::Predicate;
use crate::progress::Progress;

/// Rows of the sample: with 40 columns, 32 MB of hashes.
const SAMPLE_ROWS: usize = 50_000;
const SAMPLE_COLUMNS: usize = 40;
/// A proposal is worth reading its columns so many times: 28 million rows.
const MOST_PASSES: u64 = 8;

/// A set of columns, and how unique it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// Indexes of the schema, ascending.
    pub columns: Vec<usize>,
    pub rows: u64,
    /// An estimate where `exact` is false.
    pub distinct: u64,
    pub exact: bool,
    /// Rows with a NULL in one of the columns.
    pub nulls: u64,
    /// Whether keys occur more than once: 0 says that none was found to.
    pub repeated: u64,
}

impl Counted {
    pub fn is_unique(&self) -> bool {
        self.repeated == 0 && self.nulls == 0
    }
}

/// The best sets, unique ones first. Reads a sample of the side's rows and,
/// where there is anything to count, all rows of the columns in question. At
/// most `most` keys are held at a time.
///
/// # Errors
/// Whatever reading gives.
pub async fn propose(
    side: &KeySide,
    filter: Option<&Predicate>,
    most: usize,
    progress: &Progress,
) -> Result<Vec<Counted>> {
    let fields = &side.schema().fields;
    let mut columns: Vec<(usize, u8)> =
        fields.iter().enumerate().filter_map(|(i, field)| Some((i, rank(field)?))).collect();
    columns.sort_by_key(|(i, rank)| (*rank, *i));
    columns.truncate(SAMPLE_COLUMNS);
    if columns.is_empty() || side.files() == 0 {
        return Ok(Vec::new());
    }
    let indexes: Vec<usize> = columns.iter().map(|(i, _)| *i).collect();
    let sample = sample(side, &indexes, filter, progress).await?;
    let rows = sample.first().map_or(0, Vec::len);
    if rows == 0 {
        return Ok(Vec::new());
    }
    let sampled: Vec<Sampled> = columns
        .iter()
        .zip(&sample)
        .map(|((_, rank), hashes)| Sampled { rank: *rank, distinct: distinct(&[hashes]) })
        .collect();
    let count = |set: &[usize]| distinct(&set.iter().map(|i| &sample[*i]).collect::<Vec<_>>());
    let sets = grow(&sampled, rows as u64, &count);
    let sets: Vec<Vec<usize>> = sets
        .into_iter()
        .map(|set| {
            let mut columns: Vec<usize> = set.into_iter().map(|i| indexes[i]).collect();
            columns.sort_unstable();
            columns
        })
        .collect();
    drop(sample);
    let mut counted = count_all(side, sets, filter, most, progress).await?;
    for set in counted.iter_mut().filter(|c| !c.exact && c.is_unique()) {
        recount(side, set, filter, most, progress).await?;
        if set.is_unique() {
            break;
        }
    }
    // The order of the proposal stands, but what is not unique comes last.
    counted.sort_by_key(|c| (!c.is_unique(), if c.is_unique() { 0 } else { u64::MAX - c.distinct }));
    Ok(counted)
}

/// Counts a set exactly that has more keys than fit: one part of the keys a
/// pass. Sets with more than [`MOST_PASSES`] parts stay estimates.
async fn recount(
    side: &KeySide,
    set: &mut Counted,
    filter: Option<&Predicate>,
    most: usize,
    progress: &Progress,
) -> Result<()> {
    let passes = set.rows.div_ceil(most.max(1) as u64);
    if passes > MOST_PASSES {
        return Ok(());
    }
    let places: Vec<usize> = (0..set.columns.len()).collect();
    let mut distinct = 0;
    for pass in 0..passes {
        let mut keys = HashSet128::default();
        side.scan(&set.columns, filter, progress, &mut |scanned| {
            let hashes = key_hashes(&scanned.batch, &places)?.into_iter();
            keys.extend(hashes.filter(|hash| (*hash as u64) % passes == pass));
            Ok(Go::On)
        })
        .await?;
        distinct += keys.len() as u64;
    }
    set.exact = true;
    // Of the keys it is only known now whether some repeat, not how many.
    set.repeated = u64::from(distinct < set.rows);
    set.distinct = distinct;
    Ok(())
}

/// Hashes of the first rows of every file, per column.
async fn sample(
    side: &KeySide,
    columns: &[usize],
    filter: Option<&Predicate>,
    progress: &Progress,
) -> Result<Vec<Vec<u128>>> {
    let of_file = (SAMPLE_ROWS / side.files().max(1)).max(100);
    let mut hashes: Vec<Vec<u128>> = vec![Vec::new(); columns.len()];
    let mut total = 0;
    let mut taken = (0, 0);
    side.scan(columns, filter, progress, &mut |scanned| {
        if taken.0 != scanned.file {
            taken = (scanned.file, 0);
        }
        let rows = scanned.batch.num_rows().min(of_file - taken.1).min(SAMPLE_ROWS - total);
        let batch = scanned.batch.slice(0, rows);
        for (place, column) in hashes.iter_mut().enumerate() {
            column.extend(column_hashes(&batch, place)?);
        }
        taken.1 += rows;
        total += rows;
        Ok(if total >= SAMPLE_ROWS {
            Go::Stop
        } else if taken.1 >= of_file {
            Go::NextFile
        } else {
            Go::On
        })
    })
    .await?;
    Ok(hashes)
}

/// Distinct tuples of some columns of the sample.
fn distinct(columns: &[&Vec<u128>]) -> u64 {
    let rows = columns.first().map_or(0, |c| c.len());
    let tuples: HashSet128 =
        (0..rows).map(|row| columns.iter().fold(0u128, |sum, column| sum.wrapping_add(column[row]))).collect();
    tuples.len() as u64
}

/// Counts sets of columns over all rows, in one pass.
///
/// # Errors
/// Whatever reading gives.
pub async fn count_all(
    side: &KeySide,
    sets: Vec<Vec<usize>>,
    filter: Option<&Predicate>,
    most: usize,
    progress: &Progress,
) -> Result<Vec<Counted>> {
    let mut columns: Vec<usize> = sets.concat();
    columns.sort_unstable();
    columns.dedup();
    let places: Vec<Vec<usize>> =
        sets.iter().map(|set| set.iter().filter_map(|c| columns.iter().position(|x| x == c)).collect()).collect();
    // All counters share the memory of one.
    let mut counters: Vec<KeyCounter> = sets.iter().map(|_| KeyCounter::new(most / sets.len().max(1))).collect();
    let mut nulls = vec![0u64; sets.len()];
    side.scan(&columns, filter, progress, &mut |scanned| {
        for ((counter, places), nulls) in counters.iter_mut().zip(&places).zip(&mut nulls) {
            key_hashes(&scanned.batch, places)?.into_iter().for_each(|hash| counter.add(hash, 0));
            *nulls += null_rows(&scanned.batch, places).into_iter().filter(|null| *null).count() as u64;
        }
        Ok(Go::On)
    })
    .await?;
    let counted = sets.into_iter().zip(counters).zip(nulls).map(|((columns, counter), nulls)| Counted {
        columns,
        rows: counter.rows,
        distinct: counter.distinct().min(counter.rows),
        exact: counter.is_exact(),
        nulls,
        repeated: counter.duplicates().0,
    });
    Ok(counted.collect())
}
