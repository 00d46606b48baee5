//! Which layouts are worth a look: columns with few values, pairs of them,
//! dates by month and year, and no partitions with sorted files.

use super::{ByColumn, LayoutBy, Limits};
use crate::table::schema::PrimitiveType;
use crate::table::{DataType, Schema, Value};

/// Single columns, pairs.
const MOST_SINGLES: usize = 5;
const MOST_PAIRS: usize = 3;
const DAY_US: i64 = 86_400_000_000;

/// What a sample tells of one column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnFacts {
    pub name: String,
    pub data_type: PrimitiveType,
    /// Estimated for the whole table.
    pub distinct: u64,
    pub min: Option<Value>,
    pub max: Option<Value>,
}

/// One proposal with its number of partitions, as far as is known before
/// anything is counted.
#[derive(Debug, Clone)]
struct Single {
    column: ByColumn,
    /// The table's column that it is made of.
    of: String,
    distinct: u64,
    /// Whether a query names it.
    queried: bool,
}

/// Proposes layouts, the better ones first. `queried`: columns that queries
/// name, each once. `rows`: of the table.
pub fn propose(
    facts: &[ColumnFacts],
    schema: &Schema,
    queried: &[String],
    rows: u64,
    today: &[String],
    limits: &Limits,
) -> Vec<LayoutBy> {
    let most = limits.max_partitions.min(rows / 2);
    let mut singles: Vec<Single> = facts
        .iter()
        .flat_map(|f| variants(f, schema).into_iter().map(move |(column, distinct)| (f, column, distinct)))
        .filter(|(_, _, distinct)| (2..=most).contains(distinct))
        .map(|(f, column, distinct)| Single {
            column,
            of: f.name.clone(),
            distinct,
            queried: queried.iter().any(|q| q.eq_ignore_ascii_case(&f.name)),
        })
        .collect();
    singles.sort_by(|a, b| (!a.queried, a.distinct, &a.column.name).cmp(&(!b.queried, b.distinct, &b.column.name)));
    let mut found: Vec<LayoutBy> = Vec::new();
    for single in singles.iter().take(MOST_SINGLES) {
        found.push(LayoutBy::of([single.column.clone()]));
    }
    let mut pairs: Vec<(u64, LayoutBy)> = Vec::new();
    for (i, a) in singles.iter().take(MOST_SINGLES).enumerate() {
        for b in singles.iter().take(MOST_SINGLES).skip(i + 1).filter(|b| b.of != a.of) {
            let both = a.distinct.saturating_mul(b.distinct);
            if both <= most {
                pairs.push((both, LayoutBy::of([a.column.clone(), b.column.clone()])));
            }
        }
    }
    pairs.sort_by_key(|(both, _)| *both);
    found.extend(pairs.into_iter().take(MOST_PAIRS).map(|(_, by)| by));
    found.push(LayoutBy::default().sorted(sort_column(facts, queried, today).into_iter().collect()));
    let is_today = |by: &LayoutBy| {
        by.sort_by.is_empty() && by.columns.iter().all(|c| c.expression.is_none()) && by.names() == today
    };
    found.retain(|by| !is_today(by));
    found
}

/// The column itself and, of a time, its month and year, each with the number
/// of its values.
fn variants(facts: &ColumnFacts, schema: &Schema) -> Vec<(ByColumn, u64)> {
    use PrimitiveType::{Boolean, Byte, Date, Integer, Long, Short, String, Timestamp, TimestampNtz};
    let name = &facts.name;
    let mut found = Vec::new();
    let mut add = |suffix: &str, sql: std::string::String, values: u64| {
        let new = format!("{name}_{suffix}");
        if schema.find(&new).is_none() && values >= 2 && values < facts.distinct {
            found.push((ByColumn::computed(sql, new), values));
        }
    };
    let sql = sql_name(name);
    let days = span_days(facts);
    match &facts.data_type {
        Date => {
            add("month", format!("trunc({sql}, 'MM')"), days / 30);
            add("year", format!("year({sql})"), days / 365);
        }
        Timestamp | TimestampNtz => {
            add("date", format!("CAST({sql} AS DATE)"), days);
            add("month", format!("date_trunc('MONTH', {sql})"), days / 30);
            add("year", format!("year({sql})"), days / 365);
        }
        _ => {}
    }
    if matches!(&facts.data_type, Boolean | Byte | Short | Integer | Long | String | Date) {
        found.push((ByColumn::plain(name.clone()), facts.distinct));
    }
    found
}

