//! Follows one sequence from the end of the bytes backwards. The part up to the first unbounded gap lies within a known
//! distance of the end; what lies beyond that gap is followed from the beginning, as a chain of its own.

use std::ops::ControlFlow;

use super::chain::{Chain, ChainLink};
use super::reach::{Reach, settle};
use crate::answer::Span;
use crate::pattern::{Gap, Link};

/// A sequence that is anchored at the end.
#[derive(Debug)]
pub(crate) struct Tail {
    /// From the end backwards; all gaps bounded.
    near: Vec<ChainLink>,
    /// No start lies further from the end than this.
    pub(crate) depth: u64,
    /// What lies before an unbounded gap, and how wide that gap is at least.
    pub(crate) far: Option<(Chain, u64)>,
}

/// Where the near part of a sequence lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TailMatch {
    /// The whole near part, of the match that begins last.
    pub(crate) span: Span,
}

impl Tail {
    /// Of links that run away from the end.
    pub(crate) fn new(links: &[Link]) -> Self {
        let cut = links.iter().position(|link| link.gap.max.is_none()).unwrap_or(links.len());
        let (near, far) = links.split_at(cut);
        let near: Vec<ChainLink> = near.iter().map(ChainLink::new).collect();
        let depth = near.iter().fold(0_u64, |depth, link| {
            depth.saturating_add(link.gap.max.unwrap_or(0)).saturating_add(link.longest as u64)
        });
        let far = far.first().map(|first| (Chain::new(&turned(far)), first.gap.min));
        Self { near, depth, far }
    }

    /// Looks for the near part in the last bytes of something that is `size` bytes long. All of the last
    /// [`Tail::depth`] bytes must be given, or all there are.
    pub(crate) fn find(&self, bytes: &[u8], size: u64) -> Option<TailMatch> {
        let base = size.saturating_sub(bytes.len() as u64);
        let Some(first) = self.near.first() else {
            return Some(TailMatch { span: Span { offset: size, length: 0 } });
        };
        // Here a reach counts distances from the end.
        let mut starts = vec![Reach { from: first.gap.min, to: first.gap.max.unwrap_or(0), origin: 0 }];
        for (index, link) in self.near.iter().enumerate() {
            let next = self.near.get(index + 1);
            let mut landed: Vec<Reach> = Vec::new();
            for choice in &link.choices {
                let length = choice.len() as u64;
                for reach in &starts {
                    // The further from the end, the sooner in the bytes.
                    let Some(to) = size.checked_sub(reach.from.saturating_add(length)) else { continue };
                    let from = size.saturating_sub(reach.to.saturating_add(length)).max(base);
                    if to < from {
                        continue;
                    }
                    let mut found = |start: usize| {
                        let start = base + start as u64;
                        let distance = size - start;
                        let origin = if index == 0 { distance - length } else { reach.origin };
                        let gap = next.map_or(Gap::exactly(0), |next| next.gap);
                        landed.push(Reach {
                            from: distance.saturating_add(gap.min),
                            to: distance.saturating_add(gap.max.unwrap_or(0)),
                            origin,
                        });
                        ControlFlow::Continue(())
                    };
                    let _ = choice.for_each_start(bytes, (from - base) as usize, (to - base) as usize, &mut found);
                }
            }
            if landed.is_empty() {
                return None;
            }
            settle(&mut landed);
            starts = landed;
        }
        let last = starts.iter().min_by_key(|reach| reach.from)?;
        let offset = size - last.from;
        Some(TailMatch { span: Span { offset, length: last.from - last.origin } })
    }
}

/// Links that run backwards from an unbounded gap as links that run forwards from the beginning.
fn turned(links: &[Link]) -> Vec<Link> {
    let mut gap = Gap::at_least(0);
    let mut turned = Vec::with_capacity(links.len());
    for (index, link) in links.iter().enumerate().rev() {
        turned.push(Link { gap, choices: link.choices.clone() });
        if index > 0 {
            gap = link.gap;
        }
    }
    turned
}
