//! Jobs that run, and every message and error since the start.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::table::value::escape_controls;
use crate::tui::shared::Core;
use crate::tui::text::{timestamp, wrap};
use crate::tui::theme::Role;
use crate::tui::widgets::paint::{self, Piece, piece};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Activity {
    pub top: usize,
}

pub fn lines(core: &Core, cells: usize) -> Vec<Vec<Piece>> {
    let mut lines = vec![vec![piece("running", Role::Header)]];
    if core.jobs.is_empty() {
        lines.push(vec![piece("  nothing", Role::Dim)]);
    }
    for job in core.jobs.values() {
        let seconds = core.clock.running.saturating_sub(job.started.running).as_secs();
        let state = if job.cancelling { "cancelling …" } else { job.progress.phase.as_str() };
        lines.push(vec![
            piece(format!("  {} ", core.spinner()), Role::Accent),
            piece(format!("{} · {state} · {seconds} s", job.words), Role::Text),
        ]);
    }
    lines.push(Vec::new());
    lines.push(vec![piece("messages, newest first", Role::Header)]);
    if core.activity.is_empty() {
        lines.push(vec![piece("  none yet", Role::Dim)]);
    }
    for entry in core.activity.iter().rev() {
        let (mark, role) = if entry.failure.is_some() { ("✘", Role::Error) } else { ("✔", Role::Ok) };
        let hint = entry.failure.as_ref().and_then(|f| f.hint.clone()).unwrap_or_default();
        let kind = entry.failure.as_ref().map_or(String::new(), |f| format!("{}: ", f.kind));
        let text = escape_controls(&format!("{kind}{} {hint}", entry.text));
        for (i, line) in wrap(text.trim_end(), cells.saturating_sub(24)).into_iter().enumerate() {
            let start = if i == 0 { timestamp(entry.at.wall_ms) } else { String::new() };
            let mark = if i == 0 { mark } else { " " };
            lines.push(vec![
                piece(format!("{start:<20} "), Role::Dim),
                piece(format!("{mark} "), role),
                piece(line, Role::Text),
            ]);
        }
    }
    lines
}

pub fn draw(buf: &mut Buffer, area: Rect, activity: &Activity, core: &Core) {
    let place = paint::centered(area, area.width.min(110), area.height.saturating_sub(2));
    let inner = paint::boxed(buf, place, "jobs and messages · Esc closes", Role::Accent, &core.theme);
    let lines = lines(core, usize::from(inner.width));
    let top = activity.top.min(lines.len().saturating_sub(usize::from(inner.height)));
    for (row, line) in lines.iter().skip(top).take(usize::from(inner.height)).enumerate() {
        paint::line(buf, inner, row as u16, line, &core.theme);
    }
}
