//! verify: every new copy proved by its digest. Where the store itself vouches for a digest that is as strong as reading, it
//! is asked for that; else the copy is read back. A copy that does not prove is made again, a limited number of times.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use strongroom_ocfl::{OcflError, VersionAssembly};
use strongroom_registry::copies::{self, CheckedCopies, PendingCopy};
use strongroom_registry::counted;
use strongroom_registry::versions::Version;
use strongroom_registry::{ContentId, Transaction, VersionState};
use strongroom_storage::{StorageError, Store};

use super::write::{assembly, in_every_store, write_again};
use crate::content_name::ContentName;
use crate::fixity::vouched;
use crate::hold::GoOn;
use crate::ingest::lease::{Begun, Known, keep_object};
use crate::interruptible::Interruptible;
use crate::workflow::{Outcome, StageContext, StageError};

const COPIES_AT_ONCE: usize = 1_000;

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let begun = keep_object(context, &mut |tx, known| {
        let unproved = copies::unproved(tx, &known.version, &known.store_names())?;
        Ok((unverified(tx, known, &BTreeMap::new())?, unproved))
    })?;
    let (known, (mut pages, unproved)) = match begun {
        Begun::Known(known, besides) => (known, besides),
        Begun::Ends(end) => return Ok(end),
    };
    let version = &known.version;
    if version.state != VersionState::Preparing {
        return Ok(Outcome::done("already being committed"));
    }
    // Every content has a copy in every store that is still to be proved, and they are all of these pages.
    let are_all_known = known.stores.iter().zip(unproved).all(|((name, _), unproved)| {
        let listed = pages.get(name).map_or(0, Vec::len);
        listed < COPIES_AT_ONCE && listed as u64 == unproved
    });
    let mut proved = 0;
    let mut wrong = Vec::new();
    loop {
        let seen = prove(context, &known, &pages)?;
        for (seen, wrong_here) in &seen {
            proved += (seen.verified.len() + seen.attested.len()) as u64;
            for copy in wrong_here {
                wrong.push(format!("{} in {}", name_of(context, copy, version)?, seen.store));
            }
        }
        let seen: Vec<CheckedCopies> = seen.into_iter().map(|(seen, _)| seen).collect();
        let (of, stores) = (version.clone(), known.store_names());
        if are_all_known && wrong.is_empty() {
            context.with_end(move |tx, claim| copies::note_seen(tx, claim, &of, &seen).map(|()| Vec::new()));
            break;
        }
        let is_last = pages.values().all(|page| page.len() < COPIES_AT_ONCE);
        let unproved = context.write(move |tx, claim| {
            copies::note_seen(tx, claim, &of, &seen)?;
            if is_last { copies::unproved(tx, &of, &stores) } else { Ok(Vec::new()) }
        })?;
        if is_last {
            for ((name, _), unproved) in known.stores.iter().zip(unproved) {
                if unproved > 0 && !wrong.iter().any(|wrong| wrong.ends_with(&format!(" in {name}"))) {
                    wrong.push(format!("{} without a copy in {name}", counted(unproved, "content", "contents")));
                }
            }
            break;
        }
        let after = pages.iter().filter_map(|(name, page)| Some((name.clone(), page.last()?.content))).collect();
        pages = context.registry().read(|tx| unverified(tx, &known, &after))?;
    }
    if wrong.is_empty() {
        return Ok(Outcome::done(format!("{} verified", counted(proved, "copy", "copies"))));
    }
    write_again(context, version, &format!("{} did not read back as written", wrong.join(", ")))
}

/// A content that a version brings, as people know it.
pub(crate) fn name_of(
    context: &StageContext<'_>,
    copy: &PendingCopy,
    version: &Version,
) -> Result<ContentName, StageError> {
    let object = &context.item.object_identifier;
    Ok(context.registry().read(|tx| ContentName::within(tx, object, copy.content, version))?)
}

/// The next copies in each store that are not proved yet, after those of the page before.
fn unverified(
    tx: &mut dyn Transaction,
    known: &Known,
    after: &BTreeMap<String, ContentId>,
) -> Result<BTreeMap<String, Vec<PendingCopy>>, StageError> {
    let mut pages = BTreeMap::new();
    for name in known.store_names() {
        let page = copies::unverified(tx, &known.version, &name, after.get(&name).copied(), COPIES_AT_ONCE)?;
        pages.insert(name, page);
    }
    Ok(pages)
}

