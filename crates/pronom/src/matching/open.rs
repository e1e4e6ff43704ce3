//! Patterns that are not decided yet, taken together through bytes that pass by once, and through their end.

use super::chain::{Chain, ChainLink, Progress};
use super::needle::NeedleSet;
use super::tail::Tail;
use crate::answer::Span;
use crate::pattern::{Anchor, Sequence};

/// Sequences that must all match, made ready.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// From the beginning, the narrowest first.
    pub(crate) forward: Vec<Chain>,
    /// From the end, the nearest first.
    pub(crate) backward: Vec<Tail>,
}

impl Pattern {
    pub(crate) fn new(sequences: &[Sequence]) -> Self {
        let anchored = |anchor| sequences.iter().filter(move |sequence| sequence.anchor == anchor);
        let mut forward: Vec<Chain> = anchored(Anchor::Beginning).map(|sequence| Chain::new(&sequence.links)).collect();
        forward.sort_by_key(|chain| chain.links.first().map(|link| link.gap.max.unwrap_or(u64::MAX) - link.gap.min));
        let mut backward: Vec<Tail> = anchored(Anchor::End).map(|sequence| Tail::new(&sequence.links)).collect();
        backward.sort_by_key(|tail| tail.depth);
        Self { forward, backward }
    }

    /// Whether it may match something with these first bytes: a look that costs less than to begin to follow it.
    pub(crate) fn can_begin(&self, first: &[u8], is_whole: bool) -> bool {
        self.forward.iter().all(|chain| chain.can_begin(first, is_whole))
    }

    /// Whether it may match something that is all here: its sequence nearest to the end does.
    pub(crate) fn can_end(&self, bytes: &[u8]) -> bool {
        self.backward.first().is_none_or(|tail| tail.find(bytes, bytes.len() as u64).is_some())
    }

    fn longest(&self) -> usize {
        let far = self.backward.iter().filter_map(|tail| tail.far.as_ref()).map(|(chain, _)| chain);
        self.forward.iter().chain(far).map(|chain| chain.longest).max().unwrap_or(0)
    }

    /// How far from the end it looks.
    pub(crate) fn depth(&self) -> u64 {
        self.backward.iter().map(|tail| tail.depth).max().unwrap_or(0)
    }
}

/// A pattern on its way.
#[derive(Debug)]
pub(crate) struct Open<'p> {
    /// What the owner knows it by.
    pub(crate) id: u32,
    pattern: &'p Pattern,
    forward: Vec<Way>,
    /// The parts of sequences from the end that lie before an unbounded gap.
    far: Vec<Option<Way>>,
    backward: Vec<Option<Span>>,
}

#[derive(Debug)]
enum Way {
    Going(Progress),
    Found(Span),
}

impl Way {
    fn step(&mut self, chain: &Chain, bytes: &[u8], base: u64) {
        if let Self::Going(progress) = self
            && let Some(span) = chain.step(progress, bytes, base)
        {
            *self = Self::Found(span);
        }
    }

    fn is_over(&self, size: Option<u64>) -> bool {
        matches!(self, Self::Going(progress) if progress.is_over(size))
    }

    fn span(&self) -> Option<Span> {
        if let Self::Found(span) = self { Some(*span) } else { None }
    }
}

impl<'p> Open<'p> {
    pub(crate) fn new(id: u32, pattern: &'p Pattern) -> Self {
        let way = |chain: &Chain| Way::Going(chain.start());
        Self {
            id,
            pattern,
            forward: pattern.forward.iter().map(way).collect(),
            far: pattern.backward.iter().map(|tail| tail.far.as_ref().map(|(chain, _)| way(chain))).collect(),
            backward: vec![None; pattern.backward.len()],
        }
    }

    fn ways(&mut self) -> impl Iterator<Item = (&mut Way, &'p Chain)> {
        let far = self.far.iter_mut().zip(&self.pattern.backward);
        let far = far.filter_map(|(way, tail)| Some((way.as_mut()?, &tail.far.as_ref()?.0)));
        self.forward.iter_mut().zip(&self.pattern.forward).chain(far)
    }

    /// Goes on through a block; see [`Chain::step`]. Says whether it may still match something of `size` bytes.
    pub(crate) fn step(&mut self, bytes: &[u8], base: u64, size: Option<u64>) -> bool {
        for (way, chain) in self.ways() {
            way.step(chain, bytes, base);
            if way.is_over(size) {
                return false;
            }
        }
        true
    }

    /// Goes past a block in which nothing is that it waits for, up to `end`.
    fn pass(&mut self, end: u64, size: Option<u64>) -> bool {
        for (way, chain) in self.ways() {
            if let Way::Going(progress) = way {
                chain.pass(progress, end);
            }
            if way.is_over(size) {
                return false;
            }
        }
        true
    }

