//! The check character of NOID: one character at the end of a name, by which a mistyped name is found.

use crate::ark::Ark;

/// The characters of names and check characters, in the order of their values: digits, and consonants other than `l` and `y`.
pub const BETANUMERIC: &str = "0123456789bcdfghjkmnpqrstvwxz";

/// The check character of a text `NAAN/NAME` that has none yet (NOID check digit algorithm): the sum of position, from 1, times value,
/// modulo 29, as a character. Characters that are not in [`BETANUMERIC`], such as `/`, have the value 0.
///
/// It finds every single wrong character and every two that are exchanged, in texts of fewer than 29 characters.
///
/// ```
/// assert_eq!(strongroom_ark::check_character("13030/xf93gt2"), 'q');
/// ```
pub fn check_character(text: &str) -> char {
    let sum = (1_u64..)
        .zip(text.chars())
        .map(|(position, character)| position % RADIX * ordinal(character).unwrap_or(0))
        .fold(0, |sum, product| (sum + product) % RADIX);
    character_of(sum)
}

/// Whether the base name of an ARK, that is the name without qualifiers, ends with its check character. Only the authority that assigned a
/// name knows whether it has one: a name without is not wrong.
pub fn is_check_valid(ark: &Ark) -> bool {
    let text = ark.normal_base();
    let mut characters = text.chars();
    characters.next_back().is_some_and(|last| check_character(characters.as_str()) == last)
}

/// How many characters there are, a prime number.
pub(crate) const RADIX: u64 = 29;

/// The value of a character, 0 to 28.
pub(crate) fn ordinal(character: char) -> Option<u64> {
    BETANUMERIC.chars().zip(0..).find_map(|(known, value)| (known == character).then_some(value))
}

/// The character of a value, which is taken modulo 29.
pub(crate) fn character_of(value: u64) -> char {
    BETANUMERIC.chars().nth((value % RADIX) as usize).unwrap_or('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_names_end_with_their_check_character() {
        // The example of the NOID documentation, one of its pages at N2T, and one that EZID made.
        for name in ["13030/xf93gt2q", "13030/tf5p30086k", "99999/fk4mp67k1v"] {
            let (text, last) = name.split_at(name.len() - 1);
            assert_eq!(check_character(text).to_string(), last, "{name}");
        }
    }

    #[test]
    fn every_value_has_a_character_and_every_character_its_value() {
        assert_eq!(BETANUMERIC.len() as u64, RADIX);
        assert!((0..RADIX).all(|value| ordinal(character_of(value)) == Some(value)));
        assert_eq!(ordinal('l'), None);
        assert_eq!(check_character(""), '0');
    }
}
