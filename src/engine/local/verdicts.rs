//! What becomes of every single row, for the stager and for people who look.
//!
//! A byte or two a row stays in memory; what an expression gave, and which
//! delivered row takes the place of which, goes to disk beyond a limit.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use super::rows::Place;
use super::sides::{Sides, lock};
use super::store::{SpillFile, Spilling};
use super::tally::moved_to;
use super::visitor::{Bucket, Patch, Stay, Visitor};
use super::walk::walk;
use super::wire::{Number, Reader, put_value};
use crate::error::Result;
use crate::plan::Effect;
use crate::progress::Progress;
use crate::table::Value;

/// What becomes of a row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Fate {
    /// Not judged: out of reach, or deleted before.
    None,
    Stays,
    Zombie,
    Kept,
    Deleted,
    /// A delivered row takes its place, equal or not.
    Unchanged,
    Replaced,
    /// Assigned values, equal or not.
    Rewritten,
    Patched,
}

impl Fate {
    const ALL: [Fate; 9] = [
        Fate::None,
        Fate::Stays,
        Fate::Zombie,
        Fate::Kept,
        Fate::Deleted,
        Fate::Unchanged,
        Fate::Replaced,
        Fate::Rewritten,
        Fate::Patched,
    ];

    fn from_byte(byte: u8) -> Fate {
        Fate::ALL.into_iter().find(|fate| *fate as u8 == byte).unwrap_or(Fate::None)
    }

    /// Written again from the table's own file.
    pub fn is_carried(self) -> bool {
        matches!(self, Fate::Stays | Fate::Zombie | Fate::Kept | Fate::Rewritten | Fate::Patched)
    }

    fn effect(self) -> Option<Effect> {
        Some(match self {
            Fate::None | Fate::Stays => return None,
            Fate::Kept => Effect::Kept,
            Fate::Zombie => Effect::Zombies,
            Fate::Deleted => Effect::Deleted,
            Fate::Unchanged | Fate::Rewritten => Effect::Unchanged,
            Fate::Replaced | Fate::Patched => Effect::Updated,
        })
    }
}

/// What becomes of a delivered row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Use {
    /// How often it is written as it is.
    pub times: u32,
    /// The number of the insert that builds a row from it.
    pub build: Option<u8>,
    pub inserted: bool,
    pub ignored: bool,
    /// How many rows of the table it takes the place of and differs from.
    pub updates: u32,
}

const INSERTED: u16 = 1;
const IGNORED: u16 = 2;
const ONCE: u16 = 4;
const MANY: u16 = 8;
const UPDATES: u16 = 16;
const UPDATES_MANY: u16 = 32;
const BUILD_SHIFT: u32 = 8;

/// Every verdict of one rule.
#[derive(Debug)]
pub struct Verdicts {
    /// Per file and physical row.
    target: Vec<Vec<u8>>,
    source: Vec<Vec<u16>>,
    /// Delivered rows that are written more than once.
    times: HashMap<Place, u32>,
    /// Delivered rows that update more than one row of the table.
    updates: HashMap<Place, u32>,
    /// (row of the table, delivered row) of what is replaced and differs.
    pairs: Mutex<Scatter>,
    /// The pairs of the file that was looked at last, by position.
    last_pairs: Mutex<Option<(usize, Pairs)>>,
    /// New values of assigned columns.
    patches: Mutex<Scatter>,
    /// Per file of the table, its rows of each effect: a page passes over
    /// whole files by them.
    counts: Vec<[u64; EFFECTS]>,
}

const EFFECTS: usize = Effect::ALL.len();

/// (position in a file of the table, delivered row), ascending.
pub type Pairs = Arc<Vec<(u64, Place)>>;

/// Verdicts of one thread and bucket.
#[derive(Default)]
struct Notes {
    target: Vec<(Place, Fate)>,
    source: Vec<(Place, u16)>,
    again: Vec<Place>,
    pairs: Vec<(Place, Place)>,
    patches: Vec<(Place, Vec<u8>)>,
}

struct Recorder<'a> {
    shared: &'a Mutex<Verdicts>,
    notes: Notes,
}

impl Verdicts {
    /// # Errors
    /// The same as counting the rule's effects gave; `Storage`.
    pub fn new(sides: &Sides, rule: usize, progress: &Progress) -> Result<Verdicts> {
        let spilling = Spilling { limit: sides.spilling.limit / 8, ..sides.spilling.clone() };
        let extent = |file: &super::scan::FileFacts| usize::try_from(file.extent).unwrap_or(usize::MAX);
        let shared = Mutex::new(Verdicts {
            target: sides.target_facts.files.iter().map(|f| vec![0; extent(f)]).collect(),
            source: sides.source_facts.files.iter().map(|f| vec![0; extent(f)]).collect(),
            times: HashMap::new(),
            updates: HashMap::new(),
            pairs: Mutex::new(Scatter::new(spilling.clone())),
            last_pairs: Mutex::default(),
            patches: Mutex::new(Scatter::new(spilling)),
            counts: Vec::new(),
        });
        walk(
            sides,
            &[rule],
            progress,
            |_| Recorder { shared: &shared, notes: Notes::default() },
            |recorder: &mut Recorder<'_>, _| recorder.flush(),
        )?;
        let mut verdicts = shared.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        verdicts.counts = verdicts.target.iter().map(|fates| count(fates)).collect();
        Ok(verdicts)
    }

