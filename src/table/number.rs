//! Exact sums for measures: decimals stay integers, floats are compensated.

use std::cmp::Ordering;
use std::fmt;

use super::wide::Wide;

/// A sum of a numeric column. Decimals and integers are exact, however large;
/// floats carry Neumaier's compensation, so that the order of rows does not
/// show in the digits that people read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sum {
    Exact { sum: Wide, scale: u8 },
    Float { sum: f64, compensation: f64 },
}

impl Sum {
    pub fn exact(scale: u8) -> Self {
        Sum::Exact { sum: Wide::default(), scale }
    }

    /// One value of a column.
    pub fn of(unscaled: i128, scale: u8) -> Self {
        Sum::Exact { sum: unscaled.into(), scale }
    }

    pub fn float() -> Self {
        Sum::Float { sum: 0.0, compensation: 0.0 }
    }

    /// Adds another sum of the same column.
    pub fn add(&mut self, other: Sum) {
        match (self, other) {
            (Sum::Exact { sum, .. }, Sum::Exact { sum: more, .. }) => sum.add(more),
            (Sum::Float { sum, compensation }, Sum::Float { sum: more, compensation: rest }) => {
                for part in [more, rest] {
                    let total = *sum + part;
                    *compensation +=
                        if sum.abs() >= part.abs() { (*sum - total) + part } else { (part - total) + *sum };
                    *sum = total;
                }
            }
            _ => {}
        }
    }

    pub fn negated(self) -> Sum {
        match self {
            Sum::Exact { sum, scale } => Sum::Exact { sum: sum.negated(), scale },
            Sum::Float { sum, compensation } => Sum::Float { sum: -sum, compensation: -compensation },
        }
    }

    pub fn abs(self) -> Sum {
        if self.as_f64() < 0.0 { self.negated() } else { self }
    }

    pub fn as_f64(self) -> f64 {
        match self {
            Sum::Exact { sum, scale } => sum.as_f64() / 10f64.powi(i32::from(scale)),
            Sum::Float { sum, compensation } => sum + compensation,
        }
    }
}

impl fmt::Display for Sum {
    /// Trailing zeros carry no information in a sum, so `1450.00` is `1450`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Sum::Exact { sum, scale } => f.write_str(trim_zeros(&sum.text(scale))),
            Sum::Float { .. } => {
                let value = self.as_f64();
                // The last digits of a float sum are noise of the addition.
                let rounded = format!("{value:.6}");
                if value.is_finite() && value.abs() < 1e15 {
                    let text = trim_zeros(&rounded);
                    f.write_str(if text == "-0" { "0" } else { text })
                } else {
                    write!(f, "{value}")
                }
            }
        }
    }
}

fn trim_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// A decimal's text with exactly `scale` digits after the point.
pub fn decimal(unscaled: i128, scale: u8) -> String {
    if scale == 0 {
        return unscaled.to_string();
    }
    let scale = usize::from(scale);
    let digits = format!("{:0width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    format!("{}{whole}.{fraction}", if unscaled < 0 { "-" } else { "" })
}

/// Parses a decimal's text to its unscaled value, or `None` where it does not
/// fit `precision` and `scale` exactly.
pub fn parse_decimal(text: &str, precision: u8, scale: u8) -> Option<i128> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((m, e)) => (m, e.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, body) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = body.split_once('.').unwrap_or((body, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let digits: String = [whole, fraction].concat();
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let mut value: i128 = digits.parse().ok()?;
    let mut shift = i32::from(scale) + exponent - i32::try_from(fraction.len()).ok()?;
    while shift > 0 {
        value = value.checked_mul(10)?;
        shift -= 1;
    }
    while shift < 0 {
        if value % 10 != 0 {
            return None;
        }
        value /= 10;
        shift += 1;
    }
    if value.unsigned_abs().checked_ilog10().unwrap_or(0) >= u32::from(precision) {
        return None;
    }
    Some(if negative { -value } else { value })
}

/// Compares decimals of different scales without rounding either.
pub fn compare_decimals(a: (i128, u8), b: (i128, u8)) -> Ordering {
    if a.1 == b.1 {
        return a.0.cmp(&b.0);
    }
    let widen = |(value, scale): (i128, u8), to: u8| {
        10i128.checked_pow(u32::from(to - scale)).and_then(|factor| value.checked_mul(factor))
    };
    let to = a.1.max(b.1);
    match (widen(a, to), widen(b, to)) {
        (Some(x), Some(y)) => x.cmp(&y),
        _ => (a.0 as f64 / 10f64.powi(i32::from(a.1))).total_cmp(&(b.0 as f64 / 10f64.powi(i32::from(b.1)))),
    }
}

/// `1234567` → `1,234,567`.
pub fn grouped(n: impl Into<i128>) -> String {
    let n: i128 = n.into();
    let digits = n.unsigned_abs().to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if n < 0 {
        out.push('−');
    }
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// `1234.50` → `1,234.50`; anything that is not a plain number stays as it is.
pub fn grouped_text(text: &str) -> String {
    let (sign, body) = match text.strip_prefix('-') {
        Some(rest) => ("−", rest),
        None => ("", text),
    };
    let (whole, rest) = match body.split_once('.') {
        Some((whole, fraction)) => (whole, format!(".{fraction}")),
        None => (body, String::new()),
    };
    match whole.parse::<i128>() {
        Ok(n) => format!("{sign}{}{rest}", grouped(n)),
        Err(_) => text.to_owned(),
    }
}

/// Bytes for people: binary multiples, the way file tools print them.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{n} B")
    } else if value >= 100.0 {
        format!("{value:.0} {}", UNITS[unit])
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_round_trip_and_refuse_what_does_not_fit() {
        assert_eq!(parse_decimal("1.5", 6, 2), Some(150));
        assert_eq!(parse_decimal("-0.07", 6, 2), Some(-7));
        assert_eq!(parse_decimal("1e2", 6, 2), Some(10_000));
        assert_eq!(parse_decimal("1.555", 6, 2), None);
        assert_eq!(parse_decimal("99999.99", 6, 2), None);
        assert_eq!(parse_decimal("", 6, 2), None);
        assert_eq!(parse_decimal("abc", 6, 2), None);
        assert_eq!(decimal(-7, 2), "-0.07");
        assert_eq!(decimal(150, 2), "1.50");
    }

    #[test]
    fn sums_print_what_finance_reads() {
        assert_eq!(Sum::of(145_000, 2).to_string(), "1450");
        assert_eq!(Sum::of(-5, 2).to_string(), "-0.05");
        let mut sum = Sum::float();
        for x in [0.1, 0.2, 0.3] {
            sum.add(Sum::Float { sum: x, compensation: 0.0 });
        }
        assert_eq!(sum.to_string(), "0.6");
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(grouped(1_234_567u32), "1,234,567");
        assert_eq!(grouped(-1_000), "−1,000");
        assert_eq!(grouped_text("1450.5"), "1,450.5");
        assert_eq!(bytes(1536), "1.5 KB");
    }
}
