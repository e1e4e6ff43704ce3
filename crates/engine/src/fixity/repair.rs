//! A copy that is not right: inspected again under the object's lease, its bad bytes kept, replaced from a copy that
//! proves right while it is read, and proved. A crash at any point leaves something that the next check completes; the
//! bad bytes are in quarantine and read back before anything takes their place; where the medium cannot read them, a note
//! there says so.

use serde::Serialize;
use strongroom_registry::events::{self, EventRow};
use strongroom_registry::fixity::{self as record, Finding, NewFinding, Proof, WatchedCopy};
use strongroom_registry::journal::Actor;
use strongroom_registry::{
    CopyState, FindingId, FindingKind, FindingState, GenerationId, RegistryError, Scope, objects,
};
use strongroom_storage::{Key, StorageError, Store};

use super::check::{self, StoredBytes, Wrong};
use super::evidence::{self, About, DamagedCopy, FoundBytes, Log};
use super::heal::Spare;
use super::replace::Source;
use super::{GoOn, ObjectHold, OperationError, now};
use crate::content_name::ContentName;
use crate::event::Event;
use crate::{Home, crash_point};

/// Why a copy whose bytes could not be kept is not replaced.
const NOT_KEPT: &str = "it is in an archived storage class, so its bytes could not be kept as evidence before it is replaced: \
     retrieve it, or move it aside by hand, and check again";

/// What came of the repair of a copy, or of an object's inventories in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RepairOutcome {
    /// It is no longer kept: it was removed in between.
    Gone,
    /// Under the lease of the object it is as recorded.
    Right,
    /// It cannot be read now; the size and the checksum that the store states are as recorded.
    Attested,
    /// It was damaged, is repaired, and was read back.
    Repaired,
    /// It is damaged, and there is nothing to repair it from.
    Unrepairable,
    /// It is damaged, and what it can be repaired from is being retrieved from an archived storage class.
    Retrieving,
}

impl RepairOutcome {
    /// Whether something that is damaged is still kept.
    pub fn is_unsolved(self) -> bool {
        match self {
            Self::Unrepairable | Self::Retrieving => true,
            Self::Gone | Self::Right | Self::Attested | Self::Repaired => false,
        }
    }
}

/// Treats a copy that seemed wrong, or that the record knows to be wrong, on behalf of an actor.
pub(super) fn treat(
    home: &Home,
    suspect: &WatchedCopy,
    actor: Option<&Actor>,
    go_on: &GoOn<'_>,
) -> Result<RepairOutcome, OperationError> {
    let hold = ObjectHold::take(home, suspect.object)?.on_behalf_of(actor);
    treat_held(home, hold, suspect, None, go_on)
}

