//! Numbers in messages.

/// A number with the word for one or for many.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
