//! Rows of one effect, read page by page: what the comparison and the diff of
//! two versions show in their lower pane.

use crate::ops::prepare::{DiffPage, DiffRow};
use crate::plan::Effect;
use crate::tui::load::{Load, PAGE, Window};
use crate::tui::msg::{Clock, Failure, JobId, Request};
use crate::tui::shared::Core;
use crate::tui::widgets::grid::GridState;

#[derive(Default)]
pub struct EffectPane {
    /// The page that is being read.
    pub load: Load<()>,
    pub columns: Vec<String>,
    pub window: Window<DiffRow>,
    pub grid: GridState,
}

impl EffectPane {
    /// Forgets the rows: others are asked for.
    pub fn reset(&mut self) {
        *self = Self { columns: std::mem::take(&mut self.columns), ..Self::default() };
    }

    /// Asks for what `height` lines show of `total` rows and is not there yet.
    pub fn settle(&mut self, core: &mut Core, plan: &str, effect: Effect, total: u64, height: usize) {
        if total == 0 || self.load.is_loading() || self.load.failure.is_some() {
            return;
        }
        let first = (self.load.is_untouched() && self.window.is_empty()).then_some(0);
        if let Some(offset) = first.or_else(|| self.window.missing(self.grid.top, height)) {
            core.load(&mut self.load, Request::Diff { plan: plan.to_owned(), effect, offset, limit: PAGE });
        }
    }

    pub fn take(&mut self, page: DiffPage, offset: u64, now: Clock) {
        self.load.finish((), now);
        self.columns = page.columns;
        self.window.total = if page.rows.is_empty() { offset } else { page.total };
        self.window.offset = offset;
        self.window.rows = page.rows;
    }

    /// Takes the failure if it is that of its page.
    ///
    /// # Errors
    /// The failure, where another job waits for it.
    pub fn fail(&mut self, id: JobId, failure: Failure) -> Result<(), Failure> {
        if !self.load.waits_for(id) {
            return Err(failure);
        }
        self.load.fail(failure);
        Ok(())
    }
}
