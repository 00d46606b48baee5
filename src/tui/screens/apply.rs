//! An operation while it is carried out, and its result.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::table::trouble;
use crate::action::Facts;
use crate::ops::ApplyReport;
use crate::plan::kinds::Class;
use crate::plan::{Plan, Spec};
use crate::progress::Phase;
use crate::table::number::{bytes, grouped};
use crate::table::value::escape_controls;
use crate::tui::load::Load;
use crate::tui::msg::{Failure, JobId};
use crate::tui::shared::{Core, Job};
use crate::tui::text::{count, wrap};
use crate::tui::theme::Role;
use crate::tui::widgets::bar::bar;
use crate::tui::widgets::paint::{self, Piece, piece};

pub struct ApplyScreen {
    pub plan: Plan,
    /// What people call the table.
    pub name: String,
    pub location: String,
    pub load: Load<ApplyReport>,
    pub took: Option<Duration>,
}

impl ApplyScreen {
    pub fn is_running(&self) -> bool {
        self.load.is_loading()
    }

    pub fn facts(&self, facts: &mut Facts) {
        facts.can_undo = self.load.value.as_ref().is_some_and(|r| r.undo.is_some());
    }
}

pub fn title(screen: &ApplyScreen) -> String {
    format!("{} · {}", escape_controls(&screen.name), screen.plan.operation)
}

/// What is being done, for the heading of the progress and the result.
fn subject(plan: &Plan) -> String {
    let slice = plan.slice.as_deref().map_or(String::new(), |s| format!(" · {}", escape_controls(s)));
    format!("{} planned at v{}{slice}", plan.operation, plan.version)
}

pub fn draw(buf: &mut Buffer, area: Rect, screen: &ApplyScreen, core: &Core) {
    paint::rule(buf, area, 0, &subject(&screen.plan), &core.theme);
    let body = super::table::below(area);
    if screen.is_running() {
        waiting(buf, body, screen.load.job(), core);
    } else if let Some(failure) = &screen.load.failure {
        let hint = failure.hint.clone().or_else(|| Some("Esc goes back.".into()));
        trouble(buf, body, &Failure { hint, ..failure.clone() }, core);
    } else if let Some(report) = &screen.load.value {
        result(buf, body, screen, report, core);
    }
}

/// The rows of the slice as they are now; for an append, those that came in.
/// What was written says less: files that come back are not written at all.
fn rows_now(plan: &Plan, report: &ApplyReport) -> String {
    match plan.spec.kind().class() {
        Class::Append => format!("+{}", count(report.rows_written, "row", "rows")),
        Class::Replace | Class::Merge | Class::MergeDelete | Class::Layout | Class::Inverse => {
            count(plan.rows.slice_after, "row", "rows")
        }
    }
}

fn result(buf: &mut Buffer, area: Rect, screen: &ApplyScreen, report: &ApplyReport, core: &Core) {
    let mut lines: Vec<(String, Role)> = Vec::new();
    let took = screen.took.map_or(String::new(), |t| format!(" · {:.1} s", t.as_secs_f64()));
    match report.version_after {
        None => lines.push(("✔ nothing to do: the table has these rows already; no commit was made".into(), Role::Ok)),
        Some(version) if report.verified && matches!(screen.plan.spec, Spec::Vacuum(_)) => {
            let files = count(report.files_removed, "file", "files");
            lines.push((format!("✔ {files} removed; v{version} says so{took}"), Role::Ok));
        }
        Some(version) if report.verified => {
            let rows = rows_now(&screen.plan, report);
            let slice = screen.plan.slice.as_deref().map_or(String::new(), |s| format!(" in {}", escape_controls(s)));
            lines.push((format!("✔ v{version} committed and verified: {rows}{slice}, as planned{took}"), Role::Ok));
        }
        Some(version) => {
            lines.push((
                format!("✘ v{version} is committed, but reading it back gave something else{took}"),
                Role::Error,
            ));
            lines.extend(report.mismatches.iter().map(|m| (format!("  {}", escape_controls(m)), Role::Error)));
        }
    }
    lines.extend(report.warnings.iter().map(|w| (format!("  {}", escape_controls(w)), Role::Warn)));
    lines.push((String::new(), Role::Text));
    if report.version_after.is_some() {
        lines.push((
            format!(
                "  files −{} +{} · v{} → {}",
                grouped(report.files_removed),
                grouped(report.files_added),
                report.version_before,
                report.version_after.map_or("?".into(), |v| format!("v{v}"))
            ),
            Role::Text,
        ));
    }
    if !report.rebased_over.is_empty() {
        let versions: Vec<String> = report.rebased_over.iter().map(|v| format!("v{v}")).collect();
        lines.push((format!("  put on top of commits elsewhere: {}", versions.join(", ")), Role::Text));
    }
    if let Some(undo) = &report.undo {
        let until = report.undo_until.as_ref().map_or(String::new(), |t| format!(" (until {t})"));
        let key = if core.read_only { "" } else { "u here, or: " };
        lines.push((format!("  take it back: {key}{}{until}", escape_controls(undo)), Role::Text));
    }
    let cells = usize::from(area.width.saturating_sub(3));
    let mut row = 1;
    for (text, role) in lines {
        for line in wrap(&text, cells) {
            paint::line(buf, area, row, &[piece(format!(" {line}"), role)], &core.theme);
            row += 1;
        }
    }
}

