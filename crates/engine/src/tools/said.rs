//! What a tool said, in the forms in which events and documents keep it.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use strongroom_tool::{Fields, Run};

use super::ConfiguredTool;

/// Most bytes of what a tool said of a file in an event.
const MOST_IN_EVENT: usize = 4_000;
/// What is encoded in a segment of a URI: all but letters, digits and these (RFC 3986).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');

/// Fields of at most so many bytes, and whether there were more.
pub(crate) fn bounded(fields: &Fields, most: usize) -> (Fields, bool) {
    let (mut kept, mut left, mut is_cut) = (Fields::new(), most, false);
    for (name, values) in fields {
        for value in values {
            match left.checked_sub(name.len() + value.len() + 8) {
                Some(rest) => {
                    left = rest;
                    kept.entry(name.clone()).or_default().push(value.clone());
                }
                None => is_cut = true,
            }
        }
    }
    (kept, is_cut)
}

/// What a tool said in words: its message, else its fields.
pub(crate) fn in_words(run: &Run) -> String {
    let mut text = run.message.clone();
    if text.is_empty() {
        let (fields, _) = bounded(&run.fields, MOST_IN_EVENT);
        let parts: Vec<String> = fields.iter().map(|(name, values)| format!("{name}: {}", values.join(", "))).collect();
        text = parts.join("; ");
    }
    text.truncate(text.floor_char_boundary(MOST_IN_EVENT));
    text
}

/// The name of a tool with its version as an agent: a URI whose last segment is the version.
pub(crate) fn agent(tool: &ConfiguredTool, run: &Run) -> String {
    let version = run.version.as_deref().unwrap_or_default();
    format!("tool:{}/{}", tool.name(), utf8_percent_encode(version, ENCODED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tool_says_at_length_is_cut() {
        let fields =
            Fields::from([("a".to_owned(), vec!["x".repeat(100); 100]), ("b".to_owned(), vec!["y".to_owned()])]);
        let (kept, is_cut) = bounded(&fields, 1_000);
        assert!(is_cut);
        assert_eq!(kept["a"].len(), 9);
        assert!(kept.contains_key("b"), "what is short still fits");
        assert_eq!(bounded(&fields, 64 << 10), (fields, false));
    }
}
