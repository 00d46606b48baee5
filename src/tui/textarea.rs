//! A text field of many lines, for statements.

use crossterm::event::KeyCode;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::shared::Core;
use super::text::width;
use super::theme::Role;
use super::widgets::paint::put;
use crate::action::{Key, ctrl};
use crate::table::value::escape_controls;

/// More characters than this are no statement.
const LONGEST: usize = 100_000;

/// Lines, and the cursor: its line, and characters from that line's start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextArea {
    lines: Vec<String>,
    row: usize,
    column: usize,
    /// The first line shown.
    top: usize,
}

impl Default for TextArea {
    fn default() -> Self {
        Self { lines: vec![String::new()], row: 0, column: 0, top: 0 }
    }
}

impl TextArea {
    pub fn new(text: &str) -> Self {
        let mut area = Self::default();
        area.paste(text);
        area
    }

    pub fn text(&self) -> String {
        self.lines.join("\n")
    }

    pub fn is_blank(&self) -> bool {
        self.lines.iter().all(|line| line.trim().is_empty())
    }

    pub fn len(&self) -> usize {
        self.lines.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lines.iter().all(String::is_empty)
    }

    /// (line, column) from 1, as messages name places.
    pub fn place(&self) -> (usize, usize) {
        (self.row + 1, self.column + 1)
    }

    /// To a place as messages name it, or the nearest one that there is.
    pub fn go_to(&mut self, (line, column): (usize, usize)) {
        self.row = line.saturating_sub(1).min(self.lines.len() - 1);
        self.column = column.saturating_sub(1).min(self.length());
    }

    /// Takes a key that edits the text or moves in it; `false` where it does not.
    pub fn key(&mut self, key: Key) -> bool {
        if let Some(c) = key.typed() {
            self.insert(c);
            return true;
        }
        match key.code() {
            _ if key == ctrl('a') => self.column = 0,
            _ if key == ctrl('e') => self.column = self.length(),
            _ if key == ctrl('u') => {
                self.lines[self.row] = self.lines[self.row].chars().skip(self.column).collect();
                self.column = 0;
            }
            _ if key == ctrl('w') => self.delete_word(),
            KeyCode::Enter => self.split(),
            KeyCode::Backspace if self.column > 0 => {
                self.column -= 1;
                self.remove();
            }
            KeyCode::Backspace if self.row > 0 => {
                let line = self.lines.remove(self.row);
                self.row -= 1;
                self.column = self.length();
                self.lines[self.row].push_str(&line);
            }
            KeyCode::Delete if self.column < self.length() => self.remove(),
            KeyCode::Delete if self.row + 1 < self.lines.len() => {
                let next = self.lines.remove(self.row + 1);
                self.lines[self.row].push_str(&next);
            }
            KeyCode::Left if self.column == 0 && self.row > 0 => {
                self.row -= 1;
                self.column = self.length();
            }
            KeyCode::Right if self.column == self.length() && self.row + 1 < self.lines.len() => {
                self.row += 1;
                self.column = 0;
            }
            KeyCode::Left => self.column = self.column.saturating_sub(1),
            KeyCode::Right => self.column = (self.column + 1).min(self.length()),
            KeyCode::Up => self.move_by(-1),
            KeyCode::Down => self.move_by(1),
            KeyCode::PageUp => self.move_by(-10),
            KeyCode::PageDown => self.move_by(10),
            KeyCode::Home => self.column = 0,
            KeyCode::End => self.column = self.length(),
            KeyCode::Backspace | KeyCode::Delete => {}
            _ => return false,
        }
        true
    }

    pub fn move_by(&mut self, lines: i64) {
        let last = i64::try_from(self.lines.len() - 1).unwrap_or(i64::MAX);
        let row = i64::try_from(self.row).unwrap_or(i64::MAX).saturating_add(lines).clamp(0, last);
        self.row = usize::try_from(row).unwrap_or(0);
        self.column = self.column.min(self.length());
    }

    /// Inserts pasted text with its line breaks; tabs become blanks, and other
    /// controls go.
    pub fn paste(&mut self, text: &str) {
        let room = LONGEST.saturating_sub(self.lines.iter().map(String::len).sum());
        let at = self.byte();
        let rest = self.lines[self.row].split_off(at);
        for c in text.replace("\r\n", "\n").chars().take(room) {
            match c {
                '\n' | '\r' => {
                    self.row += 1;
                    self.lines.insert(self.row, String::new());
                }
                '\t' => self.lines[self.row].push_str("    "),
                // Copied from a web page; no engine takes it for a blank.
                '\u{a0}' => self.lines[self.row].push(' '),
                c if c.is_control() => {}
                c => self.lines[self.row].push(c),
            }
        }
        self.column = self.length();
        self.lines[self.row].push_str(&rest);
    }

