//! A copy that is not right: looked at again under the object's lease, its bad bytes kept, replaced from a copy that
//! proves right while it is read, and proved. A crash at any point leaves something that the next check completes; the
//! bad bytes are in quarantine and read back before anything takes their place.

use strongroom_digest::Algorithm;
use strongroom_registry::events::{self, EventRow};
use strongroom_registry::fixity::{self as record, Finding, NewFinding, Proof, WatchedCopy};
use strongroom_registry::{
    CopyState, FindingId, FindingKind, FindingState, GenerationId, RegistryError, Scope, objects,
};
use strongroom_storage::{Key, PutOptions, StorageError, Store, Thaw, Thawing};

use super::check::{self, Interruptible, Seen, Wrong};
use super::evidence::{self, About, Log, Witness};
use super::{GoOn, Halt, ObjectHold, now};
use crate::error::chain;
use crate::event::Event;
use crate::{EngineError, Home, crash_point};

/// Why a copy whose bytes could not be kept is not replaced.
const NOT_KEPT: &str = "its bytes cannot be read now, so they could not be kept as evidence before it is replaced: thaw it, \
     or set it aside by hand, and check again";

/// What a finding says while the copy that it is to be repaired from is thawed.
const WAITS: &str = "waits for its copy to be thawed";

/// What became of a copy that seemed wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Treated {
    /// It should no longer be there: somebody took it out in between.
    Gone,
    /// Under the lease it is right.
    Right,
    /// It cannot be read now; what the store says of it is right.
    Attested,
    /// Wrong, and put right.
    Repaired,
    /// Wrong, and there is nothing to repair it from.
    Unrepairable,
    /// Wrong, and what it can be repaired from is being thawed.
    Thawing,
}

/// Where a repair's bytes came from, or why there are none.
enum Source {
    Store(String),
    /// They are being thawed in this store.
    Thawing(String),
    None(String),
}

/// What came of one source.
enum Attempt {
    /// The copy is replaced, and reads back right.
    Served,
    /// It cannot serve, for this reason.
    Refused(String),
    /// It has to be thawed first.
    Cold,
    /// Its store does not answer.
    Silent(StorageError),
}

/// Treats a copy that seemed wrong, or that the record knows to be wrong.
pub(super) fn treat(home: &Home, suspect: &WatchedCopy, go_on: &GoOn<'_>) -> Result<Treated, Halt> {
    let hold = ObjectHold::take(home, suspect.object)?;
    let copies = home.registry.read(|tx| record::copies_of_content(tx, suspect.content))?;
    let object = home.registry.read(|tx| objects::get(tx, Scope::System, suspect.object))?;
    let unsolved =
        home.registry.read(|tx| record::unsolved(tx, suspect.object, &suspect.store, Some(suspect.content)))?;
    let copy = copies.iter().find(|copy| copy.store == suspect.store);
    let (Some(copy), Some(object)) = (copy, object) else {
        super::close_gone(&hold, unsolved.map(|finding| finding.id))?;
        return Ok(Treated::Gone);
    };
    let case = Case { home, hold, copy, generation: object.generation, go_on };
    let store = home.store(&copy.store)?.as_ref();
    let seen = check::look(store, copy, go_on)?;
    let wrong = match seen {
        Seen::Right => {
            case.record_right(unsolved)?;
            return Ok(Treated::Right);
        }
        Seen::Attested { .. } => return Ok(Treated::Attested),
        Seen::Wrong(wrong) => Some(wrong),
        Seen::Missing => None,
    };
    if let Some(known) = &unsolved
        && case.still_waits(known, &copies)?
    {
        return Ok(Treated::Thawing);
    }
    let finding = unsolved.map_or_else(FindingId::new, |finding| finding.id);
    let mut acts = vec![case.open(finding, wrong.as_ref())?];
    crash_point("fixity.check.found");
    let quarantined = case.quarantine(finding, wrong.as_ref(), store, &mut acts)?;
    crash_point("fixity.check.quarantined");
    let kind = kind(wrong.as_ref());
    let key = quarantined.as_ref().map(Key::as_str);
    case.log("damage", finding, kind, wrong.as_ref(), key, None, "found when it was checked", &acts)?;
    let witness_kept = wrong.is_none() || quarantined.is_some();
    let source = if witness_kept { case.replace(store, &copies)? } else { Source::None(NOT_KEPT.into()) };
    crash_point("fixity.check.replaced");
    if let Source::Thawing(from) = &source {
        case.wait(finding, wrong.as_ref(), from)?;
        return Ok(Treated::Thawing);
    }
    case.close(finding, wrong.as_ref(), quarantined.as_ref(), source)
}

