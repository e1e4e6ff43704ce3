//! Which signatures the beginning of a file leaves open. Each signature is entered by the one of its sequences that rules
//! it out soonest: bytes at a fixed offset, else literal parts within a range, else nothing.

use super::chain::{Chain, ChainLink};
use super::needle::NeedleSet;
use super::open::Pattern;

/// Bytes of a fixed offset that are compared; as many as fit a number.
const KEY: usize = 4;
/// Ranges of up to so many bytes from the beginning are searched together.
const TIERS: [u64; 3] = [512, 8 << 10, u64::MAX];

/// The index over all patterns of a signature file.
#[derive(Debug)]
pub(crate) struct Index {
    slots: Vec<Slot>,
    tiers: Vec<Tier>,
    /// Patterns that the beginning cannot rule out, but perhaps the end.
    at_end: Vec<u32>,
    /// Patterns that only following them can rule out.
    always: Vec<u32>,
}

/// Keys of one length at one offset.
#[derive(Debug)]
struct Slot {
    offset: u64,
    length: usize,
    /// Sorted by key.
    keys: Vec<(u32, u32)>,
}

/// Patterns with a literal part within the same stretch of bytes.
#[derive(Debug)]
struct Tier {
    /// The stretch ends here.
    reach: u64,
    needles: NeedleSet,
    patterns: Vec<u32>,
}

/// A pattern, the needles of which it has one, and before where.
type IndexedPattern = (u32, Vec<Vec<u8>>, u64);

/// How a pattern can be ruled out.
enum Gate {
    /// One of these keys stands at its offset.
    Keys(Vec<(u64, Vec<u8>)>),
    /// One of these needles lies before `reach`.
    Needles(Vec<Vec<u8>>, u64),
}

impl Index {
    /// Over patterns, which are known by their position.
    pub(crate) fn new<'p>(patterns: impl Iterator<Item = &'p Pattern>) -> Self {
        let mut index = Self { slots: Vec::new(), tiers: Vec::new(), at_end: Vec::new(), always: Vec::new() };
        let mut tiers: [Vec<IndexedPattern>; TIERS.len()] = Default::default();
        for (id, pattern) in (0_u32..).zip(patterns) {
            match gate(pattern) {
                Some(Gate::Keys(keys)) => keys.iter().for_each(|(offset, key)| index.enter(*offset, key, id)),
                Some(Gate::Needles(needles, reach)) => {
                    let tier = TIERS.iter().zip(&mut tiers).find(|(limit, _)| reach <= **limit);
                    if let Some((_, tier)) = tier {
                        tier.push((id, needles, reach));
                    }
                }
                None if pattern.backward.is_empty() => index.always.push(id),
                None => index.at_end.push(id),
            }
        }
        for slot in &mut index.slots {
            slot.keys.sort_unstable();
            slot.keys.dedup();
        }
        index.tiers = tiers.into_iter().filter(|tier| !tier.is_empty()).map(Tier::new).collect();
        index
    }

    fn enter(&mut self, offset: u64, key: &[u8], id: u32) {
        let known = self.slots.iter_mut().find(|slot| slot.offset == offset && slot.length == key.len());
        let entry = (number(key), id);
        match known {
            Some(slot) => slot.keys.push(entry),
            None => self.slots.push(Slot { offset, length: key.len(), keys: vec![entry] }),
        }
    }

    /// The patterns that the first bytes leave open, in order. `is_whole` says that there are no more.
    pub(crate) fn candidates(&self, first: &[u8], is_whole: bool) -> Vec<u32> {
        let mut open = self.always.clone();
        for slot in &self.slots {
            let from = usize::try_from(slot.offset).unwrap_or(usize::MAX);
            match first.get(from..from.saturating_add(slot.length)) {
                Some(bytes) => {
                    let key = number(bytes);
                    let start = slot.keys.partition_point(|(known, _)| *known < key);
                    let same = slot.keys.get(start..).unwrap_or_default().iter().take_while(|(known, _)| *known == key);
                    open.extend(same.map(|(_, id)| *id));
                }
                None if is_whole => {}
                None => open.extend(slot.keys.iter().map(|(_, id)| *id)),
            }
        }
        for tier in &self.tiers {
            let reach = usize::try_from(tier.reach).unwrap_or(usize::MAX);
            match first.get(..reach) {
                Some(bytes) => open.extend(tier.present(bytes)),
                None if is_whole => open.extend(tier.present(first)),
                None => open.extend(&tier.patterns),
            }
        }
        open.sort_unstable();
        open.dedup();
        open
    }

    /// The patterns about which only the end decides.
    pub(crate) fn at_end(&self) -> &[u32] {
        &self.at_end
    }
}

