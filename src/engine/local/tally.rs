//! Counting what a rule does: rows, sums and checksums per partition.

use super::breaks::Breaks;
use super::hash::{self, mix};
use super::measure::MeasureRows;
use super::rows::{Place, Rows};
use super::sides::{EXAMPLES, Sides};
use super::visitor::{Bucket, KeyGroup, Patch, Stay, Visitor};
use crate::engine::RowSet;
use crate::error::Result;
use crate::lake::data::{array_of, arrow_type};
use crate::plan::Effects;
use crate::table::number::Sum;
use crate::table::{PartitionTuple, Value};

/// The numbers of one partition.
#[derive(Debug, Clone, Default)]
pub struct PartitionTally {
    pub effects: Effects,
    pub written: RowSet,
    /// Per measure: (rows that are read, rows that are there afterwards).
    pub sums: Vec<(Sum, Sum)>,
}

/// Rows of a file that do not stay in it.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileTally {
    pub touched: u64,
    pub sum: u128,
}

pub struct Tally<'a> {
    sides: &'a Sides,
    rule: usize,
    pub partitions: Vec<PartitionTally>,
    pub files: Vec<FileTally>,
    /// NULLs that expressions give, per column of the table.
    pub nulls: Vec<u64>,
    /// Rows that would be written and break a check.
    pub breaks: Breaks,
    pub keys: KeyGroup,
    pub repeated: Vec<Place>,
    pub ambiguous: Vec<Place>,
    pub elsewhere: Vec<Place>,
    patches: Vec<(usize, Patch)>,
    builds: Vec<(usize, Vec<Value>)>,
    zeros: Vec<(Sum, Sum)>,
}

