//! A calendar heat map for partitions by day: weeks go down, gaps stand out.

use std::collections::BTreeMap;

use chrono::{Datelike, Days, NaiveDate};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::bar::level;
use super::paint::put;
use crate::table::{PartitionStats, Value};
use crate::tui::theme::{Role, Theme};

/// Rows by day, from the first day to the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calendar {
    days: BTreeMap<NaiveDate, u64>,
    first: NaiveDate,
    last: NaiveDate,
}

/// The day that a partition value stands for: a date, or a text in ISO form.
/// Years that no calendar shows are none: weeks around them cannot be counted.
pub fn day(value: &Value) -> Option<NaiveDate> {
    let day = match value {
        Value::Date(days) => {
            NaiveDate::from_ymd_opt(1970, 1, 1)?.checked_add_signed(chrono::Duration::days(i64::from(*days)))
        }
        Value::String(text) if text.len() == 10 => NaiveDate::parse_from_str(text, "%Y-%m-%d").ok(),
        _ => None,
    };
    day.filter(|day| (1..=9999).contains(&day.year()))
}

impl Calendar {
    /// `None` unless the table has one partition column that holds days.
    pub fn of(partitions: &[PartitionStats]) -> Option<Calendar> {
        let mut days = BTreeMap::new();
        for partition in partitions {
            match partition.values.0.as_slice() {
                [Value::Null] => {}
                [value] => *days.entry(day(value)?).or_insert(0) += partition.rows.known,
                _ => return None,
            }
        }
        let (first, last) = (*days.first_key_value()?.0, *days.last_key_value()?.0);
        Some(Calendar { days, first, last })
    }

    /// Days between the first and the last that have no partition, at most `limit`.
    pub fn gaps(&self, limit: usize) -> Vec<NaiveDate> {
        let mut gaps = Vec::new();
        for pair in self.days.keys().collect::<Vec<_>>().windows(2) {
            let mut at = *pair[0] + Days::new(1);
            while at < *pair[1] {
                if gaps.len() == limit {
                    return gaps;
                }
                gaps.push(at);
                at = at + Days::new(1);
            }
        }
        gaps
    }

    fn median(&self) -> u64 {
        let mut rows: Vec<u64> = self.days.values().copied().collect();
        rows.sort_unstable();
        rows.get(rows.len() / 2).copied().unwrap_or(0)
    }

    /// Days with less than a quarter of the usual rows: (day, rows), newest first.
    pub fn low(&self) -> (Vec<(NaiveDate, u64)>, u64) {
        let usual = self.median();
        let low = self.days.iter().rev().filter(|(_, rows)| **rows * 4 < usual).map(|(d, r)| (*d, *r)).collect();
        (low, usual)
    }

    /// Draws the weeks around `focus`, and below them gaps and low days.
    pub fn draw(&self, buf: &mut Buffer, area: Rect, focus: Option<NaiveDate>, theme: &Theme) {
        let dim = theme.style(Role::Dim);
        put(buf, area.x, area.y, area.width, "      M  T  W  T  F  S  S", dim);
        let notes = 4.min(area.height.saturating_sub(4));
        let weeks = i64::from(area.height.saturating_sub(1 + notes));
        let monday = |d: NaiveDate| d - Days::new(u64::from(d.weekday().num_days_from_monday()));
        let (begin, end) = (monday(self.first), monday(self.last));
        let total = (end - begin).num_days() / 7 + 1;
        let at = (monday(focus.unwrap_or(self.last)) - begin).num_days() / 7;
        let start = (at - weeks / 2).clamp(0, (total - weeks).max(0));
        let max = self.days.values().copied().max().unwrap_or(0);
        for row in 0..weeks.min(total) {
            let Some(week) = begin.checked_add_signed(chrono::Duration::days((start + row) * 7)) else { break };
            let y = area.y + 1 + row as u16;
            let month_starts = (0..7).map(|i| week + Days::new(i)).find(|d| d.day() == 1);
            if row == 0 || month_starts.is_some() {
                let name = month_starts.unwrap_or(week).format("%b").to_string();
                put(buf, area.x, y, 4, &name, dim);
            }
            for i in 0..7 {
                let date = week + Days::new(i);
                if date < self.first || date > self.last {
                    continue;
                }
                let (symbol, role) = match self.days.get(&date) {
                    Some(rows) => (level(*rows, max), Role::Bar),
                    None => ('·', Role::Warn),
                };
                let mut style = theme.style(role);
                if focus == Some(date) {
                    style = style.patch(theme.style(Role::Selection));
                }
                put(buf, area.x + 6 + 3 * i as u16, y, 1, symbol.encode_utf8(&mut [0; 4]), style);
            }
        }
        self.notes(buf, Rect { y: area.bottom() - notes, height: notes, ..area }, theme);
    }

    fn notes(&self, buf: &mut Buffer, area: Rect, theme: &Theme) {
        let mut lines = Vec::new();
        let gaps = self.gaps(3);
        match gaps.as_slice() {
            [] => lines.push(("no gaps".to_owned(), Role::Dim)),
            shown => {
                let more = if self.gaps(4).len() > 3 { ", …" } else { "" };
                let texts: Vec<String> = shown.iter().map(ToString::to_string).collect();
                for (i, line) in texts.chunks(2).enumerate() {
                    let end = if (i + 1) * 2 >= texts.len() { more } else { "," };
                    let start = if i == 0 { "gaps " } else { "     " };
                    lines.push((format!("{start}{}{end}", line.join(", ")), Role::Warn));
                }
            }
        }
        let (low, usual) = self.low();
        if let Some((date, rows)) = low.first() {
            let more = if low.len() > 1 { format!(" +{} more", low.len() - 1) } else { String::new() };
            lines.push((format!("low  {date} ({rows} rows, usual {usual}){more}"), Role::Warn));
        }
        for (i, (text, role)) in lines.iter().take(usize::from(area.height)).enumerate() {
            put(buf, area.x, area.y + i as u16, area.width, text, theme.style(*role));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::PartitionTuple;

    fn on(text: &str, rows: u64) -> PartitionStats {
        let mut stats = PartitionStats::new(PartitionTuple(vec![Value::String(text.into())]));
        stats.rows.add(Some(rows));
        stats
    }

    #[test]
    fn gaps_and_low_days_are_found_by_date() {
        let calendar =
            Calendar::of(&[on("2026-02-27", 100), on("2026-02-28", 100), on("2026-03-02", 9), on("2026-03-03", 110)])
                .unwrap();
        assert_eq!(calendar.gaps(9).iter().map(ToString::to_string).collect::<Vec<_>>(), ["2026-03-01"]);
        assert_eq!(calendar.low().0.len(), 1);
        assert!(Calendar::of(&[on("EMEA", 1)]).is_none());
        assert!(Calendar::of(&[]).is_none());
        // The first and the last day that chrono knows, and days beyond.
        for days in [-96_465_292, 95_026_236, i32::MIN, i32::MAX] {
            assert!(day(&Value::Date(days)).is_none());
        }
    }
}
