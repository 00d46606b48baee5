//! The wizard's lower pane: what the layout under the cursor would break, what
//! it would mean beside today's, and its numbers in full. It scrolls.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::layouts::{LayoutsScreen, Pane, Row};
use super::layouts_table::{about_files, reads, written_out};
use crate::ops::LayoutReport;
use crate::plan::layouts::{Limits, Numbers, Origin, QueryRead, Spread};
use crate::table::number::{bytes, grouped};
use crate::table::value::escape_controls;
use crate::tui::shared::Core;
use crate::tui::text::{Align, count, fit, pad, wrap};
use crate::tui::theme::Role;
use crate::tui::widgets::bar::{bar, level};
use crate::tui::widgets::paint::{self, Piece, piece};

/// What the report says where it knows no queries; here a key adds one.
const NO_QUERIES: &str = "No queries are known";

/// The topmost line that the pane can begin with.
pub fn last_top(screen: &LayoutsScreen, core: &Core) -> usize {
    let Some(report) = &screen.load.value else { return 0 };
    lines(screen, report, core).len().saturating_sub(screen.detail_height(core))
}

pub fn draw(buf: &mut Buffer, area: Rect, screen: &LayoutsScreen, report: &LayoutReport, core: &Core) {
    let theme = &core.theme;
    let lines = lines(screen, report, core);
    let height = usize::from(area.height.saturating_sub(1));
    let top = screen.top.min(lines.len().saturating_sub(height));
    let hidden = lines.len() > height;
    let heading = match screen.pane {
        Pane::List if hidden => "more below: Tab goes there".to_owned(),
        Pane::List => String::new(),
        Pane::Detail => {
            let last = (top + height).min(lines.len());
            format!("lines {}–{} of {} · j k scroll · Tab to the list", (top + 1).min(last), last, lines.len())
        }
    };
    paint::rule(buf, area, 0, &heading, theme);
    if screen.pane == Pane::Detail {
        paint::line(buf, area, 0, &[piece("▸", Role::Accent)], theme);
    }
    for (row, line) in (1..).zip(lines.iter().skip(top).take(height)) {
        paint::line(buf, area, row, line, theme);
    }
}

/// All lines of the pane.
pub fn lines(screen: &LayoutsScreen, report: &LayoutReport, core: &Core) -> Vec<Vec<Piece>> {
    let cells = usize::from(core.size.0.saturating_sub(4));
    let mut text = Text { lines: Vec::new(), cells };
    pending(&mut text, screen, core);
    let (Some(today), Some(row)) = (screen.today(), screen.selected()) else { return text.lines };
    let is_today = row.candidate.origin == Origin::Today;
    if let Some(found) = &row.breakers {
        for breaker in found {
            let (mark, role) = if breaker.danger { ("✘", Role::Error) } else { ("!", Role::Warn) };
            text.say(mark, &breaker.line(), role);
        }
        if found.is_empty() {
            text.say("✔", "no writer of the history would break", Role::Ok);
        }
    }
    text.say("★", &report.because, Role::Accent);
    text.lines.extend(strips(today, row, cells));
    text.lines.extend(bars(today, row, report, cells));
    for concern in &row.candidate.concerns {
        text.say("!", concern, Role::Warn);
    }
    for by in &row.wish.by.columns {
        if let Some(sql) = &by.expression {
            text.say("·", &format!("{} = {sql}: a generated column is added", by.name), Role::Dim);
        }
    }
    if row.wish.is_curve() {
        text.say(
            "·",
            "a Z-order is not simulated: sizes are estimates, and what queries would read is not known",
            Role::Dim,
        );
    } else if row.wish.files_per_partition.is_some() && !report.queries.is_empty() {
        text.say("·", "with a fixed number of files what queries would read is not known", Role::Dim);
    }
    numbers(&mut text, row, &screen.info.settings.layout);
    if !is_today && row.breakers.is_none() {
        text.say("·", "⏎ counts it exactly, and looks for writers that it would break", Role::Dim);
    }
    queries(&mut text, today, row, report);
    for rule in report.advice.iter().filter(|rule| !rule.starts_with(NO_QUERIES)) {
        text.say(" ", rule, Role::Dim);
    }
    if report.queries.is_empty() {
        text.say(" ", "No queries are known: p adds one, and it is tried on each layout.", Role::Dim);
    }
    text.lines
}

struct Text {
    lines: Vec<Vec<Piece>>,
    cells: usize,
}

impl Text {
    fn say(&mut self, mark: &str, text: &str, role: Role) {
        for (i, part) in wrap(&escape_controls(text), self.cells.saturating_sub(2)).into_iter().enumerate() {
            let mark = if i == 0 { mark } else { " " };
            self.lines.push(vec![piece(format!(" {mark} {part}"), role)]);
        }
    }

    fn fact(&mut self, name: &str, value: String) {
        for (i, part) in wrap(&value, self.cells.saturating_sub(11)).into_iter().enumerate() {
            let name = if i == 0 { name } else { "" };
            self.lines.push(vec![piece(format!("   {name:<11}"), Role::Dim), piece(part, Role::Text)]);
        }
    }
}

