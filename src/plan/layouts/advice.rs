//! Which layout pays, in plain words with its reason.

use super::{Candidate, LayoutBy, Limits, Numbers, Origin, QueryRead};
use crate::table::number::{bytes, grouped};

/// What opening one more file costs a reader, as bytes that it could have read
/// meanwhile: the default of Spark's `spark.sql.files.openCostInBytes`.
const OPEN_FILE_BYTES: u64 = 4 << 20;
/// Another layout has to bring so much less before a rewrite pays.
const GAIN: f64 = 0.7;
/// Of fewer files there is next to nothing that a reader could skip.
const SKIPPABLE_FILES: u64 = 3;

/// What speaks against a layout.
pub fn concerns(by: &LayoutBy, n: &Numbers, limits: &Limits) -> Vec<String> {
    let mut said = flaws(by, n, limits);
    if by.columns.is_empty() {
        return said;
    }
    if let Some(share) = n.small_share().filter(|_| is_small(n)) {
        let about = n.sizes_mark();
        said.push(format!(
            "{about}{:.0} % of its files would be below {}",
            share * 100.0,
            bytes(limits.small_file_bytes)
        ));
    }
    if n.nulls > 0 {
        let about = n.rows_mark();
        said.push(format!("{about}{} would go into a partition of NULL", plural(n.nulls, "row")));
    }
    said
}

/// What rules a layout out, whatever else it brings.
fn flaws(by: &LayoutBy, n: &Numbers, limits: &Limits) -> Vec<String> {
    let mut said = Vec::new();
    if by.columns.is_empty() {
        return said;
    }
    if n.at_least || n.partitions > limits.max_partitions {
        said.push(format!(
            "{}{} partitions: more than {} make every reader slow",
            if n.at_least { "≥ " } else { n.rows_mark() },
            grouped(n.partitions),
            grouped(limits.max_partitions)
        ));
    }
    if n.partitions == 1 {
        said.push("there is one value only: the layout would skip nothing".into());
    }
    if let Some(skew) = n.skew.filter(|s| *s > limits.max_skew) {
        let times = times(skew);
        said.push(format!("the largest partition has {}{times} times the rows of the middle one", n.rows_mark()));
    }
    said
}

/// A factor for people: `1.3`, `450`.
pub fn times(factor: f64) -> String {
    if factor < 10.0 { format!("{factor:.1}") } else { format!("{factor:.0}") }
}

fn is_small(n: &Numbers) -> bool {
    n.small_share().is_some_and(|share| share > 0.5)
}

fn plural(n: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// What is proposed, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recommendation {
    /// An index into the candidates; `None`: the table is best left as it is.
    pub index: Option<usize>,
    pub because: String,
    /// General rules that hold for a table of this size.
    pub advice: Vec<String>,
}

/// Chooses among the candidates. `table_bytes`: the table's size today. Another
/// layout than today's is recommended only where it brings something, and the
/// reason says what: fewer bytes or files for the queries, or fewer files.
pub fn recommend(candidates: &[Candidate], table_bytes: u64, limits: &Limits) -> Recommendation {
    let choice = Choice::new(candidates, table_bytes, limits);
    let (index, because) = match choice {
        None => (None, "Nothing is known of today's layout, so that none can be recommended beside it.".to_owned()),
        Some(choice) if candidates.iter().any(|c| !c.queries.is_empty()) => choice.by_queries(),
        Some(choice) if choice.is_small_table => choice.by_files(),
        Some(choice) => choice.by_sizes(limits),
    };
    Recommendation { index, because, advice: rules(candidates, table_bytes, limits) }
}

/// Today's layout and those that could take its place.
struct Choice<'a> {
    all: &'a [Candidate],
    today: &'a Candidate,
    /// Indexes of the sound ones.
    others: Vec<usize>,
    /// The first of them without partitions.
    none: Option<usize>,
    is_small_table: bool,
    small_file_bytes: u64,
}

type Said = (Option<usize>, String);

