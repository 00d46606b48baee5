//! Keys as the registry names them.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key with the modifiers that matter. Shift is part of the character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    control: bool,
}

pub const fn ch(c: char) -> Key {
    Key { code: KeyCode::Char(c), control: false }
}

pub const fn ctrl(c: char) -> Key {
    Key { code: KeyCode::Char(c), control: true }
}

pub const fn code(code: KeyCode) -> Key {
    Key { code, control: false }
}

impl Key {
    pub fn code(self) -> KeyCode {
        self.code
    }

    /// The character that a plain key types into a field.
    pub fn typed(self) -> Option<char> {
        match self.code {
            KeyCode::Char(c) if !self.control => Some(c),
            _ => None,
        }
    }

    pub fn is_capital(self) -> bool {
        self.typed().is_some_and(char::is_uppercase)
    }
}

impl From<KeyEvent> for Key {
    fn from(event: KeyEvent) -> Self {
        let control = event.modifiers.contains(KeyModifiers::CONTROL);
        let code = match event.code {
            // Terminals with a richer protocol report Shift-Tab as Tab.
            KeyCode::Tab if event.modifiers.contains(KeyModifiers::SHIFT) => KeyCode::BackTab,
            KeyCode::Char(c) if control => KeyCode::Char(c.to_ascii_lowercase()),
            KeyCode::Char(c) if event.modifiers.contains(KeyModifiers::SHIFT) && c.is_ascii_lowercase() => {
                KeyCode::Char(c.to_ascii_uppercase())
            }
            other => other,
        };
        Key { code, control }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.control {
            f.write_str("Ctrl-")?;
        }
        match self.code {
            KeyCode::Char(' ') => f.write_str("Space"),
            KeyCode::Char(c) => write!(f, "{c}"),
            KeyCode::Enter => f.write_str("⏎"),
            KeyCode::Esc => f.write_str("Esc"),
            KeyCode::Tab => f.write_str("Tab"),
            KeyCode::BackTab => f.write_str("Shift-Tab"),
            KeyCode::Up => f.write_str("↑"),
            KeyCode::Down => f.write_str("↓"),
            KeyCode::Left => f.write_str("←"),
            KeyCode::Right => f.write_str("→"),
            KeyCode::PageUp => f.write_str("PgUp"),
            KeyCode::PageDown => f.write_str("PgDn"),
            other => write!(f, "{other}"),
        }
    }
}