    /// Rows of a file of the table with an effect.
    pub fn count(&self, file: usize, effect: Effect) -> u64 {
        self.counts[file][effect as usize]
    }

    pub fn fate(&self, file: usize, position: u64) -> Fate {
        let byte = usize::try_from(position).ok().and_then(|at| self.target[file].get(at));
        byte.map_or(Fate::None, |byte| Fate::from_byte(*byte))
    }

    pub fn of_source(&self, place: Place) -> Use {
        let bits = usize::try_from(place.position()).ok().and_then(|at| self.source[place.file()].get(at));
        let bits = bits.copied().unwrap_or(0);
        let count = |once: u16, many: u16, all: &HashMap<Place, u32>| match () {
            () if bits & many != 0 => all.get(&place).copied().unwrap_or(1),
            () if bits & once != 0 => 1,
            () => 0,
        };
        let times = count(ONCE, MANY, &self.times);
        let updates = count(UPDATES, UPDATES_MANY, &self.updates);
        let build = (bits >> BUILD_SHIFT) as u8;
        let (inserted, ignored) = (bits & INSERTED != 0, bits & IGNORED != 0);
        Use { times, build: build.checked_sub(1), inserted, ignored, updates }
    }

    /// Physical rows of a file of the table with an effect, ascending.
    pub fn of_file(&self, file: usize, effect: Effect) -> impl Iterator<Item = u64> + '_ {
        let fates = self.target[file].iter().enumerate();
        fates.filter(move |(_, byte)| Fate::from_byte(**byte).effect() == Some(effect)).map(|(at, _)| at as u64)
    }

    /// The delivered rows that take the place of a file's rows: (position,
    /// delivered row), ascending. Pages of one file follow each other, so the
    /// last file's stay at hand.
    ///
    /// # Errors
    /// `Storage`.
    pub fn pairs(&self, file: usize) -> Result<Pairs> {
        let mut last = lock(&self.last_pairs);
        if let Some((_, pairs)) = last.as_ref().filter(|(of, _)| *of == file) {
            return Ok(pairs.clone());
        }
        let mut pairs = Vec::new();
        let bytes = lock(&self.pairs).read(file)?;
        let mut reader = Reader::new(&bytes);
        while !reader.is_empty() {
            pairs.push((reader.number::<u64>()?, Place::from_bits(reader.number()?)));
        }
        pairs.sort_unstable();
        let pairs = Arc::new(pairs);
        *last = Some((file, pairs.clone()));
        Ok(pairs)
    }

    /// New values of the rule's patched columns, by position.
    ///
    /// # Errors
    /// `Storage`.
    pub fn patches(&self, file: usize, columns: usize) -> Result<HashMap<u64, Vec<Value>>> {
        let mut patches = HashMap::new();
        let bytes = lock(&self.patches).read(file)?;
        let mut reader = Reader::new(&bytes);
        while !reader.is_empty() {
            let position = reader.number::<u64>()?;
            patches.insert(position, (0..columns).map(|_| reader.value()).collect::<Result<_>>()?);
        }
        Ok(patches)
    }

    fn take(&mut self, notes: Notes) -> Result<()> {
        let at = |place: Place| usize::try_from(place.position()).unwrap_or(usize::MAX);
        for (place, fate) in notes.target {
            if let Some(byte) = self.target[place.file()].get_mut(at(place)) {
                *byte = fate as u8;
            }
        }
        for (place, bits) in notes.source {
            if let Some(all) = self.source[place.file()].get_mut(at(place)) {
                *all |= bits;
            }
        }
        let updating: Vec<Place> = notes.pairs.iter().map(|(_, s)| *s).collect();
        for (places, once, many, counts) in
            [(notes.again, ONCE, MANY, &mut self.times), (updating, UPDATES, UPDATES_MANY, &mut self.updates)]
        {
            for place in places {
                let Some(all) = self.source[place.file()].get_mut(at(place)) else { continue };
                if *all & once == 0 {
                    *all |= once;
                } else {
                    *all |= many;
                    *counts.entry(place).or_insert(1) += 1;
                }
            }
        }
        let mut pairs = lock(&self.pairs);
        for (t, s) in notes.pairs {
            pairs.append(t.file(), |out| {
                t.position().write(out);
                s.bits().write(out);
            })?;
        }
        let mut patches = lock(&self.patches);
        for (t, values) in notes.patches {
            patches.append(t.file(), |out| {
                t.position().write(out);
                out.extend_from_slice(&values);
            })?;
        }
        Ok(())
    }
}

