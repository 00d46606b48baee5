//! Changes what a config's text says about one table's thresholds, and nothing
//! else: every other line, every comment and the order stay byte for byte.

use std::ops::Range;

use super::edit::{TABLES, by_hand, quoted};
use super::scan::{Kind, Statement, scan};
use super::{Config, TableConfig};
use crate::error::Result;

const GATES: &str = "gates";
const SEVERITY: &str = "severity";

/// The text with thresholds and severities of the section `[tables."name".gates]`
/// as wanted. What else is known of the table stays as it is.
///
/// # Errors
/// `BadConfig` for a text that is no valid config, for thresholds that do not
/// go together, and for what cannot be changed without touching more than it should.
pub fn set_gates(text: &str, name: &str, wanted: &toml::Table) -> Result<String> {
    let mut meant = Config::parse(text).map_err(|e| e.hint("Mend the file first; nothing was changed."))?;
    let present = meant.tables.get(name).map(|t| t.gates.clone()).unwrap_or_default();
    if present == *wanted {
        return Ok(text.to_owned());
    }
    meant.tables.entry(name.to_owned()).or_insert_with(TableConfig::default).gates = wanted.clone();
    let mut result = text.to_owned();
    for (path, value) in changes(&present, wanted) {
        result = changed(&result, name, &path, value.as_ref())?;
    }
    let written = Config::parse(&result)?;
    // A section may stay behind with nothing in it.
    if without_empty(written) == without_empty(meant) {
        Ok(result)
    } else {
        Err(by_hand(name, "this file is written in a way that would not survive the change"))
    }
}

fn without_empty(mut config: Config) -> Config {
    for table in config.tables.values_mut() {
        if table.gates.get(SEVERITY).and_then(toml::Value::as_table).is_some_and(toml::Table::is_empty) {
            table.gates.remove(SEVERITY);
        }
    }
    config
}

/// Paths below `gates` with their new values; `None` for those that go.
fn changes(present: &toml::Table, wanted: &toml::Table) -> Vec<(Vec<String>, Option<toml::Value>)> {
    let (old, new) = (flat(present), flat(wanted));
    let gone = old.iter().filter(|(path, _)| !new.iter().any(|(p, _)| p == path)).map(|(path, _)| (path.clone(), None));
    let set = new.iter().filter(|pair| !old.contains(pair)).map(|(path, value)| (path.clone(), Some(value.clone())));
    gone.chain(set).collect()
}

fn flat(table: &toml::Table) -> Vec<(Vec<String>, toml::Value)> {
    let mut all = Vec::new();
    for (key, value) in table {
        match value {
            toml::Value::Table(inner) => {
                all.extend(inner.iter().map(|(k, v)| (vec![key.clone(), k.clone()], v.clone())));
            }
            value => all.push((vec![key.clone()], value.clone())),
        }
    }
    all
}

/// A pair of the file with its whole path.
struct Pair {
    path: Vec<String>,
    /// The length of the header's path that it stands under.
    under: usize,
    value: Range<usize>,
    bytes: Range<usize>,
}

fn changed(text: &str, name: &str, below: &[String], value: Option<&toml::Value>) -> Result<String> {
    let statements = scan(text).ok_or_else(|| by_hand(name, "a line of the file is not understood"))?;
    let gates = [TABLES.to_owned(), name.to_owned(), GATES.to_owned()];
    let full = [gates.as_slice(), below].concat();
    let pairs = pairs(&statements);
    let mut result = text.to_owned();
    if let Some(pair) = pairs.iter().find(|pair| pair.path == full) {
        match value {
            Some(value) => result.replace_range(pair.value.clone(), &value.to_string()),
            None => result.replace_range(pair.bytes.clone(), ""),
        }
        return Ok(result);
    }
    if let Some(inline) = pairs.iter().find(|pair| full.starts_with(&pair.path)) {
        let line = text[..inline.bytes.start].matches('\n').count() + 1;
        return Err(by_hand(name, &format!("it is written as an inline table (line {line})")));
    }
    let Some(value) = value else { return Ok(result) };
    let section = &full[..full.len() - 1];
    let break_ = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let (place, mut line) = match place(&statements, &pairs, section, &gates) {
        Place::Below(at, under) => {
            let key: Vec<String> = full[under..].iter().map(|part| bare(part)).collect();
            let start = text[..at].trim_end_matches(['\r', '\n']).rfind('\n').map_or(0, |n| n + 1);
            let indent: String = text[start..at].chars().take_while(|c| [' ', '\t'].contains(c)).collect();
            (at, format!("{indent}{} = {value}{break_}", key.join(".")))
        }
        Place::NewSection(at) => {
            // The table's name is quoted, as in the sections that forms save.
            let part = |(i, part): (usize, &String)| if i == 1 { quoted(part) } else { bare(part) };
            let header = section.iter().enumerate().map(part).collect::<Vec<_>>().join(".");
            let blank = if at == 0 { "" } else { break_ };
            (at, format!("{blank}[{header}]{break_}{} = {value}{break_}", bare(&full[full.len() - 1])))
        }
    };
    if place > 0 && !text[..place].ends_with('\n') {
        line = format!("{break_}{line}");
    }
    result.insert_str(place, &line);
    Ok(result)
}

enum Place {
    /// A line at this byte, under a header whose path has this length.
    Below(usize, usize),
    NewSection(usize),
}

