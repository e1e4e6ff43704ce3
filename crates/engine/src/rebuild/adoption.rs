//! Adoption: a registry imports what its stores know and it does not, because it was restored from a backup, or because a
//! store joins it. While it is behind, it can only be read; the stores are taken over first, so that the caller that
//! still works with another state of the registry is stopped by their marks, and then walked one after the other.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use strongroom_queue::WorkerId;
use strongroom_registry::epoch::{self, Adoption};
use strongroom_registry::{RegistryError, rebuild as record};
use strongroom_storage::{Key, Store};

use super::adopt::{Counted, Taking};
use super::walk::{Visited, Walk};
use super::{RebuildError, Summary};
use crate::watermark::{self, StoredWatermark};
use crate::{EngineError, Home, audit, crash_point};

/// How long an adoption belongs to its process without being renewed, in microseconds.
const LEASE: i64 = 60_000_000;
/// How often it is kept.
const KEEP_EVERY: Duration = Duration::from_secs(10);
/// How often a store is walked whose mark names acts that were done meanwhile.
const ROUNDS: u32 = 5;
/// Objects that others work on are asked for again: how many are remembered, and for how long.
const POSTPONED: usize = 10_000;
const PATIENCE: Duration = Duration::from_secs(90);

/// An adoption under way, held by this process.
pub(super) struct HeldAdoption<'h> {
    home: &'h Home,
    holder: String,
    kept_at: Instant,
    pub(super) is_behind: bool,
}

/// Begins an adoption, or goes on with one that was cut short. Every store that the registry is behind, or that belongs to
/// another one, is taken over.
pub(super) fn begin(home: &Home) -> Result<HeldAdoption<'_>, EngineError> {
    let mut marks = Vec::new();
    for store in home.preservation_stores() {
        marks.push((store.name().to_owned(), watermark::read(store)?));
    }
    let holder = WorkerId::this_process().to_string();
    let me = holder.clone();
    let (epoch, adoption) = home.registry.write(move |tx| {
        let now = tx.now()?;
        let before = epoch::adoption(tx)?;
        if let Some(before) = &before {
            let is_gone = before.holder.parse::<WorkerId>().is_ok_and(|holder| holder.is_gone());
            if before.holder != me && !is_gone && before.until > now.0 {
                return Err(RegistryError::State {
                    what: "adoption",
                    id: format!("of this registry by {}", before.holder),
                    state: "under way".into(),
                    act: "begin another".into(),
                });
            }
        }
        let epoch = epoch::get(tx)?;
        let mut pending = before.map(|before| before.pending).unwrap_or_default();
        let is_behind = |found: &StoredWatermark| watermark::contradiction(found, epoch.as_ref()).is_some();
        for (name, found) in &marks {
            if !pending.contains(name) && is_behind(found) {
                pending.push(name.clone());
            }
        }
        let mut epoch = epoch::known(tx)?;
        if !pending.is_empty() {
            let terms =
                marks.iter().map(|(_, found)| if let StoredWatermark::Watermark(mark) = found { mark.term } else { 0 });
            epoch = epoch::enter_term(tx, terms.max().unwrap_or(0))?;
            // The caller that held an object did so in the name of a registry that was lost.
            record::clear_leases(tx)?;
        }
        let adoption = Adoption { holder: me.clone(), until: now.plus(LEASE).0, pending };
        epoch::set_adoption(tx, Some(&adoption))?;
        Ok((epoch, adoption))
    })?;
    if !adoption.pending.is_empty() {
        audit::suspend(home)?;
    }
    crash_point("rebuild.adoption.begun");
    for name in &adoption.pending {
        watermark::claim(home, home.store(name)?.as_ref(), &epoch)?;
    }
    crash_point("rebuild.adoption.claimed");
    Ok(HeldAdoption { home, holder, kept_at: Instant::now(), is_behind: !adoption.pending.is_empty() })
}

impl HeldAdoption<'_> {
    /// Keeps it; refused where another process has taken it over.
    fn keep(&mut self) -> Result<(), EngineError> {
        if self.kept_at.elapsed() < KEEP_EVERY {
            return Ok(());
        }
        self.change(|_| ())?;
        self.kept_at = Instant::now();
        Ok(())
    }

    fn change(&self, change: impl Fn(&mut Adoption) + Send + 'static) -> Result<Adoption, EngineError> {
        let me = self.holder.clone();
        Ok(self.home.registry.write(move |tx| {
            let lost = || RegistryError::FenceLost { what: "adoption", id: me.clone() };
            let mut adoption = epoch::adoption(tx)?.filter(|found| found.holder == me).ok_or_else(lost)?;
            adoption.until = tx.now()?.plus(LEASE).0;
            change(&mut adoption);
            epoch::set_adoption(tx, Some(&adoption))?;
            Ok::<_, RegistryError>(adoption)
        })?)
    }

    fn is_pending(&self, store: &str) -> Result<bool, EngineError> {
        let adoption = self.home.registry.read(epoch::adoption)?;
        Ok(adoption.is_some_and(|adoption| adoption.pending.iter().any(|name| name == store)))
    }

    /// Counts a store as known, up to this number of acts.
    pub(super) fn settle(&self, store: &str, acts: u64) -> Result<(), EngineError> {
        let name = store.to_owned();
        self.change(move |adoption| adoption.pending.retain(|pending| *pending != name))?;
        self.home.registry.write(move |tx| epoch::catch_up(tx, acts))?;
        Ok(())
    }

    /// Ends the adoption; where stores are pending, the registry stays as it is, and another process may continue. Otherwise the audit chains are read in
    /// the stores; an error of that is in the summary, and the background task `audit` tries it again.
    pub(super) fn end(self, summary: &mut Summary) -> Result<(), EngineError> {
        let adoption = self.change(|adoption| adoption.until = 0)?;
        if adoption.pending.is_empty() {
            self.home.registry.write(|tx| epoch::set_adoption(tx, None))?;
            // Not where nothing was lost: what lies in stores beyond the registry's own is not believed then.
            if audit::is_suspended(self.home)? {
                match audit::import(self.home) {
                    Ok(problems) => {
                        for problem in problems {
                            summary.note("audit", audit::FOLDER, problem);
                        }
                    }
                    Err(error) => summary.note("audit", audit::FOLDER, error.chain()),
                }
            }
        }
        summary.pending = adoption.pending;
        Ok(())
    }
}

