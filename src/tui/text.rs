//! Text in display cells: widths, cutting, numbers and times for people.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::table::number::grouped_text;

/// Cells that a text takes on the screen.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Cuts a text to so many cells, never inside a wide glyph; a cut text ends in `…`.
pub fn fit(text: &str, cells: usize) -> String {
    if width(text) <= cells {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let w = c.width().unwrap_or(0);
        if used + w + 1 > cells {
            break;
        }
        out.push(c);
        used += w;
    }
    if cells > 0 {
        out.push('…');
    }
    out
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// Fits a text and fills it with spaces to exactly so many cells.
pub fn pad(text: &str, cells: usize, align: Align) -> String {
    let text = fit(text, cells);
    let space = " ".repeat(cells.saturating_sub(width(&text)));
    match align {
        Align::Left => text + &space,
        Align::Right => space + &text,
    }
}

/// Breaks a text into lines of so many cells, at spaces where it can.
pub fn wrap(text: &str, cells: usize) -> Vec<String> {
    let cells = cells.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let mut word = word.to_owned();
        if !line.is_empty() && width(&line) + 1 + width(&word) > cells {
            lines.push(std::mem::take(&mut line));
        } else if !line.is_empty() {
            line.push(' ');
        }
        while width(&line) + width(&word) > cells {
            let mut used = width(&line);
            let mut cut = 0;
            for c in word.chars() {
                used += c.width().unwrap_or(0);
                if used > cells {
                    break;
                }
                cut += c.len_utf8();
            }
            // A glyph wider than the line still has to go somewhere.
            let cut = if cut == 0 && line.is_empty() { word.chars().next().map_or(0, char::len_utf8) } else { cut };
            line.push_str(&word[..cut]);
            word = word[cut..].to_owned();
            lines.push(std::mem::take(&mut line));
        }
        line.push_str(&word);
    }
    lines.push(line);
    lines
}

/// `2 h`, `40 s`, `3 d`: the time between two instants in milliseconds.
pub fn ago(then_ms: i64, now_ms: i64) -> String {
    let seconds = now_ms.saturating_sub(then_ms).max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        86_400..31_536_000 => format!("{} d", seconds / 86_400),
        _ => format!("{} y", seconds / 31_536_000),
    }
}

/// `2026-11-29 22:41:03Z`.
pub fn timestamp(ms: i64) -> String {
    match chrono::DateTime::from_timestamp_millis(ms) {
        Some(t) => t.format("%Y-%m-%d %H:%M:%SZ").to_string(),
        None => format!("{ms} ms"),
    }
}

/// `1 row`, `2 rows`: the number with separators and its word.
pub fn count(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", crate::table::number::grouped(n), if n == 1 { one } else { many })
}

/// `+12`, `−1`, `0`, with separators.
pub fn signed(n: i128) -> String {
    match n {
        0 => "0".into(),
        n if n > 0 => format!("+{}", crate::table::number::grouped(n)),
        n => format!("−{}", crate::table::number::grouped(-n)),
    }
}

/// A cell's value for people: numbers with separators where they are amounts.
pub fn amount(text: &str) -> String {
    grouped_text(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_glyph_is_never_cut_in_half() {
        assert_eq!(fit("日本語", 6), "日本語");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(pad("日本語", 4, Align::Left), "日… ");
        assert_eq!(width(&pad("日本語", 5, Align::Right)), 5);
        assert_eq!(fit("abc", 0), "");
    }

    #[test]
    fn long_words_wrap_without_loss() {
        let text = "a staging/very-long-name-of-a-file.parquet 日本語日本語";
        for cells in 1..20 {
            let lines = wrap(text, cells);
            assert!(cells < 2 || lines.iter().all(|l| width(l) <= cells), "{cells}: {lines:?}");
            assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
        }
    }

    #[test]
    fn ages_have_one_unit() {
        assert_eq!(ago(0, 59_000), "59 s");
        assert_eq!(ago(0, 7_200_000), "2 h");
        assert_eq!(ago(5_000, 0), "0 s");
    }
}
