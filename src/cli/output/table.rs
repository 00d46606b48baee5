//! Aligned columns.

use unicode_width::UnicodeWidthStr;

use crate::table::value::escape_controls;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// A table of texts. Numbers belong in right-aligned columns.
#[derive(Debug, Default)]
pub struct Table {
    heads: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn left(mut self, head: &str) -> Self {
        self.heads.push((head.to_owned(), Align::Left));
        self
    }

    pub fn right(mut self, head: &str) -> Self {
        self.heads.push((head.to_owned(), Align::Right));
        self
    }

    /// Adds a row; control characters in it are escaped.
    pub fn push(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| escape_controls(&cell)).collect());
    }

    pub fn render(&self) -> String {
        let heads: Vec<String> = self.heads.iter().map(|(head, _)| escape_controls(head)).collect();
        let lines: Vec<&Vec<String>> = std::iter::once(&heads).chain(&self.rows).collect();
        let widths: Vec<usize> = (0..heads.len())
            .map(|i| lines.iter().filter_map(|line| line.get(i)).map(|cell| cell.width()).max().unwrap_or(0))
            .collect();
        let mut out = String::new();
        for line in lines {
            let mut text = String::new();
            for (i, cell) in line.iter().take(widths.len()).enumerate() {
                if i > 0 {
                    text.push_str("  ");
                }
                let padding = " ".repeat(widths[i].saturating_sub(cell.width()));
                match self.heads[i].1 {
                    Align::Left => text.extend([cell.as_str(), &padding]),
                    Align::Right => text.extend([&padding, cell.as_str()]),
                }
            }
            out.push_str(text.trim_end());
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_by_width_and_numbers_to_the_right() {
        let mut table = Table::default().left("name").right("rows");
        table.push(["日本".into(), "1,204".into()]);
        table.push(["a\x1b[31m".into(), "7".into()]);
        assert_eq!(table.render(), "name        rows\n日本       1,204\na\\x1b[31m      7\n");
    }
}
