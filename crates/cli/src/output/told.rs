//! Long reasons that a command has told once, such as why a store cannot be used: what it says after that leaves them out. Scripts
//! read every answer by itself, so that JSON always has them.

use std::sync::{Mutex, PoisonError};

static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A reason was told, and its next repetition says nothing new.
pub(crate) fn note_told(reason: &str) {
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if !reason.is_empty() && !told.iter().any(|known| known == reason) {
        told.push(reason.to_owned());
    }
}

/// A text without the reasons behind colons that were told already.
pub(crate) fn without_told(text: &str) -> String {
    let told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    told.iter().fold(text.to_owned(), |text, reason| text.replace(&format!(": {reason}"), ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_that_was_told_is_left_out() {
        let text = "store first is away, so nothing in it was checked: the folder of a test is not there";
        assert_eq!(without_told(text), text);
        note_told("the folder of a test is not there");
        assert_eq!(without_told(text), "store first is away, so nothing in it was checked");
        assert_eq!(without_told("the folder of a test is not there"), "the folder of a test is not there");
    }
}