/// How many rows have each effect, by the effect's number.
fn count(fates: &[u8]) -> [u64; EFFECTS] {
    let mut bytes = [0u64; 256];
    fates.iter().for_each(|byte| bytes[usize::from(*byte)] += 1);
    let mut counts = [0; EFFECTS];
    for fate in Fate::ALL {
        if let Some(effect) = fate.effect() {
            counts[effect as usize] += bytes[fate as usize];
        }
    }
    counts
}

impl Recorder<'_> {
    fn flush(&mut self) -> Result<()> {
        let notes = std::mem::take(&mut self.notes);
        lock(self.shared).take(notes)
    }
}

impl Visitor for Recorder<'_> {
    fn stay(&mut self, bucket: &Bucket<'_>, t: usize, why: Stay) -> Result<()> {
        let fate = match why {
            Stay::Zombie => Fate::Zombie,
            Stay::Kept => Fate::Kept,
            Stay::Untouched => Fate::Stays,
        };
        self.notes.target.push((bucket.target.place[t], fate));
        Ok(())
    }

    fn delete(&mut self, bucket: &Bucket<'_>, t: usize) -> Result<()> {
        self.notes.target.push((bucket.target.place[t], Fate::Deleted));
        Ok(())
    }

    fn replace(&mut self, bucket: &Bucket<'_>, t: usize, s: usize) -> Result<()> {
        let (t_place, s_place) = (bucket.target.place[t], bucket.source.place[s]);
        let changed = bucket.source.row[s] != bucket.target.row[t];
        self.notes.target.push((t_place, if changed { Fate::Replaced } else { Fate::Unchanged }));
        self.notes.again.push(s_place);
        if changed {
            self.notes.pairs.push((t_place, s_place));
        }
        Ok(())
    }

    fn patch(&mut self, bucket: &Bucket<'_>, t: usize, patch: Patch) -> Result<()> {
        let place = bucket.target.place[t];
        self.notes.target.push((place, if patch.changed { Fate::Patched } else { Fate::Rewritten }));
        if patch.changed {
            let mut bytes = Vec::new();
            patch.values.iter().for_each(|value| put_value(value, &mut bytes));
            self.notes.patches.push((place, bytes));
        }
        Ok(())
    }

    fn insert(&mut self, bucket: &Bucket<'_>, s: usize) -> Result<()> {
        let place = bucket.source.place[s];
        self.notes.source.push((place, INSERTED));
        self.notes.again.push(place);
        Ok(())
    }

    fn build(&mut self, bucket: &Bucket<'_>, s: usize, insert: usize, _: Vec<Value>) -> Result<()> {
        // Compiling refuses more clauses than a byte can number.
        let number = u16::try_from(insert + 1).unwrap_or(u16::MAX >> BUILD_SHIFT);
        self.notes.source.push((bucket.source.place[s], INSERTED | number << BUILD_SHIFT));
        Ok(())
    }

    fn matched(&mut self, _: &Bucket<'_>, _: usize) -> Result<()> {
        Ok(())
    }

    fn ignore(&mut self, bucket: &Bucket<'_>, s: usize) -> Result<()> {
        self.notes.source.push((bucket.source.place[s], IGNORED));
        Ok(())
    }
}

/// Bytes by file, in memory up to a limit.
#[derive(Debug)]
struct Scatter {
    spilling: Spilling,
    memory: BTreeMap<usize, Vec<u8>>,
    bytes: usize,
    disk: Option<SpillFile>,
    segments: HashMap<usize, Vec<(u64, usize)>>,
}

impl Scatter {
    fn new(spilling: Spilling) -> Scatter {
        Scatter { spilling, memory: BTreeMap::new(), bytes: 0, disk: None, segments: HashMap::new() }
    }

    fn append(&mut self, file: usize, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let bytes = self.memory.entry(file).or_default();
        let before = bytes.capacity();
        write(bytes);
        self.bytes += bytes.capacity() - before;
        if self.bytes <= self.spilling.limit {
            return Ok(());
        }
        let mut disk = match self.disk.take() {
            Some(disk) => disk,
            None => SpillFile::new(&self.spilling.folder)?,
        };
        for (file, bytes) in std::mem::take(&mut self.memory) {
            self.segments.entry(file).or_default().push((disk.append(&bytes)?, bytes.len()));
        }
        self.bytes = 0;
        self.disk = Some(disk);
        Ok(())
    }

    fn read(&mut self, file: usize) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        if let (Some(disk), Some(segments)) = (&mut self.disk, self.segments.get(&file)) {
            for (offset, length) in segments {
                all.extend(disk.read(*offset, *length)?);
            }
        }
        all.extend_from_slice(self.memory.get(&file).map_or(&[][..], Vec::as_slice));
        Ok(all)
    }
}

/// The partition that a patched row of a file goes to.
pub fn patched_partition(sides: &Sides, rule: usize, file: usize, values: &[Value]) -> u32 {
    moved_to(sides, &sides.rules[rule].patched, sides.file_partition[file], values)
}
