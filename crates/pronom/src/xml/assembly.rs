//! From the parts that a signature file takes a byte sequence apart into (subsequences, each a pattern with fragments to
//! its left and right) back to one chain of links. What the offsets mean is written at each rule.

use crate::error::PronomError;
use crate::pattern::{Anchor, Chain, Gap, MAX_GAP, Sequence, parse_chain};

/// The patterns of one set come to at most so many bytes; those of PRONOM to less than a twentieth of it.
const MAX_BYTES: usize = 1 << 22;

/// `ByteSequence`
#[derive(Debug)]
pub(super) struct ByteSequence {
    pub(super) reference: Reference,
    /// In the document's order, whatever positions it gives them: container signature files number from 0, 1 or 2, or
    /// not at all.
    pub(super) subsequences: Vec<SubSequence>,
}

/// What a sequence is measured from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    Beginning,
    End,
    Anywhere,
}

/// `SubSequence`
#[derive(Debug, Default)]
pub(super) struct SubSequence {
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
    pub(super) pattern: String,
    pub(super) left: Vec<Fragment>,
    pub(super) right: Vec<Fragment>,
}

/// `LeftFragment` or `RightFragment`; those of one position are alternatives.
#[derive(Debug)]
pub(super) struct Fragment {
    /// 1 is next to the subsequence's pattern.
    pub(super) position: u32,
    /// Bytes between it and what lies next to it on the pattern's side.
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
    pub(super) pattern: String,
}

/// Puts sequences together, and counts what they come to.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    bytes: usize,
}

impl Assembly {
    /// One sequence. `signature` names its signature in errors.
    pub(super) fn sequence(&mut self, signature: &str, parts: &ByteSequence) -> Result<Sequence, PronomError> {
        let fault = |reason: String| PronomError::Inconsistent { what: format!("signature {signature}"), reason };
        let mut whole = Chain::new();
        let last =
            parts.subsequences.len().checked_sub(1).ok_or_else(|| fault("a sequence without a pattern".into()))?;
        for (index, part) in parts.subsequences.iter().enumerate() {
            let chain = subsequence(signature, part)?;
            let min = part.min.unwrap_or_default();
            match parts.reference {
                // The first is measured from the beginning to its leftmost fragment.
                Reference::Beginning if index == 0 => whole.push_gap(anchored(part)),
                // One that may lie anywhere is searched for in the whole file, whatever maximum is given.
                Reference::Anywhere if index == 0 => whole.push_gap(Gap::at_least(min)),
                Reference::Beginning | Reference::Anywhere => whole.push_gap(between(part)),
                Reference::End => {}
            }
            whole.append(chain);
            match parts.reference {
                // The last is measured from the end of its rightmost fragment to the end, the others to the next.
                Reference::End if index == last => whole.push_gap(anchored(part)),
                Reference::End => whole.push_gap(between(part)),
                Reference::Beginning | Reference::Anywhere => {}
            }
        }
        let anchor = match parts.reference {
            Reference::Beginning | Reference::Anywhere => Anchor::Beginning,
            Reference::End => Anchor::End,
        };
        let links = whole.into_links(anchor);
        for link in &links {
            if link.gap.min > MAX_GAP || link.gap.max.is_some_and(|max| max > MAX_GAP) {
                return Err(fault(format!("an offset is larger than {MAX_GAP}")));
            }
            let bytes: usize = link.choices.iter().map(crate::pattern::Piece::len).sum();
            self.bytes = self.bytes.saturating_add(bytes);
        }
        if self.bytes > MAX_BYTES {
            return Err(fault(format!("with it all patterns come to more than {MAX_BYTES} bytes")));
        }
        Ok(Sequence { anchor, links })
    }
}

/// The offset of a subsequence from the beginning or the end. Without a maximum, or with one below the minimum (which
/// stands for none in container signature files), it is fixed.
fn anchored(part: &SubSequence) -> Gap {
    let min = part.min.unwrap_or_default();
    Gap { min, max: Some(part.max.unwrap_or(min).max(min)) }
}

/// The distance of a subsequence from another one. Without a maximum it is open.
fn between(part: &SubSequence) -> Gap {
    let min = part.min.unwrap_or_default();
    Gap { min, max: part.max.map(|max| max.max(min)) }
}

/// The pattern with its fragments on either side.
fn subsequence(signature: &str, part: &SubSequence) -> Result<Chain, PronomError> {
    let mut chain = Chain::new();
    for (gap, fragments) in positions(signature, &part.left)?.into_iter().rev() {
        chain.append(fragments);
        chain.push_gap(gap);
    }
    chain.append(parse_chain(signature, &part.pattern)?);
    for (gap, fragments) in positions(signature, &part.right)? {
        chain.push_gap(gap);
        chain.append(fragments);
    }
    Ok(chain)
}

/// What stands at each position, from the pattern outwards, with the gap on the pattern's side.
fn positions(signature: &str, fragments: &[Fragment]) -> Result<Vec<(Gap, Chain)>, PronomError> {
    let fault = |reason: String| PronomError::Inconsistent { what: format!("signature {signature}"), reason };
    let mut sorted: Vec<&Fragment> = fragments.iter().collect();
    sorted.sort_by_key(|fragment| fragment.position);
    let mut positions = Vec::new();
    for alternatives in sorted.chunk_by(|one, other| one.position == other.position) {
        let [first, rest @ ..] = alternatives else { continue };
        let position = first.position;
        if rest.iter().any(|other| (other.min, other.max) != (first.min, first.max)) {
            return Err(fault(format!("fragments of position {position} have different offsets")));
        }
        let min = first.min.unwrap_or_default();
        if first.max.is_some_and(|max| max < min) {
            return Err(fault(format!("a fragment of position {position} has a maximum offset below its minimum")));
        }
        let mut chain = parse_chain(signature, &first.pattern)?;
        if !rest.is_empty() {
            let mut choices = Vec::new();
            for fragment in alternatives {
                let pieces = parse_chain(signature, &fragment.pattern)?.into_choices().ok_or_else(|| {
                    fault(format!("one of several fragments of position {position} holds a variable gap, a long one, or too many alternatives of its own"))
                })?;
                choices.extend(pieces);
            }
            chain = Chain::new();
            chain.push_choices(choices);
        }
        positions.push((Gap { min, max: first.max }, chain));
    }
    Ok(positions)
}
