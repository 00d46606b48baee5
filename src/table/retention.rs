//! How long files that are no longer live are kept, and entries of the log.

use super::Metadata;

/// Milliseconds for which VACUUM leaves a removed file alone:
/// `delta.deletedFileRetentionDuration`, a week where it is not set; `None`
/// where its text is not understood.
pub fn deleted_file_retention(metadata: &Metadata) -> Option<i64> {
    const WEEK: i64 = 7 * 24 * 3_600_000;
    match metadata.property("delta.deletedFileRetentionDuration") {
        None => Some(WEEK),
        Some(text) => interval(text),
    }
}

/// Milliseconds for which an entry of the log is kept after its commit:
/// `delta.logRetentionDuration`, 30 days where it is not set; `None` where the
/// table never cleans its log up, or where the text is not understood.
pub fn log_retention(metadata: &Metadata) -> Option<i64> {
    const MONTH: i64 = 30 * 24 * 3_600_000;
    let cleaned = metadata.property("delta.enableExpiredLogCleanup");
    if cleaned.is_some_and(|text| text.trim().eq_ignore_ascii_case("false")) {
        return None;
    }
    match metadata.property("delta.logRetentionDuration") {
        None => Some(MONTH),
        Some(text) => interval(text),
    }
}

/// Spark's interval texts in units of a fixed length, such as `interval 1 week
/// 2 days` or `168 hours`, in milliseconds.
fn interval(text: &str) -> Option<i64> {
    let text = text.trim().to_lowercase();
    let mut words = text.strip_prefix("interval").unwrap_or(&text).split_whitespace().peekable();
    words.peek()?;
    let mut total: i64 = 0;
    while let Some(number) = words.next() {
        let number: i64 = number.parse().ok()?;
        let unit = match words.next()?.trim_end_matches('s') {
            "week" => 7 * 24 * 3_600_000,
            "day" => 24 * 3_600_000,
            "hour" => 3_600_000,
            "minute" => 60_000,
            "second" => 1_000,
            "millisecond" => 1,
            _ => return None,
        };
        total = total.checked_add(number.checked_mul(unit)?)?;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_read_as_spark_writes_them() {
        let hour = 3_600_000;
        for (text, want) in [
            ("interval 7 days", Some(168 * hour)),
            ("interval 1 week 2 days", Some(216 * hour)),
            ("168 HOURS", Some(168 * hour)),
            ("interval 0 hours", Some(0)),
            ("INTERVAL 90 minutes 5 seconds 7 milliseconds", Some(90 * 60_000 + 5_007)),
            ("interval 1 month", None),
            ("interval", None),
            ("", None),
            ("interval 5", None),
            ("interval x days", None),
            ("interval 9223372036854775807 weeks", None),
        ] {
            assert_eq!(interval(text), want, "{text}");
        }
    }
}
