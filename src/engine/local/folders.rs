//! Names of partition folders.

use crate::table::Value;

/// `column=value/`, in plain ASCII letters, digits and `_.-`, so that no value
/// can name another folder.
pub fn folder(column: &str, value: &Value) -> String {
    format!("{}={}/", escape(column), folder_value(value))
}

fn folder_value(value: &Value) -> String {
    /// Folder names have a limit of 255 bytes.
    const MAX: usize = 180;
    match value.to_partition_text() {
        None => "__HIVE_DEFAULT_PARTITION__".into(),
        Some(text) => {
            let escaped = escape(&text);
            if escaped.len() > MAX {
                format!("{}-{:016x}", &escaped[..MAX / 2], xxhash_rust::xxh3::xxh3_64(text.as_bytes()))
            } else {
                escaped
            }
        }
    }
}

fn escape(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, b| {
        if b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.') {
            out.push(char::from(b));
        } else {
            out.push_str(&format!("%{b:02X}"));
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use deltalake::logstore::object_store::path::Path;

    use super::*;

    #[test]
    fn no_value_can_name_another_folder() {
        for text in ["..", "a/b", "/etc", "a\\b", "\0", "é", "a b", "%2F"] {
            let name = folder("g", &Value::String(text.into()));
            assert!(Path::parse(name.trim_end_matches('/')).is_ok_and(|p| p.parts().count() == 1), "{name}");
        }
        assert_eq!(folder_value(&Value::String("a%2Fb".into())), "a%252Fb");
        assert!(folder_value(&Value::String("x".repeat(5000))).len() < 255);
    }
}
