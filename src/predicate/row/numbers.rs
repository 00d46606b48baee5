//! Exact decimal arithmetic with Spark's precision, scale and rounding.

use deltalake::arrow::datatypes::i256;

use super::node::Arithmetic;
use crate::table::Value;
use crate::table::schema::PrimitiveType;

const MAX_PRECISION: u8 = 38;

/// Result of an operation whose exact result would have this precision and
/// scale: at most 38 digits, of which the fraction gives way first, down to six.
fn adjusted(precision: u16, scale: u16) -> PrimitiveType {
    let max = u16::from(MAX_PRECISION);
    let scale = if precision <= max {
        scale
    } else {
        let whole = precision - scale;
        max.saturating_sub(whole).max(scale.min(6))
    };
    PrimitiveType::Decimal { precision: precision.min(max) as u8, scale: scale as u8 }
}

/// Spark's result type of an operation between decimals.
pub(super) fn result_type(op: Arithmetic, (p1, s1): (u8, u8), (p2, s2): (u8, u8)) -> PrimitiveType {
    let [p1, s1, p2, s2] = [p1, s1, p2, s2].map(u16::from);
    match op {
        Arithmetic::Add | Arithmetic::Subtract => {
            let scale = s1.max(s2);
            adjusted((p1 - s1).max(p2 - s2) + scale + 1, scale)
        }
        Arithmetic::Multiply => adjusted(p1 + p2 + 1, s1 + s2),
        Arithmetic::Divide => {
            let scale = (s1 + p2 + 1).max(6);
            adjusted(p1 - s1 + s2 + scale, scale)
        }
        Arithmetic::Remainder => {
            let scale = s1.max(s2);
            adjusted((p1 - s1).min(p2 - s2) + scale, scale)
        }
        Arithmetic::WholeDivide => PrimitiveType::Long,
    }
}

/// The type that holds both; whole digits go before fraction digits.
pub(super) fn wider((p1, s1): (u8, u8), (p2, s2): (u8, u8)) -> (u8, u8) {
    let scale = s1.max(s2);
    let precision = (p1 - s1).max(p2 - s2) + scale;
    if precision <= MAX_PRECISION {
        (precision, scale)
    } else {
        (MAX_PRECISION, scale.saturating_sub(precision - MAX_PRECISION))
    }
}

fn ten_to(power: u32) -> Option<i256> {
    i256::from_i128(10).checked_pow(power)
}

/// Divides and rounds half away from zero.
fn divided(value: i256, by: i256) -> Option<i256> {
    let quotient = value.checked_div(by)?;
    let rest = value.checked_rem(by)?.checked_abs()?;
    // Compared without doubling, which could overflow.
    if rest >= by.checked_abs()?.checked_sub(rest)? {
        let step = if (value < i256::ZERO) == (by < i256::ZERO) { i256::ONE } else { i256::MINUS_ONE };
        quotient.checked_add(step)
    } else {
        Some(quotient)
    }
}

/// A value at another scale.
fn rescaled(value: i256, from: i32, to: i32) -> Option<i256> {
    let power = ten_to(from.abs_diff(to).min(77));
    if to >= from {
        if value == i256::ZERO { Some(value) } else { value.checked_mul(power?) }
    } else {
        power.map_or(Some(i256::ZERO), |power| divided(value, power))
    }
}

/// A value that has a scale as a decimal of a type; `None` where it has too many digits.
fn fitted(value: i256, from: i32, precision: u8, scale: u8) -> Option<Value> {
    let unscaled = rescaled(value, from, i32::from(scale))?.to_i128()?;
    (unscaled.unsigned_abs() < 10u128.pow(u32::from(precision))).then_some(Value::Decimal { unscaled, scale })
}

/// A decimal (or a whole number, scale 0) as another decimal type.
pub(super) fn to_decimal(unscaled: i128, from: u8, precision: u8, scale: u8) -> Option<Value> {
    fitted(i256::from_i128(unscaled), i32::from(from), precision, scale)
}

/// A number's text as a decimal, rounded half up. `None` where it is no
/// number, `Some(None)` where it has too many digits.
pub(super) fn text_to_decimal(text: &str, precision: u8, scale: u8) -> Option<Option<Value>> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, body) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = body.split_once('.').unwrap_or((body, ""));
    let digits = [whole, fraction].concat();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let mut own = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    let significant = digits.trim_start_matches('0');
    // Rounding half up looks at one digit only, so that further ones can go.
    let kept = &significant[..significant.len().min(76)];
    own = own.checked_sub(i32::try_from(significant.len() - kept.len()).ok()?)?;
    let mut value = i256::ZERO;
    for digit in kept.bytes() {
        value = value.checked_mul(i256::from_i128(10))?.checked_add(i256::from_i128(i128::from(digit - b'0')))?;
    }
    let value = if negative { value.checked_neg()? } else { value };
    Some(fitted(value, own, precision, scale))
}