/// As [`treat`], for one who holds the object, and may have bytes to repair the copy from.
pub(super) fn treat_held<'a>(
    home: &'a Home,
    hold: ObjectHold<'a>,
    suspect: &WatchedCopy,
    spare: Option<&Spare<'_>>,
    go_on: &GoOn<'_>,
) -> Result<RepairOutcome, OperationError> {
    let copies = home.registry.read(|tx| record::copies_of_content(tx, suspect.content))?;
    let object = home.registry.read(|tx| objects::get(tx, Scope::System, suspect.object))?;
    let unsolved =
        home.registry.read(|tx| record::unsolved(tx, suspect.object, &suspect.store, Some(suspect.content)))?;
    let copy = copies.iter().find(|copy| copy.store == suspect.store);
    let (Some(copy), Some(object)) = (copy, object) else {
        super::close_gone(&hold, unsolved.map(|finding| finding.id))?;
        return Ok(RepairOutcome::Gone);
    };
    let name = home.registry.read(|tx| ContentName::read(tx, &object.identifier, Some(copy.content)))?;
    let case = Case { home, hold, copy, name, generation: object.generation, spare, go_on };
    let store = home.store(&copy.store)?.as_ref();
    let seen = check::look(store, copy, go_on)?;
    let wrong = match seen {
        StoredBytes::Right => {
            case.record_right(unsolved)?;
            return Ok(RepairOutcome::Right);
        }
        StoredBytes::Attested { .. } => return Ok(RepairOutcome::Attested),
        StoredBytes::Wrong(wrong) => Some(wrong),
        StoredBytes::Missing => None,
    };
    if let Some(known) = &unsolved
        && case.still_waits(known, &copies)?
    {
        return Ok(RepairOutcome::Retrieving);
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
    let etag = wrong.as_ref().map(|wrong| wrong.etag.as_str());
    let source = if witness_kept { case.replace(store, &copies, etag)? } else { Source::None(NOT_KEPT.into()) };
    crash_point("fixity.check.replaced");
    if let Source::Retrieving(from) = &source {
        case.wait(finding, wrong.as_ref(), from)?;
        return Ok(RepairOutcome::Retrieving);
    }
    case.close(finding, wrong.as_ref(), quarantined.as_ref(), source)
}

/// One copy under treatment.
pub(super) struct Case<'a> {
    pub(super) home: &'a Home,
    pub(super) hold: ObjectHold<'a>,
    pub(super) copy: &'a WatchedCopy,
    name: ContentName,
    generation: GenerationId,
    pub(super) spare: Option<&'a Spare<'a>>,
    pub(super) go_on: &'a GoOn<'a>,
}