    /// Whether nothing is left to look for but at the end.
    fn waits_for_the_end(&self) -> bool {
        let found = |way: &Way| matches!(way, Way::Found(_));
        self.forward.iter().all(found) && self.far.iter().flatten().all(found)
    }

    /// How far from the end it looks for what is not found yet.
    pub(crate) fn depth(&self) -> u64 {
        let missing = self.pattern.backward.iter().zip(&self.backward).filter(|(_, found)| found.is_none());
        missing.map(|(tail, _)| tail.depth).max().unwrap_or(0)
    }

    /// Inspects the last bytes of something that is `size` bytes long, as far as they go. Says whether it may match.
    pub(crate) fn step_end(&mut self, last: &[u8], size: u64) -> bool {
        for (tail, span) in self.pattern.backward.iter().zip(&mut self.backward) {
            if span.is_some() || (tail.depth.min(size)) > last.len() as u64 {
                continue;
            }
            let Some(found) = tail.find(last, size) else { return false };
            *span = Some(found.span);
        }
        true
    }

    /// Where each sequence matched; `None` where one did not.
    pub(crate) fn matched(&self) -> Option<Vec<Span>> {
        let mut spans = Vec::with_capacity(self.forward.len() + self.backward.len());
        for way in &self.forward {
            spans.push(way.span()?);
        }
        for ((near, far), tail) in self.backward.iter().zip(&self.far).zip(&self.pattern.backward) {
            let near = (*near)?;
            if let (Some(way), Some((_, gap))) = (far, &tail.far) {
                let far = way.span()?;
                if (far.offset + far.length).saturating_add(*gap) > near.offset {
                    return None;
                }
                spans.push(far);
            }
            if near.length > 0 {
                spans.push(near);
            }
        }
        Some(spans)
    }

    /// The links that the next block may advance.
    fn active(&self) -> impl Iterator<Item = &ChainLink> {
        let far = self.far.iter().zip(&self.pattern.backward);
        let far = far.filter_map(|(way, tail)| Some((way.as_ref()?, &tail.far.as_ref()?.0)));
        self.forward.iter().zip(&self.pattern.forward).chain(far).flat_map(|(way, chain)| {
            let progress = if let Way::Going(progress) = way { Some(progress) } else { None };
            progress.into_iter().flat_map(|progress| chain.active(progress))
        })
    }

    /// For each link of what is not found yet, whether it is waited for; nothing for what is found.
    fn awaited(&self) -> impl Iterator<Item = Option<bool>> {
        self.forward.iter().chain(self.far.iter().flatten()).flat_map(|way| {
            let progress = if let Way::Going(progress) = way { Some(progress) } else { None };
            // Where one way ends and the next begins.
            progress.into_iter().flat_map(Progress::awaited).map(Some).chain([None])
        })
    }
}

/// Open patterns on their way through the same bytes.
#[derive(Debug, Default)]
pub(crate) struct Run<'p> {
    open: Vec<Open<'p>>,
    /// How many bytes have passed.
    position: u64,
    /// The bytes before `position` that a piece may have begun in.
    carry: Vec<u8>,
    overlap: usize,
    /// The last bytes that have passed, for the sequences from the end.
    last: Vec<u8>,
    depth: usize,
    filter: Option<Filter>,
}

/// Which of the open patterns a block may advance.
#[derive(Debug)]
struct Filter {
    needles: NeedleSet,
    /// Patterns that wait for something without a literal part.
    always: Vec<bool>,
    /// Which links each pattern waited for when the needles were gathered.
    awaited: Vec<Vec<Option<bool>>>,
}

/// Fewer patterns are followed without asking first, and so are blocks shorter than this while there is no filter yet.
const FILTER_FROM: (usize, usize) = (3, 16 << 10);

impl<'p> Run<'p> {
    /// Of patterns that have gone through the first bytes, which are given. With `keep_last` the run keeps what it needs of
    /// the last bytes.
    pub(crate) fn new(open: Vec<Open<'p>>, first: &[u8], keep_last: bool) -> Self {
        let overlap = open.iter().map(|open| open.pattern.longest()).max().unwrap_or(0).saturating_sub(1);
        let depth = open.iter().map(|open| open.pattern.depth()).max().unwrap_or(0);
        let depth = if keep_last { usize::try_from(depth).unwrap_or(usize::MAX) } else { 0 };
        Self {
            open,
            position: first.len() as u64,
            carry: end_of(first, overlap).to_vec(),
            overlap,
            last: end_of(first, depth).to_vec(),
            depth,
            filter: None,
        }
    }

    /// Whether more bytes can change anything but what is at the end.
    pub(crate) fn is_going(&self) -> bool {
        self.open.iter().any(|open| !open.waits_for_the_end())
    }

