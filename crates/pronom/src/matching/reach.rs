//! Stretches of positions at which a link may start, each with the place where the match began that allows it.

/// Positions `from..=to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    pub(super) from: u64,
    pub(super) to: u64,
    /// Where the match began, or for sequences from the end where it ends.
    pub(super) origin: u64,
}

/// Sorts stretches and cuts what overlaps: each position keeps one origin.
pub(super) fn settle(stretches: &mut Vec<Reach>) {
    stretches.sort_unstable_by_key(|reach| (reach.from, reach.to));
    let mut kept: Vec<Reach> = Vec::with_capacity(stretches.len());
    for reach in stretches.drain(..) {
        match kept.last_mut() {
            Some(last) if reach.from <= last.to => {
                if reach.to > last.to {
                    let from = last.to + 1;
                    kept.push(Reach { from, ..reach });
                }
            }
            _ => kept.push(reach),
        }
    }
    *stretches = kept;
}
