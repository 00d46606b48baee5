//! Themes: semantic roles, from `assets/themes/*.toml`.
//!
//! NO_COLOR is handled here and not by crossterm: with it, crossterm 0.29 sends
//! a bare reset that wipes reversed rows.

use std::collections::BTreeMap;

use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;

use crate::error::{Error, ErrorKind, Result};

/// What a piece of the screen means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    Text,
    Dim,
    Accent,
    Border,
    Header,
    Selection,
    Mark,
    Insert,
    Update,
    Delete,
    Zombie,
    Same,
    Ok,
    Warn,
    Error,
    Bar,
    Key,
    Badge,
}

const ROLES: [Role; 18] = [
    Role::Text,
    Role::Dim,
    Role::Accent,
    Role::Border,
    Role::Header,
    Role::Selection,
    Role::Mark,
    Role::Insert,
    Role::Update,
    Role::Delete,
    Role::Zombie,
    Role::Same,
    Role::Ok,
    Role::Warn,
    Role::Error,
    Role::Bar,
    Role::Key,
    Role::Badge,
];

/// How many colours the terminal is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Depth {
    /// Modifiers only: NO_COLOR.
    None,
    #[default]
    Ansi16,
    /// Only where COLORTERM says so.
    True,
}

impl Depth {
    /// What the environment asks for.
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Depth {
        let set = |name: &str| variable(name).filter(|v| !v.is_empty());
        if set("NO_COLOR").is_some() || set("TERM").is_some_and(|t| t == "dumb") {
            Depth::None
        } else if set("COLORTERM").is_some_and(|c| c == "truecolor" || c == "24bit") {
            Depth::True
        } else {
            Depth::Ansi16
        }
    }
}

const FILES: [(&str, &str); 4] = [
    ("dark", include_str!("../../assets/themes/dark.toml")),
    ("light", include_str!("../../assets/themes/light.toml")),
    ("high-contrast", include_str!("../../assets/themes/high-contrast.toml")),
    ("mono", include_str!("../../assets/themes/mono.toml")),
];

/// One role in a theme file. `fg`/`bg` are for truecolor, `fg16`/`bg16` for
/// terminals with 16 colours; `modifiers` hold everywhere, `mono` are those
/// that stand in for colour where there is none.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Entry {
    fg: Option<String>,
    bg: Option<String>,
    fg16: Option<String>,
    bg16: Option<String>,
    modifiers: Vec<String>,
    mono: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Theme {
    pub name: &'static str,
    pub depth: Depth,
    styles: BTreeMap<Role, Style>,
}

impl Theme {
    /// # Errors
    /// `BadConfig` for an unknown name.
    pub fn load(name: &str, depth: Depth) -> Result<Theme> {
        let names = || FILES.map(|(n, _)| n).join(", ");
        let (name, text) = FILES.into_iter().find(|(n, _)| *n == name).ok_or_else(|| {
            Error::new(ErrorKind::BadConfig, format!("there is no theme \"{name}\""))
                .hint(format!("The themes are {}.", names()))
        })?;
        let entries: BTreeMap<Role, Entry> = toml::from_str(text)
            .map_err(|e| Error::new(ErrorKind::BadConfig, format!("the theme {name} cannot be read: {e}")))?;
        let mut styles = BTreeMap::new();
        for role in ROLES {
            let entry = entries
                .get(&role)
                .ok_or_else(|| Error::new(ErrorKind::BadConfig, format!("the theme {name} lacks the role {role:?}")))?;
            styles.insert(role, style(entry, depth)?);
        }
        Ok(Theme { name, depth, styles })
    }

    /// The theme after this one, in the same depth.
    ///
    /// # Errors
    /// As [`Theme::load`].
    pub fn next(&self) -> Result<Theme> {
        let at = FILES.iter().position(|(n, _)| *n == self.name).unwrap_or(0);
        Theme::load(FILES[(at + 1) % FILES.len()].0, self.depth)
    }

    pub fn style(&self, role: Role) -> Style {
        self.styles.get(&role).copied().unwrap_or_default()
    }
}

fn style(entry: &Entry, depth: Depth) -> Result<Style> {
    let mut style = Style::default();
    let (fg, bg) = match depth {
        Depth::None => (None, None),
        Depth::Ansi16 => (entry.fg16.as_deref(), entry.bg16.as_deref()),
        Depth::True => (entry.fg.as_deref().or(entry.fg16.as_deref()), entry.bg.as_deref().or(entry.bg16.as_deref())),
    };
    style.fg = fg.map(color).transpose()?;
    style.bg = bg.map(color).transpose()?;
    let mut names: Vec<&String> = entry.modifiers.iter().collect();
    if depth == Depth::None {
        names.extend(&entry.mono);
    }
    for name in names {
        style = style.add_modifier(match name.as_str() {
            "bold" => Modifier::BOLD,
            "dim" => Modifier::DIM,
            "italic" => Modifier::ITALIC,
            "underlined" => Modifier::UNDERLINED,
            "reversed" => Modifier::REVERSED,
            other => return Err(Error::new(ErrorKind::BadConfig, format!("unknown modifier \"{other}\" in a theme"))),
        });
    }
    Ok(style)
}

fn color(name: &str) -> Result<Color> {
    name.parse().map_err(|_| Error::new(ErrorKind::BadConfig, format!("\"{name}\" in a theme is no colour")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_theme_loads_in_every_depth() {
        for (name, _) in FILES {
            for depth in [Depth::None, Depth::Ansi16, Depth::True] {
                let theme = Theme::load(name, depth).unwrap();
                assert_ne!(theme.style(Role::Selection), Style::default(), "{name} {depth:?}: the cursor must show");
                if depth == Depth::None {
                    assert!(ROLES.iter().all(|r| theme.style(*r).fg.is_none() && theme.style(*r).bg.is_none()));
                }
            }
        }
    }

    #[test]
    fn the_environment_decides_the_depth() {
        let with = |pairs: &'static [(&str, &str)]| {
            Depth::from_environment(|n| pairs.iter().find(|(k, _)| *k == n).map(|(_, v)| (*v).to_owned()))
        };
        assert_eq!(with(&[("COLORTERM", "truecolor")]), Depth::True);
        assert_eq!(with(&[("COLORTERM", "truecolor"), ("NO_COLOR", "1")]), Depth::None);
        assert_eq!(with(&[("NO_COLOR", "")]), Depth::Ansi16);
        assert_eq!(with(&[]), Depth::Ansi16);
    }
}
