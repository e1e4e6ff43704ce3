//! Any set of digests of one stream of bytes, in one pass.

use std::fmt;
use std::thread;

use crate::lanes::Lanes;
use crate::state::State;
use crate::{Algorithm, DigestSet};

/// Up to here a stream is hashed in the caller's thread: handing it to others costs more than it saves. What lies before it is
/// hashed while nothing is read, so that it is short.
const INLINE: u64 = 128 << 10;

/// Computes several digests of one stream in one pass. Streams beyond 128 KiB with more than one digest are hashed by
/// two threads, which are kept and shared by the process; smaller ones in the caller's thread.
pub struct MultiHasher {
    length: u64,
    work: Work,
}

enum Work {
    Inline { states: Vec<State>, may_split: bool },
    Lanes(Lanes),
}

impl MultiHasher {
    /// Begins a stream. Algorithms may be named in any order and more than once.
    pub fn new(algorithms: &[Algorithm]) -> Self {
        let mut wanted = algorithms.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        let states: Vec<State> = wanted.into_iter().map(State::new).collect();
        let may_split = states.len() > 1;
        Self { length: 0, work: Work::Inline { states, may_split } }
    }

    /// Takes the next bytes of the stream.
    pub fn update(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.length > INLINE {
            self.split();
        }
        match &mut self.work {
            Work::Inline { states, .. } => states.iter_mut().for_each(|state| state.update(bytes)),
            Work::Lanes(lanes) => lanes.update(bytes),
        }
    }

    /// Bytes taken so far.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Ends the stream. A panic in a hashing thread goes on here.
    pub fn finish(self) -> DigestSet {
        let states = match self.work {
            Work::Inline { states, .. } => states,
            Work::Lanes(lanes) => lanes.finish(),
        };
        states.into_iter().map(State::finish).collect()
    }

    /// Where the next bytes may be read to directly, once the stream is with the hashing threads.
    pub(crate) fn room(&mut self) -> Option<&mut [u8]> {
        match &mut self.work {
            Work::Inline { .. } => None,
            Work::Lanes(lanes) => Some(lanes.room()),
        }
    }

    /// Counts `length` bytes as read to [`Self::room`].
    pub(crate) fn filled(&mut self, length: usize) {
        if let Work::Lanes(lanes) = &mut self.work {
            self.length += length as u64;
            lanes.filled(length);
        }
    }

    fn split(&mut self) {
        let Work::Inline { states, may_split } = &mut self.work else { return };
        if !*may_split {
            return;
        }
        *may_split = thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        if !*may_split {
            return;
        }
        self.work = match Lanes::start(std::mem::take(states)) {
            Ok(lanes) => Work::Lanes(lanes),
            Err(states) => Work::Inline { states, may_split: false },
        };
    }
}

impl fmt::Debug for MultiHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiHasher").field("length", &self.length).finish_non_exhaustive()
    }
}
