//! Levels of preservation: what the NDSA Levels of Digital Preservation 2.0 and CoreTrustSeal ask, and what this installation can show for it.
//!
//! `ndsa` is the table of requirements, and `seal` that of CoreTrustSeal, which refers to its rows. A verdict follows from `facts`: the
//! registry, the settings and the stores as they are now. That the program has a function is no reason for a verdict. What is not known is
//! `unknown`, and what software cannot know is `for people`.

mod content;
mod control;
mod facts;
mod integrity;
pub(crate) mod ndsa;
pub(crate) mod seal;
mod storage;

use serde::Serialize;

pub(crate) use facts::{Facts, Source};

/// Whether a requirement is met here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Verdict {
    /// It is met.
    #[serde(rename = "met")]
    Met,
    /// Software cannot answer it.
    #[serde(rename = "for people")]
    ForPeople,
    /// It is not known, because a store is away, nothing is kept, or the settings do not say it.
    #[serde(rename = "unknown")]
    Unknown,
    /// It is not met.
    #[serde(rename = "not met")]
    NotMet,
}

/// A verdict with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) verdict: Verdict,
    pub(crate) evidence: String,
}

impl Answer {
    fn met(evidence: impl Into<String>) -> Self {
        Self { verdict: Verdict::Met, evidence: evidence.into() }
    }

    fn not_met(evidence: impl Into<String>) -> Self {
        Self { verdict: Verdict::NotMet, evidence: evidence.into() }
    }

    fn unknown(evidence: impl Into<String>) -> Self {
        Self { verdict: Verdict::Unknown, evidence: evidence.into() }
    }

    fn for_people(evidence: impl Into<String>) -> Self {
        Self { verdict: Verdict::ForPeople, evidence: evidence.into() }
    }

    /// The worse one of two, where both are needed.
    fn and(self, other: impl FnOnce() -> Self) -> Self {
        if self.verdict != Verdict::Met {
            return self;
        }
        let Self { verdict, evidence } = other();
        match verdict {
            Verdict::Met => Self { verdict, evidence: format!("{}; {evidence}", self.evidence) },
            _ => Self { verdict, evidence },
        }
    }
}

/// What a requirement is answered by.
pub(crate) type Evidence = fn(&Facts) -> Answer;
