//! A listing that a thread of its own reads ahead, so that both listings of a sweep, and what is recorded, are read at the same time. What
//! is ahead is bounded.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::{thread, vec};

use strongroom_spaces::{Items, ListedItem, ListedName, SpaceName};
use strongroom_storage::StorageError;

use crate::duplication::preview::listing_of;
use crate::{EngineError, Home};

/// Lines that are handed over at once, and how many such portions are ahead.
const PORTION: usize = 500;
const AHEAD: usize = 4;

type Line = Result<ListedItem, StorageError>;

/// Lines, or the end of the listing.
enum Portion {
    Lines(Vec<Line>),
    End,
}

/// The other side of the thread.
struct Ahead {
    store: String,
    portions: Receiver<Portion>,
    lines: vec::IntoIter<Line>,
    is_over: bool,
}

/// What a plain store lists of a space behind a name, read ahead; nothing where it has no such space.
pub(super) fn listing(home: &Home, store: &str, space: &SpaceName, after: &ListedName) -> Result<Items, EngineError> {
    let opened = home.plain_stores.get(store)?;
    let (space, after) = (space.clone(), after.clone());
    // Where the sweep goes on elsewhere, nothing takes the next portion, and the thread ends.
    let (portions, taken) = sync_channel(AHEAD);
    let read = move || {
        let lines =
            listing_of(opened.as_ref(), &space, &after).unwrap_or_else(|error| Box::new([Err(error)].into_iter()));
        hand_over(lines, &portions);
    };
    let started = thread::Builder::new().name(format!("listing of {store}")).spawn(read);
    started.map_err(|source| {
        EngineError::CheckFailed(format!("no thread for the listing of {store} can be started: {source}"))
    })?;
    let store = store.to_owned();
    Ok(Box::new(Ahead { store, portions: taken, lines: Vec::new().into_iter(), is_over: false }))
}

fn hand_over(mut lines: Items, portions: &SyncSender<Portion>) {
    loop {
        let portion: Vec<Line> = lines.by_ref().take(PORTION).collect();
        let is_end = portion.len() < PORTION;
        if portions.send(Portion::Lines(portion)).is_err() {
            return;
        }
        if is_end {
            let _ = portions.send(Portion::End);
            return;
        }
    }
}

impl Iterator for Ahead {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        loop {
            if let Some(line) = self.lines.next() {
                return Some(line);
            }
            if self.is_over {
                return None;
            }
            match self.portions.recv() {
                Ok(Portion::Lines(lines)) => self.lines = lines.into_iter(),
                Ok(Portion::End) => self.is_over = true,
                // A thread that ended before the listing did: that is not its end.
                Err(_) => {
                    self.is_over = true;
                    let reason = "the thread that listed it ended early".to_owned();
                    return Some(Err(StorageError::Unusable { store: self.store.clone(), reason }));
                }
            }
        }
    }
}