/// Proves a page of copies in each store, in all stores at the same time; with those that are wrong.
fn prove(
    context: &StageContext<'_>,
    known: &Known,
    pages: &BTreeMap<String, Vec<PendingCopy>>,
) -> Result<Vec<(CheckedCopies, Vec<PendingCopy>)>, StageError> {
    let none = Vec::new();
    let proved = in_every_store(&known.stores, |name, store| {
        let page = pages.get(name).unwrap_or(&none);
        let seen = CheckedCopies { store: name.to_owned(), ..CheckedCopies::default() };
        if page.is_empty() {
            return Ok((seen, Vec::new()));
        }
        let assembly = assembly(context, &known.version, store)?;
        let Proofs { right, attested, wrong } = prove_page(&assembly, name, store, page, context.task)?;
        let forgotten = wrong.iter().map(|copy| copy.content).collect();
        Ok((CheckedCopies { verified: right, attested, wrong: forgotten, ..seen }, wrong))
    });
    proved.into_iter().collect()
}

/// Proves the copies in a store that are not proved yet, of a version that is being committed, so that only a lost lease stops
/// it: the first contents that do not prove right.
pub(in crate::ingest) fn prove_rest(
    context: &StageContext<'_>,
    version: &Version,
    name: &str,
    store: &Arc<dyn Store>,
) -> Result<Vec<ContentId>, StageError> {
    let assembly = assembly(context, version, store)?;
    loop {
        let page = context.registry().read(|tx| copies::unverified(tx, version, name, None, COPIES_AT_ONCE))?;
        if page.is_empty() {
            return Ok(Vec::new());
        }
        let go_on = || context.task.check_lease();
        let Proofs { right, attested, wrong } = prove_page(&assembly, name, store, &page, &go_on)?;
        let (store_name, of) = (name.to_owned(), version.clone());
        let seen = CheckedCopies { store: store_name, verified: right, attested, wrong: Vec::new() };
        context.write(move |tx, claim| copies::note_seen(tx, claim, &of, std::slice::from_ref(&seen)))?;
        if !wrong.is_empty() {
            return Ok(wrong.into_iter().map(|copy| copy.content).collect());
        }
    }
}

/// How a copy was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    /// Read back, and right.
    Right,
    /// Not read; its store vouches for the right digest.
    Attested,
    /// Not right, or not there.
    Wrong,
}

/// A page of copies by how they were found.
#[derive(Default)]
struct Proofs {
    right: Vec<ContentId>,
    attested: Vec<ContentId>,
    wrong: Vec<PendingCopy>,
}

/// Proves a page of copies. Small ones are read by two threads.
fn prove_page(
    assembly: &VersionAssembly<'_>,
    name: &str,
    store: &Arc<dyn Store>,
    page: &[PendingCopy],
    go_on: &GoOn<'_>,
) -> Result<Proofs, StageError> {
    let vouches = store.capabilities().strong_checksum;
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Sight)>, StageError> {
        let mut seen = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(copy) = page.get(index) else { return Ok(seen) };
            go_on.check()?;
            seen.push((index, look(assembly, (name, vouches), copy, go_on)?));
        }
    };
    let outcomes = std::thread::scope(|scope| {
        let other = scope.spawn(work);
        [work(), other.join().unwrap_or_else(|_| Err(StageError::Transient("a thread of the stage panicked".into())))]
    });
    let mut proofs = Proofs::default();
    for outcome in outcomes {
        for (index, seen) in outcome? {
            let Some(copy) = page.get(index) else { continue };
            match seen {
                Sight::Right => proofs.right.push(copy.content),
                Sight::Attested => proofs.attested.push(copy.content),
                Sight::Wrong => proofs.wrong.push(copy.clone()),
            }
        }
    }
    Ok(proofs)
}

fn look(
    assembly: &VersionAssembly<'_>,
    (store, vouches): (&str, bool),
    copy: &PendingCopy,
    go_on: &GoOn<'_>,
) -> Result<Sight, StageError> {
    // Where what the store says differs, the copy is read.
    if vouches && attest(assembly, copy)? == Some(true) {
        return Ok(Sight::Attested);
    }
    match assembly.verify_content_through(&copy.sha512, copy.size, |body| Interruptible::new(body, go_on)) {
        Ok(true) => Ok(Sight::Right),
        Ok(false) => Ok(Sight::Wrong),
        Err(OcflError::Storage(StorageError::NotReadable { class, .. })) => match attest(assembly, copy)? {
            Some(true) => Ok(Sight::Attested),
            Some(false) => Ok(Sight::Wrong),
            // The content of the copy could never be verified.
            None => Err(StageError::fatal(format!(
                "contents in store {store} are in storage class {}, which cannot be read back, and its service keeps \
                 no checksum; give the store a class that can be read",
                class.unwrap_or_default()
            ))),
        },
        Err(error) => {
            go_on.check()?;
            Err(error.into())
        }
    }
}

/// Whether the digest that the store vouches for is the right one; none where it vouches for none.
fn attest(assembly: &VersionAssembly<'_>, copy: &PendingCopy) -> Result<Option<bool>, StageError> {
    let Some(head) = assembly.head_content(&copy.sha512)? else { return Ok(Some(false)) };
    Ok(vouched(&head, copy.size, copy.sha512, copy.sha256))
}