impl<'a> Tally<'a> {
    pub fn new(sides: &'a Sides, rule: usize) -> Tally<'a> {
        let zero = |measure: &MeasureRows| (measure.zero(), measure.zero());
        Tally {
            sides,
            rule,
            partitions: Vec::new(),
            files: vec![FileTally::default(); sides.files.len()],
            nulls: vec![0; sides.roles.columns],
            breaks: Breaks::default(),
            keys: KeyGroup::default(),
            repeated: Vec::new(),
            ambiguous: Vec::new(),
            elsewhere: Vec::new(),
            patches: Vec::new(),
            builds: Vec::new(),
            zeros: sides.roles.measure_kinds.iter().map(zero).collect(),
        }
    }

    pub fn at(&mut self, number: u32) -> &mut PartitionTally {
        let number = number as usize;
        if number >= self.partitions.len() {
            let blank = PartitionTally { sums: self.zeros.clone(), ..PartitionTally::default() };
            self.partitions.resize(number + 1, blank);
        }
        &mut self.partitions[number]
    }

    /// A row of the table that does not stay where it is.
    fn touch(&mut self, rows: &Rows, t: usize) {
        let file = &mut self.files[rows.place[t].file()];
        file.touched += 1;
        file.sum = file.sum.wrapping_add(mix(rows.row[t]));
    }

    /// A row of the table as it is now.
    fn before(&mut self, rows: &Rows, t: usize, stays: bool) {
        let at = self.at(rows.partition[t]);
        for (sums, measure) in at.sums.iter_mut().zip(&rows.measures) {
            let value = measure.row(t);
            sums.0.add(value);
            if stays {
                sums.1.add(value);
            }
        }
    }

    fn write(&mut self, partition: u32, row: u128, measure: impl Fn(usize) -> Sum) {
        let at = self.at(partition);
        at.written.add(mix(row));
        at.sums.iter_mut().enumerate().for_each(|(m, sums)| sums.1.add(measure(m)));
    }

    fn exchange(&mut self, from: u32, to: u32, changed: bool, touched_only: bool) {
        if !changed {
            self.at(to).effects.unchanged += 1;
            return;
        }
        let effects = &mut self.at(to).effects;
        effects.updated += 1;
        effects.touched_only += u64::from(touched_only);
        if from != to {
            effects.moved_in += 1;
            self.at(from).effects.moved_out += 1;
        }
    }

    /// Hashes what expressions gave; call after each bucket.
    ///
    /// # Errors
    /// `Internal` where a value does not have its column's type.
    pub fn flush(&mut self, bucket: &Bucket<'_>) -> Result<()> {
        self.flush_patches(bucket)?;
        self.flush_builds(bucket)
    }

    fn flush_patches(&mut self, bucket: &Bucket<'_>) -> Result<()> {
        let patches = std::mem::take(&mut self.patches);
        if patches.is_empty() {
            return Ok(());
        }
        let roles = &self.sides.roles;
        let schema = &self.sides.fetch.layout.schema;
        let patched = &self.sides.rules[self.rule].patched;
        let mut hashes: Vec<u128> = patches.iter().map(|(t, _)| bucket.target.row[*t]).collect();
        for (place, column) in patched.iter().enumerate() {
            let data_type = arrow_type(&schema.fields[*column].data_type);
            let seed = hash::column_seed(roles.seed, *column);
            let slot = roles.cells.target.iter().position(|c| c == column);
            let mut old = Vec::with_capacity(patches.len());
            for (t, _) in &patches {
                let mut reader = super::wire::Reader::new(bucket.target.payload.row(*t));
                let mut value = Value::Null;
                for _ in 0..=slot.unwrap_or(0) {
                    value = reader.value()?;
                }
                old.push(value);
            }
            let new: Vec<Value> = patches.iter().map(|(_, patch)| patch.values[place].clone()).collect();
            let (mut gone, mut come) = (vec![0u128; old.len()], vec![0u128; new.len()]);
            hash::add_column(&array_of(&old, &data_type)?, seed, &mut gone)?;
            hash::add_column(&array_of(&new, &data_type)?, seed, &mut come)?;
            for (hash, (gone, come)) in hashes.iter_mut().zip(gone.iter().zip(&come)) {
                *hash = hash.wrapping_sub(*gone).wrapping_add(*come);
            }
            if !schema.fields[*column].nullable {
                self.nulls[*column] += new.iter().filter(|v| v.is_null()).count() as u64;
            }
        }
        for ((t, patch), hash) in patches.into_iter().zip(hashes) {
            let from = bucket.target.partition[t];
            let to = moved_to(self.sides, patched, from, &patch.values);
            self.exchange(from, to, patch.changed, patch.touched_only);
            let measures = roles.measures.clone();
            self.write(to, hash, |m| match patched.iter().position(|c| *c == measures[m]) {
                Some(place) => bucket.target.measures[m].of_value(&patch.values[place]),
                None => bucket.target.measures[m].row(t),
            });
        }
        Ok(())
    }

    fn flush_builds(&mut self, _: &Bucket<'_>) -> Result<()> {
        let builds = std::mem::take(&mut self.builds);
        if builds.is_empty() {
            return Ok(());
        }
        let roles = &self.sides.roles;
        let schema = &self.sides.fetch.layout.schema;
        let mut hashes = vec![0u128; builds.len()];
        for (column, field) in schema.fields.iter().enumerate() {
            let values: Vec<Value> = builds.iter().map(|(_, values)| values[column].clone()).collect();
            let array = array_of(&values, &arrow_type(&field.data_type))?;
            hash::add_column(&array, hash::column_seed(roles.seed, column), &mut hashes)?;
            if !field.nullable {
                self.nulls[column] += values.iter().filter(|v| v.is_null()).count() as u64;
            }
        }
        for ((_, values), hash) in builds.into_iter().zip(hashes) {
            let to = number_of(self.sides, &values);
            self.at(to).effects.inserted += 1;
            let (measures, kinds) = (roles.measures.clone(), &self.sides.roles.measure_kinds);
            self.write(to, hash, |m| kinds[m].of_value(&values[measures[m]]));
        }
        Ok(())
    }

    pub fn merge(&mut self, more: Tally<'_>) {
        for (number, p) in more.partitions.into_iter().enumerate() {
            let at = self.at(number as u32);
            at.effects.add(&p.effects);
            at.written.rows += p.written.rows;
            at.written.checksum = at.written.checksum.wrapping_add(p.written.checksum);
            for (sums, more) in at.sums.iter_mut().zip(p.sums) {
                sums.0.add(more.0);
                sums.1.add(more.1);
            }
        }
        for (file, more) in self.files.iter_mut().zip(more.files) {
            file.touched += more.touched;
            file.sum = file.sum.wrapping_add(more.sum);
        }
        self.nulls.iter_mut().zip(more.nulls).for_each(|(all, more)| *all += more);
        self.breaks.merge(more.breaks);
        self.keys.add(&more.keys);
        for (all, more) in [
            (&mut self.repeated, more.repeated),
            (&mut self.ambiguous, more.ambiguous),
            (&mut self.elsewhere, more.elsewhere),
        ] {
            all.extend(more);
            few(all);
        }
    }
}

/// The first places, whatever the order in which they were met.
fn few(places: &mut Vec<Place>) {
    places.sort_unstable();
    places.truncate(EXAMPLES);
}

/// The partition that a row of the table goes to when columns are assigned.
pub fn moved_to(sides: &Sides, patched: &[usize], from: u32, values: &[Value]) -> u32 {
    let roles = &sides.roles;
    if !patched.iter().any(|c| roles.partition.contains(c)) {
        return from;
    }
    let mut tuple = {
        let partitions = super::sides::lock(&sides.partitions);
        partitions.tuples()[from as usize].clone()
    };
    for (value, column) in tuple.0.iter_mut().zip(&roles.partition) {
        if let Some(place) = patched.iter().position(|c| c == column) {
            *value = values[place].clone();
        }
    }
    sides.number(&tuple)
}

/// The number of the partition that a row of all columns is in.
pub fn number_of(sides: &Sides, values: &[Value]) -> u32 {
    sides.number(&PartitionTuple(sides.roles.partition.iter().map(|column| values[*column].clone()).collect()))
}

impl KeyGroup {
    fn add(&mut self, more: &KeyGroup) {
        self.source_duplicates += more.source_duplicates;
        self.target_duplicates += more.target_duplicates;
        self.existing += more.existing;
        self.elsewhere += more.elsewhere;
        self.source_nulls += more.source_nulls;
        self.target_nulls += more.target_nulls;
        self.ambiguous += more.ambiguous;
    }
}

impl Visitor for Tally<'_> {
    fn stay(&mut self, bucket: &Bucket<'_>, t: usize, why: Stay) -> Result<()> {
        let from = bucket.target.partition[t];
        match why {
            Stay::Zombie => self.at(from).effects.zombies += 1,
            Stay::Kept => self.at(from).effects.kept += 1,
            Stay::Untouched => {}
        }
        self.before(bucket.target, t, true);
        Ok(())
    }

