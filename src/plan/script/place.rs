//! Where tables and files are, in the words of each engine.

use super::literal;
use crate::error::{Error, ErrorKind, Result};

/// A table's place as Spark wants it. Spark knows S3 as `s3a`.
fn spark_path(location: &str) -> String {
    match location.strip_prefix("s3://") {
        Some(rest) => format!("s3a://{rest}"),
        None => location.to_owned(),
    }
    .trim_end_matches('/')
    .to_owned()
}

/// ``delta.`/path` ``
pub(super) fn spark_table(location: &str) -> String {
    format!("delta.{}", literal::name(&spark_path(location)))
}

/// The commits of a table as files, for a reader that takes globs.
pub(super) fn spark_commits(location: &str) -> String {
    literal::name(&format!("{}/_delta_log/*.json", escaped(&spark_path(location))))
}

/// A path in which no character means a pattern.
pub(super) fn escaped(path: &str) -> String {
    path.chars().fold(String::with_capacity(path.len()), |mut out, c| {
        if matches!(c, '[' | ']' | '{' | '}' | '*' | '?' | '\\') {
            out.push('\\');
        }
        out.push(c);
        out
    })
}

/// A Delta source's place and version, from `place@vN`.
///
/// # Errors
/// `BadPlan` where the version is not pinned.
pub(super) fn pinned(uri: &str) -> Result<(&str, u64)> {
    uri.rsplit_once("@v").and_then(|(place, version)| Some((place, version.parse().ok()?))).ok_or_else(|| {
        Error::new(ErrorKind::BadPlan, format!("the plan's source {uri} names no version")).hint("Make the plan again.")
    })
}
