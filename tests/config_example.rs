//! `config.example.toml` shows every setting, and its active part is the defaults.

use partwise::config::{Config, THEMES, TableConfig};
use partwise::tui::theme::{Depth, Theme};

const EXAMPLE: &str = include_str!("../config.example.toml");

/// The example with its commented settings in force: those without a space
/// after the `#`.
fn uncommented() -> String {
    let lines = EXAMPLE.lines().map(|line| match line.strip_prefix('#') {
        Some(setting) if !setting.starts_with(' ') => setting,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Every key of a table, with its dotted path.
fn keys(prefix: &str, table: &toml::Table, out: &mut Vec<String>) {
    for (key, value) in table {
        let path = format!("{prefix}{key}");
        if let toml::Value::Table(inner) = value {
            keys(&format!("{path}."), inner, out);
        }
        out.push(path);
    }
}

#[test]
fn the_active_part_is_the_defaults_and_complete() {
    assert_eq!(Config::parse(EXAMPLE).unwrap(), Config::default());
    let (mut shown, mut all) = (Vec::new(), Vec::new());
    keys("", &EXAMPLE.parse().unwrap(), &mut shown);
    keys("", &toml::Table::try_from(Config::default()).unwrap(), &mut all);
    for key in all {
        assert!(shown.contains(&key), "config.example.toml does not show {key}");
    }
}

#[test]
fn the_examples_are_valid_and_show_every_setting_of_a_table() {
    let config = Config::parse(&uncommented()).unwrap();
    let (_, table) = config.table(&["gold.postings"]).expect("the example table");
    let TableConfig { key, ignore, measures, grain, gates, queries } = table;
    assert!([key, ignore, measures, grain, queries].iter().all(|list| !list.is_empty()) && !gates.is_empty());
    assert_eq!(config.thresholds("gold.postings").unwrap().row_count_min_percent, 99.0);
    assert!(!config.lakes.is_empty() && !config.gates.severity.is_empty());
}

#[test]
fn every_theme_that_a_config_may_name_is_there() {
    for name in THEMES {
        assert_eq!(Theme::load(name, Depth::None).unwrap().name, name);
        assert!(EXAMPLE.contains(&format!("\"{name}\"")), "config.example.toml does not name {name}");
    }
}

#[test]
fn every_gate_is_named() {
    // The list of the comment, word by word: a setting's name is no gate's.
    let comment: Vec<&str> = EXAMPLE.lines().filter_map(|line| line.strip_prefix("# ")).collect();
    let text = comment.join(" ");
    let list = text.split("The gates are ").nth(1).and_then(|rest| rest.split('.').next()).expect("the list");
    let mut named: Vec<&str> = list.split([',', ' ']).filter(|word| !word.is_empty() && *word != "and").collect();
    let mut all: Vec<&str> = partwise::gate::ALL.iter().map(|gate| gate.name()).collect();
    named.sort_unstable();
    all.sort_unstable();
    assert_eq!(named, all, "config.example.toml lists the gates");
}
