//! What people read of a stated slice, with the demo's tables, on 80 columns.

use tempfile::tempdir;

use super::{json, partwise};

const TABLE: &str = "gold.working_capital";
/// The source holds 2026006 only.
const SLICE: &str = "fiscal_period IN ('2026007', '2026008')";

#[test]
fn what_was_not_asked_for_comes_first_then_what_did_not_come() {
    let home = tempdir().unwrap();
    let root = home.path().join("lake");
    let at = |below: &str| root.join(below).to_string_lossy().into_owned();
    let made = partwise(home.path()).args(["demo", "--no-tui", "--dir", &at("")]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let (source, config) = (at("staging/2026006.parquet"), at("partwise.toml"));
    let say = |command: &[&str], more: &[&str]| {
        let given = ["--source", &source, "--config", &config];
        partwise(home.path()).args(command).arg(TABLE).args(given).args(more).output().unwrap()
    };

    let block = "look at     partition              before  source  after\n\
                 UNEXPECTED  fiscal_period=2026006       3       2      2\n\
                 LEFT        fiscal_period=2026007     346    none    346\n\
                 LEFT        fiscal_period=2026008     358    none    358\n";
    let plan = say(&["plan", "overwrite"], &["--slice", SLICE]);
    let text = String::from_utf8_lossy(&plan.stdout).into_owned();
    assert_eq!(plan.status.code(), Some(3), "{text}");
    assert!(text.contains(&format!("\nasked    {SLICE}\nothers   11 partitions not touched\n\n{block}\n")), "{text}");
    assert!(block.lines().chain(text.lines().take(6)).all(|line| line.chars().count() <= 80), "{text}");
    let list: Vec<&str> = text.lines().filter(|line| line.starts_with("fiscal_period=")).map(|l| &l[14..21]).collect();
    assert_eq!(list, ["2026006", "2026007", "2026008"]);

    let compared = say(&["compare"], &["--slice", SLICE]);
    let text = String::from_utf8_lossy(&compared.stdout).into_owned();
    assert!(text.starts_with(&format!("overwrite:\n{block}\n")), "{text}");
    assert!(text.contains("\nrecommended  none\n"), "{text}");

    // Nothing stands there where all is as expected.
    let plain = say(&["compare"], &[]);
    assert!(!String::from_utf8_lossy(&plain.stdout).contains("look at"));

    let plan = json(&say(&["plan", "overwrite"], &["--slice", SLICE, "--json"]));
    let roles: Vec<_> = plan["partitions"].as_array().unwrap().iter().map(|p| p["role"].clone()).collect();
    assert_eq!(roles, ["unexpected", "left", "left"], "sorted by value");
    assert_eq!(plan["untouched_partitions"], 11);
    assert_eq!(plan["spec"]["slice"], SLICE);
    assert_eq!(say(&["plan", "append"], &["--slice", "company_code = '1000'"]).status.code(), Some(2));
    assert_eq!(say(&["plan", "append"], &["--expect-rows", "3"]).status.code(), Some(3));
    assert_eq!(say(&["plan", "overwrite"], &["--expect-rows", "2"]).status.code(), Some(0));
}