impl Case<'_> {
    fn about(&self) -> About {
        About { institution: self.copy.institution, object: self.copy.object, content: Some(self.copy.content) }
    }

    /// The copy in words: the file as people know it, then the store and the key in it.
    pub(super) fn place(&self) -> String {
        format!("{} in store {} ({})", self.name, self.copy.store, self.copy.key)
    }

    fn event(&self, kind: &str, outcome: &str, detail: String, came_of_it: String) -> Result<EventRow, OperationError> {
        let event = self.about().event(now(self.home)?, kind, outcome, detail, came_of_it);
        Ok(event.in_store(&self.copy.store).on_behalf_of(self.hold.actor()))
    }

    /// The copy is right after all: the check is recorded, and what was found before is solved.
    fn record_right(&self, finding: Option<Finding>) -> Result<(), OperationError> {
        let copy = self.copy;
        let event = super::passed(copy, now(self.home)?).on_behalf_of(self.hold.actor());
        let check = (copy.content, copy.store.clone(), copy.checked_at, Proof::Read, event.clone());
        let mut recovery = None;
        if let Some(finding) = finding {
            let detail =
                format!("{} is as recorded again: put back by hand, or by a repair that was interrupted", self.place());
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
    ) -> Result<(), OperationError> {
        let copy = self.copy;
        let log = Log {
            act,
            finding,
            object: copy.object,
            content: Some(copy.content),
            store: &copy.store,
            key: &copy.key,
            kind: kind.as_str(),
            detail,
            expected_sha512: Some(copy.sha512.to_hex()),
            found_sha512: wrong.and_then(|wrong| wrong.sha512).map(|digest| digest.to_hex()),
            unreadable: wrong.and_then(|wrong| wrong.unreadable.as_deref()),
            quarantine_key,
            repaired_from,
            time: now(self.home)?,
            events,
        };
        evidence::put_log(self.home, &self.hold, &copy.institution_identifier, self.generation, &log)
    }

    pub(super) fn finding(&self, id: FindingId, wrong: Option<&Wrong>, detail: String) -> NewFinding {
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
    fn open(&self, id: FindingId, wrong: Option<&Wrong>) -> Result<EventRow, OperationError> {
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
        let detail = format!("{}: {found}", self.name);
        Event::DamageFound { store: &copy.store, key: &copy.key, detail: &detail }.emit();
        Ok(event)
    }

    /// Keeps the bad bytes where they can be read, else a note that the medium cannot read them. None for what lies in a cold
    /// storage class, and where nothing lies.
    fn quarantine(
        &self,
        id: FindingId,
        wrong: Option<&Wrong>,
        store: &dyn Store,
        acts: &mut Vec<EventRow>,
    ) -> Result<Option<Key>, OperationError> {
        let Some(wrong) = wrong else { return Ok(None) };
        let from = Key::new(self.copy.key.as_str()).map_err(StorageError::from)?;
        let found = match wrong {
            Wrong { size, unreadable: Some(reason), .. } => FoundBytes::Unreadable(*size, reason),
            Wrong { size, sha512: Some(sha512), .. } if store.head(&from)?.readable => FoundBytes::Read(*size, *sha512),
            _ => return Ok(None),
        };
        let witness = DamagedCopy {
            institution: &self.copy.institution_identifier,
            object: self.copy.object,
            name: self.name.to_string(),
            finding: id,
            store,
            key: &from,
            expected: Some(self.copy.sha512),
            found,
            found_at: now(self.home)?,
        };
        let key = evidence::quarantine(self.home, &self.hold, &witness, self.go_on)?;
        let event = evidence::quarantined(self.about(), &witness, self.home, &key)?;
        let mut event = event.on_behalf_of(self.hold.actor());
        // The same bytes are kept once for a finding, however often it is inspected.
        event.id = events::derived_id(id.0, key.as_str());
        let (row, text) = (event.clone(), key.to_string());
        self.hold.write(move |tx| {
            record::set_quarantined(tx, id, &text)?;
            events::append(tx, std::slice::from_ref(&row))
        })?;
        acts.push(event);
        Ok(Some(key))
    }

    /// Says what came of it: in the object's logs, then in the record.
    fn close(
        &self,
        id: FindingId,
        wrong: Option<&Wrong>,
        quarantined: Option<&Key>,
        source: Source,
    ) -> Result<RepairOutcome, OperationError> {
        let copy = self.copy;
        let mut acts = Vec::new();
        let unreadable = wrong.and_then(|wrong| wrong.unreadable.as_deref());
        let kept = match (quarantined, unreadable) {
            (Some(key), Some(reason)) => {
                format!(", the bytes that were there could not be read ({reason}) and are not kept: {key}")
            }
            (Some(key), None) => format!(", corrupt bytes kept as {key}"),
            (None, _) => String::new(),
        };
        let (act, treated, detail, from) = match source {
            Source::Store(ref from) | Source::Spare(ref from) => {
                let of = if matches!(source, Source::Store(_)) { "store " } else { "" };
                let detail = format!("{} replaced from {of}{from} and read back{kept}", self.place());
                let proof = format!("sha512:{}", copy.sha512);
                acts.push(self.event("recovery", "success", detail.clone(), proof)?);
                acts.push(super::passed(copy, now(self.home)?).on_behalf_of(self.hold.actor()));
                ("repair", RepairOutcome::Repaired, detail, Some(from.clone()))
            }
            Source::Retrieving(reason) | Source::None(reason) => {
                let detail = format!("{} cannot be repaired: {reason}{kept}", self.place());
                acts.push(self.event("recovery", "failure", detail.clone(), reason)?);
                ("unrepairable", RepairOutcome::Unrepairable, detail, None)
            }
        };
        let key = quarantined.map(Key::as_str);
        self.log(act, id, kind(wrong), wrong, key, from.as_deref(), &detail, &acts)?;
        crash_point("fixity.check.logged");
        let (content, store, text) = (copy.content, copy.store.clone(), detail.clone());
        let is_repaired = treated == RepairOutcome::Repaired;
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
    let found = match (&wrong.unreadable, wrong.sha512) {
        (Some(reason), _) => format!("bytes that the medium cannot read ({reason})"),
        (None, Some(digest)) => format!("sha512:{digest}"),
        (None, None) => "bytes that cannot be read now".to_owned(),
    };
    format!("{found} of {} bytes", wrong.size)
}
