//! Ranges: the entries behind the last range, with the head that outsiders compare.

use std::fs;

use strongroom_audit::{Head, KEY_ACT, Link, NO_KEY, RangeSum, Sha256, SigningKey};
use strongroom_registry::audit::{self as rows, Chain, RangeRow};
use strongroom_registry::{JournalOutcome, RegistryError, Time};

use super::seal::{counts, seal};
use super::{is_suspended, now, unfit};
use crate::journal::{JournalEntry, Target};
use crate::runtime::Shutdown;
use crate::{EngineError, Home, crash_point};

/// The most entries and bytes of a range.
const MOST_ENTRIES: u64 = 50_000;
const MOST_BYTES: u64 = 64 << 20;
/// Entries read at once.
const PAGE: usize = 500;

/// Whether entries of a chain are to be published now.
pub(super) fn is_due(home: &Home, chain: &Chain, now: Time) -> bool {
    let every = i64::try_from(home.settings.audit.publish_interval.as_micros()).unwrap_or(i64::MAX);
    let waiting = chain.sequence - chain.published.min(chain.sequence);
    waiting >= MOST_ENTRIES || chain.published_at.0.saturating_add(every) <= now.0
}

/// Makes ranges of the entries that are in none, of chains of which that is wanted; how many, and how many entries were appended for it.
pub(super) fn publish(
    home: &Home,
    is_wanted: &dyn Fn(&Chain, Time) -> bool,
    stop: &Shutdown,
) -> Result<(u64, u64), EngineError> {
    if is_suspended(home)? {
        return Ok((0, 0));
    }
    let now = now(home)?;
    let has_news = |chain: &Chain| chain.sequence > chain.published && is_wanted(chain, now);
    let (mut ranges, mut sealed) = (0, 0);
    let names: Vec<Chain> = home.registry.read(rows::chains)?.into_iter().filter(has_news).collect();
    if names.is_empty() {
        return Ok((0, 0));
    }
    let key = signing_key(home)?;
    for chain in names {
        sealed += tell_of_key(home, &chain, key.as_ref(), stop)?;
        let Some(chain) = home.registry.read(rows::chains)?.into_iter().find(|found| found.name == chain.name) else {
            continue;
        };
        let mut before = chain.clone();
        while before.published < chain.sequence && !stop.is_requested() {
            match make_range(home, &before, &chain, key.as_ref(), now)? {
                Some(after) => {
                    crash_point("audit.published");
                    before = after;
                    ranges += 1;
                }
                // Another process has made it.
                None => break,
            }
        }
    }
    Ok((ranges, sealed))
}

fn signing_key(home: &Home) -> Result<Option<SigningKey>, EngineError> {
    let Some(file) = &home.settings.audit.signing_key else { return Ok(None) };
    let path = home.directory.join(file);
    let wrong = |why: String| {
        EngineError::Usage(format!("audit.signing_key: {}: {why}", path.display())).next(
            "\"openssl genpkey -algorithm ed25519\" makes a key; until it can be read, nothing is published of audit chains",
        )
    };
    let text = fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
    SigningKey::from_pem(&text).map(Some).map_err(|error| wrong(error.to_string()))
}

/// Says in the chain by which key its heads are signed from here on, where that is another one than before; how many entries were appended.
fn tell_of_key(home: &Home, chain: &Chain, key: Option<&SigningKey>, stop: &Shutdown) -> Result<u64, EngineError> {
    let fingerprint = key.map(|key| key.public().fingerprint()).transpose();
    let fingerprint = fingerprint.map_err(|error| unfit("a key", &error))?;
    if fingerprint == chain.signing_key {
        return Ok(0);
    }
    let name = |key: Option<&String>| key.map_or(NO_KEY, String::as_str).to_owned();
    let detail = format!("heads were signed by: {}", name(chain.signing_key.as_ref()));
    let target = Target { name: name(fingerprint.as_ref()), institution: chain.institution, object: None };
    home.registry
        .write(move |tx| JournalEntry::of_system(KEY_ACT).append(tx, &target, JournalOutcome::Done, Some(&detail)))?;
    seal(home, stop)
}

/// Makes the next range of a chain that ends with `chain`, behind the entries that are published by `before`.
fn make_range(
    home: &Home,
    before: &Chain,
    chain: &Chain,
    key: Option<&SigningKey>,
    now: Time,
) -> Result<Option<Chain>, EngineError> {
    let mut sum = RangeSum::behind(end_of_published(home, before)?);
    let mut last = before.published;
    while last < chain.sequence && last - before.published < MOST_ENTRIES && sum.bytes() < MOST_BYTES {
        let until = chain.sequence.min(before.published + MOST_ENTRIES);
        let name = &chain.name;
        let page = home.registry.read(|tx| rows::entries(tx, name, (last + 1, until), PAGE))?;
        if page.is_empty() {
            let found = format!("{last} of {} entries", chain.sequence);
            return Err(RegistryError::Corrupt { wanted: "every entry of an audit chain", found }.into());
        }
        for (sequence, line) in page {
            sum.take(line.as_bytes());
            last = sequence;
        }
    }
    let (range, link) = sum.finish();
    let is_last = last == chain.sequence;
    if is_last && link.sha256().0 != chain.sha256 {
        let wanted = "the entries of an audit chain as they were appended";
        return Err(RegistryError::Corrupt { wanted, found: format!("another entry {last} of {}", chain.name) }.into());
    }
    let mut head = Head::of(&link, range, now.to_string());
    if is_last {
        head = head.counting(counts(chain)?);
    }
    // As the chain says: the key was told of there.
    let fingerprint = chain.signing_key.clone();
    let head = head.signed_by(fingerprint.clone());
    let text = head.to_text().map_err(|error| unfit("a head", &error))?;
    let signature = match (key, fingerprint) {
        (Some(key), Some(_)) => {
            let pem = key.public().to_pem().map_err(|error| unfit("a key", &error))?;
            Some((key.sign(text.as_bytes()), pem))
        }
        _ => None,
    };
    let row = RangeRow { chain: chain.name.clone(), last, made_at: now, head: text, signature, moved_at: None };
    let published = before.published;
    match home.registry.write(move |tx| rows::publish(tx, published, &row)) {
        Ok(()) => Ok(Some(Chain { published: last, ..before.clone() })),
        Err(RegistryError::FenceLost { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The chain up to what is published of it.
fn end_of_published(home: &Home, chain: &Chain) -> Result<Link, EngineError> {
    if chain.published == 0 {
        return Ok(Link::at(chain.name.clone(), 0, Sha256::NOTHING));
    }
    let (name, after) = (&chain.name, chain.published - 1);
    let range = home.registry.read(|tx| rows::ranges(tx, name, after, 1))?.into_iter().next();
    let range = range.filter(|range| range.last == chain.published).ok_or_else(|| RegistryError::Corrupt {
        wanted: "the range up to which an audit chain is published",
        found: format!("none that ends with entry {} of {}", chain.published, chain.name),
    })?;
    Ok(head_of(&range)?.link())
}

/// The head of a range.
pub(super) fn head_of(range: &RangeRow) -> Result<Head, EngineError> {
    Head::read(&range.head).map_err(|error| unfit("the head of a range", &error))
}