impl<'a> Choice<'a> {
    fn new(all: &'a [Candidate], table_bytes: u64, limits: &Limits) -> Option<Choice<'a>> {
        let today = all.iter().find(|c| c.origin == Origin::Today)?;
        let sound = |c: &Candidate| {
            let n = &c.numbers;
            // Small files speak against a layout only where it has more of them than today's.
            c.origin != Origin::Today
                && flaws(&c.by, n, limits).is_empty()
                && (!is_small(n) || n.small_files <= today.numbers.small_files)
        };
        let others: Vec<usize> = (0..all.len()).filter(|i| sound(&all[*i])).collect();
        Some(Choice {
            none: others.iter().copied().find(|i| all[*i].by.columns.is_empty()),
            is_small_table: table_bytes < limits.partitioning_pays_bytes,
            small_file_bytes: limits.small_file_bytes,
            all,
            today,
            others,
        })
    }

    fn stay(&self, why: &str) -> Said {
        (None, format!("stay: {}: {why}", self.today.label))
    }

    /// What the queries read decides, where they are known.
    fn by_queries(&self) -> Said {
        let price = |c: &Candidate| price(c.reads());
        let key = |i: &usize| (price(&self.all[*i]), self.all[*i].numbers.files, *i);
        let old = self.today.reads();
        let Some(best) = self.others.iter().copied().min_by_key(key) else {
            return self.stay("none of the other layouts is sound; see what speaks against each.");
        };
        let is_gain = |better: &Candidate, than: &Candidate| (price(better) as f64) < GAIN * price(than) as f64;
        let mut chosen = best;
        if !is_gain(&self.all[best], self.today) {
            return self.stay(&format!(
                "our queries read {} today; the best of the others, {}, would read {}.",
                read_text(old),
                self.all[best].label,
                read_text(self.all[best].reads())
            ));
        }
        // Of a small table partitions have to bring more than order alone does.
        if let Some(none) = self.none.filter(|_| self.is_small_table)
            && is_gain(&self.all[none], self.today)
            && !is_gain(&self.all[best], &self.all[none])
        {
            chosen = none;
        }
        let c = &self.all[chosen];
        (Some(chosen), format!("{}: {}{}.", c.label, reads_reason(c.reads(), old), self.fewer_files(c)))
    }

    /// `, and the table would have …`, where it would have fewer files.
    fn fewer_files(&self, c: &Candidate) -> String {
        let (new, old) = (&c.numbers, &self.today.numbers);
        match new.files < old.files {
            true => format!(
                "; the table would have {}{} instead of {}",
                new.sizes_mark(),
                plural(new.files, "file"),
                grouped(old.files)
            ),
            false => String::new(),
        }
    }

    /// Without queries, a small table gains by fewer small files only.
    fn by_files(&self) -> Said {
        let old = &self.today.numbers;
        if !is_small(old) || old.files < 2 {
            return self.stay(&format!(
                "no queries are known, and {} need no mending.",
                sizes_text(old.files, old.bytes_after.middle())
            ));
        }
        // Files of one partition are put together without another layout.
        let least = old.partitions.max(1);
        let fewer = |i: &usize| self.all[*i].numbers.files.saturating_mul(2) <= least;
        let fewest = || self.others.iter().copied().filter(fewer).min_by_key(|i| (self.all[*i].numbers.files, *i));
        let Some(chosen) = self.none.filter(fewer).or_else(fewest) else {
            let mend = match old.files > least {
                true => "plan optimize puts its small files together, and no other layout has far fewer.",
                false => "no other layout has far fewer files.",
            };
            return self.stay(mend);
        };
        let c = &self.all[chosen];
        let skip = match c.by.columns.is_empty() && !c.by.sort_by.is_empty() && c.numbers.files >= SKIPPABLE_FILES {
            true => " Sorted files are skipped by their minima and maxima.",
            false => "",
        };
        let because = format!(
            "{}: {}{} instead of {}, of which {} {} below {}.{skip}",
            c.label,
            c.numbers.sizes_mark(),
            plural(c.numbers.files, "file"),
            grouped(old.files),
            if old.small_files == old.files { "all".to_owned() } else { grouped(old.small_files) },
            if old.small_files == 1 { "is" } else { "are" },
            bytes(self.small_file_bytes)
        );
        (Some(chosen), because)
    }

    /// Without queries, partitions of a large table should be of a good size.
    fn by_sizes(&self, limits: &Limits) -> Said {
        let off = |c: &Candidate| off_size(&c.numbers, limits);
        let known = self.others.iter().copied().filter(|i| self.all[*i].numbers.bytes.is_some());
        let best = known.min_by(|a, b| off(&self.all[*a]).total_cmp(&off(&self.all[*b])));
        let Some(best) = best else {
            return self.stay("none of the other layouts is sound; see what speaks against each.");
        };
        let c = &self.all[best];
        let text = |n: &Numbers| {
            n.bytes.map_or_else(
                || "?".into(),
                |b| format!("{}{} / {} / {}", n.sizes_mark(), bytes(b.min), bytes(b.median), bytes(b.max)),
            )
        };
        let (new, old) = (text(&c.numbers), text(&self.today.numbers));
        if off(c) + std::f64::consts::LN_2 > off(self.today) {
            return self
                .stay(&format!("partitions of {old} (smallest, middle, largest) are about as good as any other."));
        }
        (
            Some(best),
            format!("{}: partitions of {new} (smallest, middle, largest), where today they are {old}.", c.label),
        )
    }
}

/// How far the middle partition is from the size that one should have, with
/// unequal ones and small files on top; in natural logarithms.
fn off_size(n: &Numbers, limits: &Limits) -> f64 {
    let median = n.bytes.map_or(1.0, |b| b.median.max(1) as f64);
    let off = (median / limits.partition_bytes.max(1) as f64).ln().abs();
    off + n.skew.unwrap_or(1.0).max(1.0).ln() + 4.0 * n.small_share().unwrap_or(0.0)
}

/// What a read costs, in bytes.
fn price(read: QueryRead) -> u64 {
    read.bytes.saturating_add(read.files.saturating_mul(OPEN_FILE_BYTES))
}

fn read_text(read: QueryRead) -> String {
    let about = if read.exact { "" } else { "~" };
    format!("{about}{} in {about}{}", bytes(read.bytes), plural(read.files, "file"))
}

fn sizes_text(files: u64, size: u64) -> String {
    match files {
        0 | 1 => format!("its {}", plural(files, "file")),
        _ => format!("its {} of {} on average", plural(files, "file"), bytes(size / files)),
    }
}

/// Only what differs, by the numbers as they are shown.
fn reads_reason(new: QueryRead, old: QueryRead) -> String {
    let about = if new.exact { "" } else { "~" };
    let (size, was) = (bytes(new.bytes), bytes(old.bytes));
    let files = format!("{about}{} instead of {}", plural(new.files, "file"), grouped(old.files));
    if size == was {
        return format!("our queries would open {files} for about the same {was}");
    }
    if new.bytes > old.bytes {
        return format!("our queries would open {files}, although they would read {about}{size} instead of {was}");
    }
    let within = if new.files == old.files {
        format!("in {} as today", plural(new.files, "file"))
    } else {
        format!("in {files}")
    };
    format!("our queries would read {about}{size} instead of {was}, {within}")
}

fn rules(candidates: &[Candidate], table_bytes: u64, limits: &Limits) -> Vec<String> {
    let mut rules = Vec::new();
    let (size, pays) = (bytes(table_bytes), bytes(limits.partitioning_pays_bytes));
    if table_bytes >= limits.partitioning_pays_bytes {
        rules.push(format!("Aim for partitions of similar size, about {} each.", bytes(limits.partition_bytes)));
    } else if table_bytes.div_ceil(limits.target_file_bytes.max(1)) < SKIPPABLE_FILES {
        rules.push(format!(
            "The table has {size}. Below {pays} partitioning rarely pays; this one fits into one file or two, of which there is next to nothing to skip."
        ));
    } else {
        rules.push(format!(
            "The table has {size}. Below {pays} partitioning rarely pays: files that are sorted or Z-ordered by the columns of the queries are skipped by their minima and maxima."
        ));
    }
    rules.push(format!(
        "No partition should stay below {}: a file costs every reader the same, however few rows it has.",
        bytes(limits.small_file_bytes)
    ));
    if candidates.iter().all(|c| c.queries.is_empty()) {
        rules.push("No queries are known. Give --query, or keep them in the config (queries = [\"…\"]), and they are tried on each layout.".into());
    }
    rules
}

#[cfg(test)]
mod tests;