impl Tier {
    fn new(entries: Vec<IndexedPattern>) -> Self {
        let reach = entries.iter().map(|(_, _, reach)| *reach).max().unwrap_or(0);
        let patterns: Vec<u32> = entries.iter().map(|(id, ..)| *id).collect();
        let owned = (0_u32..).zip(entries);
        let needles = owned.flat_map(|(owner, (_, needles, _))| needles.into_iter().map(move |needle| (needle, owner)));
        Self { reach, needles: NeedleSet::new(needles.collect(), patterns.len()), patterns }
    }

    fn present<'t>(&'t self, bytes: &[u8]) -> impl Iterator<Item = u32> + use<'t> {
        let present = self.needles.present(bytes);
        self.patterns.iter().zip(present).filter(|(_, present)| *present).map(|(id, _)| *id)
    }
}

/// The best way to rule a pattern out by the beginning of a file.
fn gate(pattern: &Pattern) -> Option<Gate> {
    let mut best: Option<(u64, Gate)> = None;
    for chain in &pattern.forward {
        let Some((cost, gate)) = keys(chain).or_else(|| needles(chain)) else { continue };
        if best.as_ref().is_none_or(|(known, _)| cost < *known) {
            best = Some((cost, gate));
        }
    }
    best.map(|(_, gate)| gate)
}

/// Keys at fixed offsets, where the first piece is at one and has literal parts. The longer the keys, the cheaper.
fn keys(chain: &Chain) -> Option<(u64, Gate)> {
    let first = chain.links.first().filter(|first| first.gap.max == Some(first.gap.min))?;
    let mut keys = Vec::with_capacity(first.choices.len());
    for choice in &first.choices {
        let needle = choice.needle()?;
        let key = needle.bytes.get(..needle.bytes.len().min(KEY))?;
        keys.push((first.gap.min.saturating_add(needle.offset as u64), key.to_vec()));
    }
    let shortest = keys.iter().map(|(_, key)| key.len()).min()?;
    Some(((KEY - shortest) as u64, Gate::Keys(keys)))
}

/// Literal parts of the link, of those within a bounded reach, that has the longest.
fn needles(chain: &Chain) -> Option<(u64, Gate)> {
    let mut best: Option<(usize, u64, &ChainLink)> = None;
    let mut reach = 0_u64;
    for link in &chain.links {
        let Some(gap) = link.gap.max else { break };
        reach = reach.saturating_add(gap).saturating_add(link.longest as u64);
        let lengths = link.choices.iter().map(|choice| choice.needle().map_or(0, |needle| needle.bytes.len()));
        let shortest = lengths.min().unwrap_or(0).min(KEY);
        if shortest > 1 && best.is_none_or(|(known, ..)| shortest > known) {
            best = Some((shortest, reach, link));
        }
    }
    let (_, reach, link) = best?;
    let needles = link.choices.iter().filter_map(|choice| Some(choice.needle()?.bytes.to_vec())).collect();
    Some((reach.max(KEY as u64 + 1), Gate::Needles(needles, reach)))
}

/// Up to [`KEY`] bytes as a number.
fn number(key: &[u8]) -> u32 {
    key.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}
