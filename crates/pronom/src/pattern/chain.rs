//! Links as they are put together, in file order: adjoining pieces become one, so that there are few of them and their
//! runs of bytes are long. What is joined matches the same bytes at the same places as before.

use std::collections::HashSet;

use super::{Anchor, ByteClass, Gap, Link, Piece};

/// A joined link has at most so many choices.
const MAX_CHOICES: usize = 64;
/// A joined piece has at most so many bytes.
const MAX_PIECE: usize = 256;
/// A fixed gap of at most so many bytes may lie within a piece.
const MAX_INNER_GAP: u64 = 16;
/// Once a chain's pieces come to so many bytes, choices are multiplied no more: a hostile pattern must not grow.
const MAX_MULTIPLIED: usize = 1 << 16;

/// Links in file order, with the gap behind the last of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    links: Vec<Link>,
    trailing: Gap,
    /// Bytes of all pieces.
    bytes: usize,
}

impl Chain {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self { links: Vec::new(), trailing: Gap::exactly(0), bytes: 0 }
    }

    /// Links and the gap behind them, as they are.
    pub(crate) fn into_parts(self) -> (Vec<Link>, Gap) {
        (self.links, self.trailing)
    }

    /// Whether there is nothing in it but gaps.
    pub(crate) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Passes over bytes.
    pub(crate) fn push_gap(&mut self, gap: Gap) {
        self.trailing = self.trailing.followed_by(gap);
    }

    /// Adds one byte. Any byte at all is a gap until it is known what follows.
    pub(crate) fn push_byte(&mut self, class: ByteClass) {
        match class {
            ByteClass::Any => self.push_gap(Gap::exactly(1)),
            class => self.push_link(vec![Piece(vec![class])]),
        }
    }

    /// Adds alternatives, each of them not empty.
    pub(crate) fn push_choices(&mut self, choices: Vec<Piece>) {
        let mut choices = distinct(choices);
        if choices.len() > 1 {
            return self.push_link(choices);
        }
        for class in choices.pop().into_iter().flat_map(|piece| piece.0) {
            self.push_byte(class);
        }
    }

    /// Adds what comes right behind.
    pub(crate) fn append(&mut self, other: Self) {
        for link in other.links {
            self.push_gap(link.gap);
            self.push_choices(link.choices);
        }
        self.push_gap(other.trailing);
    }

    /// The chain as one of several alternatives: runs of bytes without gaps, but for short fixed ones. `None` where it is
    /// none, or would come to too many.
    pub(crate) fn into_choices(self) -> Option<Vec<Piece>> {
        let mut choices = vec![Piece(Vec::new())];
        for link in &self.links {
            let is_multiplied = choices.len() > 1 && link.choices.len() > 1;
            if is_multiplied && choices.len().saturating_mul(link.choices.len()) > MAX_CHOICES {
                return None;
            }
            join(&mut choices, inner_gap(link.gap)?, &link.choices);
        }
        let behind = inner_gap(self.trailing)?;
        for piece in &mut choices {
            piece.0.extend(std::iter::repeat_n(ByteClass::Any, behind));
        }
        Some(choices)
    }

    /// Links in the order in which they lie away from an anchor.
    pub(crate) fn into_links(self, anchor: Anchor) -> Vec<Link> {
        let (mut links, outermost) = match anchor {
            Anchor::Beginning => (self.links, self.trailing),
            Anchor::End => {
                let mut gap = self.trailing;
                let backwards = self.links.into_iter().rev();
                let links = backwards.map(|link| Link { gap: std::mem::replace(&mut gap, link.gap), ..link }).collect();
                (links, gap)
            }
        };
        links.extend(remainder(outermost));
        links
    }

    fn push_link(&mut self, choices: Vec<Piece>) {
        let gap = std::mem::replace(&mut self.trailing, Gap::exactly(0));
        let room = self.bytes < MAX_MULTIPLIED;
        let joined = self.links.last_mut().and_then(|last| Some((joinable(last, gap, &choices, room)?, last)));
        let Some((inner, last)) = joined else {
            self.bytes = self.bytes.saturating_add(total(&choices));
            self.links.push(Link { gap, choices });
            return;
        };
        let before = total(&last.choices);
        join(&mut last.choices, inner, &choices);
        self.bytes = self.bytes.saturating_sub(before).saturating_add(total(&last.choices));
    }
}

/// How many bytes lie between a link and what follows it, where both can become one.
fn joinable(last: &Link, gap: Gap, choices: &[Piece], room: bool) -> Option<usize> {
    let inner = inner_gap(gap)?;
    let is_plain = last.choices.len() == 1 && choices.len() == 1;
    // A gap within makes no run longer, so nothing is gained by multiplying choices around one.
    let is_wanted = is_plain || (inner == 0 && room && last.choices.len().saturating_mul(choices.len()) <= MAX_CHOICES);
    let length = longest(&last.choices).saturating_add(inner).saturating_add(longest(choices));
    (is_wanted && length <= MAX_PIECE).then_some(inner)
}

/// Puts each of the choices behind each of those that stand already.
fn join(last: &mut Vec<Piece>, inner: usize, choices: &[Piece]) {
    if let [only] = choices {
        for piece in last {
            piece.0.extend(std::iter::repeat_n(ByteClass::Any, inner));
            piece.0.extend_from_slice(&only.0);
        }
        return;
    }
    let joined = last.iter().flat_map(|head| {
        choices.iter().map(move |tail| {
            let mut piece = head.clone();
            piece.0.extend(std::iter::repeat_n(ByteClass::Any, inner));
            piece.0.extend_from_slice(&tail.0);
            piece
        })
    });
    *last = distinct(joined.collect());
}

/// The length of a gap that may lie within a piece.
fn inner_gap(gap: Gap) -> Option<usize> {
    let is_short = gap.max == Some(gap.min) && gap.min <= MAX_INNER_GAP;
    is_short.then(|| usize::try_from(gap.min).ok()).flatten()
}

/// What asks for the bytes of a gap that nothing follows: one of any value behind the others.
fn remainder(gap: Gap) -> Option<Link> {
    let min = gap.min.checked_sub(1)?;
    let gap = Gap { min, max: gap.max.map(|max| max.saturating_sub(1)) };
    Some(Link { gap, choices: vec![Piece(vec![ByteClass::Any])] })
}

/// Each piece once, in the order of their first appearance.
fn distinct(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut seen = HashSet::with_capacity(pieces.len());
    let is_first: Vec<bool> = pieces.iter().map(|piece| seen.insert(piece)).collect();
    pieces.into_iter().zip(is_first).filter_map(|(piece, is_first)| is_first.then_some(piece)).collect()
}

fn longest(pieces: &[Piece]) -> usize {
    pieces.iter().map(Piece::len).max().unwrap_or_default()
}

fn total(pieces: &[Piece]) -> usize {
    pieces.iter().map(Piece::len).sum()
}

#[cfg(test)]
mod tests;
