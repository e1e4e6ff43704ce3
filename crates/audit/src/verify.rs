use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::link::from_hex;
use crate::{Broken, Fault, Head, LONGEST_LINE, Link};

/// Reads a chain, entry by entry.
#[derive(Debug, Clone)]
pub struct Verifier {
    link: Option<Link>,
    /// The first entry that is taken, where the chain is read from its middle on.
    from: Option<Link>,
    heads: BTreeMap<u64, Head>,
    /// Where heads contradict each other.
    contradiction: Option<u64>,
}

impl Verifier {
    /// Begins with the first entry of a chain. Heads that were published of it are compared, in any order.
    pub fn new(heads: impl IntoIterator<Item = Head>) -> Self {
        let mut known = BTreeMap::new();
        let mut contradiction = None;
        for head in heads {
            let sequence = head.sequence();
            let other = known.insert(sequence, head.clone());
            if other.is_some_and(|other: Head| other.sha256() != head.sha256() || other.chain() != head.chain()) {
                contradiction = contradiction.or(Some(sequence));
            }
        }
        Self { link: None, from: None, heads: known, contradiction }
    }

    /// The same behind a link that is known: the entries before it are elsewhere.
    #[must_use]
    pub fn behind(mut self, link: Link) -> Self {
        self.from = Some(link);
        self
    }

    /// Takes the next entry, without its line end.
    ///
    /// # Errors
    /// The entry does not hold. What comes behind it cannot be verified.
    pub fn take(&mut self, line: &[u8]) -> Result<(), Broken> {
        let last = self.link.as_ref().or(self.from.as_ref());
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
        if entry.previous != *last.sha256() {
            return broken(Fault::Previous);
        }
        let link = last.behind(line);
        if let Some(head) = self.heads.get(&sequence) {
            if head.chain() != link.chain() {
                return broken(Fault::Chain(entry.chain));
            }
            if head.sha256() != link.sha256() {
                return broken(Fault::Head);
            }
        }
        self.link = Some(link);
        Ok(())
    }

    /// Ends the chain: its last link.
    ///
    /// # Errors
    /// A head was published of more entries than there are, heads contradict each other, or there is no entry.
    pub fn finish(self) -> Result<Link, Broken> {
        if let Some(sequence) = self.contradiction {
            return Err(Broken { sequence, fault: Fault::Heads });
        }
        let last = self.link.or(self.from);
        let sequence = last.as_ref().map_or(0, Link::sequence);
        if let Some((entries, _)) = self.heads.range(sequence + 1..).next_back() {
            return Err(Broken { sequence: sequence + 1, fault: Fault::Cut(*entries) });
        }
        last.ok_or(Broken { sequence: 1, fault: Fault::Form("there is no entry".to_owned()) })
    }
}

/// What an entry says of itself.
struct Entry {
    chain: String,
    sequence: u64,
    previous: [u8; 32],
}

fn read(line: &[u8]) -> Result<Entry, String> {
    let text = std::str::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned())?;
    let entry: Map<String, Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let own = |key: &str| entry.get(key).ok_or_else(|| format!("it has no {key:?}"));
    let text_of = |key: &str| match own(key)? {
        Value::String(text) => Ok(text.clone()),
        _ => Err(format!("its {key:?} is no text")),
    };
    let found = Entry {
        chain: text_of("chain")?,
        sequence: own("sequence")?.as_u64().ok_or("its \"sequence\" is no whole number")?,
        previous: from_hex(&text_of("previous")?).map_err(|error| error.to_string())?,
    };
    text_of("time")?;
    // Also where a key stands twice.
    let canonical = serde_json_canonicalizer::to_string(&entry).map_err(|error| error.to_string())?;
    if canonical == text { Ok(found) } else { Err("it is written in another way".to_owned()) }
}
