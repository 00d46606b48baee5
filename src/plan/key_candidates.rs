//! Which columns could identify a row: grown from the columns with the most
//! distinct values, judged on a sample, to be counted exactly afterwards.

use super::technical::is_technical_name;
use crate::table::{DataType, Field, PrimitiveType};

/// Sets that are worth an exact count.
pub const MOST_SETS: usize = 6;
/// Columns that pairs and triples are made of.
const GROWN: usize = 8;
/// Pairs that are grown to triples.
const PAIRS: usize = 4;

/// How likely a column is to be part of a key, best first. `None`: never.
pub fn rank(field: &Field) -> Option<u8> {
    let DataType::Primitive(data_type) = &field.data_type else { return None };
    use PrimitiveType::*;
    if matches!(data_type, Float | Double | Binary) || is_technical_name(&field.name) {
        return None;
    }
    let lower = field.name.to_lowercase();
    const WORDS: [&str; 12] = ["id", "key", "no", "nr", "num", "number", "code", "uuid", "guid", "pk", "line", "item"];
    let by_name = lower.split(|c: char| !c.is_alphanumeric()).any(|word| WORDS.contains(&word))
        || ["id", "Id", "ID", "Key", "Number"].iter().any(|end| field.name.ends_with(end));
    Some(match data_type {
        // Amounts are often unique, and never mean it.
        Decimal { scale, .. } if *scale > 0 => 3,
        Timestamp | TimestampNtz => 2,
        _ if by_name => 0,
        _ => 1,
    })
}

/// A column of the sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampled {
    pub rank: u8,
    pub distinct: u64,
}

/// Sets of columns (as indexes of `columns`) that are unique in a sample of
/// `rows` rows, none within another; where there are none, the most distinct
/// sets. `distinct` counts the distinct tuples of a set in the sample.
pub fn grow(columns: &[Sampled], rows: u64, distinct: &dyn Fn(&[usize]) -> u64) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..columns.len()).filter(|i| columns[*i].distinct > 1 || rows <= 1).collect();
    order.sort_by_key(|i| (std::cmp::Reverse(columns[*i].distinct), columns[*i].rank, *i));
    let mut unique: Vec<Vec<usize>> =
        order.iter().filter(|i| columns[**i].distinct == rows).map(|i| vec![*i]).collect();
    // A time or an amount that happens to be unique is no reason to look no further.
    let settled = |unique: &[Vec<usize>]| unique.iter().any(|set| set.iter().all(|i| columns[*i].rank < 2));
    let mut seen: Vec<(Vec<usize>, u64)> = order.iter().map(|i| (vec![*i], columns[*i].distinct)).collect();
    if !settled(&unique) {
        let parts: Vec<usize> =
            order.iter().copied().filter(|i| columns[*i].distinct < rows && columns[*i].rank < 3).take(GROWN).collect();
        let mut layer: Vec<Vec<usize>> = parts.iter().map(|i| vec![*i]).collect();
        for _ in 2..=3 {
            let mut next: Vec<(Vec<usize>, u64)> = Vec::new();
            for set in &layer {
                for column in &parts {
                    let mut larger = [&set[..], &[*column]].concat();
                    larger.sort_unstable();
                    larger.dedup();
                    let known = next.iter().any(|(s, _)| *s == larger);
                    let within = unique.iter().any(|small| small.iter().all(|i| larger.contains(i)));
                    if larger.len() > set.len() && !known && !within {
                        let count = distinct(&larger);
                        next.push((larger, count));
                    }
                }
            }
            unique.extend(next.iter().filter(|(_, count)| *count == rows).map(|(set, _)| set.clone()));
            seen.extend(next.iter().cloned());
            if settled(&unique) {
                break;
            }
            next.retain(|(_, count)| *count < rows);
            next.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            layer = next.into_iter().take(PAIRS).map(|(set, _)| set).collect();
        }
    }
    if unique.is_empty() {
        seen.sort_by_key(|(set, count)| (std::cmp::Reverse(*count), set.len()));
        return seen.into_iter().take(3).map(|(set, _)| set).collect();
    }
    let worst = |set: &Vec<usize>| set.iter().map(|i| columns[*i].rank).max().unwrap_or(0);
    let sum = |set: &Vec<usize>| set.iter().map(|i| u32::from(columns[*i].rank)).sum::<u32>();
    unique.sort_by_key(|set| (worst(set), set.len(), sum(set), set.clone()));
    unique.truncate(MOST_SETS);
    unique
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn field(name: &str, data_type: PrimitiveType) -> Field {
        Field {
            name: name.into(),
            data_type: DataType::Primitive(data_type),
            nullable: true,
            metadata: Default::default(),
        }
    }

    /// Grows over rows of numbers.
    fn grown(ranks: &[u8], rows: &[Vec<u64>]) -> Vec<Vec<usize>> {
        let count = |set: &[usize]| {
            rows.iter().map(|row| set.iter().map(|i| row[*i]).collect::<Vec<u64>>()).collect::<HashSet<_>>().len()
                as u64
        };
        let columns: Vec<Sampled> =
            ranks.iter().enumerate().map(|(i, rank)| Sampled { rank: *rank, distinct: count(&[i]) }).collect();
        grow(&columns, rows.len() as u64, &count)
    }

    #[test]
    fn names_and_types_rank() {
        use PrimitiveType::*;
        assert_eq!(rank(&field("doc_number", Long)), Some(0));
        assert_eq!(rank(&field("orderId", String)), Some(0));
        assert_eq!(rank(&field("company", String)), Some(1));
        assert_eq!(rank(&field("changed", Timestamp)), Some(2));
        assert_eq!(rank(&field("amount", Decimal { precision: 12, scale: 2 })), Some(3));
        assert_eq!(rank(&field("rate", Double)), None);
        assert_eq!(rank(&field("batch_id", Long)), None);
    }

    #[test]
    fn one_column_is_enough() {
        let rows: Vec<Vec<u64>> = (0..100).map(|i| vec![i, i % 10, i / 10]).collect();
        assert_eq!(grown(&[0, 0, 0], &rows), [[0]]);
    }

    #[test]
    fn pairs_and_triples() {
        let rows: Vec<Vec<u64>> = (0..100).map(|i| vec![i % 10, i / 10, i % 2]).collect();
        assert_eq!(grown(&[0, 0, 0], &rows), [[0, 1]]);
        let rows: Vec<Vec<u64>> = (0..1000).map(|i| vec![i % 10, i / 10 % 10, i / 100, 1]).collect();
        assert_eq!(grown(&[0, 0, 0, 0], &rows), [[0, 1, 2]]);
    }

    #[test]
    fn a_unique_time_does_not_end_the_search() {
        let rows: Vec<Vec<u64>> = (0..100).map(|i| vec![i % 10, i / 10, i]).collect();
        assert_eq!(grown(&[0, 0, 2], &rows), [vec![0, 1], vec![2]]);
    }

    #[test]
    fn without_a_unique_set_the_most_distinct_come() {
        let rows: Vec<Vec<u64>> = (0..100).map(|i| vec![i % 50, i % 2, 7]).collect();
        let sets = grown(&[0, 0, 0], &rows);
        assert_eq!(sets[0], [0]);
        assert!(sets.iter().all(|set| !set.contains(&2)), "a constant is no part of a key: {sets:?}");
    }
}
