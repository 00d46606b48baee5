//! The registry of what a person can do: one entry gives the key, the footer
//! hint, the help page, the command palette and the generated docs.
//!
//! Pure: it knows keys, words and facts, never the state behind them.

mod all;
mod fuzzy;
mod key;

pub use all::ALL;
pub use fuzzy::score;
pub use key::{Key, ch, code, ctrl};

/// What an action does; the screens' `update` carries it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Id {
    Help,
    Palette,
    Back,
    Close,
    Cancel,
    Suspend,
    Theme,
    Activity,
    Refresh,
    CopyCell,
    CopyRow,
    Up,
    Down,
    Top,
    Bottom,
    HalfUp,
    HalfDown,
    PageUp,
    PageDown,
    Left,
    Right,
    ScrollLeft,
    ScrollRight,
    Narrower,
    Wider,
    NextPane,
    PreviousPane,
    Open,
    Filter,
    NextMatch,
    PreviousMatch,
    Sort,
    Mark,
    MarkRange,
    MarkAll,
    LogBars,
    /// A tab of the table screen, from 0.
    Tab(u8),
    ViewLatest,
    Compare,
    OnlyMarked,
    /// What changed between two versions.
    Changes,
    Restore,
    /// Only the partitions that the history is narrowed to.
    RestoreChosen,
    /// The history of the partition under the cursor, or of the marked ones.
    PartitionHistory,
    UndoLast,
    Redo,
    /// A strategy of the compare screen, from 0.
    Strategy(u8),
    NextEffect,
    PreviousEffect,
    Zombies,
    Gates,
    Apply,
    SavePlan,
    /// The plan as a script for another engine, by its place in their list.
    SaveScript(u8),
    Export,
    UndoThis,
    /// The box for a statement.
    Statement,
    Clear,
    /// To the next step of a form.
    GoOn,
    /// What is known about the table, to the config.
    SaveConfig,
    /// What is wrong with the key, and what could be one.
    Keys,
    /// The gates of the table, and to try other thresholds.
    Thresholds,
    /// A gate's failure counts less, or more.
    Milder,
    Harder,
    EditThreshold,
    /// What the table's section says of a threshold or gate, away.
    ResetSetting,
    /// Layouts that the table could have.
    Layouts,
    /// A layout of one's own, beside the proposed ones.
    AddLayout,
    /// A condition that is tried on every layout.
    AddQuery,
    /// Puts small files together.
    Optimize,
    /// Removes files that no retained version needs.
    Vacuum,
    /// The proposed technical columns, and compare again.
    Ignore,
}

/// The place in which an action's keys work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    Any,
    /// Every place with a list and a cursor.
    List,
    Lake,
    /// Any tab of a table.
    Table,
    Overview,
    Partitions,
    Files,
    Rows,
    Schema,
    History,
    Health,
    /// The wizard for partition columns.
    Layouts,
    /// The form before a comparison; plain keys are text.
    Form,
    /// The box for a statement; plain keys are text.
    Paste,
    Keys,
    /// The gates of a table.
    Gates,
    Compare,
    /// What changed between two versions.
    Changes,
    /// While an operation is carried out, and its result.
    Apply,
}

impl Scope {
    /// Whether plain keys are typed into a text there.
    fn takes_text(self) -> bool {
        matches!(self, Scope::Form | Scope::Paste)
    }

