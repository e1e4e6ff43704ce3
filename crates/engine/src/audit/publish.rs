//! Ranges: the entries behind the last range, with the head that outsiders compare.

use strongroom_audit::{Head, Link, RangeSum, Sha256};
use strongroom_registry::audit::{self as rows, Chain, RangeRow};
use strongroom_registry::{RegistryError, Time};

use super::contradictions::undecided;
use super::keys::{Signing, announce, left};
use super::seal::counts;
use super::{is_suspended, now, unfit};
use crate::error::Failures;
use crate::runtime::Shutdown;
use crate::{EngineError, Home, crash_point};

/// The most entries and bytes of a range.
pub(super) const MOST_ENTRIES: u64 = 50_000;
const MOST_BYTES: u64 = 64 << 20;
/// Entries read at once.
const PAGE: usize = 500;

/// Whether entries of a chain are to be published now.
pub(super) fn is_due(home: &Home, chain: &Chain, now: Time) -> bool {
    let every = i64::try_from(home.settings.audit.publish_interval.as_micros()).unwrap_or(i64::MAX);
    let waiting = chain.sequence - chain.published.min(chain.sequence);
    // A time in the future is of a clock that was ahead.
    waiting >= MOST_ENTRIES || chain.published_at > now || chain.published_at.0.saturating_add(every) <= now.0
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
    let signing = Signing::of(home)?;
    let held = undecided(home)?;
    let mut failures = Failures::default();
    for chain in names.into_iter().filter(|chain| !held.contains(&chain.name)) {
        match announce(home, &chain, &signing, stop) {
            Ok(appended) => sealed += appended,
            // Other chains are published all the same.
            Err(error @ EngineError::Registry(_)) => return Err(error),
            Err(error) => {
                failures.add(error);
                continue;
            }
        }
        let Some(chain) = home.registry.read(rows::chains)?.into_iter().find(|found| found.name == chain.name) else {
            continue;
        };
        if chain.signing_key.as_deref() != signing.fingerprint() {
            failures.add(left(&chain, "another process has announced that just now"));
            continue;
        }
        let mut before = chain.clone();
        while before.published < chain.sequence && !stop.is_requested() {
            match make_range(home, &before, &chain, &signing, now)? {
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
    failures.or((ranges, sealed))
}

/// Makes the next range of a chain that ends with `chain`, behind the entries that are published by `before`.
fn make_range(
    home: &Home,
    before: &Chain,
    chain: &Chain,
    signing: &Signing,
    now: Time,
) -> Result<Option<Chain>, EngineError> {
    let mut sum = RangeSum::behind(end_of_published(home, before)?);
    let (mut last, mut end) = (before.published, String::new());
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
            (last, end) = (sequence, line);
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
    let head = head.signed_by(signing.fingerprint().map(str::to_owned));
    let text = head.to_text().map_err(|error| unfit("a head", &error))?;
    let signature = if let Signing::Key(key, _) = signing {
        let pem = key.public().to_pem().map_err(|error| unfit("a key", &error))?;
        Some((key.sign(text.as_bytes()), pem))
    } else {
        None
    };
    let row = RangeRow { chain: chain.name.clone(), last, made_at: now, head: text, signature, moved_at: None };
    let published = before.published;
    match home.registry.write(move |tx| rows::publish(tx, published, &row, &end)) {
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
