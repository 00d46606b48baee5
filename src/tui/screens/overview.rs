//! What a table is, in words: where, how large, which features and properties.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::table::{TableScreen, below};
use crate::table::number::{bytes, grouped};
use crate::table::partition::RowCount;
use crate::table::value::escape_controls;
use crate::tui::msg::TableInfo;
use crate::tui::shared::Core;
use crate::tui::text::{ago, timestamp, wrap};
use crate::tui::theme::Role;
use crate::tui::widgets::bar::sparkline;
use crate::tui::widgets::paint::{self, Piece, piece};

#[derive(Debug, Clone, Default)]
pub struct OverviewTab {
    /// The first line shown.
    pub top: usize,
}

fn fact(name: &str, value: impl Into<String>) -> Vec<Piece> {
    vec![piece(format!("   {name:<16}"), Role::Dim), piece(escape_controls(&value.into()), Role::Text)]
}

/// The lines of the page for so many cells.
pub fn lines(screen: &TableScreen, info: &TableInfo, core: &Core) -> Vec<Vec<Piece>> {
    let cells = usize::from(core.size.0).saturating_sub(22);
    let mut lines = vec![fact("location", &info.location), fact("table id", &info.metadata.id)];
    if let Some(description) = &info.metadata.description {
        for line in wrap(description, cells) {
            lines.push(fact("description", line));
        }
    }
    let age = ago(info.committed_at, core.clock.wall_ms);
    lines.push(fact("version", format!("{} · committed {} · {age} ago", info.version, timestamp(info.committed_at))));
    let columns = &info.metadata.partition_columns;
    lines.push(fact("partitioned by", if columns.is_empty() { "nothing".into() } else { columns.join(", ") }));
    lines.push(Vec::new());

    if let Some(partitions) = &screen.partitions.load.value {
        let mut rows = RowCount::default();
        let (mut files, mut size, mut deleted) = (0, 0, 0);
        for p in partitions {
            rows.merge(p.rows);
            files += p.files;
            size += p.bytes;
            deleted += p.deleted_rows;
        }
        lines.push(fact("rows", rows.to_string()));
        lines.push(fact("size", format!("{} in {} files", bytes(size), grouped(files))));
        lines.push(fact("partitions", grouped(partitions.len() as u64)));
        if deleted > 0 {
            lines.push(fact("deletion vectors", format!("hide {} rows", grouped(deleted))));
        }
        let spread: Vec<u64> = partitions.iter().map(|p| p.rows.known).collect();
        if spread.len() > 1 {
            lines.push(vec![
                piece(format!("   {:<16}", "rows/partition"), Role::Dim),
                piece(sparkline(&spread, cells.min(60)), Role::Bar),
            ]);
        }
    } else {
        lines.push(fact("rows", "reading …"));
    }
    lines.push(Vec::new());

    let key = &info.settings.known.key;
    lines.push(fact(
        "key",
        if key.is_empty() { "not in the config; asked for when needed".into() } else { key.join(", ") },
    ));
    if !info.settings.known.ignore.is_empty() {
        lines.push(fact("ignored", info.settings.known.ignore.join(", ")));
    }
    let protocol = &info.protocol;
    lines.push(fact("protocol", format!("reader {} · writer {}", protocol.min_reader, protocol.min_writer)));
    for (name, features) in
        [("reader features", &protocol.reader_features), ("writer features", &protocol.writer_features)]
    {
        if let Some(features) = features.as_ref().filter(|f| !f.is_empty()) {
            for (i, line) in wrap(&features.join(", "), cells).into_iter().enumerate() {
                lines.push(fact(if i == 0 { name } else { "" }, line));
            }
        }
    }
    for (name, expression) in info.metadata.constraints() {
        lines.push(fact("constraint", format!("{name}: {expression}")));
    }
    for (i, (name, value)) in info.metadata.configuration.iter().enumerate() {
        lines.push(fact(if i == 0 { "properties" } else { "" }, format!("{name} = {value}")));
    }
    lines
}

pub fn draw(buf: &mut Buffer, area: Rect, screen: &TableScreen, info: &TableInfo, core: &Core) {
    paint::rule(buf, area, 0, "overview", &core.theme);
    let body = below(area);
    let lines = lines(screen, info, core);
    let top = screen.overview.top.min(lines.len().saturating_sub(usize::from(body.height)));
    for (row, line) in lines.iter().skip(top).take(usize::from(body.height)).enumerate() {
        paint::line(buf, body, row as u16, line, &core.theme);
    }
}
