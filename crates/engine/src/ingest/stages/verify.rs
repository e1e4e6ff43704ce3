//! verify: every new copy proved by its digest. Where the store itself vouches for a digest that is as strong as reading, it
//! is asked for that; else the copy is read back. A copy that does not prove is made again, a limited number of times.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use strongroom_ocfl::{OcflError, VersionAssembly};
use strongroom_registry::copies::{self, PendingCopy};
use strongroom_registry::versions::Version;
use strongroom_registry::{ContentId, VersionState};
use strongroom_storage::{StorageError, Store};

use super::resolve::Resolved;
use super::write::{assembly, in_every_store, write_again};
use crate::fixity::vouched;
use crate::ingest::lease::{compare_anew, keep_object};
use crate::ingest::placement::placement;
use crate::ingest::version::open_version;
use crate::workflow::{Outcome, StageContext, StageError};

const COPIES_AT_ONCE: usize = 1_000;

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let resolved: Resolved = context.expect("resolved")?;
    if let Some(end) = keep_object(context, &resolved)? {
        return Ok(end);
    }
    let Some(version) = open_version(context)? else { return Ok(compare_anew()) };
    if version.state != VersionState::Preparing {
        return Ok(Outcome::done("already being committed"));
    }
    let (_, stores) = placement(context, &resolved)?;
    let mut proved = 0;
    let mut wrong = Vec::new();
    for outcome in in_every_store(&stores, |name, store| prove(context, &version, name, store)) {
        let outcome = outcome?;
        proved += outcome.proved;
        wrong.extend(outcome.wrong);
    }
    if wrong.is_empty() {
        return Ok(Outcome::done(format!("{proved} copies proved")));
    }
    write_again(context, &version, &format!("{} did not read back as written", wrong.join(", ")))
}

struct StoreProof {
    proved: u64,
    wrong: Vec<String>,
}

fn prove(
    context: &StageContext<'_>,
    version: &Version,
    name: &str,
    store: &Arc<dyn Store>,
) -> Result<StoreProof, StageError> {
    let assembly = assembly(context, version, store)?;
    let mut proof = StoreProof { proved: 0, wrong: Vec::new() };
    let mut after = None;
    loop {
        let page = context.registry().read(|tx| copies::unverified(tx, version, name, after, COPIES_AT_ONCE))?;
        let Some(last) = page.last() else { break };
        after = Some(last.content);
        let check = || context.task.check().map_err(StageError::from);
        let Proofs { right, attested, wrong } = prove_page(&assembly, name, store, &page, &check)?;
        proof.proved += (right.len() + attested.len()) as u64;
        let (store_name, of) = (name.to_owned(), version.clone());
        for copy in &wrong {
            proof.wrong.push(format!("sha512:{} in {name}", copy.sha512));
        }
        let wrong: Vec<ContentId> = wrong.iter().map(|copy| copy.content).collect();
        context.write(move |tx, claim| {
            copies::set_verified(tx, claim, &of, &store_name, &right)?;
            copies::set_attested(tx, claim, &of, &store_name, &attested)?;
            for content in &wrong {
                copies::forget_copy(tx, claim, &of, &store_name, *content)?;
            }
            Ok(())
        })?;
    }
    let unproved = context.registry().read(|tx| copies::unproved(tx, version, name))?;
    if unproved > 0 && proof.wrong.is_empty() {
        proof.wrong.push(format!("{unproved} contents without a copy in {name}"));
    }
    Ok(proof)
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
        let check = || context.task.check_lease().map_err(StageError::from);
        let Proofs { right, attested, wrong } = prove_page(&assembly, name, store, &page, &check)?;
        let (store_name, of) = (name.to_owned(), version.clone());
        context.write(move |tx, claim| {
            copies::set_verified(tx, claim, &of, &store_name, &right)?;
            copies::set_attested(tx, claim, &of, &store_name, &attested)
        })?;
        if !wrong.is_empty() {
            return Ok(wrong.into_iter().map(|copy| copy.content).collect());
        }
    }
}

/// How a copy was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CopyProof {
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
    check: &(dyn Fn() -> Result<(), StageError> + Sync),
) -> Result<Proofs, StageError> {
    let vouches = store.capabilities().strong_checksum;
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, CopyProof)>, StageError> {
        let mut seen = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(copy) = page.get(index) else { return Ok(seen) };
            check()?;
            seen.push((index, look(assembly, name, vouches, copy)?));
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
                CopyProof::Right => proofs.right.push(copy.content),
                CopyProof::Attested => proofs.attested.push(copy.content),
                CopyProof::Wrong => proofs.wrong.push(copy.clone()),
            }
        }
    }
    Ok(proofs)
}

fn look(
    assembly: &VersionAssembly<'_>,
    store: &str,
    vouches: bool,
    copy: &PendingCopy,
) -> Result<CopyProof, StageError> {
    // Where what the store says is not right, reading tells what is.
    if vouches && attest(assembly, copy)? == Some(true) {
        return Ok(CopyProof::Attested);
    }
    match assembly.verify_content(&copy.sha512, copy.size) {
        Ok(true) => Ok(CopyProof::Right),
        Ok(false) => Ok(CopyProof::Wrong),
        Err(OcflError::Storage(StorageError::NotReadable { class, .. })) => match attest(assembly, copy)? {
            Some(true) => Ok(CopyProof::Attested),
            Some(false) => Ok(CopyProof::Wrong),
            // Nobody would ever know what lies there.
            None => Err(StageError::fatal(format!(
                "contents in store {store} lie in storage class {}, which cannot be read back, and its service vouches \
                 for no checksum; give the store a class that can be read",
                class.unwrap_or_default()
            ))),
        },
        Err(error) => Err(error.into()),
    }
}

/// Whether the digest that the store vouches for is the right one; none where it vouches for none.
fn attest(assembly: &VersionAssembly<'_>, copy: &PendingCopy) -> Result<Option<bool>, StageError> {
    let Some(head) = assembly.head_content(&copy.sha512)? else { return Ok(Some(false)) };
    Ok(vouched(&head, copy.size, copy.sha512, copy.sha256))
}
