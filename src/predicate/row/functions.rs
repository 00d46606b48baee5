//! The functions that expressions may call: their names and how many arguments they take.

/// Functions that mean the same under several names have one variant; the
/// first name of its row in [`NAMES`] is the canonical one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Abs,
    AddMonths,
    Ceil,
    Coalesce,
    Concat,
    DateAdd,
    DateDiff,
    DateSub,
    DateTrunc,
    Day,
    Floor,
    Greatest,
    If,
    LastDay,
    Least,
    Left,
    Length,
    Lower,
    Lpad,
    Ltrim,
    Month,
    Nullif,
    Nvl2,
    Quarter,
    Replace,
    Right,
    Round,
    Rpad,
    Rtrim,
    Substring,
    Trim,
    Trunc,
    Upper,
    Year,
}

const MANY: usize = usize::MAX;

/// name, function, fewest and most arguments
const NAMES: [(&str, Function, usize, usize); 46] = [
    ("abs", Function::Abs, 1, 1),
    ("add_months", Function::AddMonths, 2, 2),
    ("ceil", Function::Ceil, 1, 1),
    ("ceiling", Function::Ceil, 1, 1),
    ("coalesce", Function::Coalesce, 1, MANY),
    ("ifnull", Function::Coalesce, 2, 2),
    ("nvl", Function::Coalesce, 2, 2),
    ("concat", Function::Concat, 0, MANY),
    ("date_add", Function::DateAdd, 2, 2),
    ("dateadd", Function::DateAdd, 2, 2),
    ("datediff", Function::DateDiff, 2, 2),
    ("date_diff", Function::DateDiff, 2, 2),
    ("date_sub", Function::DateSub, 2, 2),
    ("date_trunc", Function::DateTrunc, 2, 2),
    ("day", Function::Day, 1, 1),
    ("dayofmonth", Function::Day, 1, 1),
    ("floor", Function::Floor, 1, 1),
    ("greatest", Function::Greatest, 2, MANY),
    ("if", Function::If, 3, 3),
    ("last_day", Function::LastDay, 1, 1),
    ("least", Function::Least, 2, MANY),
    ("left", Function::Left, 2, 2),
    ("length", Function::Length, 1, 1),
    ("len", Function::Length, 1, 1),
    ("char_length", Function::Length, 1, 1),
    ("character_length", Function::Length, 1, 1),
    ("lower", Function::Lower, 1, 1),
    ("lcase", Function::Lower, 1, 1),
    ("lpad", Function::Lpad, 2, 3),
    ("ltrim", Function::Ltrim, 1, 2),
    ("month", Function::Month, 1, 1),
    ("nullif", Function::Nullif, 2, 2),
    ("nvl2", Function::Nvl2, 3, 3),
    ("quarter", Function::Quarter, 1, 1),
    ("replace", Function::Replace, 2, 3),
    ("right", Function::Right, 2, 2),
    ("round", Function::Round, 1, 2),
    ("rpad", Function::Rpad, 2, 3),
    ("rtrim", Function::Rtrim, 1, 2),
    ("substring", Function::Substring, 2, 3),
    ("substr", Function::Substring, 2, 3),
    ("trim", Function::Trim, 1, 2),
    ("trunc", Function::Trunc, 2, 2),
    ("upper", Function::Upper, 1, 1),
    ("ucase", Function::Upper, 1, 1),
    ("year", Function::Year, 1, 1),
];

impl Function {
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, function, ..)| *function == self).map_or("", |(name, ..)| name)
    }

    pub fn find(name: &str) -> Option<(Function, usize, usize)> {
        NAMES.iter().find(|(n, ..)| n.eq_ignore_ascii_case(name)).map(|(_, f, fewest, most)| (*f, *fewest, *most))
    }

    /// Every name, for a hint.
    pub fn names() -> String {
        NAMES.map(|(name, ..)| name).join(", ")
    }
}
