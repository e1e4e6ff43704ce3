//! Why a text is no ARK, no NAAN and no shoulder, and why a name cannot be made.

use std::fmt::Write as _;

use crate::ark::Ark;
use crate::naan::Naan;

/// What is wrong with a text that should be an ARK or a part of one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArkError {
    /// The text does not begin with `ark:`.
    #[error("{} is not an ARK: it does not begin with \"ark:\"", quoted(.given))]
    NoLabel {
        /// The text.
        given: String,
    },
    /// The text is longer than an ARK may be here.
    #[error("{} is not an ARK: it has {length} bytes, and at most {} are allowed", quoted(.given), Ark::LONGEST)]
    TooLong {
        /// The text.
        given: String,
        /// Its length in bytes.
        length: usize,
    },
    /// There is no `/` after the NAAN, or nothing but hyphens and structural characters after it.
    #[error("{} is not an ARK: there is no name after the NAAN", quoted(.given))]
    NoName {
        /// The text.
        given: String,
    },
    /// A character that has no place in a name.
    #[error("{} is not an ARK: {} is not allowed in its name", quoted(.given), quoted(&.character.to_string()))]
    Character {
        /// The text.
        given: String,
        /// The character.
        character: char,
    },
    /// A `%` without two hexadecimal digits.
    #[error("{} is not an ARK: a \"%\" in its name is not followed by two hexadecimal digits", quoted(.given))]
    Percent {
        /// The text.
        given: String,
    },
    /// The NAAN is empty, too long, or has other characters than digits and consonants.
    #[error(
        "{} is not a NAAN: a NAAN is 1 to {} digits or consonants other than \"l\" and \"y\"",
        quoted(.given),
        Naan::LONGEST
    )]
    Naan {
        /// The text.
        given: String,
    },
    /// The shoulder is not consonants and one digit.
    #[error(
        "{} is not a shoulder: a shoulder is 1 to 15 lower-case consonants other than \"l\" and \"y\", then one digit, such as \"m5\"",
        quoted(.given)
    )]
    Shoulder {
        /// The text.
        given: String,
    },
    /// The body of new names is too short or too long.
    #[error("names with a body of {given} characters cannot be made: a body has 1 to {longest} characters")]
    Body {
        /// The length that was asked for, in characters.
        given: usize,
        /// The greatest length.
        longest: usize,
    },
    /// The counter is past the last name of the shoulder.
    #[error("there is no name number {number} below this shoulder: it has {capacity} names")]
    Exhausted {
        /// The number that was asked for, from 0.
        number: u128,
        /// How many names there are.
        capacity: u128,
    },
}

/// Most characters of a stranger's text that an error shows.
const SHOWN: usize = 120;

/// A text between quotation marks, as it may be shown: control characters are escaped, and what is long ends in an ellipsis.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", printable(text, SHOWN))
}

/// A text without control characters and those that change the direction of text, of at most so many characters.
pub(crate) fn printable(text: &str, longest: usize) -> String {
    let mut shown = String::new();
    for (at, character) in text.chars().enumerate() {
        if at == longest {
            shown.push('…');
            break;
        }
        let is_hidden = character.is_control()
            || matches!(character, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}');
        if is_hidden {
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    shown
}
