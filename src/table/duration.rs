//! Spans of time as table properties and people write them.

const SECOND: i64 = 1_000;
const DAY: i64 = 86_400 * SECOND;

/// Milliseconds of `interval 1 week`, `30 days`, `interval 2 days 12 hours`, or
/// of `7d`, `36h`, `2w`. `None` for any other text, for negative spans, and
/// for months and years, which have no fixed length.
pub fn parse_span(text: &str) -> Option<i64> {
    let text = text.trim().to_ascii_lowercase();
    let text = text.strip_prefix("interval").map_or(text.as_str(), |rest| rest.trim_matches([' ', '\'', '"']));
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let digits = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
        let (number, unit) = word.split_at(digits);
        words.extend([number, unit].into_iter().filter(|w| !w.is_empty()).map(str::to_owned));
    }
    if words.is_empty() || !words.len().is_multiple_of(2) {
        return None;
    }
    words.chunks(2).try_fold(0_i64, |sum, pair| {
        let number: i64 = pair[0].parse().ok()?;
        let unit = match pair[1].as_str() {
            "ms" | "millisecond" | "milliseconds" => 1,
            "s" | "second" | "seconds" => SECOND,
            "min" | "minute" | "minutes" => 60 * SECOND,
            "h" | "hour" | "hours" => 3_600 * SECOND,
            "d" | "day" | "days" => DAY,
            "w" | "week" | "weeks" => 7 * DAY,
            _ => return None,
        };
        sum.checked_add(number.checked_mul(unit)?)
    })
}

/// `7 d`, `1 d 12 h`, `45 s`: the two largest units.
pub fn span_text(millis: i64) -> String {
    let mut rest = millis.max(0);
    let mut parts = Vec::new();
    for (unit, name) in [(DAY, "d"), (3_600 * SECOND, "h"), (60 * SECOND, "min"), (SECOND, "s")] {
        if rest >= unit {
            parts.push(format!("{} {name}", rest / unit));
            rest %= unit;
        }
    }
    match parts.is_empty() {
        true => format!("{rest} ms"),
        false => parts[..parts.len().min(2)].join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_properties_and_of_people() {
        for (text, millis) in [
            ("interval 1 week", Some(7 * DAY)),
            ("interval 30 days", Some(30 * DAY)),
            ("INTERVAL 2 days 12 hours", Some(2 * DAY + DAY / 2)),
            ("interval '36 hours'", Some(DAY + DAY / 2)),
            ("7d", Some(7 * DAY)),
            ("0h", Some(0)),
            ("2w 1d", Some(15 * DAY)),
            ("168", None),
            ("days", None),
            ("", None),
            ("-1d", None),
            ("1 month", None),
            ("99999999999999999d", None),
        ] {
            assert_eq!(parse_span(text), millis, "{text}");
        }
        assert_eq!(span_text(7 * DAY), "7 d");
        assert_eq!(span_text(DAY + DAY / 2 + 61_000), "1 d 12 h");
        assert_eq!(span_text(90_000), "1 min 30 s");
        assert_eq!(span_text(7), "7 ms");
    }
}
