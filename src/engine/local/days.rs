//! Days of date columns, per partition, on one side: whether a source is finer
//! than the partition that it replaces.

use deltalake::arrow::array::{Array, ArrayRef, AsArray};
use deltalake::arrow::datatypes::{DataType, Date32Type, SchemaRef, TimeUnit, TimestampMicrosecondType};

use super::keys::SmallMap;
use crate::gate::evidence::{GrainFacts, GrainPartition};

/// A partition with rows on more days than this is not counted: it is a history
/// of its own, and no month that one day could be taken for.
const MOST_DAYS: usize = 400;
const DAY_US: i64 = 86_400_000_000;

/// Rows of one date or timestamp column, by partition number and day (UTC,
/// since 1970-01-01). NULL is no day.
#[derive(Debug, Clone, Default)]
pub struct DayCounts(SmallMap<u32, Days>);

#[derive(Debug, Clone)]
enum Days {
    /// day → rows
    Counted(SmallMap<i64, u64>),
    /// More than [`MOST_DAYS`].
    TooMany,
}

impl DayCounts {
    /// Adds the rows of a batch: row `i` belongs to the partition `numbers[i]`
    /// and has the value `array[i]`. A column of a type without days adds nothing.
    pub fn add(&mut self, numbers: &[u32], array: &ArrayRef) {
        match array.data_type() {
            DataType::Date32 => {
                self.add_days(numbers, array.as_primitive::<Date32Type>().iter().map(|v| v.map(i64::from)))
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                let values = array.as_primitive::<TimestampMicrosecondType>();
                self.add_days(numbers, values.iter().map(|v| v.map(|us| us.div_euclid(DAY_US))));
            }
            _ => {}
        }
    }

    /// Neighbours are often of one partition and day: they are looked up once.
    fn add_days(&mut self, numbers: &[u32], days: impl Iterator<Item = Option<i64>>) {
        let mut run: Option<(u32, i64, u64)> = None;
        for (number, day) in numbers.iter().zip(days) {
            let Some(day) = day else { continue };
            match &mut run {
                Some((n, d, rows)) if *n == *number && *d == day => *rows += 1,
                _ => {
                    if let Some((n, d, rows)) = run.replace((*number, day, 1)) {
                        self.count(n, d, rows);
                    }
                }
            }
        }
        if let Some((n, d, rows)) = run {
            self.count(n, d, rows);
        }
    }

    fn count(&mut self, number: u32, day: i64, rows: u64) {
        let entry = self.0.entry(number).or_insert_with(|| Days::Counted(SmallMap::default()));
        if let Days::Counted(days) = entry {
            *days.entry(day).or_default() += rows;
            if days.len() > MOST_DAYS {
                *entry = Days::TooMany;
            }
        }
    }

    /// Adds what was counted of other rows. They number their partitions by
    /// themselves: `renumber` gives the number that a partition has here.
    pub fn merge(&mut self, other: DayCounts, renumber: impl Fn(u32) -> u32) {
        for (number, days) in other.0 {
            let number = renumber(number);
            match days {
                Days::Counted(days) => days.into_iter().for_each(|(day, rows)| self.count(number, day, rows)),
                Days::TooMany => {
                    self.0.insert(number, Days::TooMany);
                }
            }
        }
    }

    /// Whether a partition has rows on more days than are counted.
    pub fn overflows(&self, number: u32) -> bool {
        matches!(self.0.get(&number), Some(Days::TooMany))
    }

    fn days(&self, number: u32) -> Option<&SmallMap<i64, u64>> {
        match self.0.get(&number)? {
            Days::Counted(days) => Some(days),
            Days::TooMany => None,
        }
    }
}

/// The columns that have days: dates and timestamps that neither partition the
/// table nor are ignored, as indexes of its schema.
pub fn day_columns(schema: &SchemaRef, partition: &[usize], ignore: &[usize]) -> Vec<usize> {
    let has_days = |t: &DataType| matches!(t, DataType::Date32 | DataType::Timestamp(TimeUnit::Microsecond, _));
    let columns = schema
        .fields()
        .iter()
        .enumerate()
        .filter(|(i, f)| has_days(f.data_type()) && !partition.contains(i) && !ignore.contains(i));
    columns.map(|(i, _)| i).collect()
}

