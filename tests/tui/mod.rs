//! The screens, drawn from hand-made data and driven by messages alone.

mod changes;
mod data;
mod driver;
mod gates;
mod health;
mod journeys;
mod layouts;
mod partitions;
mod screens;
mod strategies;

/// `docs/KEYS.md` is what the registry says; `PARTWISE_BLESS=1` rewrites it.
#[test]
fn the_page_of_keys_is_generated() {
    let page = format!(
        "# Keys\n\n\
         This page is generated from the registry that the keymap, the footer, the help page and the command palette share. \
         `?` shows the keys of the place that you are in; `:` finds a command by its name.\n\n{}",
        partwise::action::documentation()
    );
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/KEYS.md");
    if std::env::var_os("PARTWISE_BLESS").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(kept, page, "docs/KEYS.md is out of date; PARTWISE_BLESS=1 cargo test keys_is_generated rewrites it");
}
