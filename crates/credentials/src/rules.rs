//! Which passwords may be chosen: by length, and by how easily they are guessed.
//!
//! NIST SP 800-63B-4, section 3.1.1.2, asks for a least length and for a comparison with a list of common, expected or
//! compromised passwords, and forbids rules of composition ("a digit and a capital letter"). The list is that of the crate `zxcvbn`:
//! 30,000 common passwords, with English words and names, and their usual variants: repeated, reversed, with digits
//! appended or letters replaced, rows of keys, dates. The words of the context are part of it.

use zeroize::Zeroizing;
use zxcvbn::feedback::{Feedback, Warning};
use zxcvbn::zxcvbn;

use crate::error::CredentialError;
use crate::password::Password;

/// What a password is used for. It decides how long one has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordUse {
    /// The password alone opens the account: at least 15 characters (NIST SP 800-63B-4, section 3.1.1.2).
    Alone,
    /// A second factor is required as well: at least 12 characters. The standard allows 8; hashes that leak are tried without
    /// the second factor, and the same password may protect something else.
    WithSecondFactor,
}

impl PasswordUse {
    /// The fewest characters that a password has.
    pub const fn shortest(self) -> usize {
        match self {
            Self::Alone => 15,
            Self::WithSecondFactor => 12,
        }
    }
}

/// Words that an attacker would try for this user: the address, the name, the institution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PasswordContext {
    words: Vec<String>,
}

impl PasswordContext {
    /// Words that are shorter are parts of too many other words.
    const SHORTEST_WORD: usize = 3;
    /// More are not compared: texts may come from outside, and each costs work.
    const MOST_WORDS: usize = 64;

    /// A context of texts such as the address of the user and the name of the institution. Each is compared as a whole and
    /// by its words. The name of this program is always part of it.
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut words = vec!["strongroom".to_owned()];
        for text in texts {
            let parts = text.split(|character: char| !character.is_alphanumeric());
            for word in std::iter::once(text).chain(text.split('@')).chain(parts) {
                let word = word.to_lowercase();
                let is_long = word.chars().count() >= Self::SHORTEST_WORD;
                if is_long && words.len() < Self::MOST_WORDS && !words.contains(&word) {
                    words.push(word);
                }
            }
        }
        // The longest first: a word is looked for before its parts are.
        words.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
        Self { words }
    }

    /// How many letters and digits of a text are not part of these words.
    fn letters_of_others(&self, text: &str) -> usize {
        let mut rest = Zeroizing::new(text.to_lowercase());
        for word in &self.words {
            // A space takes its place, so that what was around it does not become another word.
            rest = Zeroizing::new(rest.replace(word, " "));
        }
        rest.chars().filter(|character| character.is_alphanumeric()).count()
    }
}

/// A password that may be chosen. It is made by [`Password::accept`] alone, so that no other gets a hash.
#[derive(Debug)]
pub struct AcceptedPassword(Password);

impl AcceptedPassword {
    pub(crate) fn password(&self) -> &Password {
        &self.0
    }

    /// Whether it is too short to be used without a second factor.
    pub fn needs_second_factor(&self) -> bool {
        self.0.characters() < PasswordUse::Alone.shortest()
    }
}

/// The fewest guesses, as a power of ten, that a password has to withstand. It is the limit of `zxcvbn` for what withstands
/// an attacker who has the hash, where the hash is slow.
const FEWEST_GUESSES: f64 = 10.0;
/// Characters that are compared. The work grows with their square, and a text of nothing but characters that may stand for letters
/// costs hundreds of times more than any other: a second for 100 characters, the limit of `zxcvbn` itself.
const MOST_COMPARED: usize = 64;
/// The fewest letters and digits beside the words of the context. `zxcvbn` counts the words as known, but takes each
/// character between them for hard to guess.
const FEWEST_OTHERS: usize = 6;
/// What is said of a password that consists of words of the context.
const OF_CONTEXT: &str = "it consists of words of the address, the institution or this program";

impl Password {
    /// Checks that the password may be chosen.
    ///
    /// Of a password with more than 64 characters, only the first 64 are compared with common ones, which bounds the work.
    pub fn accept(self, usage: PasswordUse, context: &PasswordContext) -> Result<AcceptedPassword, CredentialError> {
        let (characters, least) = (self.characters(), usage.shortest());
        if characters < least {
            return Err(CredentialError::TooShort { characters, least });
        }
        if context.letters_of_others(self.text()) < FEWEST_OTHERS {
            return Err(CredentialError::Common { reason: OF_CONTEXT });
        }
        let words: Vec<&str> = context.words.iter().map(String::as_str).collect();
        let end = self.text().char_indices().nth(MOST_COMPARED).map_or(self.text().len(), |(end, _)| end);
        let estimate = zxcvbn(self.text().get(..end).unwrap_or_default(), &words);
        if estimate.guesses_log10() < FEWEST_GUESSES {
            let warning = estimate.feedback().and_then(Feedback::warning);
            return Err(CredentialError::Common { reason: reason(warning) });
        }
        Ok(AcceptedPassword(self))
    }
}

/// By what a password is guessed, in the words of this project.
fn reason(warning: Option<Warning>) -> &'static str {
    match warning {
        Some(
            Warning::ThisIsATop10Password
            | Warning::ThisIsATop100Password
            | Warning::ThisIsACommonPassword
            | Warning::ThisIsSimilarToACommonlyUsedPassword,
        ) => "it is a common password, or similar to one",
        Some(Warning::StraightRowsOfKeysAreEasyToGuess | Warning::ShortKeyboardPatternsAreEasyToGuess) => {
            "it is a pattern of keys"
        }
        Some(Warning::RepeatsLikeAaaAreEasyToGuess | Warning::RepeatsLikeAbcAbcAreOnlySlightlyHarderToGuess) => {
            "it repeats the same characters"
        }
        Some(Warning::SequencesLikeAbcAreEasyToGuess) => "it is a sequence such as \"abc\" or \"6543\"",
        Some(Warning::RecentYearsAreEasyToGuess | Warning::DatesAreOftenEasyToGuess) => "it has a year or a date",
        Some(Warning::NamesAndSurnamesByThemselvesAreEasyToGuess | Warning::CommonNamesAndSurnamesAreEasyToGuess) => {
            "it is a common name"
        }
        Some(Warning::AWordByItselfIsEasyToGuess) => "it is one word",
        None => "it consists of common words, names or dates, or of words of the address or the institution",
    }
}
