//! Numbers that look random and are the same for the same seed.

/// A generator of numbers (`SplitMix64`, Steele, Lea and Flood 2014).
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `bound`, `bound` itself excluded.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// A number from `low` to `high`, `high` itself excluded.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low)
    }

    /// One of the things.
    pub(crate) fn pick<'t, T>(&mut self, things: &'t [T]) -> &'t T {
        &things[usize::try_from(self.below(things.len() as u64)).unwrap()]
    }

    /// True in so many of a hundred cases.
    pub(crate) fn percent(&mut self, of_hundred: u64) -> bool {
        self.below(100) < of_hundred
    }
}
