//! New names below a shoulder. A minter has no state: what keeps names unique is the place where they are recorded.

use std::fmt;
use std::str::FromStr;

use crate::ark::Ark;
use crate::check::{RADIX, character_of, check_character, ordinal};
use crate::error::ArkError;
use crate::naan::Naan;

/// Characters of the body of a name, where nothing else was asked for. With the check character a name has nine after its shoulder.
pub const DEFAULT_BODY: usize = 8;

/// The longest body, in characters. With a NAAN of five and a shoulder of two characters, a name is then still short enough for its check
/// character to find every single wrong character.
pub const LONGEST_BODY: usize = 16;

/// The beginning of the names that belong to one collection or one system: consonants, then one digit, such as `m5` or `fk4`. Because the
/// first digit ends it, no shoulder is the beginning of another one, and nothing separates it from what follows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shoulder(String);

impl Shoulder {
    /// Reads a shoulder.
    ///
    /// # Errors
    /// [`ArkError::Shoulder`].
    pub fn new(text: &str) -> Result<Self, ArkError> {
        let mut characters = text.chars();
        let ends_in_digit = characters.next_back().is_some_and(|last| last.is_ascii_digit());
        let letters = characters.as_str();
        let is_valid = ends_in_digit
            && (1..=15).contains(&letters.len())
            && letters.chars().all(|c| c.is_ascii_lowercase() && ordinal(c).is_some());
        if is_valid { Ok(Self(text.to_owned())) } else { Err(ArkError::Shoulder { given: text.to_owned() }) }
    }

    /// The shoulder as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Shoulder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Shoulder {
    type Err = ArkError;

    fn from_str(text: &str) -> Result<Self, ArkError> {
        Self::new(text)
    }
}

/// Makes names: `ark:/NAAN/SHOULDER BODY CHECK`, where the body has a fixed number of characters of [`crate::BETANUMERIC`] and CHECK is
/// the check character.
///
/// The caller keeps names unique: it records each new name under a unique constraint *before* it uses it, and asks for another one where
/// the name is there already. A name that was recorded and never registered anywhere is lost and nothing else.
///
/// How often that happens with random names: where `n` names of a shoulder are in use, the next one is in use with the probability
/// `n / 29^body`. With the default body of 8 characters there are 500 246 412 961 names; with a million in use, one attempt in 500 000
/// meets one of them, and two attempts in a row fail once in 250 thousand million. A body of 6 characters has 594 823 321 names, and one
/// attempt in 600 then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Minter {
    naan: Naan,
    shoulder: Shoulder,
    body: usize,
}

impl Minter {
    /// A minter of names with a body of [`DEFAULT_BODY`] characters.
    pub fn new(naan: Naan, shoulder: Shoulder) -> Self {
        Self { naan, shoulder, body: DEFAULT_BODY }
    }

    /// The same with a body of so many characters, 1 to [`LONGEST_BODY`].
    ///
    /// # Errors
    /// [`ArkError::Body`].
    pub fn with_body(self, characters: usize) -> Result<Self, ArkError> {
        if !(1..=LONGEST_BODY).contains(&characters) {
            return Err(ArkError::Body { given: characters, longest: LONGEST_BODY });
        }
        Ok(Self { body: characters, ..self })
    }

    /// How many names there are.
    pub fn capacity(&self) -> u128 {
        u128::from(RADIX).saturating_pow(self.body as u32)
    }

    /// A name of 128 random bits, such as those of a random UUID; the bits have to be hard to guess only where the names have to be.
    pub fn random_name(&self, bits: u128) -> Ark {
        self.name_of(bits % self.capacity())
    }

    /// The name of a counter from 0. Names of successive numbers differ at their end only.
    ///
    /// # Errors
    /// [`ArkError::Exhausted`] where the number is not below [`Minter::capacity`].
    pub fn counted_name(&self, number: u128) -> Result<Ark, ArkError> {
        let capacity = self.capacity();
        if number < capacity { Ok(self.name_of(number)) } else { Err(ArkError::Exhausted { number, capacity }) }
    }

    /// Whether a name could be one of this minter: its NAAN, shoulder, length and check character.
    pub fn could_make(&self, ark: &Ark) -> bool {
        let Self { naan, shoulder, body } = self;
        ark.naan() == naan
            && ark.normal_base().len() + "ark:/".len() == ark.normal().len()
            && ark
                .normal_base()
                .strip_prefix(&format!("{naan}/{shoulder}"))
                .is_some_and(|rest| rest.len() == body + 1 && rest.chars().all(|c| ordinal(c).is_some()))
            && crate::is_check_valid(ark)
    }

    fn name_of(&self, number: u128) -> Ark {
        let radix = u128::from(RADIX);
        let mut rest = number;
        let mut body = Vec::with_capacity(self.body);
        for _ in 0..self.body {
            body.push(character_of((rest % radix) as u64));
            rest /= radix;
        }
        let mut name = self.shoulder.to_string();
        name.extend(body.iter().rev());
        name.push(check_character(&format!("{}/{name}", self.naan)));
        Ark::of_parts(&self.naan, &name)
    }
}
