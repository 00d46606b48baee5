//! Documentation that is generated, or that can be checked, is.

use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Compares a file with what it should be; `PARTWISE_BLESS=1` rewrites it.
fn hold_equal(name: &str, expected: &str) {
    if std::env::var_os("PARTWISE_BLESS").is_some() {
        std::fs::write(root().join(name), expected).unwrap();
    }
    assert_eq!(read(name), expected, "{name} is out of date; PARTWISE_BLESS=1 cargo test docs:: rewrites it");
}

#[test]
fn gates_page_is_what_the_gates_say() {
    let page = format!(
        "# Gates\n\n\
         A gate judges a plan before it can be confirmed. This page is generated from the gates themselves.\n\n\
         `fail` blocks the plan; an override names the gate and gives a reason, which stands in the commit and in the journal. \
         `warn` is shown and blocks nothing. Severities and thresholds are set in `config.toml`, for all tables under `[gates]` and \
         for one under `[tables.NAME.gates]`.\n\n{}",
        partwise::gate::documentation()
    );
    hold_equal("docs/GATES.md", &page);
}

/// Targets of Markdown links that are files of this repository.
fn local_links(markdown: &str) -> Vec<&str> {
    let targets = markdown.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|t| !t.contains("://") && !t.starts_with('#')).map(|t| t.split('#').next().unwrap_or(t)).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut pages: Vec<PathBuf> = vec![root().join("README.md"), root().join("CHANGELOG.md")];
    pages.extend(std::fs::read_dir(root().join("docs")).unwrap().map(|e| e.unwrap().path()));
    let mut checked = 0;
    for page in pages.into_iter().filter(|p| p.extension().is_some_and(|e| e == "md")) {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in local_links(&text) {
            assert!(page.parent().unwrap().join(link).exists(), "{}: {link}", page.display());
            checked += 1;
        }
    }
    assert!(checked > 3, "the pages link to each other");
}

#[test]
fn ci_runs_the_command_that_the_readme_names() {
    assert!(read("README.md").contains("\ncargo test --locked\n"));
    assert!(read(".ci/run").contains("\ncargo test --locked\n"));
}

#[test]
fn the_readme_names_every_exit_code_and_gate() {
    let readme = read("README.md");
    for code in [0, 1, 2, 3, 4, 5, 6, 7, 130] {
        assert!(readme.contains(&format!("\n| {code} | ")), "exit code {code} is not in the README");
    }
    let gates = read("docs/GATES.md");
    for gate in partwise::gate::ALL {
        assert!(gates.contains(&format!("| {} |", gate.name())));
    }
}

/// Lines of the README's shell blocks that call partwise.
fn commands_in(markdown: &str) -> Vec<&str> {
    let blocks = markdown.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.flat_map(str::lines).filter(|line| line.starts_with("partwise ")).collect()
}

/// A line as a shell splits it: blanks inside double quotes are no ends.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("a word").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn the_readmes_commands_are_commands() {
    let readme = read("README.md");
    let commands = commands_in(&readme);
    assert!(commands.len() >= 4, "{commands:?}");
    for command in commands {
        let parsed = partwise::cli::parse(words(command).into_iter().map(Into::into));
        assert!(parsed.is_ok(), "{command}");
    }
}
