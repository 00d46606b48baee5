//! Dates and timestamps: Spark's texts and its calendar arithmetic, in UTC.

use chrono::{Datelike, Days, Months, NaiveDate};

pub(super) const MICROS_PER_DAY: i64 = 86_400_000_000;
const EPOCH_FROM_CE: i32 = 719_163;

pub(super) fn date(days: i32) -> Option<NaiveDate> {
    NaiveDate::from_num_days_from_ce_opt(days.checked_add(EPOCH_FROM_CE)?)
}

pub(super) fn days(date: NaiveDate) -> i32 {
    date.num_days_from_ce() - EPOCH_FROM_CE
}

/// Splits leading digits off, between `least` and `most` of them.
fn digits(text: &str, least: usize, most: usize) -> Option<(u32, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    if length < least || length > most {
        return None;
    }
    Some((text[..length].parse().ok()?, &text[length..]))
}

/// `yyyy`, `yyyy-m`, `yyyy-m-d`, and what follows.
fn leading_date(text: &str) -> Option<(NaiveDate, &str)> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (year, mut rest) = digits(text, 4, 7)?;
    let year = i32::try_from(year).ok()?;
    let (mut month, mut day) = (1, 1);
    if let Some(after) = rest.strip_prefix('-') {
        (month, rest) = digits(after, 1, 2)?;
        if let Some(after) = rest.strip_prefix('-') {
            (day, rest) = digits(after, 1, 2)?;
        }
    }
    Some((NaiveDate::from_ymd_opt(if negative { -year } else { year }, month, day)?, rest))
}

/// A date as Spark reads it; what follows a `T` or a blank is not looked at.
pub(super) fn parse_date(text: &str) -> Option<i32> {
    let (date, rest) = leading_date(text.trim())?;
    (rest.is_empty() || rest.starts_with(['T', ' '])).then(|| days(date))
}

/// A timestamp as Spark reads it, in microseconds: a date, a time and a zone,
/// each further part optional; no zone is UTC.
pub(super) fn parse_timestamp(text: &str) -> Option<i64> {
    let (date, rest) = leading_date(text.trim())?;
    let midnight = i64::from(days(date)) * MICROS_PER_DAY;
    if rest.is_empty() {
        return Some(midnight);
    }
    let (hour, rest) = digits(rest.strip_prefix(['T', ' '])?, 1, 2)?;
    let (minute, mut rest) = digits(rest.strip_prefix(':')?, 1, 2)?;
    let (mut second, mut micros) = (0, 0);
    if let Some(after) = rest.strip_prefix(':') {
        (second, rest) = digits(after, 1, 2)?;
        if let Some(after) = rest.strip_prefix('.') {
            let length = after.bytes().take_while(u8::is_ascii_digit).count();
            let fraction: String = after[..length].chars().chain("000000".chars()).take(6).collect();
            micros = fraction.parse::<u32>().ok()?;
            rest = &after[length..];
        }
    }
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let of_day = i64::from(hour * 3600 + minute * 60 + second) * 1_000_000 + i64::from(micros);
    midnight.checked_add(of_day)?.checked_sub(offset_seconds(rest.trim())? * 1_000_000)
}

/// `Z`, `UTC`, `+02:00`, `-3`, `+0530`; nothing is UTC.
fn offset_seconds(zone: &str) -> Option<i64> {
    let zone = ["UTC", "GMT", "UT"].iter().find_map(|name| zone.strip_prefix(name)).unwrap_or(zone);
    if zone.is_empty() || zone == "Z" {
        return Some(0);
    }
    let (sign, rest) = match zone.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, zone.strip_prefix('+')?),
    };
    let (hours, minutes) = match rest.split_once(':') {
        Some((hours, minutes)) => (hours, minutes),
        None if rest.len() == 4 => rest.split_at_checked(2)?,
        None => (rest, "0"),
    };
    let (hours, minutes) = (hours.parse::<u8>().ok()?, minutes.parse::<u8>().ok()?);
    (hours <= 18 && minutes < 60).then(|| sign * (i64::from(hours) * 3600 + i64::from(minutes) * 60))
}

/// The same day of another month, or that month's last day.
pub(super) fn add_months(days_since: i32, months: i32) -> Option<i32> {
    let from = date(days_since)?;
    let moved = if months < 0 {
        from.checked_sub_months(Months::new(months.unsigned_abs()))
    } else {
        from.checked_add_months(Months::new(months.unsigned_abs()))
    };
    moved.map(days)
}

pub(super) fn last_day(days_since: i32) -> Option<i32> {
    let first = date(days_since)?.with_day(1)?;
    first.checked_add_months(Months::new(1))?.checked_sub_days(Days::new(1)).map(days)
}

/// The first day of the unit that a date is in; `None` for a unit that is
/// smaller than a week or none at all.
pub(super) fn truncate_date(days_since: i32, unit: &str) -> Option<i32> {
    let from = date(days_since)?;
    Some(days(match unit.to_ascii_uppercase().as_str() {
        "YEAR" | "YYYY" | "YY" => from.with_day(1)?.with_month(1)?,
        "QUARTER" => from.with_day(1)?.with_month(from.month0() / 3 * 3 + 1)?,
        "MONTH" | "MM" | "MON" => from.with_day(1)?,
        "WEEK" => from.checked_sub_days(Days::new(u64::from(from.weekday().num_days_from_monday())))?,
        _ => return None,
    }))
}

pub(super) fn truncate_timestamp(us: i64, unit: &str) -> Option<i64> {
    let to = |length: i64| Some(us - us.rem_euclid(length));
    match unit.to_ascii_uppercase().as_str() {
        "DAY" | "DD" => to(MICROS_PER_DAY),
        "HOUR" => to(3_600_000_000),
        "MINUTE" => to(60_000_000),
        "SECOND" => to(1_000_000),
        "MILLISECOND" => to(1000),
        "MICROSECOND" => Some(us),
        _ => {
            let day = i32::try_from(us.div_euclid(MICROS_PER_DAY)).ok()?;
            Some(i64::from(truncate_date(day, unit)?) * MICROS_PER_DAY)
        }
    }
}
