//! Keys that are different to a computer and the same to a person: `7` and
//! `007`, `de01` and `DE01`, a key with a blank behind it, a composed `é` and an
//! `e` with an accent after it.
//!
//! Unicode: of canonical composition (NFC) the Latin letters are done, with the
//! fourteen marks that European languages use. Hangul, Indic and other scripts
//! are compared as they are.

use serde::{Deserialize, Serialize};

/// One way in which two keys may differ without meaning it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Blanks at either end, no-break ones too.
    Blanks,
    /// Upper and lower case.
    Case,
    /// Zeros before a digit.
    LeadingZeros,
    /// Letters with accents, composed or not.
    Unicode,
}

impl Rule {
    pub const ALL: [Rule; 4] = [Rule::Blanks, Rule::Case, Rule::LeadingZeros, Rule::Unicode];

    pub fn words(self) -> &'static str {
        match self {
            Rule::Blanks => "blanks around it",
            Rule::Case => "upper and lower case",
            Rule::LeadingZeros => "leading zeros",
            Rule::Unicode => "Unicode composition",
        }
    }
}

/// The text without what the rules call no difference.
pub fn fold(text: &str, rules: &[Rule]) -> String {
    let has = |rule| rules.contains(&rule);
    let mut text = if has(Rule::Unicode) { compose(text) } else { text.to_owned() };
    if has(Rule::Blanks) {
        text = text.trim().to_owned();
    }
    if has(Rule::Case) {
        text = text.to_lowercase();
    }
    if has(Rule::LeadingZeros) {
        let zeros = text.bytes().take_while(|b| *b == b'0').count();
        let digit_follows = text.as_bytes().get(zeros).is_some_and(u8::is_ascii_digit);
        // The last zero of `000` is its value.
        let cut = if digit_follows { zeros } else { zeros.saturating_sub(1) };
        let ends = zeros == text.len();
        if digit_follows || (ends && zeros > 1) {
            text.drain(..cut);
        }
    }
    text
}

/// The fewest rules under which two keys are the same; each key is its columns'
/// texts, `None` for NULL. `None` where they differ under all of them.
pub fn difference(a: &[Option<String>], b: &[Option<String>]) -> Option<Vec<Rule>> {
    let same = |rules: &[Rule]| {
        a.len() == b.len()
            && a.iter().zip(b).all(|(a, b)| match (a, b) {
                (Some(a), Some(b)) => a == b || fold(a, rules) == fold(b, rules),
                (a, b) => a == b,
            })
    };
    let mut sets: Vec<Vec<Rule>> = (0u32..1 << Rule::ALL.len())
        .map(|bits| Rule::ALL.into_iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1).map(|(_, r)| r).collect())
        .collect();
    sets.sort_by_key(Vec::len);
    sets.into_iter().find(|rules| same(rules))
}

/// (mark, letters without it, the same letters with it)
const COMPOSED: &[(char, &str, &str)] = &[
    ('\u{300}', "AEIOUNaeioun", "ÀÈÌÒÙǸàèìòùǹ"),
    ('\u{301}', "AEIOUYCLNRSZGKaeiouyclnrszgk", "ÁÉÍÓÚÝĆĹŃŔŚŹǴḰáéíóúýćĺńŕśźǵḱ"),
    ('\u{302}', "AEIOUCGHJSWYaeioucghjswy", "ÂÊÎÔÛĈĜĤĴŜŴŶâêîôûĉĝĥĵŝŵŷ"),
    ('\u{303}', "ANOIUEYanoiuey", "ÃÑÕĨŨẼỸãñõĩũẽỹ"),
    ('\u{304}', "AEIOUaeiou", "ĀĒĪŌŪāēīōū"),
    ('\u{306}', "AEGIOUaegiou", "ĂĔĞĬŎŬăĕğĭŏŭ"),
    ('\u{307}', "CEGIZAcegza", "ĊĖĠİŻȦċėġżȧ"),
    ('\u{308}', "AEIOUYaeiouy", "ÄËÏÖÜŸäëïöüÿ"),
    ('\u{30A}', "AUau", "ÅŮåů"),
    ('\u{30B}', "OUou", "ŐŰőű"),
    ('\u{30C}', "CDENRSTZAcdenrstza", "ČĎĚŇŘŠŤŽǍčďěňřšťžǎ"),
    ('\u{326}', "STst", "ȘȚșț"),
    ('\u{327}', "CGKLNRSTcgklnrst", "ÇĢĶĻŅŖŞŢçģķļņŗşţ"),
    ('\u{328}', "AEIUOaeiuo", "ĄĘĮŲǪąęįųǫ"),
];

fn compose(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let letter = out.chars().next_back().and_then(|last| {
            let (_, plain, composed) = COMPOSED.iter().find(|(mark, _, _)| *mark == c)?;
            let at = plain.chars().position(|letter| letter == last)?;
            composed.chars().nth(at)
        });
        match letter {
            Some(letter) => {
                out.pop();
                out.push(letter);
            }
            None => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Vec<Option<String>> {
        vec![Some(text.to_owned())]
    }

    #[test]
    fn the_table_of_letters_is_sound() {
        for (mark, plain, composed) in COMPOSED {
            assert_eq!(plain.chars().count(), composed.chars().count(), "{mark:?}");
            for (letter, with) in plain.chars().zip(composed.chars()) {
                assert_eq!(compose(&format!("{letter}{mark}")), with.to_string());
            }
        }
    }

    #[test]
    fn each_rule_by_itself() {
        for (a, b, rule) in [
            ("7 ", "7", Rule::Blanks),
            ("\u{a0}x", "x", Rule::Blanks),
            ("de01", "DE01", Rule::Case),
            ("É", "é", Rule::Case),
            ("0000400123", "400123", Rule::LeadingZeros),
            ("000", "0", Rule::LeadingZeros),
            ("Mu\u{308}nchen", "München", Rule::Unicode),
        ] {
            assert_eq!(difference(&key(a), &key(b)), Some(vec![rule]), "{a:?} and {b:?}");
        }
    }

    #[test]
    fn several_rules_and_none() {
        assert_eq!(difference(&key(" 007a"), &key("7A")), Some(vec![Rule::Blanks, Rule::Case, Rule::LeadingZeros]));
        assert_eq!(difference(&key("a"), &key("a")), Some(vec![]));
        for (a, b) in [("a b", "ab"), ("10", "1"), ("0x1", "x1"), ("0.5", ".5"), ("", "0")] {
            assert_eq!(difference(&key(a), &key(b)), None, "{a:?} and {b:?}");
        }
        assert_eq!(difference(&[None], &key("")), None);
    }
}
