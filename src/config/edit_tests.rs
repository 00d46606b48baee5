use super::*;

fn columns(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn wanted(key: &[&str], ignore: &[&str], measures: &[&str], grain: &[&str]) -> TableConfig {
    TableConfig {
        key: columns(key),
        ignore: columns(ignore),
        measures: columns(measures),
        grain: columns(grain),
        gates: toml::Table::new(),
        queries: Vec::new(),
    }
}

const FILE: &str = "\
# mine
theme = \"light\"   # at night

[tables.'gold.x']   # the big one
# who they are
key = [\"a\"] # one
gates.row_count_min_percent = 99.0

[tables.\"gold.x\".gates.severity]
null-keys = \"warn\"
[tables.other]
  key = [
    \"k\",
    \"[tables.fake]\",
  ]
  text-is-not-here = 1
";

fn file() -> String {
    // The last line is there to be wrong in one test only.
    FILE.replace("  text-is-not-here = 1\n", "")
}

#[test]
fn only_the_lines_that_must_change_do() {
    let text = file();
    let result = set_table(&text, "gold.x", &wanted(&["a", "b\"c"], &["load_ts"], &[], &[])).unwrap();
    let expected = text.replace("key = [\"a\"] # one", "key = [\"a\", \"b\\\"c\"] # one").replace(
        "gates.row_count_min_percent = 99.0\n",
        "gates.row_count_min_percent = 99.0\nignore = [\"load_ts\"]\n",
    );
    assert_eq!(result, expected);

    let result = set_table(&text, "other", &wanted(&["z"], &[], &["m"], &[])).unwrap();
    assert!(result.ends_with("[tables.other]\n  key = [\"z\"]\n  measures = [\"m\"]\n"), "{result}");
    assert!(text.starts_with(&result[..result.find("  key = [\"z\"]").unwrap()]));
}

#[test]
fn a_new_section_goes_to_the_end_and_none_is_made_for_nothing() {
    let text = file();
    assert_eq!(set_table(&text, "new", &wanted(&[], &[], &[], &[])).unwrap(), text);
    let result = set_table(&text, "a \"b\"\n", &wanted(&["é"], &[], &[], &["c"])).unwrap();
    assert_eq!(result, format!("{text}\n[tables.\"a \\\"b\\\"\\u000A\"]\nkey = [\"é\"]\ngrain = [\"c\"]\n"));
    assert_eq!(set_table("", "n", &wanted(&["k"], &[], &[], &[])).unwrap(), "[tables.\"n\"]\nkey = [\"k\"]\n");
    // Sub-tables alone: the section itself may still be added.
    let alone = "[tables.n.gates]\nrow_count_min_percent = 99.0\n";
    let result = set_table(alone, "n", &wanted(&["k"], &[], &[], &[])).unwrap();
    assert_eq!(result, format!("{alone}\n[tables.\"n\"]\nkey = [\"k\"]\n"));
}

#[test]
fn line_breaks_and_the_lack_of_one_at_the_end_stay() {
    let result =
        set_table("read_only = true\r\n[tables.n]\r\nkey = []", "n", &wanted(&["k"], &["i"], &[], &[])).unwrap();
    assert_eq!(result, "read_only = true\r\n[tables.n]\r\nkey = [\"k\"]\r\nignore = [\"i\"]");
}

#[test]
fn what_cannot_be_changed_is_refused_by_its_name() {
    let refused = |text: &str| set_table(text, "n", &wanted(&["k"], &[], &[], &[])).unwrap_err().message;
    for text in [
        "tables.n.key = [\"a\"]\n",
        "[tables]\nn = { key = [\"a\"] }\n",
        "[tables]\nn.key = [\"a\"]\n",
        "tables = {}\n",
    ] {
        let message = refused(text);
        assert!(message.contains("inline table or with dotted keys"), "{message}");
    }
    let message = refused("[tables.n]\nignore = []\nkey = [\n  \"a\", # the company\n]\n");
    assert!(message.contains("the list key (line 3)"), "{message}");
    assert!(refused(FILE).contains("text-is-not-here"), "a file that is no config is not touched");
}

/// Every combination of forms: the result says what is wanted, and all lines
/// but the changed ones are there in their order.
#[test]
fn the_result_says_what_is_wanted_and_keeps_the_rest() {
    let sections = ["[tables.n]", "[ tables . \"n\" ] # c", "  [tables.'n']"];
    let keys = ["", "key = []\n", "'key' = [ 'a' , 'b' ]   # why\n", "  key = [\n  \"a\",\n  ]\n"];
    let ignores = ["", "# ignore = [\"x\"]\n", "ignore = [\"key = [1]\"]\n"];
    let tails = ["", "\n[tables.m]\nkey = [\"q\"]\n", "\n[gates]\nrow_count_exempt_rows = 3 # few"];
    let lists: [&[&str]; 3] = [&[], &["a"], &["a", "#]\"'"]];
    let mut checked = 0;
    for section in sections {
        for key in keys {
            for ignore in ignores {
                for tail in tails {
                    let text = format!("# top\n{section}\n{key}{ignore}{tail}");
                    for (new_key, new_ignore) in lists.iter().flat_map(|a| lists.iter().map(move |b| (*a, *b))) {
                        let known = wanted(new_key, new_ignore, &[], &[]);
                        let result = set_table(&text, "n", &known).unwrap_or_else(|e| panic!("{text}\n{e}"));
                        let mut meant = Config::parse(&text).unwrap();
                        meant.tables.insert("n".into(), known);
                        assert_eq!(Config::parse(&result).unwrap(), meant, "{text}\n→\n{result}");
                        let mut rest = result.lines();
                        let about = ["key", "'key'", "ignore", "\"a\",", "]"];
                        for line in text.lines().filter(|l| !about.iter().any(|a| l.trim_start().starts_with(a))) {
                            assert!(rest.any(|l| l == line), "{line:?} is lost\n{text}\n→\n{result}");
                        }
                        checked += 1;
                    }
                }
            }
        }
    }
    assert_eq!(checked, 3 * 4 * 3 * 3 * 9);
}

#[test]
fn queries_stay_as_they_are() {
    let file = "[tables.t]\nqueries = [\"a = 1\"]  # asked every morning\nkey = [\"a\"]\n";
    let edited = set_table(file, "t", &wanted(&["b"], &[], &[], &[])).unwrap();
    assert_eq!(edited, file.replace("key = [\"a\"]", "key = [\"b\"]"));
}

#[test]
fn queries_are_set_and_the_rest_stays() {
    let file = "# ours\n[tables.t]\nqueries = [\"a = 1\"]  # asked every morning\nkey = [\"a\"]\n";
    let queries = vec!["a = 1".to_owned(), "b = 'x\\\"y'".to_owned()];
    let edited = set_queries(file, "t", &queries).unwrap();
    assert_eq!(Config::parse(&edited).unwrap().tables["t"].queries, queries);
    assert!(edited.contains("# asked every morning\nkey = [\"a\"]"), "{edited}");
    assert_eq!(set_queries(&edited, "t", &queries).unwrap(), edited);
    let fresh = set_queries("", "gold.t", &queries).unwrap();
    assert_eq!(Config::parse(&fresh).unwrap().tables["gold.t"].queries, queries);
    assert!(set_queries("[tables]\nt = { key = [\"a\"] }\n", "t", &queries).is_err(), "an inline table is left alone");
}
