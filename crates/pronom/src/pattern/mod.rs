//! Signatures as what they are once read: a chain of fixed-length pieces with gaps between them. Every part of the syntax
//! (fragments, alternatives, wildcards, subsequences) comes down to this.

mod chain;
mod syntax;

use serde::{Deserialize, Serialize};

pub(crate) use chain::Chain;
pub(crate) use syntax::parse_chain;
pub use syntax::parse_pattern;

/// No gap is longer, one tebibyte: a larger number is a mistake, and sums of these do not overflow.
pub(crate) const MAX_GAP: u64 = 1 << 40;

/// Where a sequence is measured from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Anchor {
    /// From the first byte. A variable sequence is one whose first gap has no upper bound.
    Beginning,
    /// From behind the last byte, backwards.
    End,
}

/// A number of bytes that are passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// At least so many.
    pub min: u64,
    /// At most so many; any number where absent.
    pub max: Option<u64>,
}

/// One byte sequence of a signature: links that follow each other, away from the anchor.
///
/// With [`Anchor::End`] the first link is the one nearest to the end of the file, and each gap lies between a piece's end
/// and the start of the piece behind it (or the end of the file). The bytes within a piece are always in file order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    /// Where it is measured from.
    pub anchor: Anchor,
    /// Never empty.
    pub links: Vec<Link>,
}

/// A gap and what comes after it, one of several pieces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Measured from the anchor or from the link before.
    pub gap: Gap,
    /// Never empty; none of them empty.
    pub choices: Vec<Piece>,
}

/// A run of bytes of fixed length.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Piece(pub Vec<ByteClass>);

/// What one byte may be.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ByteClass {
    /// This byte.
    Is(u8),
    /// Any byte.
    Any,
    /// One of several.
    In(ByteSet),
}

/// A set of byte values, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ByteSet([u64; 4]);

impl Gap {
    /// Exactly so many bytes.
    pub const fn exactly(bytes: u64) -> Self {
        Self { min: bytes, max: Some(bytes) }
    }

    /// At least so many bytes.
    pub const fn at_least(bytes: u64) -> Self {
        Self { min: bytes, max: None }
    }

    /// This gap and another one right behind it, as one.
    #[must_use]
    pub(crate) fn followed_by(self, next: Self) -> Self {
        let max = self.max.zip(next.max).map(|(max, next)| max.saturating_add(next));
        Self { min: self.min.saturating_add(next.min), max }
    }
}

impl ByteClass {
    /// Whether it may be this byte.
    #[inline]
    pub const fn accepts(&self, byte: u8) -> bool {
        match self {
            Self::Is(value) => *value == byte,
            Self::Any => true,
            Self::In(set) => set.contains(byte),
        }
    }
}

impl ByteSet {
    /// Adds a byte.
    pub const fn insert(&mut self, byte: u8) {
        self.0[(byte >> 6) as usize] |= 1 << (byte & 63);
    }

    /// Whether the byte is in it.
    #[inline]
    pub const fn contains(&self, byte: u8) -> bool {
        self.0[(byte >> 6) as usize] >> (byte & 63) & 1 == 1
    }

    /// All bytes that are not in it.
    #[must_use]
    pub const fn inverted(self) -> Self {
        Self([!self.0[0], !self.0[1], !self.0[2], !self.0[3]])
    }

    /// How many bytes are in it.
    pub const fn len(&self) -> u32 {
        self.0[0].count_ones() + self.0[1].count_ones() + self.0[2].count_ones() + self.0[3].count_ones()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All bytes of the set.
    pub fn iter(&self) -> impl Iterator<Item = u8> + '_ {
        (0..=u8::MAX).filter(|byte| self.contains(*byte))
    }
}

impl Piece {
    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has no bytes; such a piece never stands in a [`Link`].
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
