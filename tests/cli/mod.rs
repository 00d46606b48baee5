//! The command line from outside: arguments, errors, exit codes.

mod clean;
mod demo;
mod diff;
mod gates;
mod keys;
mod script;
mod slice;
mod usage;
mod wording;

use assert_cmd::Command;

/// The program with a state folder of its own, away from the person's config.
pub fn partwise(home: &std::path::Path) -> Command {
    let mut command = Command::cargo_bin("partwise").expect("the binary is built with the tests");
    command.env("PARTWISE_STATE", home.join("state")).env("HOME", home).env("XDG_CONFIG_HOME", home.join("config"));
    command
}

/// Standard output as JSON.
pub fn json(output: &std::process::Output) -> serde_json::Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("no JSON ({e}): {text}"))
}