    fn delete(&mut self, bucket: &Bucket<'_>, t: usize) -> Result<()> {
        self.at(bucket.target.partition[t]).effects.deleted += 1;
        self.before(bucket.target, t, false);
        self.touch(bucket.target, t);
        Ok(())
    }

    fn replace(&mut self, bucket: &Bucket<'_>, t: usize, s: usize) -> Result<()> {
        let (source, target) = (bucket.source, bucket.target);
        self.before(target, t, false);
        self.touch(target, t);
        let changed = source.row[s] != target.row[t];
        let touched_only = changed && !source.significant.is_empty() && source.significant[s] == target.significant[t];
        self.exchange(target.partition[t], source.partition[s], changed, touched_only);
        self.breaks.delivered(&self.sides.roles.checks, source.broken(s), source.place[s]);
        self.write(source.partition[s], source.row[s], |m| source.measures[m].row(s));
        Ok(())
    }

    fn patch(&mut self, bucket: &Bucket<'_>, t: usize, patch: Patch) -> Result<()> {
        self.before(bucket.target, t, false);
        self.touch(bucket.target, t);
        let schema = &self.sides.fetch.layout.schema;
        let cell = |column: usize| {
            let found = patch.cells.iter().find(|(c, _)| *c == column);
            found.map_or(Value::Null, |(_, value)| value.clone())
        };
        self.breaks.computed(&self.sides.roles.checks, patch.broken, schema, &cell);
        self.patches.push((t, patch));
        Ok(())
    }

    fn insert(&mut self, bucket: &Bucket<'_>, s: usize) -> Result<()> {
        let source = bucket.source;
        let at = self.at(source.partition[s]);
        at.effects.source += 1;
        at.effects.inserted += 1;
        self.breaks.delivered(&self.sides.roles.checks, source.broken(s), source.place[s]);
        self.write(source.partition[s], source.row[s], |m| source.measures[m].row(s));
        Ok(())
    }

    fn build(&mut self, bucket: &Bucket<'_>, s: usize, _: usize, values: Vec<Value>) -> Result<()> {
        self.at(bucket.source.partition[s]).effects.source += 1;
        let checks = &self.sides.roles.checks;
        if !checks.rows.is_empty() {
            let cell = |column: usize| values[column].clone();
            let broken = checks.rows.broken(&cell);
            self.breaks.computed(checks, broken, &self.sides.fetch.layout.schema, &cell);
        }
        self.builds.push((s, values));
        Ok(())
    }

    fn matched(&mut self, bucket: &Bucket<'_>, s: usize) -> Result<()> {
        self.at(bucket.source.partition[s]).effects.source += 1;
        Ok(())
    }

    fn ignore(&mut self, bucket: &Bucket<'_>, s: usize) -> Result<()> {
        let effects = &mut self.at(bucket.source.partition[s]).effects;
        effects.source += 1;
        effects.ignored += 1;
        Ok(())
    }

    fn key(&mut self, facts: KeyGroup) {
        self.keys.add(&facts);
        for (all, one) in [
            (&mut self.repeated, facts.repeated),
            (&mut self.ambiguous, facts.ambiguous_example),
            (&mut self.elsewhere, facts.elsewhere_example),
        ] {
            if let Some(place) = one {
                all.push(place);
                if all.len() > 64 {
                    few(all);
                }
            }
        }
    }
}
