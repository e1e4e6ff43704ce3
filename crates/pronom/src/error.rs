//! What can go wrong with signature files. Trouble with the files that are identified is no error but a warning of the
//! answer, or the reader's own I/O error.

/// Why a signature file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum PronomError {
    /// The XML is not well-formed, or not what DROID writes.
    #[error("{what}: {reason}, at byte {position}")]
    Xml {
        /// Which file or element.
        what: String,
        /// Why.
        reason: String,
        /// Offset of the trouble within the document.
        position: u64,
    },
    /// A pattern does not follow the signature syntax.
    #[error("signature {signature}: pattern {pattern:?}: {reason}, at character {position}")]
    Pattern {
        /// The signature's id, with the kind where it helps ("container signature 1000").
        signature: String,
        /// The pattern, cut where it is long.
        pattern: String,
        /// Why.
        reason: String,
        /// Index of the character that is wrong, from 0.
        position: usize,
    },
    /// The parts of a signature file contradict each other.
    #[error("{what}: {reason}")]
    Inconsistent {
        /// Which signature or format.
        what: String,
        /// Why.
        reason: String,
    },
    /// A compiled signature file is damaged or of another version.
    #[error("compiled signatures: {reason}")]
    Compiled {
        /// Why, and what to do.
        reason: String,
    },
}
