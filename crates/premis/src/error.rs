//! Everything that can go wrong while a document is written.

/// Why a document could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PremisError {
    /// The output refused bytes.
    #[error("cannot write the premis document")]
    Output(#[from] std::io::Error),
    /// The schema wants objects, then events, then agents.
    #[error("a premis {late} cannot follow a premis {earlier}")]
    Order {
        /// What was to be written.
        late: &'static str,
        /// What has already been written and comes after it.
        earlier: &'static str,
    },
    /// The schema wants at least one object.
    #[error("a premis document needs at least one object")]
    NoObject,
}
