//! A one-line text field.

use crossterm::event::KeyCode;

use super::text::width;
use crate::action::{Key, ctrl};

/// The text and the cursor, in characters from the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextInput {
    text: String,
    cursor: usize,
}

impl TextInput {
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { cursor: text.chars().count(), text }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn set(&mut self, text: impl Into<String>) {
        *self = Self::new(text);
    }

    /// Takes a key that edits the text; `false` where the key does not.
    pub fn key(&mut self, key: Key) -> bool {
        if let Some(c) = key.typed() {
            self.insert(c);
            return true;
        }
        let length = self.text.chars().count();
        match key.code() {
            _ if key == ctrl('u') => {
                self.text = self.text.chars().skip(self.cursor).collect();
                self.cursor = 0;
            }
            _ if key == ctrl('a') => self.cursor = 0,
            _ if key == ctrl('e') => self.cursor = length,
            _ if key == ctrl('w') => {
                let before: String = self.text.chars().take(self.cursor).collect();
                let kept = before.trim_end_matches(|c: char| !c.is_alphanumeric());
                let kept = kept.trim_end_matches(char::is_alphanumeric).chars().count();
                self.text = self.text.chars().take(kept).chain(self.text.chars().skip(self.cursor)).collect();
                self.cursor = kept;
            }
            KeyCode::Backspace if self.cursor > 0 => {
                self.cursor -= 1;
                self.remove();
            }
            KeyCode::Delete if self.cursor < length => self.remove(),
            KeyCode::Backspace | KeyCode::Delete => {}
            KeyCode::Left => self.cursor = self.cursor.saturating_sub(1),
            KeyCode::Right => self.cursor = (self.cursor + 1).min(length),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = length,
            _ => return false,
        }
        true
    }

    /// Inserts pasted text; line breaks and other controls become spaces.
    pub fn paste(&mut self, text: &str) {
        for c in text.trim().chars() {
            self.insert(if c.is_control() { ' ' } else { c });
        }
    }

    fn insert(&mut self, c: char) {
        let at = self.byte(self.cursor);
        self.text.insert(at, c);
        self.cursor += 1;
    }

    fn remove(&mut self) {
        let at = self.byte(self.cursor);
        self.text.remove(at);
    }

    fn byte(&self, index: usize) -> usize {
        self.text.char_indices().nth(index).map_or(self.text.len(), |(at, _)| at)
    }

    /// The part that fits into so many cells with the cursor in view, and the
    /// cursor's cell within it.
    pub fn view(&self, cells: usize) -> (String, usize) {
        let before: String = self.text.chars().take(self.cursor).collect();
        let mut skip = 0;
        // One cell is left for the cursor itself.
        while width(&before[self.byte(skip)..]) + 1 > cells.max(1) {
            skip += 1;
        }
        let visible = &self.text[self.byte(skip)..];
        let mut shown = String::new();
        for c in visible.chars() {
            if width(&shown) + width(c.encode_utf8(&mut [0; 4])) > cells {
                break;
            }
            shown.push(c);
        }
        (shown, width(&before[self.byte(skip)..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::{ch, code};

    #[test]
    fn editing_goes_by_characters_not_bytes() {
        let mut input = TextInput::new("grün");
        input.key(code(KeyCode::Left));
        input.key(code(KeyCode::Backspace));
        assert_eq!(input.text(), "grn");
        input.key(ch('ö'));
        assert_eq!(input.text(), "grön");
        input.paste("\nx\ty\n");
        assert_eq!(input.text(), "gröx yn");
    }

    #[test]
    fn the_cursor_stays_in_view() {
        let input = TextInput::new("a/long/path/to/日本.parquet");
        let (shown, cursor) = input.view(10);
        assert_eq!((shown.as_str(), cursor), (".parquet", 8));
    }
}
