//! What a cursor has passed within a file or an answer, by its content: the number of records alone does not say where they end once the content
//! is another.

use serde::{Deserialize, Serialize};
use strongroom_digest::{Algorithm, MultiHasher};

/// Whatever was passed, in order, as a digest: that of each part follows from the one before it. Empty where nothing was passed, and in a cursor that
/// was stored before there was such a digest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Passed(String);

impl Passed {
    /// Goes behind a part, which is given in pieces.
    pub(crate) fn pass(&mut self, pieces: &[&[u8]]) {
        let mut hasher = MultiHasher::new(&[Algorithm::Sha256]);
        hasher.update(self.0.as_bytes());
        for piece in pieces {
            hasher.update(&(piece.len() as u64).to_be_bytes());
            hasher.update(piece);
        }
        self.0 = hasher.finish().get(Algorithm::Sha256).map(|digest| digest.to_hex()).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_passed_differs_by_content_order_and_bounds() {
        let passed = |parts: &[&[&str]]| {
            let mut passed = Passed::default();
            for part in parts {
                let pieces: Vec<&[u8]> = part.iter().map(|piece| piece.as_bytes()).collect();
                passed.pass(&pieces);
            }
            passed
        };
        let all = [
            passed(&[]),
            passed(&[&[]]),
            passed(&[&["a"], &["b"]]),
            passed(&[&["b"], &["a"]]),
            passed(&[&["a", "b"]]),
            passed(&[&["ab"]]),
            passed(&[&["a"]]),
        ];
        for (place, one) in all.iter().enumerate() {
            assert!(all.iter().skip(place + 1).all(|other| other != one), "{all:?}");
        }
        assert_eq!(passed(&[&["a"], &["b"]]), passed(&[&["a"], &["b"]]));
    }
}
