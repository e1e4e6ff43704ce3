//! Two hashing threads fed by shared chunks.
//!
//! Chunks are shared by `Arc` and used again. Each lane's queue holds [`QUEUED`] chunks, so a stream never holds more
//! than `QUEUED + 2` of them. Threads are kept for the next stream; a stream never waits for a thread, it starts one.

use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::state::State;

/// Size of a chunk in bytes. The threads begin with the first one while the caller reads on: with chunks of 1 MiB, files of that
/// size were read to their end before they were hashed, which took a quarter longer.
pub(crate) const CHUNK: usize = 128 << 10;
/// Chunks that wait in front of one lane.
const QUEUED: usize = 2;
/// Threads kept when no stream needs them.
const KEPT: usize = 16;

/// A piece of the stream: the first `filled` bytes count.
struct Chunk {
    bytes: Box<[u8]>,
    filled: usize,
}

/// What one thread does for one stream.
struct Work {
    states: Vec<State>,
    chunks: Receiver<Arc<Chunk>>,
    done: SyncSender<thread::Result<Vec<State>>>,
}

/// Threads that wait for work, by the channel on which they wait.
static IDLE: Mutex<Vec<Sender<Work>>> = Mutex::new(Vec::new());

fn idle() -> std::sync::MutexGuard<'static, Vec<Sender<Work>>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hire(work: Work) -> Result<(), Work> {
    let mut work = work;
    loop {
        let Some(thread) = idle().pop() else { break };
        match thread.send(work) {
            Ok(()) => return Ok(()),
            Err(refused) => work = refused.0,
        }
    }
    let (sender, receiver) = mpsc::channel::<Work>();
    let own = sender.clone();
    let started = thread::Builder::new().name("digest".to_owned()).spawn(move || labour(own, &receiver));
    match started {
        Ok(_) => sender.send(work).map_err(|refused| refused.0),
        Err(_) => Err(work),
    }
}

fn labour(own: Sender<Work>, queue: &Receiver<Work>) {
    let mut own = Some(own);
    while let Ok(Work { mut states, chunks, done }) = queue.recv() {
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
            for chunk in chunks {
                for state in &mut states {
                    state.update(&chunk.bytes[..chunk.filled]);
                }
            }
            states
        }));
        // Idle before done: the caller that waits for `done` and starts the next stream then finds this thread.
        if let Some(sender) = own.take() {
            let mut waiting = idle();
            if waiting.len() < KEPT {
                waiting.push(sender.clone());
                own = Some(sender);
            }
        }
        // The stream may have been dropped unfinished: then no one waits for this.
        let _ = done.send(outcome);
        if own.is_none() {
            return;
        }
    }
}

/// A stream that is hashed by two threads.
pub(crate) struct Lanes {
    threads: Vec<Lane>,
    current: Chunk,
    sent: VecDeque<Arc<Chunk>>,
}

struct Lane {
    chunks: SyncSender<Arc<Chunk>>,
    done: Receiver<thread::Result<Vec<State>>>,
}

impl Lanes {
    /// Moves the states to threads, split by cost. Gives them back when no thread can be had.
    pub(crate) fn start(mut states: Vec<State>) -> Result<Self, Vec<State>> {
        states.sort_by_key(|state| std::cmp::Reverse(state.cost()));
        let mut shares: [(u32, Vec<State>); 2] = [(0, Vec::new()), (0, Vec::new())];
        for state in states {
            let [first, second] = &mut shares;
            let share = if first.0 <= second.0 { first } else { second };
            share.0 += state.cost();
            share.1.push(state);
        }
        let [(_, first), (_, second)] = shares;
        let first = Lane::start(first);
        let second = Lane::start(second);
        match (first, second) {
            (Ok(first), Ok(second)) => {
                Ok(Self { threads: vec![first, second], current: empty(), sent: VecDeque::new() })
            }
            (first, second) => {
                let back = |lane: Result<Lane, Vec<State>>| lane.map_or_else(|states| states, Lane::finish);
                Err(back(first).into_iter().chain(back(second)).collect())
            }
        }
    }