fn place(statements: &[Statement], pairs: &[Pair], section: &[String], gates: &[String]) -> Place {
    let header = |wanted: &dyn Fn(&[String]) -> bool| {
        statements.iter().rposition(|s| matches!(&s.kind, Kind::Header { path, array: false } if wanted(path)))
    };
    if let Some(at) = header(&|path| path == section) {
        return Place::Below(end(statements, at), section.len());
    }
    // `gates.x = 1` in the table's own section makes a header of its own impossible.
    let dotted = pairs.iter().rfind(|p| p.path.len() == section.len() + 1 && p.path.starts_with(section));
    if let Some(pair) = dotted {
        return Place::Below(pair.bytes.end, pair.under);
    }
    match header(&|path| path.starts_with(&gates[..2])) {
        Some(at) => Place::NewSection(end(statements, at)),
        None => Place::NewSection(statements.last().map_or(0, |s| s.bytes.end)),
    }
}

/// Behind the last pair under a header.
fn end(statements: &[Statement], header: usize) -> usize {
    let rest = &statements[header + 1..];
    let section = rest.iter().take_while(|s| !matches!(s.kind, Kind::Header { .. }));
    let last = section.filter(|s| matches!(s.kind, Kind::Pair { .. })).last();
    last.unwrap_or(&statements[header]).bytes.end
}

fn pairs(statements: &[Statement]) -> Vec<Pair> {
    let mut under: &[String] = &[];
    let mut all = Vec::new();
    for statement in statements {
        match &statement.kind {
            Kind::Header { path, .. } => under = path,
            Kind::Pair { path, value, .. } => all.push(Pair {
                path: [under, path.as_slice()].concat(),
                under: under.len(),
                value: value.clone(),
                bytes: statement.bytes.clone(),
            }),
            Kind::Other => {}
        }
    }
    all
}

/// A part of a key as it can stand in the file.
fn bare(part: &str) -> String {
    let plain = !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if plain { part.to_owned() } else { quoted(part) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(text: &str) -> toml::Table {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_new_section_stands_behind_the_tables_own() {
        let text = "[tables.gold]\nkey = [\"a\"] # one\n# of other\n[tables.other]\n";
        let result =
            set_gates(text, "gold", &wanted("row_count_min_percent = 80.0\nseverity.zombies = \"warn\"")).unwrap();
        let expected = "[tables.gold]\nkey = [\"a\"] # one\n\n[tables.\"gold\".gates]\nrow_count_min_percent = 80.0\n\
                        \n[tables.\"gold\".gates.severity]\nzombies = \"warn\"\n# of other\n[tables.other]\n";
        assert_eq!(result, expected);
        let back = set_gates(&result, "gold", &toml::Table::new()).unwrap();
        assert!(!back.contains("80.0") && !back.contains("zombies"), "{back}");
    }

    #[test]
    fn an_empty_file_and_one_without_the_table_get_a_section() {
        let result = set_gates("", "a.b", &wanted("max_partitions = 5")).unwrap();
        assert_eq!(result, "[tables.\"a.b\".gates]\nmax_partitions = 5\n");
        let result = set_gates("read_only = true", "tables", &wanted("max_partitions = 5")).unwrap();
        assert_eq!(result, "read_only = true\n\n[tables.\"tables\".gates]\nmax_partitions = 5\n");
    }

    #[test]
    fn only_the_value_changes_where_there_is_one() {
        let text = "[tables.t.gates]\r\n  max_partitions = 5 # few\r\n  skew_min_rows = 1\r\n[lakes]\r\n";
        let result =
            set_gates(text, "t", &wanted("max_partitions = 6\nskew_min_rows = 1\nskew_max_factor = 2.0")).unwrap();
        let expected = text.replace("= 5", "= 6").replace("[lakes]", "  skew_max_factor = 2.0\r\n[lakes]");
        assert_eq!(result, expected);
        let result = set_gates(text, "t", &wanted("skew_min_rows = 1")).unwrap();
        assert_eq!(result, text.replace("  max_partitions = 5 # few\r\n", ""));
    }

    #[test]
    fn dotted_keys_go_on_as_dotted_keys() {
        let text = "[tables.t]\ngates.max_partitions = 5\n\n[tables.t.gates.severity]\nnull-keys = \"warn\"\n";
        let new = wanted("max_partitions = 5\nskew_min_rows = 1\nseverity = {null-keys = \"off\", skew = \"fail\"}");
        let result = set_gates(text, "t", &new).unwrap();
        let expected = "[tables.t]\ngates.max_partitions = 5\ngates.skew_min_rows = 1\n\n[tables.t.gates.severity]\n\
                        null-keys = \"off\"\nskew = \"fail\"\n";
        assert_eq!(result, expected);
    }

    #[test]
    fn inline_tables_and_values_that_do_not_go_together_are_refused() {
        let text = "[tables.t]\ngates = {max_partitions = 5}\n";
        let error = set_gates(text, "t", &wanted("max_partitions = 6")).unwrap_err();
        assert!(error.message.contains("inline table (line 2)"), "{}", error.message);
        let error = set_gates("", "t", &wanted("row_count_max_percent = 5.0")).unwrap_err();
        assert!(error.message.contains("row_count_max_percent (5)"), "{}", error.message);
    }

    #[test]
    fn a_file_without_a_line_break_at_its_end_is_no_trap() {
        let result =
            set_gates("[tables.t.gates]\nmax_partitions = 5", "t", &wanted("max_partitions = 5\nskew_min_rows = 1"));
        assert_eq!(result.unwrap(), "[tables.t.gates]\nmax_partitions = 5\nskew_min_rows = 1\n");
    }
}
