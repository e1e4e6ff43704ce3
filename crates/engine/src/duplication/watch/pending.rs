//! Changes that were reported and are not verified yet: one for each key, with what was reported last. A key is due when it has been quiet.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use strongroom_spaces::{Change, SpaceName};
use strongroom_storage::Key;

/// The most keys that are collected. What comes beyond is left to a sweep.
pub(super) const MOST: usize = 200_000;
/// How often a key may become quiet later than it was expected to, in quiet times: then it is verified in any case.
const LONGEST: u32 = 100;

/// What changed: a content item, or with no key a space.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Name {
    pub(super) space: SpaceName,
    pub(super) key: Option<Key>,
}

/// What was reported of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Noted {
    /// Whether the last report is that it was removed.
    pub(super) is_removed: bool,
    /// Whether nothing had the key before the first report.
    pub(super) is_new: bool,
    /// What it was called before.
    pub(super) renamed_from: Option<(SpaceName, Key)>,
    /// When the last report was read.
    pub(super) at: Instant,
    /// When the first one was.
    first: Instant,
}

/// A change whose time has come.
pub(super) type Due = (Arc<Name>, Noted);

/// Everything that was reported and is not verified.
#[derive(Debug)]
pub(super) struct Pending {
    quiet: Duration,
    most: usize,
    noted: HashMap<Arc<Name>, Noted>,
    /// Each key once, by the time at which it was expected to be quiet, and a number of its own.
    order: BTreeMap<(Instant, u64), Arc<Name>>,
    next: u64,
    /// Whether changes were lost, or left out, since that was asked.
    is_missed: bool,
    /// How often changes were lost.
    losses: u64,
}

impl Pending {
    pub(super) fn new(quiet: Duration, most: usize) -> Self {
        Self { quiet, most, noted: HashMap::new(), order: BTreeMap::new(), next: 0, is_missed: false, losses: 0 }
    }

    pub(super) fn note(&mut self, change: Change, at: Instant) {
        match change {
            Change::Put { space, key, is_new, renamed_from } => {
                // Renamed twice: what it was called first.
                let renamed_from = renamed_from.map(|(space, key)| {
                    let before = Name { space: space.clone(), key: Some(key.clone()) };
                    let first = self.noted.get(&before).and_then(|noted| noted.renamed_from.clone());
                    first.unwrap_or((space, key))
                });
                let noted = Noted { is_removed: false, is_new, renamed_from, at, first: at };
                self.add(Name { space, key: Some(key) }, noted);
            }
            Change::Removed { space, key } => self.add(Name { space, key: Some(key) }, Noted::new(true, at)),
            Change::SpaceCame(space) => self.add(Name { space, key: None }, Noted::new(false, at)),
            Change::SpaceRemoved(space) => self.add(Name { space, key: None }, Noted::new(true, at)),
            Change::Missed => {
                self.is_missed = true;
                self.losses += 1;
                for noted in self.noted.values_mut() {
                    // It may have come again, and have gone in another way.
                    (noted.is_removed, noted.renamed_from) = (false, None);
                }
            }
        }
    }

    /// Notes again what is not quiet yet.
    pub(super) fn put_back(&mut self, (name, mut noted): Due, now: Instant) {
        noted.at = now;
        if !self.noted.contains_key(&name) {
            self.insert(name, noted);
        }
    }

    fn insert(&mut self, name: Arc<Name>, noted: Noted) {
        self.order.insert((self.due_at(&noted), self.next), Arc::clone(&name));
        self.next += 1;
        self.noted.insert(name, noted);
    }

    fn due_at(&self, noted: &Noted) -> Instant {
        (noted.at + self.quiet).min(noted.first + self.quiet * LONGEST)
    }

    fn add(&mut self, name: Name, noted: Noted) {
        if let Some(known) = self.noted.get_mut(&name) {
            let (is_new, first) = (known.is_new, known.first);
            *known = Noted { is_new, first, ..noted };
        } else if self.noted.len() >= self.most {
            self.is_missed = true;
        } else {
            self.insert(Arc::new(name), noted);
        }
    }

    /// Takes what is due, at most so much. With `all`, also what has not been quiet yet.
    pub(super) fn take_due(&mut self, now: Instant, most: usize, all: bool) -> Vec<Due> {
        let mut due = Vec::new();
        while due.len() < most
            && let Some(first) = self.order.first_entry().filter(|first| all || first.key().0 <= now)
        {
            let name = first.remove();
            let Some(noted) = self.noted.remove(&name) else { continue };
            if all || self.due_at(&noted) <= now {
                due.push((name, noted));
            } else {
                // It was reported again since.
                self.insert(name, noted);
            }
        }
        due
    }

