//! Sums of decimals that may leave 128 bits: a column of decimal(38) can, with
//! two rows.

/// 10^37: what one limb holds, so that any decimal(38) can still be added to it.
const BASE: i128 = 10i128.pow(LIMB_DIGITS as u32);
const LIMB_DIGITS: usize = 37;

/// `high · 10^37 + low`, exact. Equal numbers may have other limbs until
/// [`Wide::settled`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Wide {
    high: i128,
    low: i128,
}

impl From<i128> for Wide {
    fn from(low: i128) -> Wide {
        Wide { high: 0, low }
    }
}

impl PartialEq for Wide {
    fn eq(&self, other: &Wide) -> bool {
        let (a, b) = (self.settled(), other.settled());
        (a.high, a.low) == (b.high, b.low)
    }
}

impl Wide {
    pub fn add(&mut self, more: Wide) {
        self.high += more.high;
        match self.low.checked_add(more.low) {
            Some(low) => self.low = low,
            None => {
                // Both have the same sign, so that neither limb overflows.
                let (a, b) = (self.settled(), more.low);
                self.high = a.high + b / BASE;
                self.low = a.low + b % BASE;
            }
        }
    }

    pub fn negated(self) -> Wide {
        let settled = self.settled();
        Wide { high: -settled.high, low: -settled.low }
    }

    /// Both limbs with one sign, the low one below 10^37.
    fn settled(self) -> Wide {
        let (mut high, mut low) = (self.high + self.low / BASE, self.low % BASE);
        if high > 0 && low < 0 {
            (high, low) = (high - 1, low + BASE);
        } else if high < 0 && low > 0 {
            (high, low) = (high + 1, low - BASE);
        }
        Wide { high, low }
    }

    pub fn as_f64(self) -> f64 {
        self.high as f64 * BASE as f64 + self.low as f64
    }

    /// With exactly `scale` digits after the point.
    pub fn text(self, scale: u8) -> String {
        let Wide { high, low } = self.settled();
        let (scale, low) = (usize::from(scale), low.unsigned_abs());
        let digits = match high.unsigned_abs() {
            0 => format!("{low:0width$}", width = scale + 1),
            high => format!("{:0>width$}", format!("{high}{low:0LIMB_DIGITS$}"), width = scale + 1),
        };
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        let sign = if self.is_negative() { "-" } else { "" };
        if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
    }

    fn is_negative(self) -> bool {
        let Wide { high, low } = self.settled();
        high < 0 || low < 0
    }

    /// Reads a number without an exponent; `None` where it has more digits after
    /// the point than `scale`, or more than 70 in all.
    pub fn parse(text: &str, scale: u8) -> Option<Wide> {
        let (negative, body) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, fraction) = body.split_once('.').unwrap_or((body, ""));
        if whole.is_empty() || fraction.len() > usize::from(scale) {
            return None;
        }
        let digits = format!("{whole}{fraction:0<width$}", width = usize::from(scale));
        if digits.len() > 70 || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let (high, low) = digits.split_at(digits.len().saturating_sub(LIMB_DIGITS));
        let high: i128 = if high.is_empty() { 0 } else { high.parse().ok()? };
        let read = Wide { high, low: low.parse().ok()? };
        Some(if negative { read.negated() } else { read })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGEST: i128 = 99_999_999_999_999_999_999_999_999_999_999_999_999;

    fn sum(parts: impl IntoIterator<Item = i128>) -> Wide {
        parts.into_iter().fold(Wide::default(), |mut sum, part| {
            sum.add(part.into());
            sum
        })
    }

    #[test]
    fn sums_beyond_128_bits_stay_exact() {
        assert_eq!(sum([LARGEST, LARGEST]).text(0), "199999999999999999999999999999999999998");
        assert_eq!(sum([-LARGEST, -LARGEST]).text(10), "-19999999999999999999999999999.9999999998");
        let many = sum(std::iter::repeat_n(LARGEST, 1_000));
        assert_eq!(many.text(2), "999999999999999999999999999999999999990.00");
        let mut back = many;
        (0..1_000).for_each(|_| back.add((-LARGEST).into()));
        assert_eq!(back, Wide::from(0));
        assert_eq!(back.text(2), "0.00");
    }

    #[test]
    fn limbs_of_any_sign_are_one_number() {
        for (high, low) in [(1, -1), (-1, 1), (3, -BASE + 1), (-3, BASE - 1), (0, -7), (0, 0), (2, BASE * 5 + 3)] {
            let wide = Wide { high, low };
            let text = wide.text(3);
            assert_eq!(Wide::parse(&text, 3), Some(wide), "{text}");
            let mut zero = wide;
            zero.add(wide.negated());
            assert_eq!(zero, Wide::default(), "{text}");
        }
        assert_eq!(Wide::from(-5).text(2), "-0.05");
        assert_eq!(Wide { high: 1, low: 0 }.text(0), format!("1{}", "0".repeat(37)));
        assert_eq!(Wide { high: 1, low: 0 }.as_f64(), 1e37);
    }

    #[test]
    fn only_plain_numbers_are_read() {
        assert_eq!(Wide::parse("1450", 2), Some(145_000.into()));
        for text in ["", "-", ".5", "1e3", "1.555", "abc", "1.", &"9".repeat(71)] {
            assert!(Wide::parse(text, 2).is_none() || text == "1.", "{text}");
        }
    }
}
