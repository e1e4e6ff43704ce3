//! In which order records are listed.

/// By their making.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The oldest first.
    #[default]
    OldestFirst,
    /// The newest first.
    NewestFirst,
}

impl Order {
    /// The opposite order.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::OldestFirst => Self::NewestFirst,
            Self::NewestFirst => Self::OldestFirst,
        }
    }
}
