//! The whole state of the screen: a stack of places and what lies over them.

use super::load::Load;
use super::msg::JobId;
use super::overlays::Overlay;
use super::screens::apply::ApplyScreen;
use super::screens::changes::ChangesScreen;
use super::screens::compare::CompareScreen;
use super::screens::form::FormScreen;
use super::screens::gates::GatesScreen;
use super::screens::keys::KeysScreen;
use super::screens::lake::LakeScreen;
use super::screens::layouts::LayoutsScreen;
use super::screens::paste::PasteScreen;
use super::screens::table::TableScreen;
use super::shared::Core;
use super::theme::Theme;
use crate::action::{Facts, Scope};
use crate::plan::Plan;

/// A place that a person can be in.
pub enum Screen {
    Lake(Box<LakeScreen>),
    Table(Box<TableScreen>),
    Form(Box<FormScreen>),
    Paste(Box<PasteScreen>),
    Keys(Box<KeysScreen>),
    Gates(Box<GatesScreen>),
    Layouts(Box<LayoutsScreen>),
    Compare(Box<CompareScreen>),
    Changes(Box<ChangesScreen>),
    Apply(Box<ApplyScreen>),
}

pub struct App {
    pub core: Core,
    /// The last is on top. Never empty.
    pub screens: Vec<Screen>,
    pub overlay: Option<Overlay>,
    /// A plan (undo, restore) that is being made, for this table.
    pub planning: Load<Plan>,
    pub planning_for: Option<(String, String)>,
    /// What was last filtered by, for n and N.
    pub search: String,
    /// A statement that was left in its box: the table's place, the text.
    pub draft: Option<(String, String)>,
    /// A commit was made since the lake was read.
    pub lake_is_stale: bool,
}

impl App {
    /// The state before anything was read. `targets` are tables or folders.
    pub fn new(targets: Vec<String>, theme: Theme, read_only: bool, size: (u16, u16)) -> Self {
        Self {
            core: Core::new(theme, read_only, size),
            screens: vec![Screen::Lake(Box::new(LakeScreen::new(targets)))],
            overlay: None,
            planning: Load::default(),
            planning_for: None,
            search: String::new(),
            draft: None,
            lake_is_stale: false,
        }
    }

    /// # Panics
    /// Never: the first screen is not closed, it quits.
    pub fn top(&self) -> &Screen {
        self.screens.last().expect("the first screen stays")
    }

    pub fn scopes(&self) -> Vec<Scope> {
        self.top().scopes()
    }

    pub fn facts(&self) -> Facts {
        let mut facts = Facts {
            read_only: self.core.read_only,
            can_cancel: self.core.jobs.values().any(|j| j.foreground && !j.is_committing()),
            committing: self.core.is_committing(),
            searched: !self.search.is_empty(),
            ..Facts::default()
        };
        match self.top() {
            Screen::Lake(lake) => lake.facts(&mut facts),
            Screen::Table(table) => table.facts(&mut facts),
            Screen::Form(form) => form.facts(&mut facts),
            Screen::Paste(_) => {}
            Screen::Keys(keys) => keys.facts(&mut facts, &self.core),
            Screen::Layouts(layouts) => layouts.facts(&mut facts),
            Screen::Gates(gates) => gates.facts(&mut facts),
            Screen::Compare(compare) => compare.facts(&mut facts),
            Screen::Changes(changes) => changes.facts(&mut facts),
            Screen::Apply(apply) => apply.facts(&mut facts),
        }
        facts
    }
}

impl Screen {
    /// From the narrowest to the widest.
    pub fn scopes(&self) -> Vec<Scope> {
        match self {
            Screen::Lake(_) => vec![Scope::Lake, Scope::List, Scope::Any],
            Screen::Table(table) => vec![table.tab.scope(), Scope::Table, Scope::List, Scope::Any],
            Screen::Form(_) => vec![Scope::Form, Scope::Any],
            Screen::Paste(_) => vec![Scope::Paste, Scope::Any],
            Screen::Keys(_) => vec![Scope::Keys, Scope::List, Scope::Any],
            Screen::Gates(_) => vec![Scope::Gates, Scope::List, Scope::Any],
            Screen::Layouts(_) => vec![Scope::Layouts, Scope::List, Scope::Any],
            Screen::Compare(_) => vec![Scope::Compare, Scope::List, Scope::Any],
            Screen::Changes(_) => vec![Scope::Changes, Scope::List, Scope::Any],
            Screen::Apply(_) => vec![Scope::Apply, Scope::Any],
        }
    }

    /// Jobs that nobody waits for once the screen is closed.
    pub fn jobs(&self) -> Vec<JobId> {
        match self {
            Screen::Lake(lake) => lake.jobs.clone(),
            Screen::Table(table) => table.jobs(),
            Screen::Form(form) => {
                let jobs = [form.candidates.job(), form.profile.job(), form.change.job()];
                jobs.into_iter().flatten().collect()
            }
            Screen::Paste(paste) => paste.candidates.job().into_iter().collect(),
            Screen::Keys(keys) => keys.load.job().into_iter().collect(),
            Screen::Gates(gates) => gates.change.job().into_iter().collect(),
            Screen::Layouts(layouts) => {
                let jobs = [layouts.load.job(), layouts.counting.job(), layouts.adding.job(), layouts.change.job()];
                jobs.into_iter().flatten().collect()
            }
            Screen::Compare(compare) => [compare.load.job(), compare.rows.load.job()].into_iter().flatten().collect(),
            Screen::Changes(changes) => [changes.load.job(), changes.rows.load.job()].into_iter().flatten().collect(),
            Screen::Apply(apply) => apply.load.job().into_iter().collect(),
        }
    }
}