/// One copy under treatment.
struct Case<'a> {
    home: &'a Home,
    hold: ObjectHold<'a>,
    copy: &'a WatchedCopy,
    generation: GenerationId,
    go_on: &'a GoOn<'a>,
}

impl Case<'_> {
    fn about(&self) -> About {
        About { institution: self.copy.institution, object: self.copy.object, content: Some(self.copy.content) }
    }

    fn place(&self) -> String {
        format!("{} in store {}", self.copy.key, self.copy.store)
    }

    fn event(&self, kind: &str, outcome: &str, detail: String, came_of_it: String) -> Result<EventRow, Halt> {
        Ok(self.about().event(now(self.home)?, kind, outcome, detail, came_of_it))
    }

    /// The copy is right after all: the check is recorded, and what was found before is solved.
    fn record_right(&self, finding: Option<Finding>) -> Result<(), Halt> {
        let copy = self.copy;
        let event = super::passed(copy, now(self.home)?);
        let check = (copy.content, copy.store.clone(), copy.checked_at, Proof::Read, event.clone());
        let mut recovery = None;
        if let Some(finding) = finding {
            let detail =
                format!("{} is right again: put back by hand, or by a repair that was cut short", self.place());
            let came_of_it = format!("sha512:{}", copy.sha512);
            let acts = [self.event("recovery", "success", detail.clone(), came_of_it)?, event];
            self.log(
                "repair",
                finding.id,
                finding.kind,
                None,
                finding.quarantine_key.as_deref(),
                None,
                &detail,
                &acts,
            )?;
            let [act, _] = acts;
            recovery = Some((finding.id, detail, act));
        }
        self.hold.write(move |tx| {
            record::record_right(tx, std::slice::from_ref(&check))?;
            let Some((id, detail, act)) = &recovery else { return Ok(()) };
            events::append(tx, std::slice::from_ref(act))?;
            record::close_finding(tx, *id, FindingState::Repaired, detail)
        })
    }

    #[allow(clippy::too_many_arguments)] // one document out of everything that is known of the act
    fn log(
        &self,
        act: &str,
        finding: FindingId,
        kind: FindingKind,
        wrong: Option<&Wrong>,
        quarantine_key: Option<&str>,
        repaired_from: Option<&str>,
        detail: &str,
        events: &[EventRow],
    ) -> Result<(), Halt> {
        let copy = self.copy;
        let log = Log {
            act,
            finding,
            object: copy.object,
            content: Some(copy.content),
            store: &copy.store,
            key: &copy.key,
            kind: kind.word(),
            detail,
            expected_sha512: Some(copy.sha512.to_hex()),
            found_sha512: wrong.and_then(|wrong| wrong.sha512).map(|digest| digest.to_hex()),
            quarantine_key,
            repaired_from,
            time: now(self.home)?,
            events,
        };
        evidence::put_log(self.home, &copy.institution_identifier, self.generation, &log)
    }

    fn finding(&self, id: FindingId, wrong: Option<&Wrong>, detail: String) -> NewFinding {
        let copy = self.copy;
        NewFinding {
            id,
            institution: copy.institution,
            object: copy.object,
            content: Some(copy.content),
            store: copy.store.clone(),
            key: copy.key.clone(),
            kind: kind(wrong),
            detail,
        }
    }

    /// Opens the finding and records the failed check, together.
    fn open(&self, id: FindingId, wrong: Option<&Wrong>) -> Result<EventRow, Halt> {
        let copy = self.copy;
        let expected = format!("expected sha512:{} of {} bytes", copy.sha512, copy.size);
        let (state, found) = match wrong {
            None => (CopyState::Missing, "found nothing".to_owned()),
            Some(wrong) => (CopyState::Damaged, format!("found {}", shown(wrong))),
        };
        let event = self.event("fixity check", "failure", format!("{}: {expected}", self.place()), found.clone())?;
        let finding = self.finding(id, wrong, format!("{expected}, {found}"));
        let (content, store, row) = (copy.content, copy.store.clone(), event.clone());
        self.hold.write(move |tx| {
            record::open_finding(tx, &finding)?;
            record::set_damaged(tx, content, &store, state)?;
            events::append(tx, std::slice::from_ref(&row))
        })?;
        Event::DamageFound { store: &copy.store, key: &copy.key, detail: &found }.emit();
        Ok(event)
    }

    /// Keeps the bad bytes, where there are any that can be read.
    fn quarantine(
        &self,
        id: FindingId,
        wrong: Option<&Wrong>,
        store: &dyn Store,
        acts: &mut Vec<EventRow>,
    ) -> Result<Option<Key>, Halt> {
        let Some(Wrong { size, sha512: Some(sha512) }) = wrong else { return Ok(None) };
        let from = Key::new(self.copy.key.as_str()).map_err(StorageError::from)?;
        if !store.head(&from)?.readable {
            return Ok(None);
        }
        let witness = Witness {
            institution: &self.copy.institution_identifier,
            object: self.copy.object,
            finding: id,
            store,
            key: &from,
            expected: Some(self.copy.sha512),
            found: (*size, *sha512),
            found_at: now(self.home)?,
        };
        let key = evidence::quarantine(self.home, &self.hold, &witness, self.go_on)?;
        let detail =
            format!("the bytes found as {} are kept in store {}", self.place(), self.home.roles.quarantine.name());
        let mut event = self.event("quarantine", "success", detail, format!("{key} sha512:{sha512}"))?;
        // The same bytes are kept once for a finding, however often it is looked at.
        event.id = events::derived_id(id.0, key.as_str());
        let (row, text) = (event.clone(), key.to_string());
        self.hold.write(move |tx| {
            record::set_quarantined(tx, id, &text)?;
            events::append(tx, std::slice::from_ref(&row))
        })?;
        acts.push(event);
        Ok(Some(key))
    }

    /// Puts the bytes of the first copy that proves right while it is read, and reads them back.
    fn replace(&self, store: &dyn Store, copies: &[WatchedCopy]) -> Result<Source, Halt> {
        let key = Key::new(self.copy.key.as_str()).map_err(StorageError::from)?;
        let mut reasons = Vec::new();
        // A store that does not answer says nothing of its copy: where no other serves, the repair is tried again.
        let mut silent = None;
        let mut cold = Vec::new();
        for other in self.others(copies) {
            (self.go_on)()?;
            self.hold.keep()?;
            match self.replace_from(store, &key, other)? {
                Attempt::Served => return Ok(Source::Store(other.store.clone())),
                Attempt::Refused(reason) => reasons.push(format!("{}: {reason}", other.store)),
                Attempt::Cold => cold.push(other),
                Attempt::Silent(error) => silent = silent.or(Some(error)),
            }
        }
        if let Some(error) = silent {
            return Err(error.into());
        }
        for other in cold {
            match self.thaw(other) {
                // It can be read by now, and serves the next time.
                Ok(Thawing::UnderWay | Thawing::Readable) => return Ok(Source::Thawing(other.store.clone())),
                Err(error) => reasons.push(format!("{}: cannot be thawed: {}", other.store, error.chain())),
            }
        }
        if reasons.is_empty() {
            reasons.push("there is no other copy".into());
        }
        Ok(Source::None(reasons.join("; ")))
    }

    /// Other copies of the same content, those first that should be right.
    fn others<'c>(&self, copies: &'c [WatchedCopy]) -> Vec<&'c WatchedCopy> {
        let mut others: Vec<&WatchedCopy> = copies.iter().filter(|other| other.store != self.copy.store).collect();
        others.sort_by_key(|other| other.state != CopyState::Kept);
        others
    }

    fn thaw(&self, other: &WatchedCopy) -> Result<Thawing, EngineError> {
        let settings = &self.home.settings.restoration;
        let how = Thaw { days: settings.thaw_days, tier: settings.thaw_tier.clone() };
        let key = Key::new(other.key.as_str()).map_err(StorageError::from)?;
        Ok(self.home.store(&other.store)?.thaw(&key, &how)?)
    }

    /// Whether a finding waits for a copy that is being thawed, and no other copy can be read: there is nothing new to tell.
    fn still_waits(&self, known: &Finding, copies: &[WatchedCopy]) -> Result<bool, Halt> {
        if known.state != FindingState::Open || !known.detail.contains(WAITS) {
            return Ok(false);
        }
        let mut is_thawing = false;
        for other in self.others(copies) {
            let key = Key::new(other.key.as_str()).map_err(StorageError::from)?;
            match self.home.store(&other.store)?.head(&key) {
                Ok(head) if head.readable => return Ok(false),
                Ok(_) => is_thawing |= matches!(self.thaw(other), Ok(Thawing::UnderWay)),
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error.into()),
            }
        }
        if is_thawing {
            self.look_again_first()?;
        }
        Ok(is_thawing)
    }

    /// Says in the finding what it waits for. The copy stays due.
    fn wait(&self, id: FindingId, wrong: Option<&Wrong>, from: &str) -> Result<(), Halt> {
        let detail = format!("{} {WAITS} in store {from}, from which it is repaired then", self.place());
        let finding = self.finding(id, wrong, detail);
        self.hold.write(move |tx| record::open_finding(tx, &finding))?;
        self.look_again_first()
    }

    fn look_again_first(&self) -> Result<(), Halt> {
        let (content, store) = (self.copy.content, self.copy.store.clone());
        self.hold.write(move |tx| record::make_due(tx, content, &store))
    }

    /// Replaces the copy by another's bytes and reads it back.
    fn replace_from(&self, store: &dyn Store, key: &Key, other: &WatchedCopy) -> Result<Attempt, Halt> {
        let from = match self.home.store(&other.store) {
            Ok(from) => from,
            Err(error) => return Ok(Attempt::Refused(error.chain())),
        };
        let other_key = Key::new(other.key.as_str()).map_err(StorageError::from)?;
        let body = match from.head(&other_key) {
            Ok(head) if !head.readable => return Ok(Attempt::Cold),
            Ok(_) => from.open(&other_key, 0, None),
            Err(error) => Err(error),
        };
        let body = match body {
            Ok(body) => body,
            Err(error) if error.is_not_found() => return self.doubt(other, "nothing lies there".into()),
            Err(error) => return Ok(Attempt::Silent(error)),
        };
        let mut body = self.hold.keeping(Interruptible { body, go_on: self.go_on });
        let options = PutOptions {
            digest: Some((Algorithm::Sha512, self.copy.sha512)),
            size: Some(self.copy.size),
            class: self.copy.class.clone(),
            ..PutOptions::default()
        };
        if let Err(error) = store.put(key, &mut body, &options) {
            (self.go_on)()?;
            return match error {
                StorageError::Mismatch { .. } => self.doubt(other, chain(&error)),
                StorageError::Source { .. } if check::is_unreadable(&error) => self.doubt(other, chain(&error)),
                StorageError::Source { .. } => Ok(Attempt::Silent(error)),
                StorageError::InTheWay { .. } | StorageError::Unusable { .. } => Ok(Attempt::Refused(chain(&error))),
                _ => Err(error.into()),
            };
        }
        match check::look(store, self.copy, self.go_on)? {
            Seen::Right | Seen::Attested { .. } => Ok(Attempt::Served),
            _ => Err(StorageError::Unusable {
                store: store.name().to_owned(),
                reason: format!("{key} was replaced and does not read back right"),
            }
            .into()),
        }
    }

    /// Another copy that is wrong too is looked at next.
    fn doubt(&self, other: &WatchedCopy, reason: String) -> Result<Attempt, Halt> {
        let (content, store) = (other.content, other.store.clone());
        self.hold.write(move |tx| record::make_due(tx, content, &store))?;
        Ok(Attempt::Refused(reason))
    }

    /// Tells what came of it: in the object's logs, then in the record.
    fn close(
        &self,
        id: FindingId,
        wrong: Option<&Wrong>,
        quarantined: Option<&Key>,
        source: Source,
    ) -> Result<Treated, Halt> {
        let copy = self.copy;
        let mut acts = Vec::new();
        let kept = quarantined.map(|key| format!(", bad bytes kept as {key}")).unwrap_or_default();
        let (act, treated, detail, from) = match source {
            Source::Store(from) => {
                let detail = format!("{} replaced from store {from} and read back{kept}", self.place());
                let proof = format!("sha512:{}", copy.sha512);
                acts.push(self.event("recovery", "success", detail.clone(), proof)?);
                acts.push(super::passed(copy, now(self.home)?));
                ("repair", Treated::Repaired, detail, Some(from))
            }
            Source::Thawing(reason) | Source::None(reason) => {
                let detail = format!("{} cannot be repaired: {reason}{kept}", self.place());
                acts.push(self.event("recovery", "failure", detail.clone(), reason)?);
                ("unrepairable", Treated::Unrepairable, detail, None)
            }
        };
        let key = quarantined.map(Key::as_str);
        self.log(act, id, kind(wrong), wrong, key, from.as_deref(), &detail, &acts)?;
        crash_point("fixity.check.logged");
        let (content, store, text) = (copy.content, copy.store.clone(), detail.clone());
        let is_repaired = treated == Treated::Repaired;
        self.hold.write(move |tx| {
            events::append(tx, &acts)?;
            if is_repaired {
                record::set_mended(tx, content, &store)?;
            } else {
                record::set_given_up(tx, content, &store)?;
            }
            let state = if is_repaired { FindingState::Repaired } else { FindingState::Unrepairable };
            record::close_finding(tx, id, state, &text)?;
            Ok::<_, RegistryError>(())
        })?;
        Event::DamageTreated { repaired: is_repaired, detail: &detail }.emit();
        Ok(treated)
    }
}

fn kind(wrong: Option<&Wrong>) -> FindingKind {
    if wrong.is_some() { FindingKind::Damaged } else { FindingKind::Missing }
}

fn shown(wrong: &Wrong) -> String {
    let digest =
        wrong.sha512.map_or_else(|| "bytes that cannot be read".to_owned(), |digest| format!("sha512:{digest}"));
    format!("{digest} of {} bytes", wrong.size)
}
