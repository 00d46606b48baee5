//! What becomes of rows (contract, "What happens to rows").

use serde::{Deserialize, Serialize};

/// One effect, as a person pages through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    Inserted,
    Updated,
    Unchanged,
    Deleted,
    Zombies,
    Kept,
    Ignored,
}

impl Effect {
    pub const ALL: [Effect; 7] = [
        Effect::Updated,
        Effect::Inserted,
        Effect::Deleted,
        Effect::Zombies,
        Effect::Unchanged,
        Effect::Kept,
        Effect::Ignored,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Effect::Inserted => "inserted",
            Effect::Updated => "updated",
            Effect::Unchanged => "unchanged",
            Effect::Deleted => "deleted",
            Effect::Zombies => "zombies",
            Effect::Kept => "kept",
            Effect::Ignored => "ignored",
        }
    }

    pub fn parse(text: &str) -> Option<Effect> {
        let text = text.trim().to_ascii_lowercase();
        Effect::ALL.into_iter().find(|e| e.name() == text || e.name().trim_end_matches('s') == text)
    }

    /// The mark and the word beside the colour: colour alone says nothing.
    pub fn mark(self) -> (&'static str, &'static str) {
        match self {
            Effect::Inserted => ("+", "INSERT"),
            Effect::Updated => ("~", "UPDATE"),
            Effect::Unchanged => ("=", "same"),
            Effect::Deleted => ("-", "DELETE"),
            Effect::Zombies => ("z", "ZOMBIE"),
            Effect::Kept => (".", "kept"),
            Effect::Ignored => ("o", "ignored"),
        }
    }
}

/// Effects of one partition or of a whole plan, in rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effects {
    /// Rows of the partition now.
    pub before: u64,
    /// Rows that were delivered for it.
    pub source: u64,
    pub inserted: u64,
    pub updated: u64,
    pub unchanged: u64,
    pub deleted: u64,
    pub zombies: u64,
    /// Of the updated, those that came from another partition.
    pub moved_in: u64,
    pub moved_out: u64,
    /// Of the updated, those that differ only in ignored columns.
    pub touched_only: u64,
    /// Rows that are neither matched nor changed but share a rewritten file.
    pub copied: u64,
    /// Matched rows for which no clause fired.
    pub kept: u64,
    /// Delivered rows that nothing used.
    pub ignored: u64,
}

impl Effects {
    /// Rows afterwards: the contract's first invariant, read as a definition.
    pub fn after(&self) -> u64 {
        (self.before + self.inserted + self.moved_in).saturating_sub(self.deleted + self.moved_out)
    }

    pub fn add(&mut self, other: &Effects) {
        self.before += other.before;
        self.source += other.source;
        self.inserted += other.inserted;
        self.updated += other.updated;
        self.unchanged += other.unchanged;
        self.deleted += other.deleted;
        self.zombies += other.zombies;
        self.moved_in += other.moved_in;
        self.moved_out += other.moved_out;
        self.touched_only += other.touched_only;
        self.copied += other.copied;
        self.kept += other.kept;
        self.ignored += other.ignored;
    }
}
