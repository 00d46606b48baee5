//! Bars and sparklines in eighths of a cell.

const ACROSS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
const UP: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A horizontal bar of at most `cells`. Anything above 0 leaves a trace.
pub fn bar(value: u64, max: u64, cells: usize, logarithmic: bool) -> String {
    if value == 0 || max == 0 || cells == 0 {
        return String::new();
    }
    let scale = |n: u64| if logarithmic { (n as f64 + 1.0).ln() } else { n as f64 };
    let eighths = (scale(value) / scale(max) * (cells * 8) as f64).round().clamp(1.0, (cells * 8) as f64) as usize;
    let mut out = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        out.push(ACROSS[eighths % 8 - 1]);
    }
    out
}

/// One column of a sparkline or a heat map.
pub fn level(value: u64, max: u64) -> char {
    if max == 0 {
        return UP[0];
    }
    let step = (value as f64 / max as f64 * 7.0).round().clamp(0.0, 7.0) as usize;
    UP[step]
}

/// A sparkline of at most `cells`; more values are put together by their sum.
pub fn sparkline(values: &[u64], cells: usize) -> String {
    if values.is_empty() || cells == 0 {
        return String::new();
    }
    let size = values.len().div_ceil(cells);
    let sums: Vec<u64> = values.chunks(size).map(|c| c.iter().fold(0_u64, |a, b| a.saturating_add(*b))).collect();
    let max = sums.iter().copied().max().unwrap_or(0);
    sums.into_iter().map(|v| level(v, max)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_proportional_and_never_vanish() {
        assert_eq!(bar(100, 100, 7, false), "███████");
        assert_eq!(bar(50, 100, 4, false), "██");
        assert_eq!(bar(1, 1_000_000, 7, false), "▏");
        assert_eq!(bar(0, 100, 7, false), "");
        assert!(bar(100, 1_000_000, 7, true).chars().count() >= 2, "the logarithm lifts small values");
    }

    #[test]
    fn a_sparkline_fits_its_cells() {
        assert_eq!(sparkline(&[0, 50, 100], 10), "▁▅█");
        assert_eq!(sparkline(&vec![1; 1000], 12).chars().count(), 12);
    }
}
