//! Faults on purpose, at the request they were planned for.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use tokio::time::{Sleep, sleep};

use crate::Operation;

/// One thing that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The request fails with this status and code, and does nothing. Known: 500 `InternalError`, 503 `SlowDown`,
    /// 403 `AccessDenied`.
    Refuse(u16),
    /// The request does what it should and fails with 500 all the same.
    RefuseAfter,
    /// The connection is cut when so many bytes of the answer's body have been sent.
    Torn {
        /// Bytes that are still sent.
        after: u64,
    },
    /// Nothing more is sent after so many bytes of the answer's body, and the connection stays open.
    Stalled {
        /// Bytes that are still sent.
        after: u64,
    },
    /// The answer's body comes in pieces with a pause before each.
    Slow {
        /// Bytes of a piece.
        piece: usize,
        /// The pause.
        pause: Duration,
    },
    /// The answer comes so much later.
    Late(Duration),
    /// The upload that is to be completed is gone when the request comes.
    UploadGone,
    /// The request does what it should, and is answered with the checksum of other bytes.
    OtherChecksum,
    /// One byte of what is given out has its lowest bit turned.
    Corrupt {
        /// Which, counted from 0 in the answer's body.
        at: u64,
    },
    /// The answer to a read has so many bytes at most, and states that length.
    Short {
        /// Bytes that are given out.
        to: u64,
    },
    /// The last byte of what is put has its lowest bit turned. `ETag` and checksum are those of what is kept.
    KeepsOther,
    /// The same, and `ETag` and checksum are those of what was sent.
    KeepsOtherUnnoticed,
    /// The last byte of what is put is not kept. `ETag` and checksum are those of what is kept.
    KeepsLess,
    /// The request is answered as done, and nothing is deleted.
    NotDone,
    /// An inspection is answered with what lay there before the last change of the key.
    Stale,
    /// A listing of objects is wrong.
    Listing(WrongListing),
}

/// How a listing of objects is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongListing {
    /// The last name of a page is there twice.
    Repeats,
    /// The second name of a page is missing, or its only one.
    Omits,
    /// The first and the last name of a page have changed their places.
    Misorders,
    /// The first page claims to be the last one.
    EndsEarly,
    /// Each page behind the first one fails with 500.
    FailsBehindFirst,
}

/// Faults by operation and number of the request; 1 is the first.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    requests: BTreeMap<Operation, u64>,
    planned: BTreeMap<(Operation, u64), Fault>,
    always: BTreeMap<Operation, Fault>,
    /// What happens at the first read of each key, and the keys that were read since.
    first_reads: Option<(Fault, BTreeSet<String>)>,
}

impl Plans {
    pub(crate) fn plan(&mut self, operation: Operation, nth: u64, fault: Fault) {
        let request = self.requests.get(&operation).copied().unwrap_or_default() + nth;
        self.planned.insert((operation, request), fault);
    }

    pub(crate) fn always(&mut self, operation: Operation, fault: Option<Fault>) {
        match fault {
            Some(fault) => self.always.insert(operation, fault),
            None => self.always.remove(&operation),
        };
    }

    pub(crate) fn forget(&mut self) {
        *self = Self { requests: std::mem::take(&mut self.requests), ..Self::default() };
    }

    pub(crate) fn at_first_reads(&mut self, fault: Fault) {
        self.first_reads = Some((fault, BTreeSet::new()));
    }

    /// The fault of this read, where it is the first one of the key.
    pub(crate) fn of_first_read(&mut self, key: &str) -> Option<Fault> {
        let (fault, read) = self.first_reads.as_mut()?;
        read.insert(key.to_owned()).then_some(*fault)
    }

    pub(crate) fn due(&mut self, operation: Operation) -> Option<Fault> {
        let request = self.requests.entry(operation).or_default();
        *request += 1;
        self.planned.remove(&(operation, *request)).or_else(|| self.always.get(&operation).copied())
    }
}

/// Bytes of an answer handed to the connection at a time.
const PIECE: usize = 64 << 10;

/// The body of an answer, with what goes wrong on its way.
pub(crate) struct Outgoing {
    pieces: Vec<Bytes>,
    sent: u64,
    fault: Option<Fault>,
    pause: Option<Pin<Box<Sleep>>>,
}

impl Outgoing {
    /// A body of these pieces, in order.
    pub(crate) fn new(mut pieces: Vec<Bytes>, fault: Option<Fault>) -> Self {
        pieces.reverse();
        Self { pieces, sent: 0, fault, pause: None }
    }

    /// Whether a pause that begins with the first call is not over.
    fn waits(&mut self, pause: Duration, context: &mut Context<'_>) -> bool {
        let pause = self.pause.get_or_insert_with(|| Box::pin(sleep(pause)));
        if pause.as_mut().poll(context).is_pending() {
            return true;
        }
        self.pause = None;
        false
    }

    fn next_piece(&mut self, most: usize) -> Option<Bytes> {
        let mut piece = self.pieces.pop()?;
        if piece.len() > most {
            self.pieces.push(piece.split_off(most));
        }
        if let Some(Fault::Corrupt { at }) = self.fault
            && let Some(place) = at.checked_sub(self.sent).and_then(|place| usize::try_from(place).ok())
            && place < piece.len()
        {
            let mut bytes = piece.to_vec();
            bytes[place] ^= 1;
            piece = bytes.into();
        }
        self.sent += piece.len() as u64;
        Some(piece)
    }
}

impl Stream for Outgoing {
    type Item = Result<Bytes, std::io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let most = match self.fault {
            Some(Fault::Torn { after }) if self.sent >= after => {
                // While it waits, what was given before is sent.
                if self.waits(Duration::from_millis(20), context) {
                    return Poll::Pending;
                }
                return Poll::Ready(Some(Err(std::io::Error::other("cut as planned"))));
            }
            Some(Fault::Stalled { after }) if self.sent >= after => return Poll::Pending,
            Some(Fault::Torn { after } | Fault::Stalled { after }) => {
                usize::try_from(after - self.sent).unwrap_or(PIECE).min(PIECE)
            }
            Some(Fault::Slow { piece, pause }) => {
                if self.waits(pause, context) {
                    return Poll::Pending;
                }
                piece
            }
            _ => PIECE,
        };
        Poll::Ready(self.next_piece(most.max(1)).map(Ok))
    }
}
