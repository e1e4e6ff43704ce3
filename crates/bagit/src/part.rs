//! The name of a bag that is one of several which make up an object: `name.b01.of03`. The suffix is APTrust's
//! (`\.b\d+\.of\d+` in its preservation-services); RFC 8493 has no names for it, only `Bag-Count`.

/// Splits the suffix off a bag's name without its archive ending: the name of the whole, the number of the part, and how
/// many there are. The letters may be small or capital, the numbers may begin with zeros; a number too large to hold
/// is reported as the largest. None where the name has no such suffix, or nothing before it.
pub fn split_part(name: &str) -> Option<(&str, u64, u64)> {
    let (rest, total) = split_number(name, ".of")?;
    let (base, number) = split_number(rest, ".b")?;
    (!base.is_empty()).then_some((base, number, total))
}

/// Splits a mark in any case, with the number behind it, off the end of a name.
fn split_number<'n>(name: &'n str, mark: &str) -> Option<(&'n str, u64)> {
    let before = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = name.get(before.len()..).filter(|digits| !digits.is_empty())?;
    let at = before.len().checked_sub(mark.len())?;
    let is_marked = before.get(at..).is_some_and(|end| end.eq_ignore_ascii_case(mark));
    is_marked.then_some((before.get(..at)?, digits.parse().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::split_part;

    #[test]
    fn a_suffix_is_split_off_in_any_spelling() {
        for (name, expected) in [
            ("photos.b01.of03", ("photos", 1, 3)),
            ("some.file.b001.of200", ("some.file", 1, 200)),
            ("photos.B2.OF3", ("photos", 2, 3)),
            ("photos.b0.of0", ("photos", 0, 0)),
            ("a.b1.of2.b1.of3", ("a.b1.of2", 1, 3)),
            ("bücher.b4.of3", ("bücher", 4, 3)),
            ("x.b1.of99999999999999999999", ("x", 1, u64::MAX)),
        ] {
            assert_eq!(split_part(name), Some(expected), "{name}");
        }
    }

    #[test]
    fn what_only_looks_like_a_suffix_is_a_name() {
        for name in [
            "photos",
            "photos.b1",
            "photos.of3",
            "photos.b.of3",
            "photos.b1.of",
            "photos.b1.ofx",
            ".b1.of3",
            "b1.of3",
            "x.b1of3",
            "x.b-1.of3",
            "x.b1.of3 ",
            "é1",
        ] {
            assert_eq!(split_part(name), None, "{name}");
        }
    }
}
