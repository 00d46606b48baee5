//! What is known about a table, kept in `config.toml`.

use partwise::config::{Config, TableConfig};
use partwise::error::ErrorKind;
use partwise::ops::{save_table_config, table_config_change};

use crate::support::{Bench, Fixture, Kind, Shape, i, s};

fn table(bench: &Bench) -> Fixture {
    bench.table(Shape::new(&[("id", Kind::Integer), ("day", Kind::String)], &["day"]), &[vec![i(1), s("a")]])
}

fn wanted(key: &[&str]) -> TableConfig {
    TableConfig { key: key.iter().map(ToString::to_string).collect(), ..TableConfig::default() }
}

#[test]
fn settings_are_saved_beside_what_stands_there_and_hold_from_then_on() {
    let bench = Bench::default();
    let table = bench.open(&table(&bench).path).unwrap();
    let change = table_config_change(&bench.context, &table, &wanted(&["id"])).unwrap();
    assert_eq!((change.before.as_deref(), change.section.as_str()), (None, "t"));
    assert!(!change.file.exists(), "nothing is written before it is confirmed");
    let saved = save_table_config(&change).unwrap();
    assert_eq!(std::fs::read_to_string(&saved.file).unwrap(), "[tables.\"t\"]\nkey = [\"id\"]\n");

    // A section under another of the table's names is the one that is changed.
    let text = format!("# mine\n[tables.'{}']\nkey = ['day'] # why\n", table.location);
    std::fs::write(&saved.file, &text).unwrap();
    let change = table_config_change(&bench.context, &table, &wanted(&["id"])).unwrap();
    let saved = save_table_config(&change).unwrap();
    let now = std::fs::read_to_string(&saved.file).unwrap();
    assert_eq!(now, text.replace("['day']", "[\"id\"]"));
    assert_eq!(saved.config, Config::parse(&now).unwrap());
    assert!(table_config_change(&bench.context, &table, &wanted(&["id"])).unwrap().is_none());
    let left: Vec<_> = std::fs::read_dir(saved.file.parent().unwrap())
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with(".partwise-"))
        .collect();
    assert_eq!(left, Vec::<String>::new(), "no temporary file stays");
}

#[test]
fn a_file_that_changed_since_it_was_shown_is_not_written() {
    let bench = Bench::default();
    let table = bench.open(&table(&bench).path).unwrap();
    let change = table_config_change(&bench.context, &table, &wanted(&["id"])).unwrap();
    std::fs::write(&change.file, "read_only = true\n").unwrap();
    assert_eq!(save_table_config(&change).unwrap_err().kind, ErrorKind::Conflict);
    assert_eq!(std::fs::read_to_string(&change.file).unwrap(), "read_only = true\n");
}

#[test]
fn a_stranger_and_a_broken_file_are_refused_by_name() {
    let bench = Bench::default();
    let table = bench.open(&table(&bench).path).unwrap();
    let error = table_config_change(&bench.context, &table, &wanted(&["nr"])).unwrap_err();
    assert!(error.kind == ErrorKind::Usage && error.message.contains("nr"), "{error:?}");
    let file = bench.context.config_file.clone().unwrap();
    std::fs::write(&file, "tables = 3\n").unwrap();
    let error = table_config_change(&bench.context, &table, &wanted(&["id"])).unwrap_err();
    assert!(error.kind == ErrorKind::BadConfig && error.message.contains("config.toml"), "{error:?}");
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::default();
    let table = bench.open(&table(&bench).path).unwrap();
    let real = bench.path("dotfiles.toml");
    std::fs::write(&real, "# here\n").unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
    let file = bench.context.config_file.clone().unwrap();
    std::os::unix::fs::symlink(&real, &file).unwrap();
    save_table_config(&table_config_change(&bench.context, &table, &wanted(&["id"])).unwrap()).unwrap();
    assert!(file.is_symlink());
    assert!(std::fs::read_to_string(&real).unwrap().starts_with("# here\n"));
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
}
