//! The order of delivered rows: by partition, then by file and place.
//!
//! Delivered rows lie in buckets in any order, so putting them in order means
//! going through all buckets. How many rows each partition has is kept, and so
//! is one run of whole partitions in order: pages that follow each other find
//! their rows there.

use std::collections::HashMap;
use std::sync::Arc;

use super::rows::Place;
use super::sides::Sides;
use super::store::BUCKETS;
use super::verdicts::Verdicts;
use crate::error::Result;
use crate::plan::Effect;

/// Rows that a run gathers beyond those of the page, 8 bytes each.
const AHEAD: u64 = 1 << 20;

#[derive(Debug, Default)]
pub struct DeliveredOrder {
    /// (partition's number, rows), by partition value; those without rows left out.
    counts: HashMap<Effect, Arc<Vec<(u32, u64)>>>,
    run: Option<Run>,
}

/// The rows of some partitions that follow each other.
#[derive(Debug)]
struct Run {
    effect: Effect,
    /// The number of its first row among all rows of the effect.
    start: u64,
    places: Vec<Place>,
}

impl Run {
    fn part(&self, offset: u64, limit: usize) -> Vec<Place> {
        let skip = usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX);
        self.places.iter().skip(skip).take(limit).copied().collect()
    }
}

impl DeliveredOrder {
    /// The places of the rows `offset..offset + limit` of an effect of
    /// delivered rows; fewer at the end.
    ///
    /// # Errors
    /// `Storage`.
    pub fn page(
        &mut self,
        sides: &Sides,
        verdicts: &Verdicts,
        effect: Effect,
        offset: u64,
        limit: usize,
    ) -> Result<Vec<Place>> {
        let counts = self.counts(sides, verdicts, effect)?;
        let total: u64 = counts.iter().map(|(_, rows)| rows).sum();
        let end = offset.saturating_add(limit as u64).min(total);
        if end <= offset {
            return Ok(Vec::new());
        }
        let holds =
            |run: &&Run| run.effect == effect && run.start <= offset && end <= run.start + run.places.len() as u64;
        if let Some(run) = self.run.as_ref().filter(holds) {
            return Ok(run.part(offset, limit));
        }
        self.run = None;
        let run = gather(sides, verdicts, effect, &counts, offset..end)?;
        let page = run.part(offset, limit);
        // A partition of very many rows is gathered again rather than kept.
        let most = (sides.spilling.limit / 4 / size_of::<Place>()).max(AHEAD as usize);
        self.run = Some(run).filter(|run| run.places.len() <= most);
        Ok(page)
    }

    fn counts(&mut self, sides: &Sides, verdicts: &Verdicts, effect: Effect) -> Result<Arc<Vec<(u32, u64)>>> {
        if let Some(counts) = self.counts.get(&effect) {
            return Ok(counts.clone());
        }
        let tuples = sides.tuples();
        let mut counts: Vec<(u32, u64)> = (0..tuples.len()).map(|number| (number as u32, 0)).collect();
        visit(sides, verdicts, effect, &mut |_, partition| counts[partition as usize].1 += 1)?;
        counts.retain(|(_, rows)| *rows > 0);
        counts.sort_by(|(a, _), (b, _)| tuples[*a as usize].cmp(&tuples[*b as usize]));
        let counts = Arc::new(counts);
        self.counts.insert(effect, counts.clone());
        Ok(counts)
    }
}

/// The partitions that rows `wanted` are in, and some that follow.
fn gather(
    sides: &Sides,
    verdicts: &Verdicts,
    effect: Effect,
    counts: &[(u32, u64)],
    wanted: std::ops::Range<u64>,
) -> Result<Run> {
    let (mut start, mut first) = (0, 0);
    while first < counts.len() && start + counts[first].1 <= wanted.start {
        start += counts[first].1;
        first += 1;
    }
    let (mut end, mut last) = (start, first);
    while last < counts.len() && (end < wanted.end || end - start + counts[last].1 <= AHEAD) {
        end += counts[last].1;
        last += 1;
    }
    let mut slot: Vec<Option<usize>> = vec![None; sides.tuples().len()];
    let mut places: Vec<Vec<Place>> = Vec::with_capacity(last - first);
    for (at, (number, rows)) in counts[first..last].iter().enumerate() {
        slot[*number as usize] = Some(at);
        places.push(Vec::with_capacity(usize::try_from(*rows).unwrap_or(0)));
    }
    visit(sides, verdicts, effect, &mut |place, partition| {
        if let Some(at) = slot[partition as usize] {
            places[at].push(place);
        }
    })?;
    let mut all = Vec::with_capacity(usize::try_from(end - start).unwrap_or(0));
    for mut places in places {
        places.sort_unstable();
        all.extend(places);
    }
    Ok(Run { effect, start, places: all })
}

/// Every delivered row of an effect with its partition's number, in any order.
fn visit(sides: &Sides, verdicts: &Verdicts, effect: Effect, take: &mut dyn FnMut(Place, u32)) -> Result<()> {
    for bucket in 0..BUCKETS {
        let rows = sides.source.bucket(bucket)?;
        for (place, partition) in rows.place.iter().zip(&rows.partition) {
            let verdict = verdicts.of_source(*place);
            if if effect == Effect::Inserted { verdict.inserted } else { verdict.ignored } {
                take(*place, *partition);
            }
        }
    }
    Ok(())
}
