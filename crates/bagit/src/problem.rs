//! Problems and verdicts: what a check of a bag says, in a form that people and scripts can rely on.

use serde::{Deserialize, Serialize};

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The bag breaks a rule that binds.
    Error,
    /// The bag is acceptable, but something deserves a look.
    Warning,
}

/// One problem of a bag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// A stable dotted word such as `manifest.digest_mismatch`; all are listed in [`crate::CODES`].
    pub code: String,
    /// The tag file or manifest in which it was found, relative to the bag.
    pub file: Option<String>,
    /// The path it is about, relative to the bag.
    pub path: Option<String>,
    /// The line in `file`, from 1.
    pub line: Option<u64>,
    /// What is wrong, with the values seen, and where useful what to do.
    pub message: String,
}

/// Most bytes of each text of a problem that is kept.
const LONGEST_TEXT: usize = 4_096;

impl Problem {
    /// The same with texts of bounded length; what is cut off ends in an ellipsis.
    pub(crate) fn clipped(mut self) -> Self {
        for text in [&mut self.file, &mut self.path].into_iter().flatten().chain([&mut self.message]) {
            if text.len() > LONGEST_TEXT {
                let end = (0..=LONGEST_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
                text.truncate(end);
                text.push('…');
                text.shrink_to_fit();
            }
        }
        self
    }

    /// Bytes that the problem takes as JSON, roughly.
    pub(crate) fn cost(&self) -> usize {
        let escaped = |text: &str| -> usize {
            text.bytes()
                .map(|byte| match byte {
                    0..=0x1f => 6,
                    b'"' | b'\\' => 2,
                    _ => 1,
                })
                .sum()
        };
        let texts = [self.file.as_deref(), self.path.as_deref(), Some(&self.message)];
        120 + texts.into_iter().flatten().map(escaped).sum::<usize>()
    }
}

/// How many problems of one code were found and are not listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unlisted {
    /// How bad they are.
    pub severity: Severity,
    /// Their code.
    pub code: String,
    /// How many.
    pub count: u64,
}

/// What a check concludes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Complete, every digest right, every rule kept.
    Valid,
    /// Valid, with warnings.
    ValidWithWarnings,
    /// Only files are missing (such as those that `fetch.txt` still names); nothing is wrong with what is there.
    Incomplete,
    /// A rule is broken.
    Invalid,
    /// Not a bag at all.
    NotABag,
    /// A bag of a version, algorithm or encoding that is not known here.
    Unsupported,
}