/// A job's phases and numbers, for every screen that waits for a long job.
pub fn waiting(buf: &mut Buffer, area: Rect, job: Option<JobId>, core: &Core) {
    let theme = &core.theme;
    let Some(job) = job.and_then(|id| core.jobs.get(&id)) else { return };
    let phases: &[Phase] = if job.writes {
        &[Phase::Reading, Phase::Joining, Phase::Staging, Phase::Committing, Phase::Verifying]
    } else {
        &[Phase::Opening, Phase::Reading, Phase::Joining]
    };
    let now = job.progress.phase;
    let mut pieces: Vec<Piece> = vec![piece(" ", Role::Text)];
    for phase in phases {
        let (mark, role) = match phase.cmp(&now) {
            std::cmp::Ordering::Less => ("✔", Role::Ok),
            std::cmp::Ordering::Equal => (core.spinner(), Role::Accent),
            std::cmp::Ordering::Greater => ("·", Role::Dim),
        };
        pieces.push(piece(format!("{mark} {}   ", phase.as_str()), role));
    }
    paint::line(buf, area, 1, &pieces, theme);
    paint::line(buf, area, 3, &[piece(format!(" {}", numbers(job, core)), Role::Text)], theme);
    if let Some(share) = share(job) {
        let cells = usize::from(area.width.saturating_sub(10)).min(60);
        // Not done before it is verified: the last hundredth belongs to that.
        let percent = ((share * 100.0) as u64).min(99);
        let filled = bar(percent, 100, cells, false);
        paint::line(
            buf,
            area,
            4,
            &[piece(format!(" {filled} "), Role::Bar), piece(format!("{percent} %"), Role::Dim)],
            theme,
        );
    }
    let (text, role) = if job.is_committing() && now == Phase::Committing {
        ("Committing cannot be cancelled; it takes moments.", Role::Warn)
    } else if job.is_committing() {
        ("The commit is in the table; it is being read back.", Role::Dim)
    } else if job.cancelling {
        ("cancelling …", Role::Warn)
    } else if job.writes {
        ("Ctrl-C cancels; staged files are then removed and the table stays as it is.", Role::Dim)
    } else {
        ("Ctrl-C cancels. Nothing is written.", Role::Dim)
    };
    paint::line(buf, area, 6, &[piece(format!(" {text}"), role)], theme);
}

fn share(job: &Job) -> Option<f64> {
    let p = &job.progress;
    let of = |done: u64, total: u64| (total > 0).then(|| (done as f64 / total as f64).min(1.0));
    of(p.bytes_done, p.bytes_total).or_else(|| of(p.files_done, p.files_total))
}

/// `3 of 12 files · 1,204 rows · 1.2 of 4.0 MB · 2.0 MB/s · 3 s left`.
fn numbers(job: &Job, core: &Core) -> String {
    let p = &job.progress;
    let mut parts = Vec::new();
    if p.files_total > 0 {
        parts.push(format!("{} of {}", grouped(p.files_done), count(p.files_total, "file", "files")));
    }
    if p.rows_done > 0 {
        parts.push(count(p.rows_done, "row", "rows"));
    }
    if p.bytes_total > 0 {
        parts.push(format!("{} of {}", bytes(p.bytes_done), bytes(p.bytes_total)));
    }
    let elapsed = core.clock.running.saturating_sub(job.phase_since.running);
    // A rate from less than two seconds jumps about.
    if elapsed >= Duration::from_secs(2) && p.bytes_done > 0 {
        let rate = p.bytes_done as f64 / elapsed.as_secs_f64();
        parts.push(format!("{}/s", bytes(rate as u64)));
        if let Some(left) = p.bytes_total.checked_sub(p.bytes_done).filter(|left| *left > 0) {
            parts.push(format!("{:.0} s left", left as f64 / rate));
        }
    }
    let running = core.clock.running.saturating_sub(job.started.running);
    parts.push(format!("{} s", running.as_secs()));
    parts.join(" · ")
}
