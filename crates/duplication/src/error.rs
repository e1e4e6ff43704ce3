//! Why a kept policy cannot be used.

/// Why a kept policy cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DuplicationError {
    /// The kept text is none of a policy.
    #[error("the text of the policy cannot be read")]
    Unreadable(#[source] serde_json::Error),
}