    /// Room for at least one more byte of the stream; tell [`Self::filled`] how much was written there.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        &mut self.current.bytes[self.current.filled..]
    }

    /// Counts `length` bytes as written to [`Self::room`].
    pub(crate) fn filled(&mut self, length: usize) {
        self.current.filled += length;
        if self.current.filled == self.current.bytes.len() {
            let next = self.next_chunk();
            self.send(next);
        }
    }

    /// Copies bytes into chunks.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = self.room();
            let length = room.len().min(bytes.len());
            let (now, later) = bytes.split_at(length);
            room[..length].copy_from_slice(now);
            self.filled(length);
            bytes = later;
        }
    }

    /// Waits for both threads. A panic in one of them goes on in the caller.
    pub(crate) fn finish(mut self) -> Vec<State> {
        self.send(Chunk { bytes: Box::default(), filled: 0 });
        self.sent.clear();
        // All queues are closed before the first wait, so that both lanes end whichever is awaited first.
        let waits: Vec<_> = self.threads.into_iter().map(Lane::close).collect();
        waits.into_iter().flat_map(|done| settle(&done)).collect()
    }

    fn send(&mut self, next: Chunk) {
        let chunk = Arc::new(std::mem::replace(&mut self.current, next));
        for lane in &self.threads {
            // A lane that is gone has panicked: `finish` says.
            let _ = lane.chunks.send(Arc::clone(&chunk));
        }
        self.sent.push_back(chunk);
    }

    /// The oldest chunk when both lanes are through with it, else a new one. Once `QUEUED + 1` chunks were sent, the
    /// oldest of them is always free: a lane whose queue has taken the newest has let go of it.
    fn next_chunk(&mut self) -> Chunk {
        if self.sent.len() <= QUEUED {
            return empty();
        }
        let oldest = self.sent.pop_front().and_then(|chunk| Arc::try_unwrap(chunk).ok());
        oldest.map_or_else(empty, |chunk| Chunk { bytes: chunk.bytes, filled: 0 })
    }
}

impl Lane {
    fn start(states: Vec<State>) -> Result<Self, Vec<State>> {
        let (chunks, receiver) = mpsc::sync_channel(QUEUED);
        let (done_sender, done) = mpsc::sync_channel(1);
        match hire(Work { states, chunks: receiver, done: done_sender }) {
            Ok(()) => Ok(Self { chunks, done }),
            Err(work) => Err(work.states),
        }
    }

    /// Signals to the thread that nothing more comes; the answer will be on the channel returned.
    fn close(self) -> Receiver<thread::Result<Vec<State>>> {
        self.done
    }

    fn finish(self) -> Vec<State> {
        settle(&self.close())
    }
}

fn settle(done: &Receiver<thread::Result<Vec<State>>>) -> Vec<State> {
    match done.recv() {
        Ok(Ok(states)) => states,
        Ok(Err(panic)) => panic::resume_unwind(panic),
        // A thread answers on every way out; without an answer there is no digest to give.
        Err(mpsc::RecvError) => panic!("a hashing thread ended without an answer"),
    }
}

fn empty() -> Chunk {
    Chunk { bytes: vec![0; CHUNK].into_boxed_slice(), filled: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Algorithm;

    #[test]
    fn a_panic_in_a_hashing_thread_reaches_the_caller_instead_of_hanging() {
        let Ok(mut lanes) = Lanes::start(vec![State::Broken, State::new(Algorithm::Sha1)]) else {
            panic!("no threads to be had");
        };
        for _ in 0..20 {
            lanes.update(&vec![7; CHUNK]);
        }
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| lanes.finish().len()));
        assert!(outcome.is_err());
    }

    #[test]
    fn chunks_are_used_again() {
        let Ok(mut lanes) = Lanes::start(vec![State::new(Algorithm::Md5), State::new(Algorithm::Sha1)]) else {
            panic!("no threads to be had");
        };
        for _ in 0..50 {
            lanes.update(&vec![7; CHUNK]);
            assert!(lanes.sent.len() <= QUEUED + 1, "{}", lanes.sent.len());
        }
        assert_eq!(lanes.finish().len(), 2);
    }

    #[test]
    fn work_is_split_so_that_the_two_slowest_run_side_by_side() {
        let states = [Algorithm::Sha256, Algorithm::Md5, Algorithm::Sha1, Algorithm::Sha512].map(State::new);
        let Ok(lanes) = Lanes::start(states.into_iter().collect()) else { panic!("no threads to be had") };
        let shares: Vec<Vec<Algorithm>> =
            lanes.threads.into_iter().map(|lane| lane.finish().iter().map(State::algorithm).collect()).collect();
        assert_eq!(shares, [[Algorithm::Md5, Algorithm::Sha1], [Algorithm::Sha512, Algorithm::Sha256]]);
    }
}
