//! Literal parts of pieces by which it is seen quickly that a piece is not there, and sets of them that are looked for
//! together.

use aho_corasick::packed::{self, Searcher};
use aho_corasick::{AhoCorasick, Span};
use memchr::memmem;

use super::chain::Needle;
use crate::pattern::{ByteClass, Piece};

/// Needles are no longer than this: more makes a search no faster.
const LONGEST: usize = 12;
/// After so many finds in one block a set says that all its needles may be there.
const PATIENCE: usize = 256;

/// The best literal part of a piece; `None` where it has none.
pub(super) fn of(piece: &Piece) -> Option<Needle> {
    let mut best: Option<(u32, usize, usize)> = None;
    let (mut run, mut score) = (0, 0);
    for (index, class) in piece.0.iter().enumerate() {
        let ByteClass::Is(byte) = class else {
            (run, score) = (0, 0);
            continue;
        };
        run += 1;
        score += rarity(*byte);
        if run > LONGEST
            && let Some(ByteClass::Is(left)) = piece.0.get(index - LONGEST)
        {
            score -= rarity(*left);
        }
        if best.is_none_or(|(known, ..)| score > known) {
            let length = run.min(LONGEST);
            best = Some((score, index + 1 - length, length));
        }
    }
    let (_, offset, length) = best?;
    let literal = |class: &ByteClass| if let ByteClass::Is(byte) = class { Some(*byte) } else { None };
    let bytes: Option<Vec<u8>> = piece.0.get(offset..offset + length)?.iter().map(literal).collect();
    Some(Needle { offset, bytes: bytes?.into_boxed_slice() })
}

/// How much a byte says: padding says little, letters more, the rest most.
const fn rarity(byte: u8) -> u32 {
    match byte {
        0x00 | 0xFF => 1,
        b' ' | b'\n' | b'\r' | b'0' => 4,
        b'a'..=b'z' => 6,
        b'A'..=b'Z' | b'1'..=b'9' => 7,
        _ => 8,
    }
}

/// Literals that are looked for together. Who asks for one is a number, its owner.
#[derive(Debug)]
pub(crate) struct NeedleSet {
    search: Search,
    /// Owners of each needle that is searched for.
    owners: Vec<Vec<u32>>,
    count: usize,
}

#[derive(Debug)]
enum Search {
    Nothing,
    /// Not searched: any of them may be there.
    Unknown,
    One(Box<memmem::Finder<'static>>),
    Packed(Box<Searcher>),
    Automaton(Box<AhoCorasick>),
}

impl NeedleSet {
    /// Makes a set; `count` is one more than the highest owner.
    pub(crate) fn new(mut needles: Vec<(Vec<u8>, u32)>, count: usize) -> Self {
        needles.sort();
        let mut distinct: Vec<Vec<u8>> = Vec::new();
        let mut owners: Vec<Vec<u32>> = Vec::new();
        for (needle, owner) in needles {
            // Where one needle begins another, finding the shorter says that the longer may be there.
            match (distinct.last(), owners.last_mut()) {
                (Some(known), Some(asking)) if needle.starts_with(known) => asking.push(owner),
                _ => {
                    distinct.push(needle);
                    owners.push(vec![owner]);
                }
            }
        }
        Self { search: Search::new(&distinct), owners, count }
    }

    /// Reports, owner by owner, whether one of its needles may be in the bytes.
    pub(crate) fn present(&self, bytes: &[u8]) -> Vec<bool> {
        let mut present = vec![false; self.count];
        let mut mark = |needle: usize| {
            for owner in self.owners.get(needle).into_iter().flatten() {
                if let Some(owner) = present.get_mut(*owner as usize) {
                    *owner = true;
                }
            }
        };
        match &self.search {
            Search::Nothing => {}
            Search::Unknown => present.fill(true),
            Search::One(finder) => {
                if finder.find(bytes).is_some() {
                    mark(0);
                }
            }
            Search::Packed(searcher) => {
                let (mut at, mut finds) = (0, 0);
                while let Some(found) = searcher.find_in(bytes, Span { start: at, end: bytes.len() }) {
                    mark(found.pattern().as_usize());
                    at = found.start() + 1;
                    finds += 1;
                    if finds > PATIENCE {
                        return vec![true; self.count];
                    }
                }
            }
            Search::Automaton(automaton) => {
                for (finds, found) in automaton.find_overlapping_iter(bytes).enumerate() {
                    mark(found.pattern().as_usize());
                    if finds > PATIENCE {
                        return vec![true; self.count];
                    }
                }
            }
        }
        present
    }
}

impl Search {
    fn new(needles: &[Vec<u8>]) -> Self {
        if needles.is_empty() {
            return Self::Nothing;
        }
        if let [only] = needles {
            return Self::One(Box::new(memmem::Finder::new(only).into_owned()));
        }
        let packed = (needles.len() <= 64)
            .then(|| {
                packed::Config::new().match_kind(packed::MatchKind::LeftmostFirst).builder().extend(needles).build()
            })
            .flatten();
        if let Some(searcher) = packed {
            return Self::Packed(Box::new(searcher));
        }
        match AhoCorasick::new(needles) {
            Ok(automaton) => Self::Automaton(Box::new(automaton)),
            // More needles than an automaton can hold.
            Err(_) => Self::Unknown,
        }
    }
}