    /// Whether nothing is open any more.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// How many bytes have passed.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Drops what its owner has no interest in any more.
    pub(crate) fn retain(&mut self, wanted: impl Fn(u32) -> bool) {
        let before = self.open.len();
        self.open.retain(|open| wanted(open.id));
        if self.open.len() != before {
            self.filter = None;
        }
    }

    /// The ids of patterns that have matched altogether, with where; they are no longer open.
    pub(crate) fn take_matched(&mut self) -> Vec<(u32, Vec<Span>)> {
        let mut matched = Vec::new();
        self.open.retain(|open| match open.matched() {
            Some(spans) => {
                matched.push((open.id, spans));
                false
            }
            None => true,
        });
        if !matched.is_empty() {
            self.filter = None;
        }
        matched
    }

    /// Takes the next bytes. Of patterns that have matched or can no longer match, the latter are dropped.
    pub(crate) fn update(&mut self, bytes: &[u8], size: Option<u64>) {
        if self.is_going() {
            let near = bytes.get(..self.overlap.min(bytes.len())).unwrap_or_default();
            if !self.carry.is_empty() {
                let base = self.position - self.carry.len() as u64;
                let mut seam = std::mem::take(&mut self.carry);
                seam.extend_from_slice(near);
                self.step(&seam, base, size);
                self.carry = seam;
            }
            if bytes.len() > near.len() || self.carry.is_empty() {
                self.step(bytes, self.position, size);
                self.carry.clear();
                self.carry.extend_from_slice(end_of(bytes, self.overlap));
            } else {
                let surplus = self.carry.len().saturating_sub(self.overlap);
                self.carry.drain(..surplus);
            }
        }
        self.position += bytes.len() as u64;
        if self.depth > 0 {
            let kept = end_of(bytes, self.depth);
            // Kept with room to spare, so that short pieces do not move everything each time.
            if self.last.len() + kept.len() > self.depth.saturating_mul(2) {
                let surplus = (self.last.len() + kept.len() - self.depth).min(self.last.len());
                self.last.drain(..surplus);
            }
            self.last.extend_from_slice(kept);
        }
    }

    fn step(&mut self, bytes: &[u8], base: u64, size: Option<u64>) {
        let pays = self.filter.is_some() || bytes.len() >= FILTER_FROM.1;
        let asked = pays && self.open.len() >= FILTER_FROM.0;
        let may = asked.then(|| {
            let filter = self.filter.get_or_insert_with(|| Filter::new(&self.open));
            let mut may = filter.needles.present(bytes);
            may.iter_mut().zip(&filter.always).for_each(|(may, always)| *may |= always);
            may
        });
        let (mut index, mut dropped) = (0, false);
        self.open.retain_mut(|open| {
            let steps = may.as_ref().is_none_or(|may| may.get(index).copied().unwrap_or(true));
            index += 1;
            let stays = if steps { open.step(bytes, base, size) } else { open.pass(base + bytes.len() as u64, size) };
            dropped |= !stays;
            stays
        });
        let moved = self.filter.as_ref().is_some_and(|filter| filter.has_moved(&self.open));
        if dropped || moved {
            self.filter = None;
        }
    }

    /// Ends the bytes: says which patterns matched, and where.
    pub(crate) fn finish(mut self) -> Vec<(u32, Vec<Span>)> {
        let size = self.position;
        let last = end_of(&self.last, self.depth);
        self.open.retain_mut(|open| open.step_end(last, size));
        self.take_matched()
    }

    /// Follows nothing further but the end.
    pub(crate) fn stop_forward(&mut self) {
        self.open.retain(Open::waits_for_the_end);
        self.filter = None;
    }

    /// The patterns that are still open.
    pub(crate) fn into_open(self) -> Vec<Open<'p>> {
        self.open
    }
}

impl Filter {
    fn new(open: &[Open<'_>]) -> Self {
        let mut needles = Vec::new();
        let mut always = vec![false; open.len()];
        for (index, (pattern, always)) in open.iter().zip(&mut always).enumerate() {
            for choice in pattern.active().flat_map(|link| &link.choices) {
                match choice.needle() {
                    Some(needle) => needles.push((needle.bytes.to_vec(), index as u32)),
                    None => *always = true,
                }
            }
        }
        let awaited = open.iter().map(|open| open.awaited().collect()).collect();
        Self { needles: NeedleSet::new(needles, open.len()), always, awaited }
    }

    fn has_moved(&self, open: &[Open<'_>]) -> bool {
        open.len() != self.awaited.len()
            || open.iter().zip(&self.awaited).any(|(open, before)| !open.awaited().eq(before.iter().copied()))
    }
}

fn end_of(bytes: &[u8], length: usize) -> &[u8] {
    bytes.get(bytes.len().saturating_sub(length)..).unwrap_or_default()
}