    /// Keeps the cursor among the lines shown.
    pub fn follow(&mut self, height: usize) {
        let height = height.max(1);
        self.top = self.top.min(self.lines.len().saturating_sub(1)).min(self.row);
        if self.row >= self.top + height {
            self.top = self.row + 1 - height;
        }
    }

    fn length(&self) -> usize {
        self.lines[self.row].chars().count()
    }

    fn byte(&self) -> usize {
        let line = &self.lines[self.row];
        line.char_indices().nth(self.column).map_or(line.len(), |(at, _)| at)
    }

    fn insert(&mut self, c: char) {
        let at = self.byte();
        self.lines[self.row].insert(at, c);
        self.column += 1;
    }

    fn remove(&mut self) {
        let at = self.byte();
        self.lines[self.row].remove(at);
    }

    fn split(&mut self) {
        let at = self.byte();
        let rest = self.lines[self.row].split_off(at);
        self.row += 1;
        self.lines.insert(self.row, rest);
        self.column = 0;
    }

    fn delete_word(&mut self) {
        let before: String = self.lines[self.row].chars().take(self.column).collect();
        let kept = before.trim_end_matches(|c: char| !c.is_alphanumeric());
        let kept = kept.trim_end_matches(char::is_alphanumeric).chars().count();
        let rest: String = self.lines[self.row].chars().skip(self.column).collect();
        self.lines[self.row] = before.chars().take(kept).collect::<String>() + &rest;
        self.column = kept;
    }

    /// Line numbers and lines. `wrong` is the line that a message is about.
    pub fn draw(&self, buf: &mut Buffer, area: Rect, focused: bool, wrong: Option<usize>, core: &Core) {
        const GUTTER: u16 = 6;
        if area.width <= GUTTER {
            return;
        }
        let cells = usize::from(area.width - GUTTER);
        for (i, line) in self.lines.iter().enumerate().skip(self.top).take(usize::from(area.height)) {
            let y = area.y + (i - self.top) as u16;
            let (mark, role) = if wrong == Some(i + 1) { ("✘", Role::Error) } else { (" ", Role::Dim) };
            put(buf, area.x, y, GUTTER, &format!("{mark}{:>3} ", i + 1), core.theme.style(role));
            // The line of the cursor is moved so far that the cursor is in it.
            let here = focused && i == self.row;
            let before: Vec<char> = line.chars().take(if here { self.column } else { 0 }).collect();
            let (mut skip, mut used) = (before.len(), 0);
            while skip > 0 {
                let wide = width(before[skip - 1].encode_utf8(&mut [0; 4]));
                if used + wide + 1 > cells {
                    break;
                }
                used += wide;
                skip -= 1;
            }
            let shown: String = line.chars().skip(skip).take(cells).collect();
            let x = area.x + GUTTER;
            put(buf, x, y, area.width - GUTTER, &escape_controls(&shown), core.theme.style(Role::Text));
            if here {
                let at = u16::try_from(used).unwrap_or(0);
                if let Some(cell) = buf.cell_mut((x + at, y)) {
                    cell.set_style(core.theme.style(Role::Badge));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::{ch, code};

    fn press(area: &mut TextArea, keys: &[KeyCode]) {
        keys.iter().for_each(|key| assert!(area.key(code(*key))));
    }

    #[test]
    fn pasted_lines_stay_lines_and_controls_go() {
        let mut area = TextArea::new("MERGE INTO t\r\nUSING\ts\x1b[31m ON\u{a0}1\r");
        assert_eq!(area.text(), "MERGE INTO t\nUSING    s[31m ON 1\n");
        assert_eq!(area.place(), (3, 1));
        area.go_to((2, 6));
        area.key(ch('é'));
        assert_eq!(area.text(), "MERGE INTO t\nUSINGé    s[31m ON 1\n");
    }

    #[test]
    fn lines_are_split_and_joined_by_characters_not_bytes() {
        let mut area = TextArea::new("größe\nb");
        area.go_to((1, 4));
        press(&mut area, &[KeyCode::Enter, KeyCode::End, KeyCode::Delete]);
        assert_eq!(area.text(), "grö\nßeb");
        press(&mut area, &[KeyCode::Home, KeyCode::Backspace]);
        assert_eq!((area.text().as_str(), area.place()), ("größeb", (1, 4)));
        press(&mut area, &[KeyCode::Down, KeyCode::Up, KeyCode::Left, KeyCode::Delete]);
        assert_eq!(area.text(), "grßeb");
        area.key(ctrl('w'));
        assert_eq!(area.text(), "ßeb");
    }

    #[test]
    fn the_cursor_stays_among_the_lines_shown() {
        let mut area = TextArea::new(&"x\n".repeat(50));
        area.follow(10);
        assert_eq!((area.place().0, area.top), (51, 41));
        area.move_by(-5);
        area.follow(10);
        assert_eq!(area.top, 41, "no more than it must");
        area.move_by(-40);
        area.follow(10);
        assert_eq!(area.top, 5);
    }
}
