//! Follows one sequence through bytes that come block by block. What is kept between blocks is, for each link, where it
//! may start; every position is inspected a bounded number of times, however the bytes are made.

use std::ops::ControlFlow;

use memchr::memmem;

use super::needle;
use super::reach::{Reach, settle};
use crate::answer::Span;
use crate::pattern::{ByteClass, Gap, Link, Piece};

/// A sequence made ready for matching.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) links: Vec<ChainLink>,
    /// Length of the longest piece.
    pub(crate) longest: usize,
}

/// A gap and the pieces that may follow it.
#[derive(Debug)]
pub(crate) struct ChainLink {
    pub(crate) gap: Gap,
    pub(crate) choices: Vec<Choice>,
    pub(crate) longest: usize,
}

/// A piece and the part of it that is searched for.
#[derive(Debug)]
pub(crate) struct Choice {
    body: Body,
    needle: Option<Needle>,
}

#[derive(Debug)]
enum Body {
    Literal(Box<[u8]>),
    Classes(Box<[ByteClass]>),
}

/// A literal part of a piece.
#[derive(Debug)]
pub(crate) struct Needle {
    /// Where it lies within the piece.
    pub(crate) offset: usize,
    pub(crate) bytes: Box<[u8]>,
}

/// How far a chain has come.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    /// For each link, where it may start: sorted, without overlap.
    reach: Vec<Vec<Reach>>,
}

impl Choice {
    fn new(piece: &Piece) -> Self {
        let literal: Option<Vec<u8>> =
            piece.0.iter().map(|class| if let ByteClass::Is(byte) = class { Some(*byte) } else { None }).collect();
        let body = match literal {
            Some(bytes) => Body::Literal(bytes.into_boxed_slice()),
            None => Body::Classes(piece.0.clone().into_boxed_slice()),
        };
        Self { body, needle: needle::of(piece) }
    }

    pub(crate) fn len(&self) -> usize {
        match &self.body {
            Body::Literal(bytes) => bytes.len(),
            Body::Classes(classes) => classes.len(),
        }
    }

    pub(crate) fn needle(&self) -> Option<&Needle> {
        self.needle.as_ref()
    }

    /// Whether the bytes begin with the piece.
    fn begins(&self, bytes: &[u8]) -> bool {
        match &self.body {
            // Nearly always the first byte says.
            Body::Literal(literal) => bytes.first() == literal.first() && bytes.starts_with(literal),
            Body::Classes(classes) => {
                bytes.len() >= classes.len() && classes.iter().zip(bytes).all(|(class, byte)| class.accepts(*byte))
            }
        }
    }

    /// Reports every start in `from..=to` at which the piece lies in `bytes`, in ascending order.
    pub(crate) fn for_each_start(
        &self,
        bytes: &[u8],
        from: usize,
        to: usize,
        found: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(last) = bytes.len().checked_sub(self.len()) else { return ControlFlow::Continue(()) };
        let to = to.min(last);
        if from > to {
            return ControlFlow::Continue(());
        }
        // A few places are inspected sooner than a search is set up.
        let searched = self.needle.as_ref().filter(|_| to - from >= 64);
        let Some(needle) = searched else {
            for start in from..=to {
                if bytes.get(start..).is_some_and(|rest| self.begins(rest)) {
                    found(start)?;
                }
            }
            return ControlFlow::Continue(());
        };
        let finder = memmem::Finder::new(&needle.bytes);
        let end = to + needle.offset + needle.bytes.len();
        let mut at = from + needle.offset;
        while let Some(hit) = bytes.get(at..end).and_then(|rest| finder.find(rest)) {
            let start = at + hit - needle.offset;
            if bytes.get(start..).is_some_and(|rest| self.begins(rest)) {
                found(start)?;
            }
            at += hit + 1;
        }
        ControlFlow::Continue(())
    }
}

impl ChainLink {
    pub(crate) fn new(link: &Link) -> Self {
        let choices: Vec<Choice> = link.choices.iter().map(Choice::new).collect();
        let longest = choices.iter().map(Choice::len).max().unwrap_or(0);
        Self { gap: link.gap, choices, longest }
    }
}

impl Chain {
    pub(crate) fn new(links: &[Link]) -> Self {
        let links: Vec<ChainLink> = links.iter().map(ChainLink::new).collect();
        let longest = links.iter().map(|link| link.longest).max().unwrap_or(0);
        Self { links, longest }
    }

