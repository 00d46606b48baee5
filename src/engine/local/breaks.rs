//! Counting the rows that break what the table demands.

use super::checks::Checks;
use super::rows::Place;
use super::sides::EXAMPLES;
use crate::predicate::checks::bit;
use crate::table::Value;
use crate::table::schema::Schema;

/// Rows that would be written and break a check, by the check's number.
#[derive(Debug, Clone, Default)]
pub struct Breaks(Vec<Break>);

#[derive(Debug, Clone, Default)]
pub struct Break {
    pub rows: u64,
    /// Some of the delivered rows among them.
    pub places: Vec<Place>,
    /// The cells of one of the computed rows.
    pub cells: Option<String>,
}

impl Breaks {
    /// A delivered row that is written as it is.
    pub fn delivered(&mut self, checks: &Checks, broken: u64, place: Place) {
        self.each(checks, broken, |_, one| {
            one.places.push(place);
            one.few();
        });
    }

    /// A row that expressions made.
    pub fn computed(&mut self, checks: &Checks, broken: u64, schema: &Schema, cell: &dyn Fn(usize) -> Value) {
        self.each(checks, broken, |number, one| one.tell(checks.text(number, schema, cell)));
    }

    fn each(&mut self, checks: &Checks, broken: u64, mut tell: impl FnMut(usize, &mut Break)) {
        if broken == 0 {
            return;
        }
        self.0.resize_with(checks.len(), Break::default);
        for (number, one) in self.0.iter_mut().enumerate() {
            if broken & bit(number) != 0 {
                one.rows += 1;
                tell(number, one);
            }
        }
    }

    pub fn merge(&mut self, more: Breaks) {
        self.0.resize_with(self.0.len().max(more.0.len()), Break::default);
        for (one, more) in self.0.iter_mut().zip(more.0) {
            one.rows += more.rows;
            one.places.extend(more.places);
            one.few();
            if let Some(cells) = more.cells {
                one.tell(cells);
            }
        }
    }

    /// (number of the check, its rows), where there are any.
    pub fn found(&self) -> impl Iterator<Item = (usize, &Break)> {
        self.0.iter().enumerate().filter(|(_, one)| one.rows > 0)
    }
}

impl Break {
    /// The first places, whatever the order in which they were met.
    fn few(&mut self) {
        if self.places.len() > 64.max(EXAMPLES) {
            self.places.sort_unstable();
            self.places.truncate(EXAMPLES);
        }
    }

    fn tell(&mut self, cells: String) {
        if self.cells.as_ref().is_none_or(|known| cells < *known) {
            self.cells = Some(cells);
        }
    }
}
