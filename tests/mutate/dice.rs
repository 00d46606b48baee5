//! Seeded damage to bytes and to JSON.

use serde_json::{Map, Value as Json, json};

/// A small generator (SplitMix64): the same damage on every run.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Damages bytes within `range` once and says how.
pub fn bytes(dice: &mut Dice, bytes: &mut Vec<u8>, range: std::ops::Range<usize>) -> String {
    let within = |dice: &mut Dice| range.start + dice.below(range.len());
    if range.is_empty() {
        bytes.push(dice.next() as u8);
        return "a byte appended".into();
    }
    let at = within(dice);
    match dice.below(11) {
        0..=2 => {
            let bit = dice.below(8);
            bytes[at] ^= 1 << bit;
            format!("bit {bit} of byte {at} flipped")
        }
        3 => {
            bytes[at] = *dice.pick(&[0, 1, 0x7f, 0x80, 0xfe, 0xff]);
            format!("byte {at} set to {}", bytes[at])
        }
        4 => {
            bytes.truncate(at);
            format!("cut off at {at}")
        }
        5 => {
            let end = (at + 1 + dice.below(64)).min(bytes.len());
            bytes.drain(at..end);
            format!("bytes {at} to {end} deleted")
        }
        6 => {
            let end = (at + 1 + dice.below(64)).min(bytes.len());
            let piece = bytes[at..end].to_vec();
            bytes.splice(at..at, piece);
            format!("bytes {at} to {end} doubled")
        }
        7 => {
            let from = dice.below(bytes.len());
            let end = (from + 1 + dice.below(64)).min(bytes.len());
            let piece = bytes[from..end].to_vec();
            bytes.splice(at..at, piece);
            format!("bytes {from} to {end} copied to {at}")
        }
        8 => {
            let end = (at + 1 + dice.below(32)).min(bytes.len());
            bytes[at..end].fill(0);
            format!("bytes {at} to {end} zeroed")
        }
        9 => {
            // A length as Thrift's and Parquet's writers put it: little-endian or a varint.
            let length: &[u8] = dice.pick::<&[u8]>(&[
                &[0xff, 0xff, 0xff, 0xff][..],
                &[0xff, 0xff, 0xff, 0x7f],
                &[0x00, 0x00, 0x00, 0x80],
                &[0xff, 0xff, 0xff, 0xff, 0x0f],
                &[0xfe, 0xff, 0xff, 0xff, 0x0f],
                &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
                &[0x80, 0x80, 0x80, 0x80, 0x10],
            ]);
            let end = (at + length.len()).min(bytes.len());
            bytes[at..end].copy_from_slice(&length[..end - at]);
            format!("a huge length at {at}")
        }
        _ => {
            let strange: &[u8] =
                dice.pick::<&[u8]>(&[&b"\xff\xfe"[..], b"\xc3\x28", b"\0", b"\xef\xbb\xbf", b"\xed\xa0\x80"]);
            bytes.splice(at..at, strange.iter().copied());
            format!("{strange:?} put in at {at}")
        }
    }
}

/// Text in place of a value that no JSON library writes by itself.
const DEEP: &str = "@deep@";

/// Damages one value of a JSON text and says how. The text is one document, or
/// one a line.
pub fn json_text(dice: &mut Dice, text: &str, lines: bool) -> (String, String) {
    let mut parts: Vec<String> = if lines { text.lines().map(str::to_owned).collect() } else { vec![text.to_owned()] };
    if lines && parts.len() > 1 && dice.one_in(8) {
        let (a, b) = (dice.below(parts.len()), dice.below(parts.len()));
        let said = match dice.below(3) {
            0 => {
                parts.swap(a, b);
                format!("lines {a} and {b} swapped")
            }
            1 => {
                parts.remove(a);
                format!("line {a} deleted")
            }
            _ => {
                parts.insert(b, parts[a].clone());
                format!("line {a} doubled")
            }
        };
        return (parts.join("\n") + "\n", said);
    }
    let at = dice.below(parts.len());
    let Ok(mut value) = serde_json::from_str::<Json>(&parts[at]) else {
        return (text.to_owned(), "nothing, it is no JSON".into());
    };
    let said = json(dice, &mut value);
    let levels = *dice.pick(&[120, 1000, 50_000]);
    let (open, close) = *dice.pick(&[("[", "]"), ("{\"a\":", "}")]);
    let inner = if open == "[" { "" } else { "1" };
    let deep = format!("{}{inner}{}", open.repeat(levels), close.repeat(levels));
    parts[at] = value.to_string().replace(&format!("\"{DEEP}\""), &deep);
    (parts.join("\n") + "\n", format!("line {at}: {said}"))
}

/// Damages one value, also one inside a text that is JSON itself.
pub fn json(dice: &mut Dice, value: &mut Json) -> String {
    let total = count(value);
    let mut at = dice.below(total);
    let mut path = String::new();
    let said = visit(dice, value, &mut at, &mut path);
    said.unwrap_or_else(|| "nothing".into())
}