    /// Whether the first link lies where it may in the first bytes, as far as they tell.
    pub(crate) fn can_begin(&self, first: &[u8], is_whole: bool) -> bool {
        let Some((link, max)) = self.links.first().and_then(|link| Some((link, link.gap.max?))) else { return true };
        if !is_whole && max.saturating_add(link.longest as u64) > first.len() as u64 {
            return true;
        }
        let (from, to) = (within(link.gap.min, 0, first.len()), within(max, 0, first.len()));
        let mut found = |_| ControlFlow::Break(());
        link.choices.iter().any(|choice| choice.for_each_start(first, from, to, &mut found).is_break())
    }

    /// Before the first byte.
    pub(crate) fn start(&self) -> Progress {
        let mut reach = vec![Vec::new(); self.links.len()];
        if let (Some(first), Some(link)) = (reach.first_mut(), self.links.first()) {
            first.push(Reach { from: link.gap.min, to: link.gap.max.unwrap_or(u64::MAX), origin: 0 });
        }
        Progress { reach }
    }

    /// Follows the sequence through a block of bytes at `base`, which must begin at or before the first byte that a piece
    /// begun in the block before could need: blocks overlap by [`Chain::longest`] - 1 bytes. Reports where it matched.
    pub(crate) fn step(&self, progress: &mut Progress, bytes: &[u8], base: u64) -> Option<Span> {
        let end = base.saturating_add(bytes.len() as u64);
        for index in 0..self.links.len() {
            let starts = progress.reach.get(index).filter(|starts| starts.iter().any(|reach| reach.from < end));
            let Some(starts) = starts else { continue };
            let link = self.links.get(index)?;
            let next = self.links.get(index + 1);
            let mut landed: Vec<Reach> = Vec::new();
            for choice in &link.choices {
                for reach in starts {
                    if reach.to < base || reach.from >= end {
                        continue;
                    }
                    let (from, to) = (within(reach.from, base, bytes.len()), within(reach.to, base, bytes.len()));
                    let mut found = |start: usize| {
                        let start = base + start as u64;
                        let behind = start + choice.len() as u64;
                        let origin = if index == 0 { start } else { reach.origin };
                        let Some(next) = next else {
                            landed.push(Reach { from: behind, to: behind, origin });
                            return ControlFlow::Break(());
                        };
                        landed.push(Reach {
                            from: behind.saturating_add(next.gap.min),
                            to: next.gap.max.map_or(u64::MAX, |max| behind.saturating_add(max)),
                            origin,
                        });
                        // Behind an unbounded gap the earliest start allows all that later ones allow.
                        if next.gap.max.is_none() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                    };
                    if choice.for_each_start(bytes, from, to, &mut found).is_break() {
                        break;
                    }
                }
            }
            let Some(next) = next else {
                if let Some(first) = landed.iter().min_by_key(|reach| reach.from) {
                    return Some(Span { offset: first.origin, length: first.from - first.origin });
                }
                continue;
            };
            if landed.is_empty() {
                continue;
            }
            if next.gap.max.is_none() {
                landed.extend(progress.reach.get(index + 1)?.iter().copied());
                let earliest = landed.into_iter().min_by_key(|reach| reach.from)?;
                progress.reach.iter_mut().take(index + 1).for_each(Vec::clear);
                *progress.reach.get_mut(index + 1)? = vec![earliest];
            } else {
                let later = progress.reach.get_mut(index + 1)?;
                later.append(&mut landed);
                settle(later);
            }
        }
        self.pass(progress, end);
        None
    }

    /// Drops the starts before `end`, which were inspected; pieces that reach beyond it are inspected again with the next
    /// block.
    pub(crate) fn pass(&self, progress: &mut Progress, end: u64) {
        for (starts, link) in progress.reach.iter_mut().zip(&self.links) {
            let open_from = (end + 1).saturating_sub(link.longest as u64);
            starts.retain_mut(|reach| {
                reach.from = reach.from.max(open_from);
                reach.from <= reach.to
            });
        }
    }

    /// The links that the next block may advance.
    pub(crate) fn active<'c>(&'c self, progress: &'c Progress) -> impl Iterator<Item = &'c ChainLink> {
        self.links.iter().zip(&progress.reach).filter(|(_, starts)| !starts.is_empty()).map(|(link, _)| link)
    }
}

impl Progress {
    /// Whether no byte to come can make it match. `size` is the number of all bytes, where it is known.
    pub(crate) fn is_over(&self, size: Option<u64>) -> bool {
        let size = size.unwrap_or(u64::MAX);
        self.reach.iter().all(|starts| starts.iter().all(|reach| reach.from >= size))
    }

    /// For each link, whether it is waited for.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = bool> {
        self.reach.iter().map(|starts| !starts.is_empty())
    }
}

/// A position as an index into a block that begins at `base`, cut to the block.
fn within(position: u64, base: u64, length: usize) -> usize {
    usize::try_from(position.saturating_sub(base)).map_or(length, |index| index.min(length))
}
