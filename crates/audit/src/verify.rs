use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value};

use crate::link::OWN;
use crate::{Broken, Fault, Head, LONGEST_LINE, Link, Sha256};

/// The act of an entry that says by which key heads are signed from here on: its `target` is the fingerprint, or [`NO_KEY`].
pub const KEY_ACT: &str = "audit.key";
/// What such an entry says where heads are not signed any more.
pub const NO_KEY: &str = "none";
/// With how many entries before it an entry is compared, to find those that say the same.
const COMPARED: usize = 10;
/// In what entries differ that say the same: besides what each has of its own, by what the act is known and in which call it was done.
const OF_THE_ACT: [&str; 2] = ["id", "request"];
/// How many near duplicates are named; further ones are counted.
const NAMED: usize = 100;

/// The most sources that are counted: further ones are in no true head.
const SOURCES: usize = 100;

/// Entries that say the same as one shortly before them. They are no fault.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NearDuplicates {
    /// How many there are.
    pub count: u64,
    /// The first of them, each behind the number of the entry that says the same.
    pub named: Vec<(u64, u64)>,
}

/// Reads a chain, entry by entry.
#[derive(Debug, Clone)]
pub struct Verifier {
    link: Option<Link>,
    /// The first entry that is taken, where the chain is read from its middle on.
    from: Option<Link>,
    heads: BTreeMap<u64, Head>,
    /// Where heads contradict each other.
    contradiction: Option<u64>,
    /// By which key heads are signed; not known where the entry that says so is before the first one.
    key: Option<String>,
    is_key_known: bool,
    /// The first head that is signed by another key: its number, the key that was announced, and its own.
    unannounced: Option<(u64, Option<String>, Option<String>)>,
    last: VecDeque<(u64, Sha256)>,
    near: NearDuplicates,
    /// How many entries of each source were taken.
    counts: BTreeMap<String, u64>,
}

impl Verifier {
    /// Begins with the first entry of a chain. Heads that were published of it are compared, in any order.
    pub fn new(heads: impl IntoIterator<Item = Head>) -> Self {
        let mut known = BTreeMap::new();
        let mut contradiction = None;
        for head in heads {
            let sequence = head.sequence();
            let other = known.insert(sequence, head.clone());
            if other.is_some_and(|other: Head| other != head) {
                contradiction = contradiction.or(Some(sequence));
            }
        }
        let (last, near) = (VecDeque::new(), NearDuplicates::default());
        Self {
            link: None,
            from: None,
            heads: known,
            contradiction,
            key: None,
            is_key_known: true,
            unannounced: None,
            last,
            near,
            counts: BTreeMap::new(),
        }
    }

    /// The same behind a link that is known: the entries before it are elsewhere.
    #[must_use]
    pub fn behind(mut self, link: Link) -> Self {
        self.is_key_known = link.sequence() == 0;
        self.from = Some(link);
        self
    }

    /// The same where it is known by which key the heads before the first entry are signed.
    #[must_use]
    pub fn signed_by(mut self, key: Option<&str>) -> Self {
        (self.key, self.is_key_known) = (key.map(str::to_owned), true);
        self
    }

    /// Where the chain ends, as far as it was taken.
    pub fn link(&self) -> Option<&Link> {
        self.link.as_ref().or(self.from.as_ref())
    }

    /// Entries that say the same as one shortly before them, as far as it was taken.
    pub fn near_duplicates(&self) -> &NearDuplicates {
        &self.near
    }