fn count(value: &Json) -> usize {
    1 + match value {
        Json::Array(items) => items.iter().map(count).sum(),
        Json::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

fn visit(dice: &mut Dice, value: &mut Json, at: &mut usize, path: &mut String) -> Option<String> {
    if *at == 0 {
        return Some(format!("{path} {}", damage(dice, value)));
    }
    *at -= 1;
    let mut inside = |dice: &mut Dice, name: String, child: &mut Json, at: &mut usize| {
        let length = path.len();
        path.push_str(&format!("/{name}"));
        let said = visit(dice, child, at, path);
        path.truncate(length);
        said
    };
    match value {
        Json::Array(items) => items.iter_mut().enumerate().find_map(|(i, item)| inside(dice, i.to_string(), item, at)),
        Json::Object(fields) => fields.iter_mut().find_map(|(name, child)| inside(dice, name.clone(), child, at)),
        _ => None,
    }
}

fn damage(dice: &mut Dice, value: &mut Json) -> String {
    if let Json::String(text) = value
        && text.starts_with(['{', '['])
        && !dice.one_in(4)
        && let Ok(mut inner) = serde_json::from_str::<Json>(text)
    {
        let said = json(dice, &mut inner);
        *text = inner.to_string();
        return format!("(a text in JSON) {said}");
    }
    match value {
        Json::Object(fields) if !fields.is_empty() && !dice.one_in(4) => return damage_fields(dice, fields),
        Json::Array(items) if !items.is_empty() && !dice.one_in(4) => {
            let (a, b) = (dice.below(items.len()), dice.below(items.len()));
            return match dice.below(3) {
                0 => {
                    items.swap(a, b);
                    format!("elements {a} and {b} swapped")
                }
                1 => {
                    items.remove(a);
                    format!("element {a} deleted")
                }
                _ => {
                    let copy = items[a].clone();
                    items.insert(b, copy);
                    format!("element {a} doubled")
                }
            };
        }
        _ => {}
    }
    *value = match dice.below(3) {
        0 => number(dice),
        1 => text(dice, value),
        _ => dice
            .pick(&[Json::Null, json!(true), json!([]), json!({}), json!([null]), json!({"a": 1}), json!(DEEP)])
            .clone(),
    };
    let shown: String = value.to_string().chars().take(60).collect();
    format!("set to {shown}")
}

fn damage_fields(dice: &mut Dice, fields: &mut Map<String, Json>) -> String {
    let names: Vec<String> = fields.keys().cloned().collect();
    let (a, b) = (dice.pick(&names).clone(), dice.pick(&names).clone());
    match dice.below(4) {
        0 => {
            fields.shift_remove(&a);
            format!("field {a} deleted")
        }
        1 => {
            let (x, y) = (fields[&a].clone(), fields[&b].clone());
            fields.insert(a.clone(), y);
            fields.insert(b.clone(), x);
            format!("values of {a} and {b} swapped")
        }
        2 => {
            let value = fields.shift_remove(&a).unwrap_or(Json::Null);
            fields.insert(format!("{a}x"), value);
            format!("field {a} renamed")
        }
        _ => {
            let value = if dice.one_in(2) { number(dice) } else { text(dice, &Json::Null) };
            let shown: String = value.to_string().chars().take(60).collect();
            fields.insert(a.clone(), value);
            format!("field {a} set to {shown}")
        }
    }
}

fn number(dice: &mut Dice) -> Json {
    dice.pick(&[
        json!(0),
        json!(1),
        json!(-1),
        json!(2),
        json!(i64::from(i32::MAX) + 1),
        json!(1_u64 << 53),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(1.5),
        json!(-0.0),
        json!(1e308),
        json!(4_000_000_000_u64),
        json!(-62_135_596_800_001_i64),
        json!(253_402_300_800_000_i64),
    ])
    .clone()
}

fn text(dice: &mut Dice, was: &Json) -> Json {
    let long = 1 + dice.below(60_000);
    if let (Json::String(was), true) = (was, dice.one_in(2)) {
        let mut chars: Vec<char> = was.chars().collect();
        let at = dice.below(chars.len() + 1);
        match dice.below(4) {
            0 => chars.truncate(at),
            1 => chars.insert(at, *dice.pick(&['\0', '\n', '/', '\\', '%', '9', '\u{10ffff}', '\u{202e}', '"'])),
            2 if at < chars.len() => {
                chars.remove(at);
            }
            _ => chars.extend(was.chars().rev()),
        }
        return json!(chars.into_iter().collect::<String>());
    }
    let fixed = [
        "",
        " ",
        "..",
        "../../x",
        "/etc/passwd",
        "/",
        "file:///etc/passwd",
        "file:",
        "s3://bucket/key",
        "a/../../b",
        "%2e%2e/%2e%2e/x",
        "%",
        "%ff",
        "a\\b",
        "a\0b",
        "NaN",
        "∅",
        "null",
        "9999-99-99",
        "-290308-12-31 00:00:00",
        "292278-01-01",
        "1e400",
        "99999999999999999999999999999999999999999",
        "decimal(99,-3)",
        "struct",
        "\u{feff}",
        "{}",
        "[]",
        "{",
        "1=1",
        "p = 'a' OR",
        "00000000-0000-0000-0000-000000000000",
        "interval -1 days",
    ];
    let made = [
        "x".repeat(long),
        "(".repeat(long),
        "NOT ".repeat(long),
        vec!["a = 1"; long.min(9000)].join(" AND "),
        vec!["1"; long.min(9000)].join(" + "),
        "CASE WHEN a THEN ".repeat(long.min(3000)),
        "-".repeat(long),
        "[".repeat(long),
        "../".repeat(long.min(2000)),
    ];
    let at = dice.below(fixed.len() + made.len());
    json!(fixed.get(at).map_or_else(|| made[at - fixed.len()].clone(), |text| (*text).to_owned()))
}
