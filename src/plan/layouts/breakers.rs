//! What a switch of partition columns would break: writers that the history
//! shows, and what each would do on the new layout.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::LayoutBy;
use crate::table::Commit;
use crate::table::number::grouped;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BreakerKind {
    /// Replaces the partitions that occur in what it delivers.
    DynamicOverwrite,
    /// Names partition columns, which must be the table's.
    PartitionBy,
    ReplaceWhere,
    /// Replaces the table with its partition columns: CREATE OR REPLACE TABLE.
    ReplaceTable,
    /// A stream that writes.
    Stream,
    /// The table's change data feed is on.
    ChangeFeed,
}

impl BreakerKind {
    pub fn words(self) -> &'static str {
        match self {
            BreakerKind::DynamicOverwrite => "dynamic overwrite",
            BreakerKind::PartitionBy => "partitionBy",
            BreakerKind::ReplaceWhere => "replaceWhere",
            BreakerKind::ReplaceTable => "CREATE OR REPLACE TABLE",
            BreakerKind::Stream => "stream",
            BreakerKind::ChangeFeed => "change data feed",
        }
    }
}

/// A way of writing that the history shows; the same job counts once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriterUse {
    pub kind: BreakerKind,
    /// Its last commit.
    pub version: u64,
    /// milliseconds since the epoch
    pub timestamp: i64,
    /// Its commits that the log still has.
    pub commits: u64,
    /// User, job, engine, as far as the log tells.
    pub who: String,
    pub partition_by: Vec<String>,
    pub predicate: Option<String>,
    /// The log does not say that the overwrite was a dynamic one: it left other
    /// partitions alone.
    pub inferred: bool,
    /// The table's partition columns at its last commit, where they were others
    /// than today's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrote_on: Option<Vec<String>>,
    /// The columns of its predicate, where that is understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicate_columns: Option<Vec<String>>,
}

/// What the last dynamic overwrite would have done on the new layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collateral {
    /// Rows that it wrote, as far as they are still there.
    pub rows: u64,
    /// Partitions of the new layout that those rows fall into.
    pub partitions: u64,
    /// Rows of those partitions outside of what it replaced: they would be deleted.
    pub lost: u64,
    /// Partitions of today's layout that the lost rows are in.
    pub lost_partitions: u64,
}

/// One thing that a switch would break.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Breaker {
    pub kind: BreakerKind,
    /// The last commit of this kind; `None` for what no commit shows.
    pub version: Option<u64>,
    /// milliseconds since the epoch
    pub timestamp: Option<i64>,
    pub commits: u64,
    pub who: String,
    /// What it would do on the new layout.
    pub effect: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collateral: Option<Collateral>,
    /// Rows would be lost, or a job would stop.
    pub danger: bool,
}

impl Breaker {
    /// One line for people.
    pub fn line(&self) -> String {
        let at = self.version.map_or_else(String::new, |v| match self.commits {
            1 => format!(" (v{v})"),
            n => format!(" (last v{v}, {} commits)", grouped(n)),
        });
        let who = if self.who.is_empty() { String::new() } else { format!(" by {}", self.who) };
        format!("{}{who}{at}: {}", self.kind.words(), self.effect)
    }
}

/// The writers of a history, newest first. `commits` as [`Commit`]s are read:
/// newest first.
pub fn writers(commits: &[Commit]) -> Vec<WriterUse> {
    let left_alone = left_others_alone(commits);
    let mut found: BTreeMap<(BreakerKind, String, Vec<String>), WriterUse> = BTreeMap::new();
    for commit in commits {
        // partwise reads the columns from the table each time, whatever it noted.
        let own = commit.operation_id().is_some();
        let partition_by = if own { Vec::new() } else { columns(commit.parameter("partitionBy")) };
        let predicate = commit.parameter("predicate").map(plain_predicate).filter(|p| !p.is_empty());
        let overwrites = commit.operation() == Some("WRITE") && commit.parameter("mode") == Some("Overwrite");
        let flag = |key: &str, yes: &str| {
            let text = commit.parameter(key).or_else(|| commit.info_text(key));
            text.map(|t| t.eq_ignore_ascii_case(yes))
        };
        let said = flag("isDynamicPartitionOverwrite", "true").or(flag("partitionOverwriteMode", "dynamic"));
        let dynamic = overwrites && predicate.is_none() && said.unwrap_or(left_alone.contains(&commit.version));
        let mut kinds = Vec::new();
        if commit.operation() == Some("STREAMING UPDATE") {
            kinds.push(BreakerKind::Stream);
        }
        if dynamic {
            kinds.push(BreakerKind::DynamicOverwrite);
        } else if overwrites && predicate.is_some() {
            kinds.push(BreakerKind::ReplaceWhere);
        }
        let writes = commit.operation() == Some("WRITE");
        if commit.operation().is_some_and(|operation| operation.contains("REPLACE TABLE")) {
            kinds.push(BreakerKind::ReplaceTable);
        }
        if writes && !partition_by.is_empty() && !dynamic {
            kinds.push(BreakerKind::PartitionBy);
        }
        for kind in kinds {
            let who = who(commit);
            let entry = found.entry((kind, who.clone(), partition_by.clone())).or_insert_with(|| WriterUse {
                kind,
                version: commit.version,
                timestamp: commit.timestamp,
                commits: 0,
                who,
                partition_by: partition_by.clone(),
                predicate: predicate.clone().filter(|_| kind == BreakerKind::ReplaceWhere),
                inferred: kind == BreakerKind::DynamicOverwrite && said.is_none(),
                wrote_on: None,
                predicate_columns: None,
            });
            entry.commits += 1;
        }
    }
    let mut all: Vec<WriterUse> = found.into_values().collect();
    all.sort_by(|a, b| (b.version, a.kind).cmp(&(a.version, b.kind)));
    all
}