    /// The heading in the help page and the docs.
    pub fn title(self) -> &'static str {
        match self {
            Scope::Any => "Everywhere",
            Scope::List => "Lists",
            Scope::Lake => "Lake",
            Scope::Table => "Table",
            Scope::Overview => "Overview",
            Scope::Partitions => "Partitions",
            Scope::Files => "Files",
            Scope::Rows => "Rows",
            Scope::Schema => "Schema",
            Scope::History => "History",
            Scope::Health => "Health",
            Scope::Layouts => "Partition columns",
            Scope::Form => "Form of a comparison",
            Scope::Paste => "Statement",
            Scope::Keys => "Keys",
            Scope::Gates => "Gates",
            Scope::Compare => "Compare",
            Scope::Changes => "Two versions",
            Scope::Apply => "Progress and result",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Danger {
    Safe,
    /// Ends in a commit. Its plan passes the confirm dialog first, and
    /// read-only mode takes the action away.
    ChangesTable,
}

/// What the state tells about itself, so that an action can say why it is not
/// to be had right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    pub read_only: bool,
    /// The cursor is on a row of a list.
    pub on_row: bool,
    /// The table is shown at its newest version.
    pub at_latest: bool,
    /// Facts of the table under the cursor or on the screen are known.
    pub table_known: bool,
    /// A plan is on the screen.
    pub has_plan: bool,
    /// That plan was refused; no reason overrides a refusal.
    pub refused: bool,
    /// That plan would change nothing.
    pub no_op: bool,
    /// The commit under the cursor is the version that is newest now.
    pub on_newest: bool,
    /// The version under the cursor can no longer be restored.
    pub gone: bool,
    pub can_cancel: bool,
    /// A commit is being written and cannot be called back.
    pub committing: bool,
    /// The result on the screen committed something that can be taken back.
    pub can_undo: bool,
    /// There is something to search for with n and N.
    pub searched: bool,
    /// Partitions of the table are marked.
    pub marked: bool,
    /// The history shows only some commits.
    pub filtered: bool,
    /// The history is narrowed to partitions that were chosen from the list.
    pub chosen: bool,
    /// The list takes a filter.
    pub filterable: bool,
    /// The list can be sorted by its columns.
    pub sortable: bool,
    /// The form says other things about the table than the config.
    pub unsaved: bool,
    /// The cursor is on a threshold, not on a gate.
    pub on_threshold: bool,
    /// The table has a value of its own there.
    pub set_here: bool,
    /// Plans on the screen.
    pub strategies: usize,
    /// Technical columns are proposed.
    pub proposal: bool,
    /// What mends the finding under the cursor writes to the table.
    pub mend_writes: bool,
}

type Disabled = fn(&Facts) -> Option<&'static str>;

pub struct Action {
    pub id: Id,
    /// What the palette and the help page call it.
    pub words: &'static str,
    pub keys: &'static [Key],
    pub scope: Scope,
    /// The footer's word, and its rank there: lower comes first.
    pub hint: Option<(u8, &'static str)>,
    pub danger: Danger,
    disabled: Disabled,
}

impl Action {
    const fn new(id: Id, words: &'static str, scope: Scope, keys: &'static [Key]) -> Self {
        Self { id, words, keys, scope, hint: None, danger: Danger::Safe, disabled: |_| None }
    }

    const fn hint(mut self, rank: u8, word: &'static str) -> Self {
        self.hint = Some((rank, word));
        self
    }

    const fn changes_table(mut self) -> Self {
        self.danger = Danger::ChangesTable;
        self
    }

    const fn when(mut self, disabled: Disabled) -> Self {
        self.disabled = disabled;
        self
    }

    /// Whether both are the same entry: an id may stand in several scopes.
    fn is(&self, other: &Action) -> bool {
        (self.id, self.scope) == (other.id, other.scope)
    }

    pub fn needs_write(&self) -> bool {
        self.danger == Danger::ChangesTable
    }

    /// Whether it exists at all: read-only mode has no writing actions.
    pub fn exists(&self, facts: &Facts) -> bool {
        !(self.needs_write() && facts.read_only)
    }

    /// Why it cannot be done right now; `None` when it can.
    pub fn disabled(&self, facts: &Facts) -> Option<&'static str> {
        (self.disabled)(facts)
    }

