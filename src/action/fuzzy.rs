//! Fuzzy matching for the command palette.

/// How well `text` matches `query`; `None` where a letter of the query is
/// missing. Letters must come in order; runs and starts of words count more.
pub fn score(query: &str, text: &str) -> Option<i32> {
    let text: Vec<char> = text.to_lowercase().chars().collect();
    let mut total = 0;
    let mut from = 0;
    let mut last: Option<usize> = None;
    for wanted in query.to_lowercase().chars().filter(|c| !c.is_whitespace()) {
        let candidates = (from..text.len()).filter(|i| text[*i] == wanted);
        let value = |i: usize| {
            let run = if last.is_some_and(|l| l + 1 == i) { 8 } else { 0 };
            let word = if i == 0 || !text[i - 1].is_alphanumeric() { 6 } else { 0 };
            run + word + 1
        };
        let at = candidates.max_by_key(|i| (value(*i), std::cmp::Reverse(*i)))?;
        total += value(at) - i32::try_from(at - from).unwrap_or(i32::MAX).min(5);
        last = Some(at);
        from = at + 1;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::score;

    #[test]
    fn letters_in_order_match_and_word_starts_win() {
        assert!(score("rest", "Restore this version").is_some());
        assert!(score("xyz", "Restore this version").is_none());
        assert!(score("sp", "save plan") > score("sp", "suspend"));
        assert!(score("", "anything").is_some());
    }
}
