//! What is printed: text for people, JSON for programs.

pub mod plan;
pub mod report;
pub mod roles;
pub mod table;

use serde::Serialize;
use serde_json::json;

use crate::error::{Context, Error, ErrorKind, Result};

/// What a command leaves behind.
#[derive(Debug, Default)]
pub struct Answer {
    /// For standard output.
    pub text: String,
    /// For standard error.
    pub narration: String,
    /// The process's exit code.
    pub code: u8,
}

impl Answer {
    pub fn text(text: impl Into<String>) -> Self {
        let mut text = text.into();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        Self { text, ..Self::default() }
    }

    /// # Errors
    /// `Internal` where the value cannot be JSON.
    pub fn json(value: &impl Serialize) -> Result<Self> {
        let text =
            serde_json::to_string_pretty(value).context(ErrorKind::Internal, || "cannot print as JSON".into())?;
        Ok(Self::text(text))
    }

    pub fn with_code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }
}

pub fn failure(error: &Error, as_json: bool) -> Answer {
    let code = error.exit_code();
    let message = error.full_message();
    if as_json {
        let mut object = json!({"error": {"kind": error.kind.to_string(), "message": message, "hint": error.hint}});
        if let Some(details) = &error.details {
            object["error"]["details"] = (**details).clone();
        }
        return Answer::text(format!("{object:#}")).with_code(code);
    }
    let hint = error.hint.as_ref().map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
    Answer { narration: format!("error: {message}\n{hint}"), code, ..Answer::default() }
}

/// A count for people; unknown is `?`.
pub fn count(n: Option<u64>) -> String {
    n.map_or_else(|| "?".into(), crate::table::number::grouped)
}

/// A name, an `s` where there is not one of it, and the number before it.
pub fn plural(n: u64, what: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{} {what}{s}", crate::table::number::grouped(n))
}
