//! The wizard's list: one layout a row. On a narrow screen the spread of a
//! layout's partitions is drawn, and its numbers stand in the pane below.

use super::layouts::{LayoutsScreen, Row};
use crate::ops::LayoutReport;
use crate::plan::layouts::{Limits, Origin, QueryRead, Spread};
use crate::table::number::{bytes, grouped};
use crate::table::value::escape_controls;
use crate::tui::text::count;
use crate::tui::theme::Role;
use crate::tui::widgets::bar::level;
use crate::tui::widgets::grid::{Cell, Column, Rows};

/// From so many cells on a spread is written out beside its picture.
const WRITTEN_OUT: u16 = 110;

/// The columns, in their order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Label,
    Partitions,
    Rows,
    Files,
    Queries,
    Size,
    Small,
    Skew,
    Nulls,
}

pub struct Table<'a> {
    report: Option<&'a LayoutReport>,
    rows: &'a [Row],
    limits: &'a Limits,
    before: Option<QueryRead>,
    wide: bool,
}

pub fn rows(screen: &LayoutsScreen, cells: u16) -> Table<'_> {
    Table {
        report: screen.load.value.as_ref(),
        rows: &screen.rows,
        limits: &screen.info.settings.layout,
        before: screen.today().map(|row| row.candidate.reads()),
        wide: cells >= WRITTEN_OUT,
    }
}

impl Table<'_> {
    fn whats(&self) -> Vec<What> {
        use What::{Files, Label, Nulls, Partitions, Queries, Rows, Size, Skew, Small};
        let mut list = vec![Label, Partitions, Rows, Files, Queries, Size, Small, Skew, Nulls];
        if self.asked() == 0 {
            list.retain(|what| *what != Queries);
        }
        list
    }

    fn asked(&self) -> u64 {
        self.report.map_or(0, |r| r.queries.len() as u64)
    }

    fn spread(&self, sizes: Option<Spread>, about: &str, text: fn(u64) -> String) -> String {
        let Some(s) = sizes else { return "?".into() };
        if s.min == s.max {
            return written_out(s, about, text);
        }
        let picture: String = [s.min, s.median, s.max].map(|n| level(n, s.max)).iter().collect();
        match self.wide {
            true => format!("{picture} {}", written_out(s, about, text)),
            false => format!("{picture} {about}{}", text(s.median)),
        }
    }

    fn queries(&self, row: &Row) -> Cell {
        let Some(before) = self.before else { return Cell::dim("?") };
        if row.candidate.origin == Origin::Today {
            return Cell::text(bytes(before.bytes));
        }
        match reads(row) {
            None => Cell::dim(format!("{} → ?", bytes(before.bytes))),
            Some(after) => {
                let about = if after.exact { "" } else { "~" };
                let role = match after.bytes {
                    more if more > before.bytes => Role::Warn,
                    less if less < before.bytes => Role::Ok,
                    _ => Role::Text,
                };
                Cell::new(format!("{} → {about}{}", bytes(before.bytes), bytes(after.bytes)), role)
            }
        }
    }
}

impl Rows for Table<'_> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn columns(&self) -> Vec<Column> {
        let spread = if self.wide { "min/med/max" } else { "(mid)" };
        let column = |what: What| match what {
            What::Label => Column::left("layout").limit(if self.wide { 40 } else { 26 }),
            What::Partitions => Column::right("parts"),
            What::Rows => Column::right(format!("rows {spread}")).limit(40),
            What::Files => Column::right("files"),
            What::Queries => Column::right(format!("our {} read", count(self.asked(), "query", "queries"))),
            What::Size => Column::right(format!("size {spread}")).limit(40),
            What::Small => Column::right("small"),
            What::Skew => Column::right("skew"),
            What::Nulls => Column::right("NULLs"),
        };
        self.whats().into_iter().map(column).collect()
    }

    fn cell(&self, row: usize, column: usize) -> Cell {
        let (Some(report), Some(shown)) = (self.report, self.rows.get(row)) else { return Cell::dim("") };
        let Some(what) = self.whats().get(column).copied() else { return Cell::dim("") };
        let (c, n) = (&shown.candidate, &shown.candidate.numbers);
        let about = n.rows_mark();
        match what {
            What::Label => {
                let star = if report.recommended == Some(row) { "★ " } else { "" };
                let (own, today) = match c.origin {
                    Origin::Today => ("", " (today)"),
                    Origin::Given => ("+ ", ""),
                    Origin::Proposed => ("", ""),
                };
                let role = if star.is_empty() { Role::Text } else { Role::Accent };
                Cell::new(format!("{star}{own}{}{today}", escape_controls(&c.label)), role)
            }
            What::Partitions => {
                let over = n.at_least || n.partitions > self.limits.max_partitions;
                let sign = if n.at_least { "≥ " } else { about };
                Cell::new(format!("{sign}{}", grouped(n.partitions)), if over { Role::Error } else { Role::Text })
            }
            What::Rows => Cell::text(self.spread(n.rows, about, grouped)),
            What::Files => Cell::text(format!("{}{}", about_files(shown), grouped(n.files))),
            What::Queries => self.queries(shown),
            What::Size => Cell::text(self.spread(n.bytes, n.sizes_mark(), bytes)),
            What::Small => small(shown, self.limits),
            What::Skew => Cell::text(n.skew.map_or_else(|| "?".into(), |s| format!("{about}{s:.1}"))),
            What::Nulls => Cell::dim(format!("{about}{}", grouped(n.nulls))),
        }
    }
}

/// What all queries read under a layout; `None` where that was not tried.
pub fn reads(row: &Row) -> Option<QueryRead> {
    (!row.candidate.queries.is_empty()).then(|| row.candidate.reads())
}

pub fn about_files(row: &Row) -> &'static str {
    if row.wish.knows_files(row.candidate.origin, &row.candidate.numbers) { "" } else { "~" }
}

/// The three sizes; one where all are the same.
pub fn written_out(s: Spread, about: &str, text: fn(u64) -> String) -> String {
    if s.min == s.max {
        return format!("{about}{}", text(s.max));
    }
    format!("{about}{} / {} / {}", text(s.min), text(s.median), text(s.max))
}

fn small(row: &Row, limits: &Limits) -> Cell {
    let about = about_files(row);
    match row.wish.small_share(&row.candidate.numbers, limits) {
        None => Cell::dim("?"),
        Some(share) if share > 0.5 => Cell::new(format!("{about}{:.0} %", share * 100.0), Role::Warn),
        Some(share) if share > 0.0 => Cell::text(format!("{about}{:.0} %", share * 100.0)),
        Some(_) => Cell::new("–", Role::Ok),
    }
}
