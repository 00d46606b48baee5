//! A list that is sorted and filtered on the screen: an order over rows that
//! stay where they are.

use std::cmp::Ordering;

use super::grid::GridState;

#[derive(Debug, Clone, Default)]
pub struct List {
    pub grid: GridState,
    /// The filter that holds; empty for none.
    pub filter: String,
    /// Shown row → row of the data.
    pub order: Vec<usize>,
}

impl List {
    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The data's row under the cursor.
    pub fn selected(&self) -> Option<usize> {
        self.order.get(self.grid.cursor).copied()
    }

    /// Orders the rows that `keep` lets through. Rows that compare equal keep
    /// the data's order, in both directions.
    pub fn arrange(
        &mut self,
        rows: usize,
        keep: impl Fn(usize) -> bool,
        compare: impl Fn(usize, usize, usize) -> Ordering,
    ) {
        self.order = (0..rows).filter(|row| keep(*row)).collect();
        if let Some((column, descending)) = self.grid.sort {
            self.order.sort_by(|a, b| {
                let ordering = compare(column, *a, *b);
                if descending { ordering.reverse() } else { ordering }
            });
        }
    }

    /// Puts the cursor on a row of the data, if it is shown.
    pub fn select(&mut self, row: usize) {
        if let Some(at) = self.order.iter().position(|r| *r == row) {
            self.grid.cursor = at;
        }
    }

    /// Sorts by the cursor's column; a second time turns the order round, a
    /// third time goes back to the data's own.
    pub fn sort(&mut self) {
        let column = self.grid.column;
        self.grid.sort = match self.grid.sort {
            Some((sorted, false)) if sorted == column => Some((column, true)),
            Some((sorted, true)) if sorted == column => None,
            _ => Some((column, false)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_is_stable_and_has_three_states() {
        let data = [3, 1, 3, 2];
        let mut list = List::default();
        let arrange = |list: &mut List| list.arrange(data.len(), |_| true, |_, a, b| data[a].cmp(&data[b]));
        list.sort();
        arrange(&mut list);
        assert_eq!(list.order, [1, 3, 0, 2]);
        list.sort();
        arrange(&mut list);
        assert_eq!(list.order, [0, 2, 3, 1]);
        list.sort();
        arrange(&mut list);
        assert_eq!(list.order, [0, 1, 2, 3]);
    }
}