fn sql_name(name: &str) -> String {
    let by = LayoutBy::of([ByColumn::plain(name)]);
    by.argument()
}

/// Whole days between the first and the last value; 0 where they are no times.
fn span_days(facts: &ColumnFacts) -> u64 {
    let day = |v: &Value| match v {
        Value::Date(days) => Some(i64::from(*days)),
        Value::Timestamp(us) | Value::TimestampNtz(us) => Some(us.div_euclid(DAY_US)),
        _ => None,
    };
    let (Some(first), Some(last)) = (facts.min.as_ref().and_then(day), facts.max.as_ref().and_then(day)) else {
        return 0;
    };
    u64::try_from(last.saturating_sub(first).saturating_add(1)).unwrap_or(0)
}

/// What files are sorted by where there are no partitions: what the queries ask
/// for by range, a time, what the table is partitioned by today.
fn sort_column(facts: &[ColumnFacts], queried: &[String], today: &[String]) -> Option<String> {
    use PrimitiveType::{Date, Timestamp, TimestampNtz};
    let is_time = |f: &&ColumnFacts| matches!(f.data_type, Date | Timestamp | TimestampNtz) && f.distinct > 1;
    let fact = |name: &String| facts.iter().find(|f| f.name.eq_ignore_ascii_case(name));
    let asked: Vec<&ColumnFacts> = queried.iter().filter_map(fact).collect();
    let time = asked.iter().copied().find(|f| is_time(f));
    let most_values = asked.iter().copied().max_by_key(|f| f.distinct);
    let todays = today.iter().filter_map(fact).next();
    let any = facts.iter().filter(is_time).max_by_key(|f| f.distinct);
    time.or(most_values).or(todays).or(any).map(|f| f.name.clone())
}

/// Whether a column may stand in a layout at all.
pub fn is_plain(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Primitive(t) if *t != PrimitiveType::Binary)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(name: &str, data_type: PrimitiveType, distinct: u64) -> ColumnFacts {
        ColumnFacts { name: name.into(), data_type, distinct, min: None, max: None }
    }

    fn labels(list: &[LayoutBy]) -> Vec<String> {
        list.iter().map(LayoutBy::argument).collect()
    }

    #[test]
    fn few_values_months_pairs_and_none() {
        let days = ColumnFacts {
            min: Some(Value::Date(20_000)),
            max: Some(Value::Date(20_364)),
            ..facts("dt", PrimitiveType::Date, 365)
        };
        let all = [
            days,
            facts("region", PrimitiveType::String, 4),
            facts("id", PrimitiveType::Long, 1_000_000),
            facts("amount", PrimitiveType::Double, 7),
            facts("one", PrimitiveType::String, 1),
        ];
        let schema = Schema::default();
        let found = propose(&all, &schema, &[], 1_000_000, &["dt".into()], &Limits::default());
        assert_eq!(
            labels(&found),
            ["region", "trunc(dt, 'MM') AS dt_month", "region, trunc(dt, 'MM') AS dt_month", "region, dt", "none",]
        );
        assert_eq!(found.last().unwrap().sort_by, ["dt"]);
        let asked = propose(&all, &schema, &["id".into(), "region".into()], 1_000_000, &[], &Limits::default());
        assert_eq!(asked.last().unwrap().sort_by, ["id"]);
        assert!(labels(&asked).contains(&"dt".to_owned()));
    }

    #[test]
    fn a_key_is_no_partition_column() {
        let all = [facts("id", PrimitiveType::Long, 90), facts("ts", PrimitiveType::Timestamp, 90)];
        let found = propose(&all, &Schema::default(), &[], 100, &[], &Limits::default());
        assert_eq!(labels(&found), ["none"]);
    }
}
