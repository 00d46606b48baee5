//! Every action, in the order of the help page.

use crossterm::event::KeyCode;

use super::{Action, Id, Key, Scope, ch, code, ctrl};

const fn any(id: Id, words: &'static str, keys: &'static [Key]) -> Action {
    Action::new(id, words, Scope::Any, keys)
}

const fn list(id: Id, words: &'static str, keys: &'static [Key]) -> Action {
    Action::new(id, words, Scope::List, keys)
}

const OLD_VERSION: &str = "an old version is shown; @ goes to the newest";
const FEWER: &str = "there are fewer strategies";

pub const ALL: &[Action] = &[
    any(Id::Help, "Show the keys of this place", &[ch('?')]).hint(90, "help"),
    any(Id::Palette, "Find a command by name", &[ch(':'), ctrl('p')]).hint(91, "commands"),
    any(Id::Back, "Go back", &[code(KeyCode::Esc)]),
    any(Id::Close, "Close this screen; quit from the first one", &[ch('q')]),
    any(Id::Cancel, "Cancel the running job; quit where none runs", &[ctrl('c')])
        .when(|f| f.committing.then_some("a commit is being written; it cannot be called back")),
    any(Id::Suspend, "Suspend to the shell", &[ctrl('z')]),
    any(Id::Theme, "Change the theme", &[ch('t')]),
    any(Id::Activity, "Show jobs, messages and errors", &[ch('!')]),
    list(Id::Up, "Up", &[ch('k'), code(KeyCode::Up)]),
    list(Id::Down, "Down", &[ch('j'), code(KeyCode::Down)]),
    list(Id::Top, "To the first row", &[ch('g'), code(KeyCode::Home)]),
    list(Id::Bottom, "To the last row", &[ch('G'), code(KeyCode::End)]),
    list(Id::HalfUp, "Half a page up", &[ctrl('u')]),
    list(Id::HalfDown, "Half a page down", &[ctrl('d')]),
    list(Id::PageUp, "A page up", &[code(KeyCode::PageUp), ctrl('b')]),
    list(Id::PageDown, "A page down", &[code(KeyCode::PageDown), ctrl('f')]),
    list(Id::Left, "To the column on the left", &[ch('h'), code(KeyCode::Left)]),
    list(Id::Right, "To the column on the right", &[ch('l'), code(KeyCode::Right)]),
    list(Id::ScrollLeft, "Scroll sideways to the left", &[ch('H')]),
    list(Id::ScrollRight, "Scroll sideways to the right", &[ch('L')]),
    list(Id::Narrower, "Make the column narrower", &[ch('<')]),
    list(Id::Wider, "Make the column wider", &[ch('>')]),
    list(Id::Refresh, "Read again", &[ch('r')]).hint(70, "refresh"),
    list(Id::Filter, "Filter: a word, or a condition on columns", &[ch('/')])
        .hint(20, "filter")
        .when(|f| (!f.filterable).then_some("this list has no filter")),
    list(Id::NextMatch, "To the next match of the last filter", &[ch('n')])
        .when(|f| (!f.searched).then_some("nothing was searched for yet; / filters")),
    list(Id::PreviousMatch, "To the match before", &[ch('N')])
        .when(|f| (!f.searched).then_some("nothing was searched for yet; / filters")),
    list(Id::Sort, "Sort by this column; again turns the order", &[ch('s')])
        .hint(25, "sort")
        .when(|f| (!f.sortable).then_some("this list keeps the order in which it is read")),
    list(Id::CopyCell, "Copy the cell", &[ch('y')]).when(|f| (!f.on_row).then_some("no row is selected")),
    list(Id::CopyRow, "Copy the row", &[ch('Y')]).when(|f| (!f.on_row).then_some("no row is selected")),
    Action::new(Id::Open, "Open the table", Scope::Lake, &[code(KeyCode::Enter)])
        .hint(10, "open")
        .when(|f| (!f.on_row).then_some("no table is selected")),
    Action::new(Id::Compare, "Compare write strategies for a source", Scope::Lake, &[ch('c')])
        .hint(30, "compare")
        .when(|f| (!f.table_known).then_some("the table under the cursor is not read yet")),
    Action::new(Id::NextPane, "To the next tab", Scope::Table, &[code(KeyCode::Tab)]).hint(15, "tabs"),
    Action::new(Id::PreviousPane, "To the tab before", Scope::Table, &[code(KeyCode::BackTab)]),
    Action::new(Id::Tab(0), "Tab: Overview", Scope::Table, &[ch('1')]),
    Action::new(Id::Tab(1), "Tab: Partitions", Scope::Table, &[ch('2')]),
    Action::new(Id::Tab(2), "Tab: Files", Scope::Table, &[ch('3')]),
    Action::new(Id::Tab(3), "Tab: Rows", Scope::Table, &[ch('4')]),
    Action::new(Id::Tab(4), "Tab: Schema", Scope::Table, &[ch('5')]),
    Action::new(Id::Tab(5), "Tab: History", Scope::Table, &[ch('6')]),
    Action::new(Id::Tab(6), "Tab: Health (small files, skew, gaps, removed files)", Scope::Table, &[ch('7')]),
    Action::new(Id::Layouts, "Repartition: try other layouts (PARTITION BY, sort, Z-order)", Scope::Table, &[ch('W')])
        .hint(45, "layouts")
        .when(|f| (!f.at_latest).then_some(OLD_VERSION)),
    Action::new(Id::Optimize, "Optimize the table: compact its small files", Scope::Table, &[ch('O')])
        .changes_table()
        .when(|f| (!f.at_latest).then_some(OLD_VERSION)),
    Action::new(Id::Vacuum, "Vacuum: remove files that no retained version needs", Scope::Table, &[ch('V')])
        .changes_table()
        .when(|f| (!f.at_latest).then_some(OLD_VERSION)),
    Action::new(Id::Open, "Mend it: plan what the finding needs", Scope::Health, &[code(KeyCode::Enter)])
        .hint(10, "mend…")
        .when(|f| {
            if !f.on_row {
                Some("nothing was found that could be mended here; W tries other layouts")
            } else if !f.at_latest {
                Some(OLD_VERSION)
            } else if f.read_only && f.mend_writes {
                Some("read-only: what mends it would write to the table")
            } else {
                None
            }
        }),
    Action::new(Id::Optimize, "Optimize the table: compact its small files", Scope::Health, &[ch('O')])
        .hint(11, "optimize…")
        .changes_table()
        .when(|f| (!f.at_latest).then_some(OLD_VERSION)),
    Action::new(Id::Vacuum, "Vacuum: remove files that no retained version needs", Scope::Health, &[ch('V')])
        .hint(12, "vacuum…")
        .changes_table()
        .when(|f| (!f.at_latest).then_some(OLD_VERSION)),
    Action::new(Id::Layouts, "Repartition: try other layouts (PARTITION BY, sort, Z-order)", Scope::Health, &[ch('W')])
        .hint(13, "layouts")
        .when(|f| (!f.at_latest).then_some(OLD_VERSION)),
    Action::new(Id::Open, "Count this layout exactly; then on to its plan", Scope::Layouts, &[code(KeyCode::Enter)])
        .hint(10, "count, plan")
        .when(|f| (!f.on_row).then_some("this is how the table lies today")),
    Action::new(Id::Apply, "Plan the switch to this layout", Scope::Layouts, &[ch('A')])
        .hint(11, "plan…")
        .changes_table()
        .when(|f| (!f.has_plan).then_some("⏎ counts the layout first")),
    Action::new(
        Id::AddLayout,
        "Add a layout of your own: columns, expression, sort, files",
        Scope::Layouts,
        &[ch('a')],
    )
    .hint(12, "add")
    .when(|f| (!f.table_known).then_some("the layouts are not there yet")),
    Action::new(Id::AddQuery, "Add a predicate of our queries, to be tried on each layout", Scope::Layouts, &[ch('p')])
        .hint(13, "queries")
        .when(|f| (!f.table_known).then_some("the layouts are not there yet")),
    Action::new(Id::SaveConfig, "Save the queries of this session to the config", Scope::Layouts, &[ctrl('s')])
        .hint(15, "save queries")
        .when(|f| (!f.unsaved).then_some("there are no queries that the config does not have")),
    Action::new(
        Id::NextPane,
        "To the pane below, which scrolls; back to the list",
        Scope::Layouts,
        &[code(KeyCode::Tab)],
    )
    .hint(14, "below"),
    Action::new(Id::PreviousPane, "To the other pane", Scope::Layouts, &[code(KeyCode::BackTab)]),
    Action::new(Id::Compare, "Compare write strategies for a source", Scope::Table, &[ch('c')])
        .hint(30, "compare")
        .when(|f| (!f.at_latest).then_some(OLD_VERSION)),
    Action::new(Id::Statement, "Plan a MERGE or INSERT statement", Scope::Table, &[ch('m')])
        .hint(31, "statement")
        .when(|f| (!f.at_latest).then_some(OLD_VERSION)),
    Action::new(Id::Thresholds, "The gates of this table and their thresholds", Scope::Table, &[ch('T')])
        .hint(32, "gates")
        .when(|f| (!f.table_known).then_some("the table is not read yet")),
    Action::new(Id::ViewLatest, "Show the newest version", Scope::Table, &[ch('@')]),
    Action::new(Id::UndoLast, "Undo the last operation of partwise", Scope::Table, &[ch('U')]).changes_table(),
    Action::new(Id::Redo, "Redo what the last undo took back", Scope::Table, &[ch('Z')]).changes_table(),
    Action::new(Id::Open, "Show the rows of the partition", Scope::Partitions, &[code(KeyCode::Enter)])
        .hint(10, "rows")
        .when(|f| (!f.on_row).then_some("no partition is selected")),
    Action::new(
        Id::Optimize,
        "Optimize: compact the small files of the partition, or of the marked ones",
        Scope::Partitions,
        &[ch('O')],
    )
    .changes_table()
    .when(|f| if !f.at_latest { Some(OLD_VERSION) } else { (!f.on_row).then_some("no partition is selected") }),
    Action::new(Id::Mark, "Mark the row", Scope::Partitions, &[ch(' ')]).hint(12, "mark"),
    Action::new(Id::MarkRange, "Mark from the last mark to here", Scope::Partitions, &[ch('v')]),
    Action::new(Id::MarkAll, "Mark all, or none", Scope::Partitions, &[ch('a')]),
    Action::new(Id::LogBars, "Bars in a logarithmic scale", Scope::Partitions, &[ch('b')]),
    Action::new(Id::PartitionHistory, "History of the partition, or of the marked ones", Scope::Partitions, &[ch('o')])
        .hint(13, "history")
        .when(|f| (!f.on_row).then_some("no partition is selected")),
    Action::new(Id::Open, "Show the table at this version", Scope::History, &[code(KeyCode::Enter)])
        .hint(10, "view")
        .when(|f| (!f.on_row).then_some("no version is selected")),
    Action::new(Id::Mark, "Mark the version to compare another with", Scope::History, &[ch(' ')])
        .hint(14, "mark")
        .when(|f| (!f.on_row).then_some("no version is selected")),
    Action::new(
        Id::Changes,
        "What changed since the marked version; else since the one before",
        Scope::History,
        &[ch('D')],
    )
    .hint(13, "diff")
    .when(|f| (!f.on_row).then_some("no version is selected")),
    Action::new(Id::OnlyMarked, "Only commits that touched the marked partitions, or all", Scope::History, &[ch('p')])
        .hint(16, "only marked")
        .when(|f| (!f.marked && !f.filtered).then_some("no partition is marked; Space marks on the Partitions tab")),
    Action::new(Id::Restore, "Restore the table to this version", Scope::History, &[ch('R')])
        .hint(12, "restore…")
        .changes_table()
        .when(|f| {
            if !f.on_row {
                Some("no version is selected")
            } else if f.on_newest {
                Some("the table is at this version already")
            } else if f.gone {
                Some("files or log entries of this version are gone")
            } else {
                None
            }
        }),
    Action::new(Id::RestoreChosen, "Restore only these partitions to this version", Scope::History, &[ch('P')])
        .hint(13, "restore these…")
        .changes_table()
        .when(|f| {
            if !f.on_row {
                Some("no version is selected")
            } else if !f.chosen {
                Some("no partitions are chosen; o on the Partitions tab does, p takes the marked ones")
            } else {
                None
            }
        }),
    Action::new(Id::GoOn, "Take the suggestion, go on, compare", Scope::Form, &[code(KeyCode::Enter)])
        .hint(10, "go on"),
    Action::new(Id::NextPane, "Complete the source; to the next field", Scope::Form, &[code(KeyCode::Tab)])
        .hint(11, "next field"),
    Action::new(Id::PreviousPane, "To the field before", Scope::Form, &[code(KeyCode::BackTab)]),
    Action::new(Id::Down, "Choose among the suggestions", Scope::Form, &[code(KeyCode::Down)]).hint(12, "choose"),
    Action::new(Id::Keys, "Look at the key: duplicates, NULLs, proposals", Scope::Form, &[ctrl('k')]).hint(13, "keys"),
    Action::new(Id::SaveConfig, "Save key, ignored columns, measures and grain", Scope::Form, &[ctrl('s')])
        .hint(14, "save")
        .when(|f| (!f.unsaved).then_some("the config says so already")),
    Action::new(Id::Statement, "Plan a MERGE or INSERT statement", Scope::Form, &[ctrl('o')]).hint(15, "statement"),
    Action::new(Id::Back, "Go back to where the form was opened", Scope::Form, &[code(KeyCode::Esc)]).hint(16, "back"),
    Action::new(Id::GoOn, "Read the statement and go on", Scope::Paste, &[code(KeyCode::Tab)]).hint(10, "go on"),
    Action::new(Id::Clear, "Empty the box", Scope::Paste, &[ctrl('x')]).hint(11, "empty"),
    Action::new(Id::Back, "To the text; out of the box, which keeps it", Scope::Paste, &[code(KeyCode::Esc)])
        .hint(12, "back"),
    Action::new(Id::Open, "Take these columns as the key", Scope::Keys, &[code(KeyCode::Enter)])
        .hint(10, "take as key")
        .when(|f| (!f.on_row).then_some("no proposal is selected")),
    Action::new(
        Id::Harder,
        "How bad the gate's failure is: off, warn, fail",
        Scope::Gates,
        &[ch(' '), code(KeyCode::Right)],
    )
    .hint(10, "off/warn/fail")
    .when(|f| f.on_threshold.then_some("a threshold is a number; ⏎ or a digit changes it")),
    Action::new(Id::Milder, "The other way round: fail, warn, off", Scope::Gates, &[code(KeyCode::Left)])
        .when(|f| f.on_threshold.then_some("a threshold is a number; ⏎ or a digit changes it")),
    Action::new(Id::EditThreshold, "Change the threshold", Scope::Gates, &[code(KeyCode::Enter)])
        .hint(11, "change")
        .when(|f| (!f.on_threshold).then_some("a gate has no number; Space changes how bad its failure is")),
    Action::new(Id::ResetSetting, "Take the table's own value away", Scope::Gates, &[ch('r')])
        .hint(12, "reset")
        .when(|f| (!f.set_here).then_some("the table has no value of its own here")),
    Action::new(Id::SaveConfig, "Save what was tried for this table", Scope::Gates, &[ctrl('s')])
        .hint(13, "save")
        .when(|f| (!f.unsaved).then_some("nothing was tried that is not saved")),
    Action::new(Id::Back, "Drop what was tried; go back", Scope::Gates, &[code(KeyCode::Esc)]).hint(14, "drop, back"),
    Action::new(Id::Strategy(0), "The first strategy", Scope::Compare, &[ch('1')])
        .hint(10, "1–6 strategy")
        .when(|f| (f.strategies < 2).then_some("there is only this one")),
    Action::new(Id::Strategy(1), "The second strategy", Scope::Compare, &[ch('2')])
        .when(|f| (f.strategies < 2).then_some(FEWER)),
    Action::new(Id::Strategy(2), "The third strategy", Scope::Compare, &[ch('3')])
        .when(|f| (f.strategies < 3).then_some(FEWER)),
    Action::new(Id::Strategy(3), "The fourth strategy", Scope::Compare, &[ch('4')])
        .when(|f| (f.strategies < 4).then_some(FEWER)),
    Action::new(Id::Strategy(4), "The fifth strategy", Scope::Compare, &[ch('5')])
        .when(|f| (f.strategies < 5).then_some(FEWER)),
    Action::new(Id::Strategy(5), "The sixth strategy", Scope::Compare, &[ch('6')])
        .when(|f| (f.strategies < 6).then_some(FEWER)),
    Action::new(Id::Left, "The strategy on the left", Scope::Compare, &[ch('h'), code(KeyCode::Left)]),
    Action::new(Id::Right, "The strategy on the right", Scope::Compare, &[ch('l'), code(KeyCode::Right)]),
    Action::new(Id::NextEffect, "Rows of the next effect", Scope::Compare, &[ch(']')])
        .hint(12, "effect")
        .when(|f| (!f.has_plan).then_some("there is no plan yet")),
    Action::new(Id::PreviousEffect, "Rows of the effect before", Scope::Compare, &[ch('[')]),
    Action::new(Id::Zombies, "Show the zombies", Scope::Compare, &[ch('z')])
        .hint(13, "zombies")
        .when(|f| (!f.has_plan).then_some("there is no plan yet")),
    Action::new(Id::NextPane, "Rows, gates, partitions", Scope::Compare, &[code(KeyCode::Tab)])
        .hint(14, "gates")
        .when(|f| (!f.has_plan).then_some("there is no plan yet")),
    Action::new(Id::PreviousPane, "Partitions, gates, rows", Scope::Compare, &[code(KeyCode::BackTab)]),
    Action::new(Id::Gates, "Show the gates", Scope::Compare, &[]),
    Action::new(Id::Thresholds, "The gates of this plan: try other thresholds", Scope::Compare, &[ch('T')])
        .hint(42, "thresholds")
        .when(|f| (!f.has_plan).then_some("there is no plan yet")),
    Action::new(Id::Ignore, "Ignore the proposed technical columns, and compare again", Scope::Compare, &[ch('i')])
        .hint(11, "ignore them")
        .when(|f| (!f.proposal).then_some("no technical columns are proposed")),
    Action::new(Id::Compare, "Choose another source; change the statement", Scope::Compare, &[ch('c')])
        .hint(40, "source"),
    Action::new(Id::Apply, "Apply the strategy, after confirmation", Scope::Compare, &[ch('A')])
        .hint(11, "apply…")
        .changes_table()
        .when(|f| {
            if !f.has_plan {
                Some("there is no plan yet")
            } else if f.refused {
                Some("this strategy is refused; the gates pane says why")
            } else if f.no_op {
                Some("the plan would change nothing")
            } else {
                None
            }
        }),
    Action::new(Id::Export, "Export the rows of this effect to a file", Scope::Compare, &[ch('x')])
        .when(|f| (!f.has_plan).then_some("there is no plan yet")),
    Action::new(Id::SavePlan, "Save the plan to a file", Scope::Compare, &[ch('w')])
        .hint(41, "save plan")
        .when(|f| (!f.has_plan).then_some("there is no plan yet")),
    Action::new(Id::SaveScript(0), "Save the plan as a script for spark-sql", Scope::Compare, &[ch('X')])
        .when(|f| (!f.has_plan).then_some("there is no plan yet")),
    Action::new(Id::SaveScript(1), "Save the plan as a script for pyspark", Scope::Compare, &[])
        .when(|f| (!f.has_plan).then_some("there is no plan yet")),
    Action::new(Id::SaveScript(2), "Save the plan as a script for delta-rs", Scope::Compare, &[])
        .when(|f| (!f.has_plan).then_some("there is no plan yet")),
    Action::new(Id::NextPane, "Partitions, rows", Scope::Changes, &[code(KeyCode::Tab)])
        .hint(10, "rows")
        .when(|f| (!f.has_plan).then_some("the versions are not compared yet")),
    Action::new(Id::PreviousPane, "Rows, partitions", Scope::Changes, &[code(KeyCode::BackTab)]),
    Action::new(Id::Open, "Show the rows", Scope::Changes, &[code(KeyCode::Enter)]),
    Action::new(Id::NextEffect, "Rows of the next effect", Scope::Changes, &[ch(']')])
        .hint(12, "effect")
        .when(|f| (!f.has_plan).then_some("the versions are not compared yet")),
    Action::new(Id::PreviousEffect, "Rows of the effect before", Scope::Changes, &[ch('[')]),
    Action::new(Id::Export, "Export the rows of this effect to a file", Scope::Changes, &[ch('x')])
        .hint(13, "export")
        .when(|f| (!f.has_plan).then_some("the versions are not compared yet")),
    Action::new(Id::UndoThis, "Undo this operation", Scope::Apply, &[ch('u')])
        .hint(10, "undo…")
        .changes_table()
        .when(|f| (!f.can_undo).then_some("nothing was committed that could be taken back")),
];