/// One operation between decimals; `None` where the result has too many
/// digits. `b` is not zero where it divides.
pub(super) fn calculate(op: Arithmetic, a: (i128, u8), b: (i128, u8), t: &PrimitiveType) -> Option<Value> {
    let (x, y) = (i256::from_i128(a.0), i256::from_i128(b.0));
    let (sa, sb) = (i32::from(a.1), i32::from(b.1));
    let common = sa.max(sb);
    let aligned = || Some((rescaled(x, sa, common)?, rescaled(y, sb, common)?));
    let PrimitiveType::Decimal { precision, scale } = *t else {
        let (x, y) = aligned()?;
        return Some(Value::Int(i64::try_from(x.checked_div(y)?.to_i128()?).ok()?));
    };
    match op {
        Arithmetic::Add => aligned().and_then(|(x, y)| fitted(x.checked_add(y)?, common, precision, scale)),
        Arithmetic::Subtract => aligned().and_then(|(x, y)| fitted(x.checked_sub(y)?, common, precision, scale)),
        Arithmetic::Remainder => aligned().and_then(|(x, y)| fitted(x.checked_rem(y)?, common, precision, scale)),
        Arithmetic::Multiply => {
            // Spark rounds a product to 38 digits before it rounds it to its scale.
            let product = x.checked_mul(y)?;
            let excess = digit_count(product).saturating_sub(i32::from(MAX_PRECISION)).max(0);
            let product = rescaled(product, sa + sb, sa + sb - excess)?;
            fitted(product, sa + sb - excess, precision, scale)
        }
        Arithmetic::Divide | Arithmetic::WholeDivide => quotient(x, y, i32::from(scale) + sb - sa)
            .and_then(|value| fitted(value, i32::from(scale), precision, scale)),
    }
}

fn digit_count(value: i256) -> i32 {
    i32::try_from(value.to_string().trim_start_matches('-').len()).unwrap_or(i32::MAX)
}

/// `x / y`, shifted by `shift` decimal digits, rounded half up. Digit by digit:
/// the shifted dividend may not fit 256 bits.
fn quotient(x: i256, y: i256, shift: i32) -> Option<i256> {
    if shift < 0 {
        return divided(x, y.checked_mul(ten_to(shift.unsigned_abs())?)?);
    }
    let negative = (x < i256::ZERO) != (y < i256::ZERO);
    let (x, y) = (x.checked_abs()?, y.checked_abs()?);
    let ten = i256::from_i128(10);
    let (mut whole, mut rest) = (x.checked_div(y)?, x.checked_rem(y)?);
    for _ in 0..shift {
        rest = rest.checked_mul(ten)?;
        whole = whole.checked_mul(ten)?.checked_add(rest.checked_div(y)?)?;
        rest = rest.checked_rem(y)?;
    }
    if rest >= y.checked_sub(rest)? {
        whole = whole.checked_add(i256::ONE)?;
    }
    if negative { whole.checked_neg() } else { Some(whole) }
}

/// Rounds half up at `digits` after the point, which may be negative; the
/// result has the scale `max(digits, 0)` or the own one, whichever is less.
pub(super) fn round(unscaled: i128, own: u8, digits: i32, t: &PrimitiveType) -> Option<Value> {
    let own = i32::from(own);
    let rounded = rescaled(i256::from_i128(unscaled), own, digits.min(own))?;
    match t {
        PrimitiveType::Decimal { precision, scale } => fitted(rounded, digits.min(own), *precision, *scale),
        _ => Some(Value::Int(i64::try_from(rescaled(rounded, digits.min(own), 0)?.to_i128()?).ok()?)),
    }
}

/// The nearest whole number not above (floor) or not below (ceil).
pub(super) fn whole(unscaled: i128, scale: u8, up: bool) -> i128 {
    let one = 10i128.pow(u32::from(scale));
    let floor = unscaled.div_euclid(one);
    if up && unscaled.rem_euclid(one) != 0 { floor + 1 } else { floor }
}

/// A double as Java writes it: `1.0`, `1.0E10`.
pub(super) fn java_text(x: f64, shortest: &str) -> String {
    if x.is_nan() {
        return "NaN".into();
    }
    if x.is_infinite() {
        return if x > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    if x == 0.0 || (1e-3..1e7).contains(&x.abs()) {
        return shortest_plain(x, shortest);
    }
    match shortest.split_once('e') {
        Some((mantissa, exponent)) if mantissa.contains('.') => format!("{mantissa}E{exponent}"),
        Some((mantissa, exponent)) => format!("{mantissa}.0E{exponent}"),
        None => shortest.to_owned(),
    }
}

/// `shortest` is the text with an exponent; its digits decide, as a float's are fewer than a double's.
fn shortest_plain(x: f64, shortest: &str) -> String {
    let text = match text_to_decimal(shortest, MAX_PRECISION, 20) {
        Some(Some(Value::Decimal { unscaled, scale })) if x != 0.0 => crate::table::number::decimal(unscaled, scale),
        _ => return if x.is_sign_negative() { "-0.0".into() } else { "0.0".into() },
    };
    let trimmed = text.trim_end_matches('0');
    if trimmed.ends_with('.') { format!("{trimmed}0") } else { trimmed.to_owned() }
}
