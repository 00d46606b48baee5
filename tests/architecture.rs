//! Holds the table of rooms in `src/lib.rs` true: parses every source file and
//! looks at each path in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

/// Rooms that every room may import.
const FOR_ALL: [&str; 1] = ["error"];
/// Rooms without storage, engine, clockwork or terminal: easy to test, safe to
/// call from anywhere.
const PURE: [&str; 6] = ["error", "table", "plan", "gate", "config", "action"];
const RUNTIME: [&str; 5] = ["tokio", "tokio_util", "futures", "deltalake", "polars"];
const TERMINAL: [&str; 2] = ["ratatui", "crossterm"];

/// External crates that a room must not know.
fn forbidden_crates(room: &str) -> Vec<&'static str> {
    let mut forbidden = Vec::new();
    if PURE.contains(&room) {
        forbidden.extend(RUNTIME);
    }
    match room {
        "tui" => {}
        // The registry of actions names keys, in crossterm's words.
        "action" => forbidden.push("ratatui"),
        _ => forbidden.extend(TERMINAL),
    }
    if matches!(room, "cli" | "tui") {
        forbidden.push("deltalake");
    }
    if room != "cli" {
        forbidden.push("clap");
    }
    forbidden
}

/// room → rooms that it may import, read from the table in `src/lib.rs`.
fn allowed_imports(lib: &str) -> BTreeMap<String, BTreeSet<String>> {
    let rows = lib.lines().filter_map(|line| line.strip_prefix("//! | ")).filter(|row| row.starts_with("[`"));
    let mut allowed = BTreeMap::<String, BTreeSet<String>>::new();
    for row in rows {
        let [rooms, holds, may] = row.trim_end_matches([' ', '|']).split(" | ").collect::<Vec<_>>()[..] else {
            panic!("a row of the table has not three columns: {row}");
        };
        let rooms: Vec<String> = rooms.split(", ").map(|r| r.trim_matches(['[', '`', ']']).to_owned()).collect();
        let mut imports = BTreeSet::from(FOR_ALL.map(str::to_owned));
        for word in may.split([',', ' ']).filter(|w| !w.is_empty()) {
            match word {
                // "all of the above"
                "all" => imports.extend(allowed.keys().cloned()),
                // "and the pure rooms"
                "pure" => imports.extend(PURE.map(str::to_owned)),
                _ => {
                    imports.insert(word.to_owned());
                }
            }
        }
        let pure = holds.contains("(pure)");
        for room in rooms {
            assert!(
                !pure || PURE.contains(&room.as_str()),
                "{room} is called pure but is not in the list of this test"
            );
            let mut own = imports.clone();
            if !PURE.contains(&room.as_str()) {
                own.insert("progress".into());
            }
            own.insert(room.clone());
            allowed.insert(room, own);
        }
    }
    allowed
}

/// All paths of a file as segments, with `self` and `super` resolved, so that
/// paths of this crate start with `crate`.
struct Paths {
    /// The module that is being visited, from the crate's root.
    module: Vec<String>,
    found: Vec<Vec<String>>,
}

impl Paths {
    fn of(source: &str, module: Vec<String>) -> Vec<Vec<String>> {
        let file = syn::parse_file(source).expect("the compiler takes this file too");
        let mut paths = Paths { module, found: Vec::new() };
        paths.visit_file(&file);
        paths.found
    }

    fn add(&mut self, segments: Vec<String>) {
        let ups = segments.iter().take_while(|s| *s == "super").count();
        let is_self = segments[0] == "self" && segments.len() > 1;
        let resolved = if ups > 0 || is_self {
            let stay = self.module.len().checked_sub(ups).expect("no file climbs above the crate");
            let skip = ups.max(usize::from(is_self));
            [vec!["crate".to_owned()], self.module[..stay].to_vec(), segments[skip..].to_vec()].concat()
        } else if segments[0] == "partwise" {
            [vec!["crate".to_owned()], segments[1..].to_vec()].concat()
        } else {
            segments
        };
        self.found.push(resolved);
    }

    fn add_tree(&mut self, tree: &syn::UseTree, mut prefix: Vec<String>) {
        match tree {
            syn::UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.add_tree(&path.tree, prefix);
            }
            syn::UseTree::Name(name) => {
                prefix.push(name.ident.to_string());
                self.add(prefix);
            }
            syn::UseTree::Rename(rename) => {
                prefix.push(rename.ident.to_string());
                self.add(prefix);
            }
            syn::UseTree::Glob(_) => self.add(prefix),
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_tree(tree, prefix.clone());
                }
            }
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add_tree(&item.tree, Vec::new());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.add(path.segments.iter().map(|s| s.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {
        // `pub(crate)` and `pub(in path)` import nothing.
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        // A macro's arguments are not parsed; its tokens still spell the paths.
        let text = call.tokens.to_string();
        let words: Vec<&str> = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).collect();
        let joined = words.into_iter().filter(|w| !w.is_empty()).fold(String::new(), |mut line, word| {
            let glue = word.starts_with("::") || line.ends_with("::");
            line.push_str(if glue { "" } else { " " });
            line.push_str(word);
            line
        });
        for path in joined.split(' ').filter(|word| word.contains("::")) {
            let segments: Vec<String> = path.split("::").filter(|s| !s.is_empty()).map(str::to_owned).collect();
            if !segments.is_empty() {
                self.add(segments);
            }
        }
        visit::visit_macro(self, call);
    }
}

