//! The partitions that need a look: not asked for, or asked for and not there.

use super::table::Table;
use super::{count, plural};
use crate::plan::{Plan, PlanPartition, slice};
use crate::table::number::grouped;

/// More of them are counted, not listed.
const MOST: usize = 20;

/// What was asked for, and how many partitions stay as they are: lines of the
/// head of a plan.
pub fn head(plan: &Plan) -> String {
    let asked = plan.spec.rows().and_then(|r| r.slice.as_ref());
    let asked = asked.map(|text| format!("asked    {text}\n")).unwrap_or_default();
    let untouched = plan.untouched_partitions;
    if plan.partition_columns.is_empty() || untouched == 0 {
        return asked;
    }
    format!("{asked}others   {} not touched\n", plural(untouched, "partition"))
}

/// A table of them with the worst first; empty where all is as expected.
pub fn render(plan: &Plan) -> String {
    let alarms: Vec<(&str, &PlanPartition)> =
        slice::by_alarm(plan).into_iter().filter_map(|p| Some((p.role.alarm()?, p))).collect();
    if alarms.is_empty() {
        return String::new();
    }
    let mut table = Table::default().left("look at").left("partition").right("before").right("source").right("after");
    for (word, p) in alarms.iter().take(MOST) {
        let source = if p.source == 0 { "none".to_owned() } else { grouped(p.source) };
        table.push([(*word).to_owned(), p.label(), grouped(p.before), source, count(Some(p.after))]);
    }
    let mut out = table.render();
    if alarms.len() > MOST {
        out += &format!("… and {} more (--json lists them)\n", alarms.len() - MOST);
    }
    out
}
