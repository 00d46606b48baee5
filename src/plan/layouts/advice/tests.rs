//! Advice over candidates made by hand, and over random ones.

use proptest::prelude::*;

use super::super::{ByColumn, ByteRange, Group, simulate};
use super::*;
use crate::table::{PartitionTuple, Value};

fn candidate(by: LayoutBy, origin: Origin, sizes: &[u64], read: Option<(u64, u64)>) -> Candidate {
    let groups: Vec<Group> = (0..)
        .zip(sizes)
        .map(|(i, bytes)| Group { values: PartitionTuple(vec![Value::Int(i)]), rows: bytes / 10, bytes: *bytes })
        .collect();
    let limits = Limits::default();
    let mut numbers = simulate(&groups, 0, (0, 0), &limits);
    numbers.bytes_after = ByteRange::exactly(sizes.iter().sum(), true);
    let mut c = Candidate::new(by, origin, numbers, &limits);
    c.queries = read.map(|(files, bytes)| QueryRead { files, bytes, exact: true }).into_iter().collect();
    c
}

fn by(name: &str) -> LayoutBy {
    LayoutBy::of([ByColumn::plain(name)])
}

fn none() -> LayoutBy {
    LayoutBy::default().sorted(vec!["dt".into()])
}

const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;
const GB: u64 = 1 << 30;

fn told(list: &[Candidate], table_bytes: u64) -> Recommendation {
    recommend(list, table_bytes, &Limits::default())
}

#[test]
fn small_files_are_what_a_small_table_gets_rid_of() {
    let list = [
        candidate(by("dt"), Origin::Today, &[5_000; 60], None),
        candidate(by("region"), Origin::Proposed, &[75_000; 4], None),
        candidate(none(), Origin::Proposed, &[300_000], None),
    ];
    let one = told(&list, 300_000);
    assert_eq!(one.index, Some(2));
    assert_eq!(one.because, "none (sort by dt): 1 file instead of 60, of which all are below 16.0 MB.");
    assert!(
        one.advice[0].contains("rarely pays") && one.advice[0].contains("next to nothing to skip"),
        "{:?}",
        one.advice
    );
    assert!(list[0].concerns[0].contains("100 % of its files"), "{:?}", list[0].concerns);
    // With several files there is something to skip.
    let list = [list[0].clone(), candidate(none(), Origin::Proposed, &[3 * GB], None)];
    assert!(told(&list, 3 * GB).because.contains("minima and maxima"), "{}", told(&list, 3 * GB).because);
    // Small files of few partitions are put together where they are.
    let mut scattered = candidate(by("region"), Origin::Today, &[75_000; 4], None);
    (scattered.numbers.files, scattered.numbers.small_files) = (500, 500);
    let one = told(&[scattered, candidate(by("dt"), Origin::Proposed, &[5_000; 60], None)], 300_000);
    assert_eq!(one.index, None);
    assert!(one.because.starts_with("stay: region: plan optimize"), "{}", one.because);
}

#[test]
fn queries_decide_where_they_are_known() {
    let list = [
        candidate(by("dt"), Origin::Today, &[50 * GB; 40], Some((40, 1_000 * GB))),
        candidate(by("region"), Origin::Proposed, &[100 * GB; 20], Some((4, 100 * GB))),
        candidate(LayoutBy::default(), Origin::Proposed, &[2_000 * GB], Some((20, 2_000 * GB))),
    ];
    let one = told(&list, 2_000 * GB);
    assert_eq!(one.index, Some(1));
    assert!(one.because.contains("read 100 GB instead of 1000 GB, in 4 files instead of 40"), "{}", one.because);
    let same = [list[0].clone(), candidate(by("region"), Origin::Proposed, &[100 * GB; 20], Some((40, 990 * GB)))];
    let one = told(&same, 2_000 * GB);
    assert_eq!(one.index, None);
    assert!(one.because.starts_with("stay: dt: our queries read 1000 GB in 40 files today"), "{}", one.because);
}

/// Today's layout has small files too: it is still what the others are held to.
#[test]
fn nothing_is_recommended_that_reads_more() {
    let list = [
        candidate(by("dt"), Origin::Today, &[5_000; 60], Some((1, 5_000))),
        candidate(by("region"), Origin::Proposed, &[75_000; 4], Some((4, 300_000))),
        candidate(none(), Origin::Proposed, &[300_000], Some((1, 300_000))),
    ];
    let one = told(&list, 300_000);
    assert_eq!(one.index, None, "{}", one.because);
    assert!(one.because.starts_with("stay: dt: our queries read 4.9 KB in 1 file today"), "{}", one.because);
    // The same bytes from fewer files: that is what is said.
    let list = [
        candidate(by("dt"), Origin::Today, &[5_000; 60], Some((60, 300_000))),
        candidate(none(), Origin::Proposed, &[300_000], Some((1, 300_000))),
    ];
    let one = told(&list, 300_000);
    assert_eq!(one.index, Some(1));
    assert!(one.because.contains("open 1 file instead of 60 for about the same 293 KB"), "{}", one.because);
    // More bytes only for far fewer files, and it says so.
    let list = [
        candidate(by("dt"), Origin::Today, &[5_000; 5_000], Some((5_000, 20 * MB))),
        candidate(none(), Origin::Proposed, &[25 * MB], Some((1, 25 * MB))),
    ];
    let one = told(&list, 25 * MB);
    assert_eq!(one.index, Some(1));
    assert!(one.because.contains("1 file instead of 5,000, although they would read 25.0 MB"), "{}", one.because);
}

