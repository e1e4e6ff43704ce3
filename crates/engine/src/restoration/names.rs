//! Names that results get: what every file system and store takes, and the next one where a name is in use.

use std::fmt::Write as _;

use strongroom_digest::{Algorithm, MultiHasher};

/// The longest name that any file system in use takes, with room for a suffix.
const LONGEST_NAME: usize = 240;
/// How many names are tried before a result is refused.
pub(super) const MOST_NAMES: u32 = 1_000;

/// The `number`th name for a result, from 1: `letters.tar`, `letters-2.tar`, `letters-3.tar`.
pub(super) fn numbered(name: &str, number: u32) -> String {
    if number <= 1 {
        return name.to_owned();
    }
    match name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()) {
        Some((stem, extension)) => format!("{stem}-{number}.{extension}"),
        None => format!("{name}-{number}"),
    }
}

/// The last segment of a path.
pub(super) fn file_name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A name that every file system and store takes: without control characters and separators, no dots alone, and not too
/// long. What is changed is percent-encoded, or cut and marked by a digest.
pub(super) fn safe_name(name: &str) -> String {
    let mut safe = String::with_capacity(name.len());
    for character in name.chars() {
        if character.is_control() || matches!(character, '/' | '\\') {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(safe, "%{byte:02X}");
            }
        } else {
            safe.push(character);
        }
    }
    if safe.chars().all(|character| character == '.') {
        return if safe.is_empty() { "unnamed".into() } else { safe.replace('.', "%2E") };
    }
    if safe.len() <= LONGEST_NAME {
        return safe;
    }
    let mut hasher = MultiHasher::new(&[Algorithm::Sha256]);
    hasher.update(name.as_bytes());
    let digest = hasher.finish().get(Algorithm::Sha256).map(|digest| digest.to_hex()).unwrap_or_default();
    let mut end = LONGEST_NAME - 17;
    while !safe.is_char_boundary(end) {
        end -= 1;
    }
    safe.truncate(end);
    format!("{safe}~{}", digest.get(..16).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mean_something_else_to_a_file_system_are_encoded() {
        assert_eq!(safe_name("a b.txt"), "a b.txt");
        assert_eq!(safe_name(".."), "%2E%2E");
        assert_eq!(safe_name("a\nb\\c"), "a%0Ab%5Cc");
        assert_eq!(safe_name("..."), "%2E%2E%2E");
        assert_eq!(safe_name(""), "unnamed");
    }

    #[test]
    fn long_names_are_cut_and_stay_different() {
        let (one, other) = (safe_name(&"ä".repeat(200)), safe_name(&"ä".repeat(201)));
        assert!(one.len() <= LONGEST_NAME && other.len() <= LONGEST_NAME);
        assert_ne!(one, other);
    }

    #[test]
    fn the_number_stands_before_the_extension() {
        assert_eq!(numbered("letters.tar", 1), "letters.tar");
        assert_eq!(numbered("letters.tar", 2), "letters-2.tar");
        assert_eq!(numbered(".profile", 3), ".profile-3");
        assert_eq!(numbered("README", 10), "README-10");
    }
}