/// What a file imports that its room must not.
fn violations(
    room: &str,
    source: &str,
    module: Vec<String>,
    allowed: &BTreeMap<String, BTreeSet<String>>,
) -> Vec<String> {
    let forbidden = forbidden_crates(room);
    let rooms = allowed.get(room).unwrap_or_else(|| panic!("the room {room} is missing in the table of src/lib.rs"));
    let mut wrong = BTreeSet::new();
    for path in Paths::of(source, module) {
        let bad = match path[0].as_str() {
            "crate" => path.get(1).is_some_and(|other| allowed.contains_key(other) && !rooms.contains(other)),
            krate => forbidden.contains(&krate),
        };
        if bad {
            wrong.insert(path.join("::"));
        }
    }
    wrong.into_iter().collect()
}

fn source_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files
}

/// `src/ops/demo/mod.rs` → `["ops", "demo"]`
fn module_of(path: &Path) -> Vec<String> {
    let relative = path.strip_prefix(source_root()).unwrap().with_extension("");
    let mut parts: Vec<String> = relative.iter().map(|p| p.to_str().unwrap().to_owned()).collect();
    if parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    parts
}

fn table_in_lib() -> BTreeMap<String, BTreeSet<String>> {
    allowed_imports(&std::fs::read_to_string(source_root().join("lib.rs")).unwrap())
}

#[test]
fn rooms_import_only_what_the_table_allows() {
    let allowed = table_in_lib();
    let mut wrong = Vec::new();
    for file in rust_files(&source_root()) {
        let module = module_of(&file);
        // `lib.rs` names the rooms and `main.rs` wires them.
        if matches!(module[0].as_str(), "lib" | "main") {
            continue;
        }
        let source = std::fs::read_to_string(&file).unwrap();
        for path in violations(&module[0], &source, module.clone(), &allowed) {
            wrong.push(format!("{}: {path}", file.strip_prefix(source_root()).unwrap().display()));
        }
    }
    assert!(wrong.is_empty(), "imports that the table in src/lib.rs does not allow:\n{}", wrong.join("\n"));
}

#[test]
fn the_table_names_every_room() {
    let rooms: BTreeSet<String> = rust_files(&source_root())
        .iter()
        .map(|f| module_of(f)[0].clone())
        .filter(|m| m != "lib" && m != "main")
        .collect();
    let named: BTreeSet<String> = table_in_lib().into_keys().collect();
    assert_eq!(rooms, named);
}

#[test]
fn the_faces_know_neither_each_other_nor_the_engine_room() {
    let allowed = table_in_lib();
    for (face, other) in [("cli", "tui"), ("tui", "cli")] {
        for room in [other, "lake", "engine", "source", "journal"] {
            assert!(!allowed[face].contains(room), "{face} may import {room}");
        }
    }
    for (room, imports) in &allowed {
        let faces: Vec<_> = imports.iter().filter(|i| ["cli", "tui"].contains(&i.as_str()) && *i != room).collect();
        assert!(faces.is_empty(), "{room} may import {faces:?}");
    }
}

#[test]
fn files_stay_short() {
    let long: Vec<String> = rust_files(&source_root())
        .into_iter()
        .map(|file| (std::fs::read_to_string(&file).unwrap().lines().count(), file))
        .filter(|(lines, _)| *lines > 500)
        .map(|(lines, file)| format!("{}: {lines} lines", file.display()))
        .collect();
    assert!(long.is_empty(), "split these:\n{}", long.join("\n"));
}

#[test]
fn forbidden_imports_are_caught_however_they_are_written() {
    let allowed = table_in_lib();
    let check = |room: &str, source: &str| violations(room, source, vec![room.to_owned(), "file".into()], &allowed);
    for (room, source, caught) in [
        ("plan", "use crate::lake::Log;", "crate::lake::Log"),
        ("plan", "use crate::{error::Error, lake::{Log, commit}};", "crate::lake::Log"),
        ("plan", "use super::super::lake as storage;", "crate::lake"),
        ("plan", "mod inner { fn f() { super::super::super::engine::run() } }", "crate::engine::run"),
        ("plan", "fn f(x: &crate::tui::App) {}", "crate::tui::App"),
        ("plan", "use tokio::sync::watch;", "tokio::sync::watch"),
        ("gate", "fn f() { println!(\"{}\", polars::VERSION) }", "polars::VERSION"),
        ("cli", "fn f() { let _ = vec![crate::tui::run()]; }", "crate::tui::run"),
        ("tui", "use partwise::engine::stage;", "crate::engine::stage"),
        ("tui", "use deltalake::DeltaTable;", "deltalake::DeltaTable"),
        ("ops", "use crossterm::event;", "crossterm::event"),
        ("lake", "use crate::ops::*;", "crate::ops"),
    ] {
        let found = check(room, source);
        assert!(found.iter().any(|path| path == caught), "{room}: {source} gave {found:?}");
    }
    for (room, source) in [
        ("plan", "use super::kinds::Spec; use self::inner::X; use crate::table::Value; use std::fmt;"),
        ("plan", "pub(in crate::plan) fn f() -> crate::error::Result<()> { todo!() }"),
        ("cli", "use crate::ops::compare; use crate::plan::Plan; use clap::Parser;"),
        ("ops", "use crate::lake::Log; use crate::progress::Progress; use deltalake::DeltaTable;"),
    ] {
        assert_eq!(check(room, source), Vec::<String>::new(), "{room}: {source}");
    }
}
