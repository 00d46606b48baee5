//! Walking all buckets on several threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::judge::Judge;
use super::keys::KeySet;
use super::rows::Rows;
use super::sides::Sides;
use super::sorted::Sorted;
use super::store::BUCKETS;
use super::visitor::{Bucket, Visitor};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::Pairing;
use crate::progress::Progress;

/// Below this, threads cost more than they bring.
const PARALLEL_FROM: u64 = 50_000;

/// Judges every bucket by some rules. Each thread has one visitor a rule;
/// `done` is called for each of them after each bucket.
///
/// # Errors
/// The first one of any thread; `Cancelled`; `MemoryLimit` for a key that has
/// too many rows.
pub fn walk<V: Visitor + Send>(
    sides: &Sides,
    rules: &[usize],
    progress: &Progress,
    visitor: impl Fn(usize) -> V + Sync,
    done: impl Fn(&mut V, &Bucket<'_>) -> Result<()> + Sync,
) -> Result<Vec<Vec<V>>> {
    let rows = sides.source_facts.rows() + sides.target_facts.rows();
    let threads = match rows {
        few if few < PARALLEL_FROM => 1,
        _ => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
    };
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        let mut visitors: Vec<V> = rules.iter().map(|rule| visitor(*rule)).collect();
        let mut run = || {
            loop {
                let bucket = next.fetch_add(1, Ordering::Relaxed);
                if bucket >= BUCKETS || failed.load(Ordering::Relaxed) {
                    return Ok(());
                }
                progress.check()?;
                one_bucket(sides, bucket, rules, &mut visitors, &done)?;
                progress.advance(0, 0, 0);
            }
        };
        let outcome = run();
        if outcome.is_err() {
            failed.store(true, Ordering::Relaxed);
        }
        outcome.map(|()| visitors)
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = vec![work()];
        all.extend(
            others.into_iter().map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
        );
        all.into_iter().collect()
    })
}

fn one_bucket<V: Visitor>(
    sides: &Sides,
    bucket: usize,
    rules: &[usize],
    visitors: &mut [V],
    done: &impl Fn(&mut V, &Bucket<'_>) -> Result<()>,
) -> Result<()> {
    let (source, target) = (sides.source.bucket(bucket)?, sides.target.bucket(bucket)?);
    check_size(sides, &source, &target)?;
    if source.is_empty() && target.is_empty() {
        return Ok(());
    }
    let (s_order, t_order) = (Sorted::new(&source), Sorted::new(&target));
    let adds = rules.iter().any(|rule| sides.rules[*rule].rule.pairing == Pairing::Never);
    let outside: Option<KeySet> = match &sides.outside.rows {
        Some(rows) if adds => Some(rows.bucket(bucket)?.key.iter().copied().collect()),
        _ => None,
    };
    for (rule, visitor) in rules.iter().zip(visitors) {
        let judge = Judge {
            sides,
            roles: &sides.roles,
            rule: &sides.rules[*rule],
            number: *rule,
            bucket: Bucket { source: &source, target: &target },
            outside: outside.as_ref(),
        };
        judge.run(&s_order, &t_order, visitor)?;
        done(visitor, &judge.bucket)?;
    }
    Ok(())
}

/// A bucket is what has to fit into memory; one key with half of all rows makes
/// one too large.
fn check_size(sides: &Sides, source: &Rows, target: &Rows) -> Result<()> {
    let (bytes, limit) = (source.bytes() + target.bytes(), sides.spilling.limit);
    let spilled = sides.source.spilled() || sides.target.spilled();
    if !spilled || bytes <= limit {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::MemoryLimit,
        format!(
            "the rows of one key, or of a few, take {} MiB, more than the memory limit leaves ({} MiB)",
            bytes >> 20,
            limit >> 20
        ),
    )
    .hint("Is the key complete? Otherwise set a larger memory_limit in the config."))
}