/// What the gate `grain` judges for one column: the partitions that both sides
/// have days of, by number. `label` names a partition as the plan does.
pub fn facts(column: &str, source: &DayCounts, target: &DayCounts, label: impl Fn(u32) -> String) -> GrainFacts {
    let mut numbers: Vec<u32> = source.0.keys().copied().filter(|n| target.0.contains_key(n)).collect();
    numbers.sort_unstable();
    let uncounted = numbers.iter().filter(|n| source.overflows(**n) || target.overflows(**n)).count() as u64;
    let partitions = numbers.into_iter().filter_map(|number| {
        let (delivered, present) = (source.days(number)?, target.days(number)?);
        let mut facts = GrainPartition {
            label: label(number),
            source_days: delivered.len() as u64,
            target_days: present.len() as u64,
            ..GrainPartition::default()
        };
        for (day, rows) in present {
            match delivered.get(day) {
                Some(there) => facts.rows_lost += rows.saturating_sub(*there),
                None => {
                    facts.days_only_in_target += 1;
                    facts.rows_lost += rows;
                    facts.rows_lost_on_absent_days += rows;
                }
            }
        }
        Some(facts)
    });
    let (column, partitions) = (column.to_owned(), partitions.collect());
    GrainFacts { column, partitions, uncounted }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use deltalake::arrow::array::{Date32Array, Int32Array, TimestampMicrosecondArray};
    use deltalake::arrow::datatypes::{Field, Schema};

    use super::*;

    fn dates(days: impl IntoIterator<Item = Option<i32>>) -> ArrayRef {
        Arc::new(days.into_iter().collect::<Date32Array>())
    }

    fn counted(numbers: &[u32], array: &ArrayRef) -> DayCounts {
        let mut counts = DayCounts::default();
        counts.add(numbers, array);
        counts
    }

    #[test]
    fn one_day_of_a_month_against_the_month() {
        let month = dates((0..90).map(|n| Some(20_000 + n % 30)));
        let target = counted(&[0; 90], &month);
        let source = counted(&[0, 0, 1], &dates([Some(20_004), Some(20_004), Some(20_004)]));
        let facts = facts("posting_date", &source, &target, |n| format!("p={n}"));
        let expected = GrainPartition {
            label: "p=0".into(),
            source_days: 1,
            target_days: 30,
            days_only_in_target: 29,
            rows_lost: 88,
            rows_lost_on_absent_days: 87,
        };
        assert_eq!(facts, GrainFacts { column: "posting_date".into(), partitions: vec![expected], uncounted: 0 });
    }

    #[test]
    fn timestamps_are_days_in_utc_also_before_1970_and_null_is_none() {
        let at = |us| Some(us);
        let array: ArrayRef =
            Arc::new(TimestampMicrosecondArray::from(vec![at(-1), at(0), None, at(DAY_US - 1)]).with_timezone("UTC"));
        let counts = counted(&[0; 4], &array);
        assert_eq!(counts.days(0).unwrap(), &SmallMap::from_iter([(-1, 1), (0, 2)]));
    }

    #[test]
    fn merging_is_counting_all_at_once() {
        let (left, right) = (dates([Some(1), Some(1), Some(2)]), dates([Some(2), Some(3)]));
        let mut merged = counted(&[0, 1, 0], &left);
        // The other file met the partitions the other way round.
        merged.merge(counted(&[1, 0], &right), |n| 1 - n);
        let once = counted(&[0, 1, 0, 0, 1], &dates([Some(1), Some(1), Some(2), Some(2), Some(3)]));
        for number in [0, 1] {
            assert_eq!(merged.days(number), once.days(number));
        }
    }

    #[test]
    fn a_partition_of_too_many_days_is_not_judged() {
        let many = MOST_DAYS as i32 + 1;
        let target = counted(&vec![0; many as usize], &dates((0..many).map(Some)));
        let source = counted(&[0], &dates([Some(1)]));
        assert!(target.overflows(0) && !source.overflows(0));
        let facts = facts("d", &source, &target, |n| n.to_string());
        assert_eq!((facts.partitions.len(), facts.uncounted), (0, 1));
        let mut merged = source.clone();
        merged.merge(target, |n| n);
        assert!(merged.overflows(0), "too many stays too many");
    }

    #[test]
    fn columns_with_days_are_found() {
        let field = |name: &str, t: DataType| Field::new(name, t, true);
        let schema: SchemaRef = Arc::new(Schema::new(vec![
            field("p", DataType::Date32),
            field("id", DataType::Int32),
            field("posted", DataType::Date32),
            field("loaded", DataType::Timestamp(TimeUnit::Microsecond, None)),
        ]));
        assert_eq!(day_columns(&schema, &[0], &[3]), [2]);
        assert_eq!(day_columns(&schema, &[], &[]), [0, 2, 3]);
        let ids: ArrayRef = Arc::new(Int32Array::from(vec![1]));
        assert!(counted(&[0], &ids).days(0).is_none());
    }
}