    /// Takes the next entry, without its line end.
    ///
    /// # Errors
    /// The entry does not hold. What comes behind it cannot be verified.
    pub fn take(&mut self, line: &[u8]) -> Result<(), Broken> {
        let last = self.link();
        let sequence = last.map_or(0, Link::sequence) + 1;
        let broken = |fault| Err(Broken { sequence, fault });
        if line.len() > LONGEST_LINE {
            return broken(Fault::Long);
        }
        let entry = match read(line) {
            Ok(entry) => entry,
            Err(why) => return broken(Fault::Form(why)),
        };
        let last = last.cloned().unwrap_or_else(|| Link::start(entry.chain.clone()));
        if entry.chain != last.chain() {
            return broken(Fault::Chain(entry.chain));
        }
        if entry.sequence != sequence {
            return broken(Fault::Sequence(entry.sequence));
        }
        if entry.previous != last.sha256() {
            return broken(Fault::Previous);
        }
        let link = last.behind(line);
        if let Some(key) = entry.key {
            let key = Some(key).filter(|key| key != NO_KEY);
            if let Some(unannounced) = self.unannounced.take().filter(|(.., said)| *said != key) {
                return Err(unannounced_key(&unannounced));
            }
            (self.key, self.is_key_known) = (key, true);
        }
        if let Some(source) = entry.source
            && (self.counts.len() < SOURCES || self.counts.contains_key(&source))
        {
            *self.counts.entry(source).or_default() += 1;
        }
        if let Some(head) = self.heads.get(&sequence) {
            if head.chain() != link.chain() {
                return broken(Fault::Chain(entry.chain));
            }
            if head.sha256() != link.sha256() {
                return broken(Fault::Head);
            }
            // Counts are known where the chain is read from its beginning.
            let is_whole = self.from.as_ref().is_none_or(|from| from.sequence() == 0);
            if is_whole && !head.counts().is_empty() && *head.counts() != self.counts {
                return broken(Fault::Counts);
            }
            if self.is_key_known && self.key.as_deref() != head.key() {
                // The entry that says so may come behind it: entries that were published at once have the key of the last one.
                let found = (sequence, self.key.clone(), head.key().map(str::to_owned));
                match &self.unannounced {
                    Some((.., said)) if said.as_deref() == head.key() => {}
                    Some(unannounced) => return Err(unannounced_key(unannounced)),
                    None => self.unannounced = Some(found),
                }
            }
        }
        self.compare(sequence, entry.said);
        self.link = Some(link);
        Ok(())
    }

    fn compare(&mut self, sequence: u64, said: Sha256) {
        if let Some((like, _)) = self.last.iter().rev().find(|(_, other)| *other == said) {
            self.near.count += 1;
            if self.near.named.len() < NAMED {
                self.near.named.push((*like, sequence));
            }
        }
        self.last.push_back((sequence, said));
        if self.last.len() > COMPARED {
            self.last.pop_front();
        }
    }

    /// Ends the chain: its last link.
    ///
    /// # Errors
    /// A head was published of more entries than there are, heads contradict each other, or there is no entry.
    pub fn finish(self) -> Result<Link, Broken> {
        if let Some(sequence) = self.contradiction {
            return Err(Broken { sequence, fault: Fault::Heads });
        }
        if let Some(unannounced) = &self.unannounced {
            return Err(unannounced_key(unannounced));
        }
        let last = self.link.or(self.from);
        let sequence = last.as_ref().map_or(0, Link::sequence);
        if let Some((entries, _)) = self.heads.range(sequence + 1..).next_back() {
            return Err(Broken { sequence: sequence + 1, fault: Fault::Cut(*entries) });
        }
        last.ok_or(Broken { sequence: 1, fault: Fault::Form("there is no entry".to_owned()) })
    }
}

fn unannounced_key((sequence, announced, said): &(u64, Option<String>, Option<String>)) -> Broken {
    let by = |key: &Option<String>| key.as_ref().map_or("no key".to_owned(), |key| format!("the key {key}"));
    let why = format!("the chain says that it is signed by {}, the head says by {}", by(announced), by(said));
    Broken { sequence: *sequence, fault: Fault::Signature(why) }
}

/// What an entry says of itself.
struct Entry {
    chain: String,
    sequence: u64,
    previous: Sha256,
    /// By which key heads are signed from here on, where it says so.
    key: Option<String>,
    /// From which table the act is, where it says so.
    source: Option<String>,
    /// Of what it says besides.
    said: Sha256,
}

fn read(line: &[u8]) -> Result<Entry, String> {
    let text = std::str::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned())?;
    let mut entry: Map<String, Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let canonical =
        |entry: &Map<String, Value>| serde_json_canonicalizer::to_string(entry).map_err(|error| error.to_string());
    let own = |key: &str| entry.get(key).ok_or_else(|| format!("it has no {key:?}"));
    let text_of = |key: &str| match own(key)? {
        Value::String(text) => Ok(text.clone()),
        _ => Err(format!("its {key:?} is no text")),
    };
    let (chain, previous) = (text_of("chain")?, text_of("previous")?);
    let sequence = own("sequence")?.as_u64().ok_or("its \"sequence\" is no whole number")?;
    let previous = Sha256::read(&previous).map_err(|error| error.to_string())?;
    text_of("time")?;
    let is_of_key = entry.get("act").is_some_and(|act| act == KEY_ACT);
    let key = if is_of_key { Some(text_of("target")?) } else { None };
    // Also where a key stands twice.
    if canonical(&entry)? != text {
        return Err("it is written in another way".to_owned());
    }
    let source = entry.get("source").and_then(Value::as_str).map(str::to_owned);
    for key in OWN.iter().chain(&OF_THE_ACT) {
        entry.remove(*key);
    }
    let said = Sha256::of(canonical(&entry)?.as_bytes());
    Ok(Entry { chain, sequence, previous, key, source, said })
}