    /// Whether a file that was written at a time ago may still be written.
    pub(super) fn is_busy(&self, noted: &Noted, since: Duration, now: Instant) -> bool {
        since < self.quiet && now.saturating_duration_since(noted.first) < self.quiet * LONGEST
    }

    /// Whether something is reported of it that is not verified.
    pub(super) fn has(&self, name: &Name) -> bool {
        self.noted.contains_key(name)
    }

    /// Something was reported and cannot be verified.
    pub(super) fn miss(&mut self) {
        self.is_missed = true;
    }

    pub(super) fn losses(&self) -> u64 {
        self.losses
    }

    /// Whether changes were lost or left out since this was asked.
    pub(super) fn take_missed(&mut self) -> bool {
        std::mem::take(&mut self.is_missed)
    }
}

impl Noted {
    fn new(is_removed: bool, at: Instant) -> Self {
        Self { is_removed, is_new: false, renamed_from: None, at, first: at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Duration = Duration::from_secs(2);

    fn space() -> SpaceName {
        SpaceName::new("maps").unwrap()
    }

    fn put(key: &str, is_new: bool) -> Change {
        Change::Put { space: space(), key: Key::new(key).unwrap(), is_new, renamed_from: None }
    }

    fn removed(key: &str) -> Change {
        Change::Removed { space: space(), key: Key::new(key).unwrap() }
    }

    fn due(pending: &mut Pending, now: Instant) -> Vec<(String, bool, bool)> {
        let due = pending.take_due(now, 100, false);
        let line = |(name, noted): Due| (name.key.clone().unwrap().to_string(), noted.is_removed, noted.is_new);
        due.into_iter().map(line).collect()
    }

    #[test]
    fn a_key_is_due_once_when_it_has_been_quiet_with_its_last_report() {
        let (mut pending, begun) = (Pending::new(QUIET, MOST), Instant::now());
        pending.note(removed("a"), begun);
        pending.note(put("b", true), begun);
        pending.note(put("a", true), begun + Duration::from_secs(1));
        pending.note(removed("b"), begun + Duration::from_millis(1_500));
        pending.note(put("c", false), begun + Duration::from_millis(1_600));
        assert_eq!(due(&mut pending, begun + QUIET), []);
        let first = due(&mut pending, begun + Duration::from_secs(3));
        assert_eq!(first, [("a".to_owned(), false, false)]);
        let mut rest = due(&mut pending, begun + Duration::from_secs(4));
        rest.sort();
        assert_eq!(rest, [("b".to_owned(), true, true), ("c".to_owned(), false, false)]);
        assert_eq!(due(&mut pending, begun + Duration::from_mins(1)), []);
    }

    #[test]
    fn what_never_is_quiet_is_verified_in_the_end() {
        let (mut pending, begun) = (Pending::new(QUIET, MOST), Instant::now());
        for second in 0..QUIET.as_secs() * u64::from(LONGEST) {
            let now = begun + Duration::from_secs(second);
            pending.note(put("log", false), now);
            assert_eq!(due(&mut pending, now), []);
        }
        assert_eq!(due(&mut pending, begun + QUIET * LONGEST).len(), 1);
    }

    #[test]
    fn a_loss_keeps_no_deletion_and_what_is_too_much_is_missed() {
        let (mut pending, begun) = (Pending::new(QUIET, 2), Instant::now());
        pending.note(removed("a"), begun);
        pending.note(Change::Missed, begun);
        pending.note(removed("b"), begun);
        assert!(pending.take_missed() && !pending.take_missed() && pending.losses() == 1);
        pending.note(removed("c"), begun);
        assert!(pending.take_missed());
        let found = due(&mut pending, begun + QUIET);
        assert_eq!(found, [("a".to_owned(), false, false), ("b".to_owned(), true, false)]);
    }

    #[test]
    fn what_is_renamed_twice_says_its_first_name() {
        let (mut pending, begun) = (Pending::new(QUIET, MOST), Instant::now());
        let renamed = |from: &str, to: &str| Change::Put {
            space: space(),
            key: Key::new(to).unwrap(),
            is_new: false,
            renamed_from: Some((space(), Key::new(from).unwrap())),
        };
        pending.note(renamed("a/x", "b/x"), begun);
        pending.note(renamed("b/x", "c/x"), begun);
        let found = pending.take_due(begun + QUIET, 10, false);
        let (_, last) = found.iter().find(|(name, _)| name.key.as_ref().unwrap().as_str() == "c/x").unwrap();
        assert_eq!(last.renamed_from.as_ref().unwrap().1.as_str(), "a/x");
    }
}