    /// The keys for people: `g Home`.
    pub fn keys_text(&self) -> String {
        let keys: Vec<String> = self.keys.iter().map(Key::to_string).collect();
        keys.join(" ")
    }
}

/// The action behind a key. `scopes` go from the narrowest to the widest; a
/// narrow one wins over a wide one.
pub fn find(key: Key, scopes: &[Scope], facts: &Facts) -> Option<&'static Action> {
    if key.typed().is_some() && scopes.first().is_some_and(|scope| scope.takes_text()) {
        return None;
    }
    scopes.iter().find_map(|scope| ALL.iter().find(|a| a.scope == *scope && a.keys.contains(&key) && a.exists(facts)))
}

/// The actions of a place, in the registry's order, narrow scopes first. An
/// action whose every key a narrower scope took over is left out.
pub fn available(scopes: &[Scope], facts: &Facts) -> Vec<&'static Action> {
    let mut list = Vec::new();
    for scope in scopes {
        for action in ALL.iter().filter(|a| a.scope == *scope && a.exists(facts)) {
            let reachable = action.keys.is_empty()
                || action.keys.iter().any(|k| find(*k, scopes, facts).is_some_and(|a| a.is(action)));
            if reachable {
                list.push(action);
            }
        }
    }
    list
}

/// The footer's hints: (key, word), best first. Actions that are disabled right
/// now are left out: the palette shows them with their reason.
pub fn hints(scopes: &[Scope], facts: &Facts) -> Vec<(String, &'static str)> {
    let mut ranked: Vec<(u8, &Action, &'static str)> = available(scopes, facts)
        .into_iter()
        .filter(|a| a.disabled(facts).is_none())
        .filter_map(|a| a.hint.map(|(rank, word)| (rank, a, word)))
        .collect();
    ranked.sort_by_key(|(rank, ..)| *rank);
    let key = |a: &Action| {
        let works = |key: &&Key| find(**key, scopes, facts).is_some_and(|found| found.is(a));
        a.keys.iter().find(works).map(Key::to_string).unwrap_or_default()
    };
    ranked.into_iter().map(|(_, a, word)| (key(a), word)).collect()
}

/// Every action as a Markdown table, for the documentation.
pub fn documentation() -> String {
    let mut text = String::from("| where | keys | what | changes the table |\n| --- | --- | --- | --- |\n");
    for action in ALL {
        let keys: Vec<String> = action.keys.iter().map(|k| format!("`{k}`")).collect();
        let writes = if action.needs_write() { "yes, after confirmation" } else { "" };
        text.push_str(&format!("| {} | {} | {} | {writes} |\n", action.scope.title(), keys.join(" "), action.words));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_actions_of_a_scope_share_a_key() {
        for (i, a) in ALL.iter().enumerate() {
            for b in &ALL[i + 1..] {
                let shared = a.keys.iter().find(|k| b.keys.contains(k));
                assert!(
                    a.scope != b.scope || shared.is_none(),
                    "{} and {} share {}",
                    a.words,
                    b.words,
                    shared.map(Key::to_string).unwrap_or_default()
                );
            }
        }
    }

    #[test]
    fn read_only_takes_every_writing_action_away() {
        let facts = Facts { read_only: true, can_undo: true, ..Facts::default() };
        for scope in [Scope::History, Scope::Compare, Scope::Table, Scope::Apply] {
            assert!(available(&[scope, Scope::Any], &facts).iter().all(|a| !a.needs_write()));
        }
        let apply = ch('A');
        assert!(find(apply, &[Scope::Compare], &facts).is_none());
        assert!(find(apply, &[Scope::Compare], &Facts::default()).is_some());
    }

    #[test]
    fn a_narrow_scope_wins_over_a_wide_one() {
        let facts = Facts::default();
        let found = find(ch('1'), &[Scope::Compare, Scope::Table], &facts);
        assert_eq!(found.map(|a| a.id), Some(Id::Strategy(0)));
    }

    #[test]
    fn writing_actions_have_capital_keys_or_a_dialog_of_their_own() {
        for action in ALL.iter().filter(|a| a.needs_write() && a.id != Id::UndoThis) {
            assert!(action.keys.iter().all(|k| k.is_capital()), "{}", action.words);
        }
    }
}
