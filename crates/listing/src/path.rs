//! Paths in the lists of files that strangers wrote: which are safe, which are too long, and which a system could take for one.
//! Knows no files: it inspects text alone.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Most bytes of a path (Linux `PATH_MAX`).
pub const LONGEST_PATH: usize = 4_096;
/// Most bytes of a name in a path (Linux `NAME_MAX`).
pub const LONGEST_NAME: usize = 255;

/// Why a path is longer than common file systems can hold, or nothing. Lengths are of the bytes as the container has them.
pub fn too_long_reason(raw: &[u8]) -> Option<String> {
    if raw.len() > LONGEST_PATH {
        return Some(format!("the path has {} bytes, more than {LONGEST_PATH}", raw.len()));
    }
    let name = raw.split(|byte| *byte == b'/').map(<[u8]>::len).max()?;
    (name > LONGEST_NAME).then(|| format!("a name in the path has {name} bytes, more than {LONGEST_NAME}"))
}

/// Why a path must not be used, or nothing. A safe path is relative, `/` separated, and means a file below the directory it
/// starts from on every system.
pub fn unsafe_reason(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("it is empty");
    }
    if path.contains('\0') {
        return Some("it has a NUL character");
    }
    if path.starts_with('/') {
        return Some("it is absolute");
    }
    if path.starts_with('\\') {
        return Some("it starts with a backslash, as absolute and UNC paths on Windows do");
    }
    if path.starts_with('~') {
        return Some("it starts with ~, which some systems expand to a home directory");
    }
    let bytes = path.as_bytes();
    if let [letter, b':', ..] = bytes
        && letter.is_ascii_alphabetic()
    {
        return Some("it starts with a drive letter");
    }
    if starts_with_variable(path) {
        return Some("it starts with an environment variable");
    }
    if path.split(['/', '\\']).any(|part| part == "..") {
        return Some("it has the component ..");
    }
    if path.split('/').any(|part| part == ".") {
        return Some("it has the component .");
    }
    if path.contains("//") {
        return Some("it has an empty component");
    }
    None
}

/// `%NAME%` before the first separator.
fn starts_with_variable(path: &str) -> bool {
    let Some(rest) = path.strip_prefix('%') else { return false };
    let Some((name, after)) = rest.split_once('%') else { return false };
    !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && (after.is_empty() || after.starts_with(['\\', '/']))
}

/// Unicode normal form C.
pub fn normal_form(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfc().collect())
    }
}

/// The key under which paths meet that a system could take for one.
pub fn collision_key(path: &str) -> Cow<'_, str> {
    if path.is_ascii() {
        if path.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Cow::Owned(path.to_ascii_lowercase());
        }
        return Cow::Borrowed(path);
    }
    Cow::Owned(path.nfc().flat_map(char::to_lowercase).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_out_on_any_system_are_unsafe() {
        for path in [
            "",
            "/etc/passwd",
            "../x",
            "data/../../x",
            "data/..",
            "~/x",
            "~root/x",
            "C:\\x",
            "c:x",
            "%HomeDrive%\\x",
            "%TEMP%",
            "\\\\?\\UNC\\server",
            "\\x",
            "data/a\\..\\..\\b",
            "\\.\\./x",
            "data//x",
            "data/./x",
            "data/\0",
        ] {
            assert!(unsafe_reason(path).is_some(), "{path:?}");
        }
    }

    #[test]
    fn odd_but_harmless_paths_are_safe() {
        for path in [
            "data/%7Etest1.txt",
            "data/%test2.txt",
            "data/dir1/~test3.txt",
            "data/a:b",
            "%7Etest%2",
            "data/...",
            "data/..a",
            "data/a ",
        ] {
            assert_eq!(unsafe_reason(path), None, "{path:?}");
        }
    }
}