/// Overwrites that took files away and still left others: the versions. Only
/// where the log reaches back to the first commit.
fn left_others_alone(commits: &[Commit]) -> Vec<u64> {
    if commits.last().is_none_or(|c| c.version != 0) {
        return Vec::new();
    }
    let (mut live, mut found) = (0_u64, Vec::new());
    for commit in commits.iter().rev() {
        live = (live + commit.added.files).saturating_sub(commit.removed.files);
        if commit.removed.files > 0 && live > commit.added.files {
            found.push(commit.version);
        }
    }
    found
}

/// `["a","b"]`, as Spark keeps lists in parameters.
fn columns(text: Option<&str>) -> Vec<String> {
    text.and_then(|t| serde_json::from_str(t).ok()).unwrap_or_default()
}

/// Spark keeps predicates as a list of texts, others as one text.
fn plain_predicate(text: &str) -> String {
    let list: Option<Vec<String>> = serde_json::from_str(text).ok();
    list.map_or_else(|| text.trim().to_owned(), |parts| parts.join(" AND "))
}

/// User, job or notebook, engine.
fn who(commit: &Commit) -> String {
    let inner = |object: &str, key: &str| {
        let value = commit.info_object(object)?.get(key)?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let own = commit.info_object("partwise").is_some();
    let parts = [
        commit.info_text("userName").or_else(|| commit.info_text("userId")).map(str::to_owned),
        inner("job", "jobName").or_else(|| inner("job", "jobId")).map(|j| format!("job {j}")),
        inner("notebook", "notebookId").map(|n| format!("notebook {n}")),
        commit.parameter("queryId").map(|q| format!("query {q}")),
        commit.info_text("engineInfo").map(str::to_owned).filter(|_| !own),
        own.then(|| "partwise".to_owned()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// What a writer would do on the new layout; `None` where the switch changes
/// nothing for it.
pub fn judge(found: &WriterUse, today: &[String], by: &LayoutBy, collateral: Option<Collateral>) -> Option<Breaker> {
    let new = by.names();
    if same(&new, today) {
        return None;
    }
    // Without an expression the columns are the very ones that it wrote on.
    let plain = by.columns.iter().all(|c| c.expression.is_none());
    let (effect, danger, collateral) = match found.kind {
        BreakerKind::DynamicOverwrite => dynamic(found, today, &new, plain, collateral),
        BreakerKind::PartitionBy => {
            let (effect, danger) = named(&found.partition_by, today, &new)?;
            (effect, danger, None)
        }
        BreakerKind::ReplaceWhere => (replace_where(found, today, &new)?, false, None),
        BreakerKind::ReplaceTable => (replaced(&found.partition_by, &new)?, true, None),
        BreakerKind::Stream => (
            "a stream writes to the table: stop it for the switch; if it names partition columns, its next batch would fail".into(),
            true,
            None,
        ),
        BreakerKind::ChangeFeed => return None,
    };
    Some(Breaker {
        kind: found.kind,
        version: Some(found.version),
        timestamp: Some(found.timestamp),
        commits: found.commits,
        who: found.who.clone(),
        effect,
        collateral,
        danger,
    })
}

/// The same columns in the same order, as engines compare them.
fn same(a: &[String], b: &[String]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.eq_ignore_ascii_case(b))
}

fn all_of(some: &[String], all: &[String]) -> bool {
    some.iter().all(|c| all.iter().any(|a| a.eq_ignore_ascii_case(c)))
}

/// A writer that names its partition columns: it fails wherever they are not the
/// table's. `None` where it names neither today's nor the new ones: it fails
/// already, and the switch is not to blame.
fn named(names: &[String], today: &[String], new: &[String]) -> Option<(String, bool)> {
    let text = names.join(", ");
    if same(names, new) {
        return Some((format!("it names partitionBy({text}), which fails today and would work again"), false));
    }
    if !same(names, today) {
        return None;
    }
    let said = match new.is_empty() {
        true => "the table would have no partition columns".to_owned(),
        false => format!("the table would be partitioned by {}", new.join(", ")),
    };
    Some((format!("it names partitionBy({text}), and {said}: its next write would fail"), true))
}

/// It replaces the table as it did before. `None` where that is the new layout.
fn replaced(names: &[String], new: &[String]) -> Option<String> {
    let put_back = match names.is_empty() {
        true => "without partition columns".to_owned(),
        false => format!("partitioned by {}", names.join(", ")),
    };
    (!same(names, new)).then(|| format!("it would put a table {put_back} in the place of the new layout"))
}

/// Whole partitions are replaced where the predicate asks for partition columns
/// only. `None` where that is so on the new layout, and where it is not so today.
fn replace_where(found: &WriterUse, today: &[String], new: &[String]) -> Option<String> {
    if let Some(columns) = &found.predicate_columns
        && (all_of(columns, new) || !all_of(columns, today))
    {
        return None;
    }
    let text = found.predicate.as_deref().unwrap_or("?");
    let holds = match new.is_empty() {
        true => "the whole table holds other rows too".to_owned(),
        false => format!("partitions of {} hold other rows too", new.join(", ")),
    };
    Some(format!(
        "it replaces the rows where {text}; that stays right, but {holds}, so that their files would be rewritten and not just dropped"
    ))
}

/// Effect, danger, and what it would have deleted.
fn dynamic(
    found: &WriterUse,
    today: &[String],
    new: &[String],
    plain: bool,
    collateral: Option<Collateral>,
) -> (String, bool, Option<Collateral>) {
    let names = &found.partition_by;
    // An overwrite that is known to be dynamic is Spark's, which records only
    // columns that the job names.
    let named = !found.inferred && !names.is_empty();
    let wrote_on = match found.wrote_on.as_deref() {
        None if named && same(names, new) => new,
        then => then.unwrap_or(today),
    };
    if named && !same(names, today) && !same(names, new) {
        let said =
            format!("it names partitionBy({}), which are not today's columns: it fails already", names.join(", "));
        return (said, false, None);
    }
    if plain && same(wrote_on, new) {
        let said = match new.is_empty() {
            true => {
                "it wrote when the table had no partition columns, and would replace the whole table again".to_owned()
            }
            false => format!(
                "it wrote when the table was partitioned by {}, and would replace whole partitions of it again",
                new.join(", ")
            ),
        };
        return (said, false, None);
    }
    let (effect, danger) = overwritten(found, wrote_on, new, collateral);
    (effect, danger, collateral)
}

fn overwritten(found: &WriterUse, today: &[String], new: &[String], collateral: Option<Collateral>) -> (String, bool) {
    let target =
        if new.is_empty() { "the whole table".to_owned() } else { format!("partitions of {}", new.join(", ")) };
    let guess = if found.inferred { " (the log does not say so; it left other partitions alone)" } else { "" };
    let slice = if today.is_empty() { "the whole table".to_owned() } else { today.join(", ") };
    let finer = !today.is_empty() && today.iter().all(|c| new.iter().any(|n| n.eq_ignore_ascii_case(c)));
    match collateral {
        Some(c) if c.lost > 0 => {
            let into = match new.is_empty() {
                true => target,
                false => format!(
                    "{} partition{} of {}",
                    grouped(c.partitions),
                    if c.partitions == 1 { "" } else { "s" },
                    new.join(", ")
                ),
            };
            let said = format!(
                "its {} rows fall into {into}: it would then delete {} other rows there, of {} other partition{} of {slice}{guess}",
                grouped(c.rows),
                grouped(c.lost),
                grouped(c.lost_partitions),
                if c.lost_partitions == 1 { "" } else { "s" }
            );
            (said, true)
        }
        Some(_) if finer => (
            format!(
                "it would replace {target} only: a {slice} that is delivered without one of them would keep the old rows{guess}"
            ),
            true,
        ),
        Some(c) => (
            format!(
                "its {} rows fall into {target}, without any other rows in there today; that may change{guess}",
                grouped(c.rows)
            ),
            false,
        ),
        None => (
            format!(
                "it replaces every partition that it delivers, which would be {target}: rows of another {slice} in them would be deleted{guess}"
            ),
            true,
        ),
    }
}

/// What no single commit shows: streams by their application ids, and the
/// change data feed.
pub fn standing(applications: &[(String, u64)], change_feed: bool) -> Vec<Breaker> {
    let mut found: Vec<Breaker> = applications
        .iter()
        .map(|(application, version)| Breaker {
            kind: BreakerKind::Stream,
            version: Some(*version),
            timestamp: None,
            commits: 1,
            who: format!("application {application}"),
            effect: "it commits with application transactions, as streams do: stop it for the switch".into(),
            collateral: None,
            danger: true,
        })
        .collect();
    if change_feed {
        found.push(Breaker {
            kind: BreakerKind::ChangeFeed,
            version: None,
            timestamp: None,
            commits: 0,
            who: String::new(),
            effect: "delta.enableChangeDataFeed is on: its readers see no change of rows, but the table's metadata changes under them, and a reader that is open may have to be started again".into(),
            collateral: None,
            danger: false,
        });
    }
    found
}

#[cfg(test)]
mod tests;