/// What is being read, and what could not be.
fn pending(text: &mut Text, screen: &LayoutsScreen, core: &Core) {
    let here = screen.counted.is_some() && screen.counted.as_ref() == screen.selected().map(|row| &row.wish);
    if screen.counting.is_loading() {
        let name = screen.counted.as_ref().map_or_else(String::new, |wish| wish.label());
        text.say(core.spinner(), &format!("counting every row under {name} … Ctrl-C cancels"), Role::Accent);
    } else if let Some(failure) = screen.counting.failure.as_ref().filter(|_| here) {
        text.say("✘", &failure.message, Role::Error);
        if let Some(hint) = &failure.hint {
            text.say(" ", hint, Role::Dim);
        }
    }
    if screen.adding.is_loading() {
        text.say(core.spinner(), "trying your layout …", Role::Accent);
    } else if screen.load.is_stale() {
        text.say(core.spinner(), "trying the layouts again …", Role::Accent);
    }
}

/// Files as they are and as they would be: one mark a file, as high as the file
/// is large beside the larger kind.
fn strips(before: &Row, after: &Row, cells: usize) -> Vec<Vec<Piece>> {
    let size = |n: &Numbers| n.bytes_after.middle() / n.files.max(1);
    let (old, new) = (size(&before.candidate.numbers), size(&after.candidate.numbers));
    let largest = old.max(new).max(1);
    let strip = |name: &str, row: &Row, each: u64| {
        let n = &row.candidate.numbers;
        let files = count(n.files, "file", "files");
        let said = format!("{}{files} of {}{}", about_files(row), n.sizes_mark(), bytes(each));
        let room = cells.saturating_sub(36).max(8);
        let shown = usize::try_from(n.files).unwrap_or(usize::MAX).min(room);
        let marks: String = std::iter::repeat_n(level(each, largest), shown).collect();
        let more = if n.files > shown as u64 { "…" } else { "" };
        vec![
            piece(format!("   {name:<8}"), Role::Dim),
            piece(format!("{marks}{more}"), Role::Bar),
            piece(format!("  {said}"), Role::Text),
        ]
    };
    vec![strip("before", before, old), strip("after", after, new)]
}

/// Files and bytes for people.
fn read_words(read: QueryRead) -> String {
    let about = if read.exact { "" } else { "~" };
    format!("{about}{}, {about}{}", count(read.files, "file", "files"), bytes(read.bytes))
}

/// Bytes that all queries read, before and after.
fn bars(today: &Row, row: &Row, report: &LayoutReport, cells: usize) -> Vec<Vec<Piece>> {
    if report.queries.is_empty() {
        return Vec::new();
    }
    let (old, new) = (today.candidate.reads(), reads(row));
    let most = old.bytes.max(new.map_or(0, |read| read.bytes));
    let room = cells.saturating_sub(44).clamp(8, 30);
    let line = |name: &str, read: Option<QueryRead>| {
        let name = piece(format!("   {name:<8}"), Role::Dim);
        let Some(read) = read else { return vec![name, piece("? not simulated", Role::Dim)] };
        let role = if read.bytes > old.bytes { Role::Warn } else { Role::Bar };
        let picture = fit(&bar(read.bytes, most, room, false), room);
        vec![name, piece(picture, role), piece(format!("  {}", read_words(read)), Role::Text)]
    };
    vec![line("queries", Some(old)), line("     →", new)]
}

/// The numbers of the row under the cursor, in full.
fn numbers(text: &mut Text, row: &Row, limits: &Limits) {
    let n = &row.candidate.numbers;
    let about = n.rows_mark();
    let spread = |sizes: Option<Spread>, about: &str, words: fn(u64) -> String| {
        sizes.map_or_else(|| "?".into(), |s| written_out(s, about, words))
    };
    let at_least = if n.at_least { "≥ " } else { about };
    let skew = n.skew.map_or_else(|| "?".into(), |s| format!("{about}{s:.1}"));
    let nulls = format!("{about}{} rows with NULL", grouped(n.nulls));
    let own = if row.candidate.origin == Origin::Given { ", your own" } else { "" };
    text.fact("layout", format!("by {}{own}", escape_controls(&row.candidate.label)));
    text.fact("partitions", format!("{at_least}{}, skew {skew}, {nulls}", grouped(n.partitions)));
    let which = if n.partitions == 1 { "" } else { " (smallest / middle / largest partition)" };
    text.fact("rows", format!("{}{which}", spread(n.rows, about, grouped)));
    text.fact("size", spread(n.bytes, n.sizes_mark(), bytes));
    let small = match row.wish.small_share(n, limits) {
        None => "some of them small".to_owned(),
        Some(share) => format!("{:.0} % below {}", share * 100.0, bytes(limits.small_file_bytes)),
    };
    text.fact("files", format!("{}{}, {small}", about_files(row), grouped(n.files)));
    if row.candidate.origin != Origin::Today {
        let extra = n.extra_bytes().text();
        text.fact("rewrite", format!("{} to read and write; +{extra} until VACUUM", bytes(n.rewrite_bytes)));
    }
}

/// Each query by itself, before and after.
fn queries(text: &mut Text, today: &Row, row: &Row, report: &LayoutReport) {
    for (at, query) in report.queries.iter().enumerate() {
        let of = |row: &Row| row.candidate.queries.get(at).map_or_else(|| "?".into(), |read| read_words(*read));
        let said = match row.candidate.origin {
            Origin::Today => of(today),
            _ => format!("{} → {}", of(today), of(row)),
        };
        let room = text.cells.saturating_sub(48).max(20);
        let query = pad(&escape_controls(query), room, Align::Left);
        text.lines.push(vec![piece(format!("   {query}  "), Role::Dim), piece(said, Role::Text)]);
    }
}
