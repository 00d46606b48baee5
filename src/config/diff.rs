//! Which lines of a text changed, for people.

/// A line and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    Same(&'a str),
    Removed(&'a str),
    Added(&'a str),
    /// So many unchanged lines were left out.
    Skipped(usize),
}

/// Unchanged lines that are shown around a change.
const AROUND: usize = 2;

/// The lines that differ, with a few of those around them.
pub fn lines<'a>(before: &'a str, after: &'a str) -> Vec<Line<'a>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let room = old.len().min(new.len()) - start;
    let end = old.iter().rev().zip(new.iter().rev()).take(room).take_while(|(a, b)| a == b).count();
    let mut all: Vec<Line> = old[..start].iter().map(|l| Line::Same(l)).collect();
    all.extend(middle(&old[start..old.len() - end], &new[start..new.len() - end]));
    all.extend(old[old.len() - end..].iter().map(|l| Line::Same(l)));
    shortened(&all)
}

/// By the longest common subsequence; the changed part of a config is short.
fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let mut longest = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i][j] = match old[i] == new[j] {
                true => longest[i + 1][j + 1] + 1,
                false => longest[i + 1][j].max(longest[i][j + 1]),
            };
        }
    }
    let (mut i, mut j, mut found) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            found.push(Line::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && (j == new.len() || longest[i + 1][j] >= longest[i][j + 1]) {
            found.push(Line::Removed(old[i]));
            i += 1;
        } else {
            found.push(Line::Added(new[j]));
            j += 1;
        }
    }
    found
}

fn shortened<'a>(all: &[Line<'a>]) -> Vec<Line<'a>> {
    let is_same = |line: &Line| matches!(line, Line::Same(_));
    let near = |at: usize| {
        let from = at.saturating_sub(AROUND);
        all[from..(at + AROUND + 1).min(all.len())].iter().any(|line| !is_same(line))
    };
    let mut found = Vec::new();
    let mut skipped = 0;
    for (at, line) in all.iter().enumerate() {
        if near(at) {
            if skipped > 0 {
                found.push(Line::Skipped(skipped));
                skipped = 0;
            }
            found.push(*line);
        } else {
            skipped += 1;
        }
    }
    if skipped > 0 && !found.is_empty() {
        found.push(Line::Skipped(skipped));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_come_with_a_few_around_them() {
        let before = "a\nb\nc\nd\ne\nf\n";
        let after = "a\nb\nc\nX\ne\nY\nf\n";
        let shown = lines(before, after);
        let expected = [
            Line::Skipped(1),
            Line::Same("b"),
            Line::Same("c"),
            Line::Removed("d"),
            Line::Added("X"),
            Line::Same("e"),
            Line::Added("Y"),
            Line::Same("f"),
        ];
        assert_eq!(shown, expected);
        assert_eq!(lines(before, before), []);
        assert_eq!(lines("", "x\n"), [Line::Added("x")]);
    }
}
