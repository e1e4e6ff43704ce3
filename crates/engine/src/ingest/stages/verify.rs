//! verify: every new copy proved by its digest, read back from the store. A copy that does not prove is made again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use strongroom_ocfl::{InventorySeal, VersionAssembly};
use strongroom_registry::versions::{self, PendingCopy, Version};
use strongroom_registry::work::StageEnd;
use strongroom_registry::{ContentId, Stage, VersionState};
use strongroom_storage::Store;

use super::Seal;
use super::compare::{keep_object, placement, version};
use super::resolve::Resolved;
use super::write::{assembly, in_every_store};
use crate::ingest::context::{StageContext, StageError};

const COPIES_AT_ONCE: usize = 1_000;

pub(super) fn run(context: &StageContext<'_>) -> Result<StageEnd, StageError> {
    let resolved: Resolved = context.expect("resolved")?;
    if let Some(end) = keep_object(context, &resolved)? {
        return Ok(end);
    }
    let version = version(context)?;
    if version.state != VersionState::Preparing {
        return Ok(StageEnd::Next { next: Stage::Record, note: "already being committed".into() });
    }
    let seal = context.expect::<Seal>("seal")?.inventory_seal()?;
    let (_, stores) = placement(context, &resolved)?;
    let mut proved = 0;
    let mut wrong = Vec::new();
    for outcome in in_every_store(&stores, |name, store| prove(context, &version, seal, name, store)) {
        let outcome = outcome?;
        proved += outcome.proved;
        wrong.extend(outcome.wrong);
    }
    if wrong.is_empty() {
        return Ok(StageEnd::Next { next: Stage::Record, note: format!("{proved} copies read back and right") });
    }
    let note = format!("{} did not read back as written and are written again", wrong.join(", "));
    if context.item.retry_count + 1 >= u64::from(context.task.settings().max_attempts) {
        return Err(StageError::Transient(note));
    }
    Ok(StageEnd::Back { to: Stage::Write, note })
}

struct Proof {
    proved: u64,
    wrong: Vec<String>,
}

fn prove(
    context: &StageContext<'_>,
    version: &Version,
    seal: InventorySeal,
    name: &str,
    store: &Arc<dyn Store>,
) -> Result<Proof, StageError> {
    let assembly = assembly(context, version, store)?;
    let mut proof = Proof { proved: 0, wrong: Vec::new() };
    let mut after = None;
    loop {
        let page = context.registry().read(|tx| versions::unverified(tx, version, name, after, COPIES_AT_ONCE))?;
        let Some(last) = page.last() else { break };
        after = Some(last.content);
        let (right, wrong) = prove_page(context, &assembly, &page)?;
        proof.proved += right.len() as u64;
        let store_name = name.to_owned();
        for copy in &wrong {
            proof.wrong.push(format!("sha512:{} in {name}", copy.sha512));
        }
        let wrong: Vec<ContentId> = wrong.iter().map(|copy| copy.content).collect();
        context.write(move |tx, claim| {
            versions::set_verified(tx, claim, &store_name, &right)?;
            for content in &wrong {
                versions::forget_copy(tx, claim, &store_name, *content)?;
            }
            Ok(())
        })?;
    }
    if !assembly.verify_inventory(&seal)? {
        proof.wrong.push(format!("the inventory in {name}"));
    }
    let unproved = context.registry().read(|tx| versions::unproved(tx, version, name))?;
    if unproved > 0 && proof.wrong.is_empty() {
        proof.wrong.push(format!("{unproved} contents without a copy in {name}"));
    }
    Ok(proof)
}

/// Reads a page of copies back; the right ones and the wrong ones. Small ones are read by two threads.
fn prove_page(
    context: &StageContext<'_>,
    assembly: &VersionAssembly<'_>,
    page: &[PendingCopy],
) -> Result<(Vec<ContentId>, Vec<PendingCopy>), StageError> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, bool)>, StageError> {
        let mut seen = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(copy) = page.get(index) else { return Ok(seen) };
            context.task.check()?;
            seen.push((index, assembly.verify_content(&copy.sha512, copy.size)?));
        }
    };
    let outcomes = std::thread::scope(|scope| {
        let other = scope.spawn(work);
        [work(), other.join().unwrap_or_else(|_| Err(StageError::Transient("a thread of the stage panicked".into())))]
    });
    let mut right = Vec::with_capacity(page.len());
    let mut wrong = Vec::new();
    for outcome in outcomes {
        for (index, is_right) in outcome? {
            let Some(copy) = page.get(index) else { continue };
            if is_right { right.push(copy.content) } else { wrong.push(copy.clone()) }
        }
    }
    Ok((right, wrong))
}