#[test]
fn partitions_of_a_large_table_have_a_good_size() {
    let list = [
        candidate(by("dt"), Origin::Today, &vec![GB; 2_000], None),
        candidate(by("region"), Origin::Proposed, &[100 * GB; 20], None),
    ];
    let one = told(&list, 2_000 * GB);
    assert_eq!(one.index, Some(1));
    assert!(
        one.because.contains("100 GB / 100 GB / 100 GB") && one.because.contains("1.0 GB / 1.0 GB"),
        "{}",
        one.because
    );
    let list = [
        candidate(by("region"), Origin::Today, &[100 * GB; 20], None),
        candidate(by("dt"), Origin::Proposed, &vec![GB; 2_000], None),
    ];
    assert!(told(&list, 2_000 * GB).because.starts_with("stay: region"), "{}", told(&list, 2_000 * GB).because);
}

#[test]
fn what_speaks_against_a_layout_is_said() {
    let c = candidate(by("id"), Origin::Proposed, &vec![10; 10_001], None);
    assert!(c.concerns[0].contains("10,001 partitions"), "{:?}", c.concerns);
    let skewed = candidate(by("x"), Origin::Proposed, &[20 * MB, 20 * MB, 2_000 * MB], None);
    assert!(skewed.concerns.iter().any(|s| s.contains("100 times")), "{:?}", skewed.concerns);
    assert!(candidate(by("x"), Origin::Proposed, &[GB; 4], None).concerns.is_empty());
    assert!(told(&[c], 1 << 50).index.is_none());
    // A factor near one is not said to be 1.
    let mut limits = Limits { max_skew: 1.2, ..Limits::default() };
    let n = candidate(by("x"), Origin::Proposed, &[100 * MB, 100 * MB, 130 * MB], None).numbers;
    assert!(concerns(&by("x"), &n, &limits)[0].contains("1.3 times"), "{:?}", concerns(&by("x"), &n, &limits));
    limits.max_skew = 2.0;
    assert!(concerns(&by("x"), &n, &limits).is_empty());
}

fn any_candidate(origin: Origin, asked: bool) -> impl Strategy<Value = Candidate> {
    let sizes = prop_oneof![
        prop::collection::vec(1..200 * KB, 1..80),
        prop::collection::vec(MB..600 * MB, 1..12),
        prop::collection::vec(10 * GB..400 * GB, 1..12),
    ];
    (sizes, 0..3_u8, 0.0..=1.0_f64, any::<bool>()).prop_map(move |(sizes, kind, share, exact)| {
        let layout = match kind {
            0 => none(),
            1 => LayoutBy::default(),
            _ => by("c"),
        };
        let mut c = candidate(layout, origin, &sizes, None);
        if asked {
            let files = (c.numbers.files as f64 * share).ceil() as u64;
            let bytes = (sizes.iter().sum::<u64>() as f64 * share) as u64;
            c.queries = vec![QueryRead { files, bytes, exact }];
        }
        c
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_reason_is_true_by_the_numbers_shown(
        (today, others) in any::<bool>().prop_flat_map(|asked| (
            any_candidate(Origin::Today, asked),
            prop::collection::vec(any_candidate(Origin::Proposed, asked), 0..6),
        ))
    ) {
        let limits = Limits::default();
        let size = today.numbers.bytes_after.middle();
        let list: Vec<Candidate> = std::iter::once(today.clone()).chain(others).collect();
        let one = recommend(&list, size, &limits);
        let because = &one.because;
        let (old, asked) = (today.reads(), !today.queries.is_empty());
        // Nothing is compared with what looks the same.
        for half in because.split(" instead of ").collect::<Vec<_>>().windows(2) {
            let was = [", ", "; ", " for ", ". "].iter().fold(half[1], |t, end| t.split(end).next().unwrap_or(t));
            let words = half[0].split(' ').collect::<Vec<_>>();
            let is = words[words.len().saturating_sub(2)..].join(" ");
            let plain = |text: &str| text.trim_end_matches(['.', 's']).trim_end_matches(" file").replace('~', "");
            prop_assert!(plain(&is) != plain(was), "{because}");
        }
        let Some(index) = one.index else {
            prop_assert!(because.starts_with("stay: "), "{because}");
            return Ok(());
        };
        let c = &list[index];
        let new = c.reads();
        prop_assert!(c.origin != Origin::Today && because.starts_with(&c.label), "{because}");
        prop_assert!(flaws(&c.by, &c.numbers, &limits).is_empty(), "{because}");
        if asked {
            prop_assert!(price(new) < price(old), "{because}");
            if new.bytes > old.bytes && bytes(new.bytes) != bytes(old.bytes) {
                prop_assert!(new.files < old.files && because.contains("although they would read"), "{because}");
            }
        } else if size < limits.partitioning_pays_bytes {
            prop_assert!(c.numbers.files < today.numbers.files, "{because}");
        }
        if because.contains("skipped") {
            prop_assert!(c.numbers.files >= SKIPPABLE_FILES && !c.by.sort_by.is_empty(), "{because}");
        }
    }
}