/// The acts that a store's mark says, once it is the registry's own.
pub(super) fn acts(store: &dyn Store) -> Result<u64, EngineError> {
    Ok(match watermark::read(store)? {
        StoredWatermark::Watermark(mark) => mark.acts,
        StoredWatermark::None | StoredWatermark::Unreadable(_) => 0,
    })
}

/// What to take up.
#[derive(Debug, Clone, Default)]
pub struct AdoptRequest {
    /// Only these stores; none: every preservation store.
    pub stores: Vec<String>,
    /// Only count what there is to do.
    pub dry_run: bool,
}

/// Takes up objects, versions, copies and later acts that the preservation stores know and the registry does not;
/// `progress` is called after each object. What was cut short goes on where it stopped. Afterwards the registry can be
/// written to, unless a store that it is behind was left out or could not be walked: those are [`Summary::pending`].
///
/// # Errors
/// Another adoption is under way; a store does not exist or cannot be listed; the registry fails. What cannot be taken up
/// of an object is no error: it is in the summary.
pub fn adopt(home: &Home, request: &AdoptRequest, progress: &mut dyn FnMut(&Summary)) -> Result<Summary, EngineError> {
    let all: Vec<String> = home.preservation_stores().iter().map(|store| store.name().to_owned()).collect();
    if let Some(other) = request.stores.iter().find(|name| !all.contains(name)) {
        home.store(other)?;
        return Err(EngineError::Usage(format!("{other} is not a preservation store: no placement names it"))
            .next("\"strongroom store list\" shows the stores and what they are for"));
    }
    let chosen = if request.stores.is_empty() { &all } else { &request.stores };
    let mut summary = Summary::default();
    if request.dry_run {
        let counted = Counted::default();
        for name in chosen {
            let store = home.store(name)?.as_ref();
            let taking = Taking { home, store, is_behind: false, dry_run: Some(&counted) };
            walk(&taking, None, &mut summary, progress)?;
        }
        return Ok(summary);
    }
    let mut held = begin(home)?;
    for name in chosen {
        let store = home.store(name)?.as_ref();
        let taking = Taking { home, store, is_behind: held.is_behind, dry_run: None };
        for _ in 0..ROUNDS {
            let is_pending = held.is_pending(name)?;
            let before = acts(store)?;
            let is_whole = walk(&taking, Some(&mut held), &mut summary, progress)?;
            crash_point("rebuild.adoption.walked");
            if !is_pending || !is_whole {
                break;
            }
            // A process that does not know yet that the store was taken over may have done an act behind the walk.
            if acts(store)? == before {
                held.settle(name, before)?;
                crash_point("rebuild.adoption.settled");
                break;
            }
        }
    }
    held.end(&mut summary)?;
    Ok(summary)
}

/// Walks a store; whether nothing had to be left for later.
pub(super) fn walk(
    taking: &Taking<'_>,
    mut held: Option<&mut HeldAdoption<'_>>,
    summary: &mut Summary,
    progress: &mut dyn FnMut(&Summary),
) -> Result<bool, EngineError> {
    let store = taking.store.name();
    let mut postponed: VecDeque<(String, Key)> = VecDeque::new();
    let mut is_whole = true;
    for found in Walk::new(taking.store)? {
        if let Some(held) = &mut held {
            held.keep()?;
        }
        match found? {
            Visited::Object { institution, root } => {
                match taking.object(&institution, &root, summary) {
                    Ok(()) => summary.objects += 1,
                    Err(RebuildError::Busy(_)) if postponed.len() < POSTPONED => {
                        postponed.push_back((institution, root));
                    }
                    Err(fault) => is_whole &= note(fault, store, &root, summary)?,
                }
                progress(summary);
            }
            Visited::Problem { path, reason } => {
                summary.failed += 1;
                summary.note(store, path, reason);
            }
        }
    }
    let begun = Instant::now();
    while let Some((institution, root)) = postponed.pop_front() {
        if let Some(held) = &mut held {
            held.keep()?;
        }
        match taking.object(&institution, &root, summary) {
            Ok(()) => summary.objects += 1,
            Err(RebuildError::Busy(_)) if begun.elapsed() < PATIENCE => {
                postponed.push_back((institution, root));
                std::thread::park_timeout(Duration::from_millis(200));
            }
            Err(fault) => is_whole &= note(fault, store, &root, summary)?,
        }
        progress(summary);
    }
    Ok(is_whole)
}

/// Says why an object was not imported; false where asking again may help.
fn note(fault: RebuildError, store: &str, root: &Key, summary: &mut Summary) -> Result<bool, EngineError> {
    let (reason, may_help) = match fault {
        RebuildError::Object(reason) => (reason, false),
        RebuildError::Busy(until) => (format!("another worker holds it until {until}: run the command again"), true),
        RebuildError::Stop(error) => return Err(error),
    };
    summary.failed += 1;
    summary.note(store, root.as_str(), reason);
    Ok(!may_help)
}
