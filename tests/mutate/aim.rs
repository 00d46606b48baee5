//! Damage that knows where it hurts.

use super::dice::Dice;

/// Mostly the footer, where a byte says most.
pub fn parquet_range(dice: &mut Dice, bytes: &[u8]) -> std::ops::Range<usize> {
    let length = bytes.last_chunk::<8>().map_or(0, |end| u32::from_le_bytes([end[0], end[1], end[2], end[3]]) as usize);
    let footer = bytes.len().saturating_sub(length.saturating_add(8));
    match dice.below(10) {
        0 => bytes.len().saturating_sub(8)..bytes.len(),
        1..=3 => 0..footer.min(bytes.len()),
        _ => footer..bytes.len(),
    }
}

/// One setting gets a strange value, or another one.
pub fn config_line(dice: &mut Dice, damaged: &mut Vec<u8>) -> String {
    let text = String::from_utf8_lossy(damaged).into_owned();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let settings: Vec<usize> = (0..lines.len()).filter(|n| lines[*n].contains(" = ")).collect();
    if settings.is_empty() {
        return "nothing, there is no setting".into();
    }
    let at = *dice.pick(&settings);
    let name = lines[at].split(" = ").next().unwrap_or_default().to_owned();
    let values = [
        "-1",
        "0",
        "nan",
        "inf",
        "-inf",
        "1e308",
        "9223372036854775807",
        "99999999999999999999",
        "\"\"",
        "\"..\"",
        "\"99999999999 TiB\"",
        "\"-1GiB\"",
        "\"1e30GiB\"",
        "[]",
        "{}",
        "true",
        "\"\\u0000\"",
        "1979-05-27",
        "[[[[]]]]",
    ];
    let value = match dice.below(values.len() + 2) {
        n if n < values.len() => values[n].to_owned(),
        n if n == values.len() => format!("{}{}", "[".repeat(20_000), "]".repeat(20_000)),
        _ => format!("\"{}\"", "x".repeat(100_000)),
    };
    let shown: String = value.chars().take(40).collect();
    lines[at] = format!("{name} = {value}");
    *damaged = (lines.join("\n") + "\n").into_bytes();
    format!("{name} set to {shown}")
}
