//! One content item of a route: what both stores have is inspected, one step is decided and carried out, and what came of it is recorded with
//! the end of the task. A task that is repeated finds what was done before and records it. Two tasks for one content item may run at once: each
//! act in the destination is on the condition of the etag that was inspected, and what is recorded names the etags of both, so a sweep notices
//! where the later record is the older one.

use strongroom_digest::{Algorithm, Digest, HashingReader};
use strongroom_duplication::{Pair, Reason, Seen, Step, decide, decide_compared, description_of_copy};
use strongroom_queue::Outcome;
use strongroom_registry::content_acts::ActTask;
use strongroom_registry::duplicated_items::{self as items, DuplicatedItem};
use strongroom_registry::duplication_routes::Route;
use strongroom_registry::{ContentActKind, ContentEventKind, CopyOutcome, Transaction};
use strongroom_spaces::{Description, ItemHead, ItemPut, PlainStore, PropertyError, Removal, SpaceName};
use strongroom_storage::{Key, PutCondition, Retrieval, RetrievalRequest, StorageError};

use self::bytes::{PROOFS, Proof};
use self::known::Known;
use super::acts::SeenAgain;
use super::events::{Follow, policies};
use super::handler::Applied;
use super::tasks::{HIGH, LOW};
use crate::event::Event;
use crate::hold::{OperationError, now};
use crate::interruptible::Interruptible;
use crate::runtime::{TaskContext, TaskEnd};
use crate::{EngineError, Home, crash_point};

mod bytes;
mod history;
mod known;

/// A task for a content item of a route.
pub(super) struct ItemTask<'t> {
    pub(super) home: &'t Home,
    pub(super) route: &'t Route,
    pub(super) space: &'t SpaceName,
    pub(super) key: &'t Key,
    pub(super) applied: Applied,
    /// Whether nothing is deleted by it, whatever the rule says.
    pub(super) is_kept: bool,
    pub(super) task: &'t ActTask,
    pub(super) context: &'t TaskContext,
}

/// Both stores, with what they have.
struct Both<'b> {
    source: &'b dyn PlainStore,
    destination: &'b dyn PlainStore,
    in_source: Option<ItemHead>,
    in_destination: Option<ItemHead>,
}

/// What came of a task, to be recorded.
enum Came {
    /// Both have it.
    Equal(Box<EqualItem>),
    /// It is as it was recorded.
    AsKnown,
    /// Of something else.
    Else { outcome: CopyOutcome, act: ContentActKind, destination: Option<ItemHead>, detail: String, is_followed: bool },
    /// Nothing is there, and nothing is known to be missing.
    Nothing,
    /// It is asked again later.
    Later,
}

/// A content item that both have.
struct EqualItem {
    source: ItemHead,
    destination: ItemHead,
    /// Of its bytes, where they were read.
    sha512: Option<Digest>,
    /// Whether the bytes were compared.
    proof: Proof,
    /// Whether that is news, from which something may follow in the destination.
    is_news: bool,
    /// What was done in the destination.
    did: Option<ContentActKind>,
    /// Whether the space was made there for it.
    makes_space: bool,
    detail: String,
}

impl ItemTask<'_> {
    /// Carries out what is to be done.
    pub(super) fn run(&self, is_read_whole: bool) -> Result<TaskEnd, OperationError> {
        let known = Known::of(self)?;
        let stores = &self.home.plain_stores;
        let (source, destination) = (stores.get(&self.route.source)?, stores.get(&self.route.destination)?);
        let both = Both {
            in_source: self.head(source.as_ref())?,
            in_destination: self.head(destination.as_ref())?,
            source: source.as_ref(),
            destination: destination.as_ref(),
        };
        let is_left_to_another = known.may_delete && both.in_source.is_none() && !self.carries_out_deletion(&known);
        let came = if is_left_to_another { Came::AsKnown } else { self.carry_out(&both, &known, is_read_whole)? };
        crash_point("duplicate.done");
        self.end(came, known, both)
    }

    /// Whether this task carries out the deletion that is recorded: those of sweeps are counted before they are queued, and those that a watch
    /// has left to sweeps are carried out by these alone.
    fn carries_out_deletion(&self, known: &Known) -> bool {
        !self.is_kept && (self.task.topic != HIGH || !known.is_left_to_sweep())
    }

    fn head(&self, store: &dyn PlainStore) -> Result<Option<ItemHead>, OperationError> {
        match store.head(self.space, self.key) {
            Ok(head) => Ok(Some(head)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn carry_out(&self, both: &Both<'_>, known: &Known, is_read_whole: bool) -> Result<Came, OperationError> {
        let is_known_equal = match (&both.in_source, &both.in_destination) {
            (Some(source), Some(destination)) => {
                if known.waits_for_person(&source.etag, &destination.etag) {
                    return if is_read_whole { self.read_again(both, known) } else { Ok(Came::AsKnown) };
                }
                known.is_equal(source, destination)
            }
            _ => false,
        };
        let pair = Pair {
            source: both.in_source.as_ref().map(|head| Seen { head, capabilities: both.source.capabilities() }),
            destination: both
                .in_destination
                .as_ref()
                .map(|head| Seen { head, capabilities: both.destination.capabilities() }),
            is_known_equal,
            is_deletion_recorded: known.is_deletion_recorded(),
            may_delete: known.may_delete,
        };
        let mut step = decide(&pair).map_err(|error| self.undescribed(&error))?;
        let is_to_be_read = is_read_whole && matches!(step, Step::Nothing(Reason::Equal) | Step::Describe { .. });
        let mut sha512 = None;
        if is_to_be_read || step == Step::Compare {
            let (Some(source), Some(destination)) = (&both.in_source, &both.in_destination) else {
                return Ok(Came::Later);
            };
            if !(source.is_readable && destination.is_readable) {
                return Ok(Came::AsKnown);
            }
            let recorded = known.sha512_of(&source.etag);
            let were_equal = is_known_equal || known.were_equal(source, destination);
            let needs_person = |(one, other): (Digest, Digest)| match recorded {
                Some(recorded) => recorded != one,
                None => one != other && (were_equal || self.applied.is_cyclic),
            };
            let read = || Ok((self.digest_of(both.source, source)?, self.digest_of(both.destination, destination)?));
            let (one, other) = self.read_with_care(&read, &needs_person)?;
            crash_point("duplicate.compared");
            sha512 = (one == other).then_some(one);
            step = match recorded {
                Some(read_before) if read_before != one => {
                    return Ok(self.damaged(destination, other, recorded, known));
                }
                // The copy is damaged, and the source has what was copied.
                Some(_) if one != other => Step::Copy { replaces: Some(destination.etag.clone()) },
                None if one != other && were_equal => return Ok(self.damaged(destination, other, recorded, known)),
                _ => decide_compared(&pair, one == other).map_err(|error| self.undescribed(&error))?,
            };
        }
        let proof = if sha512.is_some() || !is_known_equal { Proof::Compared } else { Proof::AsRecorded };
        self.step(step, both, known, (sha512, proof))
    }

    fn step(
        &self,
        step: Step,
        both: &Both<'_>,
        known: &Known,
        (sha512, proof): (Option<Digest>, Proof),
    ) -> Result<Came, OperationError> {
        match step {
            Step::Nothing(reason) => Ok(Self::nothing(reason, both, known, (sha512, proof))),
            Step::Compare => Ok(Came::Later),
            Step::Copy { replaces } => self.copy(both, known, replaces),
            Step::Retrieve => {
                let settings = &self.home.settings.restoration;
                let how = RetrievalRequest { days: settings.retrieval_days, tier: settings.retrieval_tier.clone() };
                // What can be read by now is read by the next attempt.
                let _: Retrieval = both.source.request_retrieval(self.space, self.key, &how)?;
                Ok(Came::Later)
            }
            Step::Describe { etag, description } => self.describe(both, &etag, &description, (sha512, proof), known),
            Step::Delete { etag } => self.delete(both, &etag, known),
            // It was never in the source: the rule that leads there copies it.
            Step::ReportLost if self.applied.is_cyclic && known.item.is_none() && known.reverse.is_none() => {
                Ok(Came::AsKnown)
            }
            Step::ReportLost => Ok(Came::Else {
                outcome: CopyOutcome::Lost,
                act: ContentActKind::Lost,
                destination: both.in_destination.clone(),
                detail: format!(
                    "{} has it not, and no deletion is recorded; {} keeps its copy",
                    self.route.source, self.route.destination
                ),
                is_followed: false,
            }),
        }
    }

    fn nothing(reason: Reason, both: &Both<'_>, known: &Known, (sha512, proof): (Option<Digest>, Proof)) -> Came {
        let detail = match reason {
            Reason::Equal => "",
            Reason::Archived => "one of both is archived: their sizes agree, and their bytes are not compared",
            Reason::DescriptionOfArchived => "the description differs, and that of what is archived cannot be changed",
            Reason::Kept => {
                return Came::Else {
                    outcome: CopyOutcome::Kept,
                    act: ContentActKind::Kept,
                    destination: both.in_destination.clone(),
                    detail: Self::by_event(known, "deleted in the source, and the rule keeps the copy"),
                    is_followed: false,
                };
            }
            Reason::BothMissing => return Self::both_missing(known),
        };
        let (Some(source), Some(destination)) = (both.in_source.clone(), both.in_destination.clone()) else {
            return Came::Later;
        };
        let is_recorded = known.item.as_ref().is_some_and(|item| {
            item.outcome == CopyOutcome::Equal
                && item.source_etag.as_ref() == Some(&source.etag)
                && item.destination_etag.as_ref() == Some(&destination.etag)
        });
        let is_as_listed = known.item.as_ref().is_some_and(|item| {
            item.source_revision == source.revision && item.destination_revision == destination.revision
        });
        if is_recorded && is_as_listed && sha512.is_none() {
            return Came::AsKnown;
        }
        let proof = if reason == Reason::Archived { Proof::None } else { proof };
        let detail = detail.to_owned();
        let is_news = !is_recorded;
        let (did, makes_space) = (None, false);
        Came::Equal(Box::new(EqualItem { source, destination, sha512, proof, is_news, did, makes_space, detail }))
    }

    fn both_missing(known: &Known) -> Came {
        if known.is_deletion_recorded() {
            return Came::Else {
                outcome: CopyOutcome::Deleted,
                act: ContentActKind::Absent,
                destination: None,
                detail: Self::by_event(known, "deleted in the source, and not there in the destination"),
                // What a task did that was cut off before its end. A deletion that is known there has its tasks.
                is_followed: known.may_delete && !known.is_deletion_recorded_there(),
            };
        }
        let was_there =
            known.item.as_ref().is_some_and(|item| !matches!(item.outcome, CopyOutcome::Kept | CopyOutcome::Deleted));
        if was_there {
            let detail = "both stores had it, and neither has it now; no deletion is recorded".to_owned();
            let (outcome, act) = (CopyOutcome::Lost, ContentActKind::Lost);
            return Came::Else { outcome, act, destination: None, detail, is_followed: false };
        }
        Came::Nothing
    }

    /// What becomes of a copy where rules copy back as well: nothing, where another rule brings what was changed there, and nothing is
    /// overwritten that was changed since both were equal. None where it is copied.
    fn in_cycle(&self, both: &Both<'_>, known: &Known) -> Option<Came> {
        if !self.applied.is_cyclic {
            return None;
        }
        let source = both.in_source.as_ref()?;
        let Some(destination) = &both.in_destination else {
            // It was deleted there since both were equal, and other rules delete it here.
            let was_equal = known.item.as_ref().is_some_and(|item| {
                item.outcome == CopyOutcome::Equal && item.source_etag.as_ref() == Some(&source.etag)
            });
            let is_left = was_equal && self.applied.way_back_deletes && known.is_deletion_recorded_there();
            return is_left.then_some(Came::AsKnown);
        };
        match known.last_equal() {
            Some((_, there)) if there == Some(destination.etag.as_str()) => None,
            Some((here, _)) if here == Some(source.etag.as_str()) => Some(Came::AsKnown),
            _ => Some(Came::Else {
                outcome: CopyOutcome::Conflict,
                act: ContentActKind::Conflict,
                destination: Some(destination.clone()),
                detail: format!(
                    "{} and {} have different bytes, and rules copy in both directions: nothing is overwritten; make both alike, or remove one \
                     of both, which is copied from the other then",
                    self.route.source, self.route.destination
                ),
                is_followed: false,
            }),
        }
    }

    fn copy(&self, both: &Both<'_>, known: &Known, replaces: Option<String>) -> Result<Came, OperationError> {
        let Some(source) = &both.in_source else { return Ok(Came::Later) };
        if let Some(came) = self.in_cycle(both, known) {
            return Ok(came);
        }
        let description = description_of_copy(&source.description).map_err(|error| self.undescribed(&error))?;
        let makes_space =
            both.destination.capabilities().keeps_empty_spaces && both.destination.create_space(self.space)?;
        let recorded = known.sha512_of(&source.etag);
        let mut digests: Vec<(Algorithm, Digest)> =
            recorded.map(|digest| (Algorithm::Sha512, digest)).into_iter().collect();
        let vouched = both.source.capabilities().vouched.iter();
        digests.extend(vouched.filter_map(|algorithm| Some((*algorithm, source.checksum(*algorithm)?))));
        digests.dedup_by_key(|(algorithm, _)| *algorithm);
        let did = Some(if replaces.is_some() { ContentActKind::Replaced } else { ContentActKind::Copied });
        let condition = replaces.map_or(PutCondition::IfAbsent, PutCondition::IfMatch);
        let workers = self.home.settings.pool(LOW).workers;
        let _permit = self.home.large_copies.permit(source.size, workers, self.context)?;
        let how = ItemPut { description, size: Some(source.size), digests, class: None, condition };
        let body = both.source.open(self.space, self.key, &source.etag)?;
        let mut body = HashingReader::new(Interruptible::new(body, self.context), &PROOFS);
        let put = both.destination.put(self.space, self.key, &mut body, &how);
        self.context.check()?;
        let put = match put {
            Ok(put) => put,
            Err(error @ StorageError::Mismatch { .. }) if recorded.is_some() => {
                // A read that goes wrong is no damage.
                if recorded == Some(self.digest_of(both.source, source)?) {
                    return Err(error.into());
                }
                let destination = both.in_destination.clone();
                let detail =
                    format!("its bytes in {} are not those that it had under its etag: {error}", self.route.source);
                let (outcome, act) = (CopyOutcome::Damaged, ContentActKind::Damaged);
                return Ok(Came::Else { outcome, act, destination, detail, is_followed: false });
            }
            Err(error) => return Err(error.into()),
        };
        crash_point("duplicate.put");
        let (_, read) = body.finish();
        let proof = self.prove(both.destination, &put, &read)?;
        // The copy is one of what the source has now.
        let source = self.still(both.source, &source.etag)?;
        let destination = self.still(both.destination, &put.etag)?;
        let unproved =
            if proof == Proof::Compared { "" } else { ", where it is archived: its bytes cannot be read back" };
        let detail = format!("copied to {}{unproved}", self.route.destination);
        let sha512 = read.get(Algorithm::Sha512);
        let is_news = true;
        Ok(Came::Equal(Box::new(EqualItem { source, destination, sha512, proof, is_news, did, makes_space, detail })))
    }

    /// What a store has, where that is what it had.
    fn still(&self, store: &dyn PlainStore, etag: &str) -> Result<ItemHead, OperationError> {
        let head = self.head(store)?.filter(|head| head.etag == etag);
        head.ok_or_else(|| self.changed(store.name()).into())
    }

    fn damaged(&self, destination: &ItemHead, other: Digest, recorded: Option<Digest>, known: &Known) -> Came {
        let Route { source: from, destination: to, .. } = self.route;
        let since =
            known.item.as_ref().and_then(|item| item.verified_at).map(|at| format!(" at {at}")).unwrap_or_default();
        let which = match recorded {
            Some(recorded) if recorded == other => format!("{from} has other bytes than it had{since}"),
            Some(_) => format!("both have other bytes than they had{since}"),
            None => format!("{from} and {to} were equal{since} and differ now"),
        };
        let detail = format!("{which}, under the same etag; nothing is overwritten");
        let destination = Some(destination.clone());
        let (outcome, act) = (CopyOutcome::Damaged, ContentActKind::Damaged);
        Came::Else { outcome, act, destination, detail, is_followed: false }
    }

    fn describe(
        &self,
        both: &Both<'_>,
        etag: &str,
        description: &Description,
        (sha512, proof): (Option<Digest>, Proof),
        known: &Known,
    ) -> Result<Came, OperationError> {
        let (Some(source), Some(before)) = (both.in_source.clone(), both.in_destination.clone()) else {
            return Ok(Came::Later);
        };
        if self.applied.is_cyclic && known.last_equal().is_some_and(|(here, _)| here == Some(source.etag.as_str())) {
            // The description was changed there, and comes back by other rules.
            if known.item.as_ref().is_some_and(|item| item.source_revision == source.revision) {
                return Ok(Came::AsKnown);
            }
        }
        match both.destination.set_properties(self.space, self.key, etag, description) {
            Ok(described) => {
                let destination = self.still(both.destination, &described.etag)?;
                let detail = format!("described anew in {}", self.route.destination);
                Ok(Came::Equal(Box::new(EqualItem {
                    source,
                    destination,
                    sha512,
                    proof,
                    is_news: true,
                    did: Some(ContentActKind::Described),
                    makes_space: false,
                    detail,
                })))
            }
            Err(error) if error.is_archived() => {
                let detail = format!("the description differs, and cannot be changed: {error}");
                let destination = before;
                Ok(Came::Equal(Box::new(EqualItem {
                    source,
                    destination,
                    sha512,
                    proof,
                    is_news: false,
                    did: None,
                    makes_space: false,
                    detail,
                })))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn delete(&self, both: &Both<'_>, etag: &str, known: &Known) -> Result<Came, OperationError> {
        // What was changed there since, or brought by another rule, is not what was deleted in the source.
        if self.applied.is_cyclic && !known.is_unchanged_there(etag) {
            return Ok(Came::AsKnown);
        }
        let key = self.key.as_str();
        if self.is_brought_by_another(key, etag)? {
            // Nothing of this route is there, so nothing of its deletion is left to be done.
            return Ok(Came::Else {
                outcome: CopyOutcome::Deleted,
                act: ContentActKind::Kept,
                destination: None,
                detail: Self::by_event(
                    known,
                    "deleted in the source, and another rule brought what the destination has",
                ),
                is_followed: false,
            });
        }
        // Once more, at the last moment: whether the source is there, and has it not.
        let source = self.home.plain_stores.get(&self.route.source)?;
        if self.head(source.as_ref())?.is_some() {
            return Err(self.changed(&self.route.source).into());
        }
        let act = match both.destination.delete(self.space, self.key, etag)? {
            Removal::Removed => ContentActKind::Deleted,
            Removal::Absent => ContentActKind::Absent,
            Removal::Changed => return Err(self.changed(&self.route.destination).into()),
        };
        // Once it is recorded as deleted, no sweep deletes it.
        if self.head(both.destination)?.is_some_and(|left| left.etag == etag) {
            return Err(EngineError::CheckFailed(format!(
                "{}/{} is still in {}, which answered that it is deleted",
                self.space, self.key, self.route.destination
            ))
            .into());
        }
        crash_point("duplicate.deleted");
        Ok(Came::Else {
            outcome: CopyOutcome::Deleted,
            act,
            destination: None,
            detail: Self::by_event(known, "deleted in both"),
            is_followed: true,
        })
    }

    /// Whether another rule of a newest policy has brought what the destination has.
    fn is_brought_by_another(&self, key: &str, etag: &str) -> Result<bool, OperationError> {
        let others = self.home.registry.read(|tx| items::brought_by(tx, self.route, key, etag))?;
        if others.is_empty() {
            return Ok(false);
        }
        let policies = policies(self.home)?;
        let is_there = |other: &Route| {
            let of = policies.iter().filter(|(institution, _)| *institution == other.institution);
            of.flat_map(|(_, policy)| policy.lookup().rules_from(&other.source, &other.space))
                .any(|rule| rule.destination == other.destination)
        };
        Ok(others.iter().any(is_there))
    }

    fn by_event(known: &Known, what: &str) -> String {
        let Some(event) = &known.event else { return what.to_owned() };
        let reason = if event.reason.is_empty() { String::new() } else { format!(": {}", event.reason) };
        format!("{what}; by the event of {} that {} reported{reason}", event.happened_at, event.actor)
    }

    fn changed(&self, store: &str) -> EngineError {
        EngineError::CheckFailed(format!("{}/{} in {store} was changed meanwhile", self.space, self.key))
    }

    fn undescribed(&self, error: &PropertyError) -> EngineError {
        EngineError::Refused(format!(
            "{}/{} in {} has a description that not every store can keep: {error}",
            self.space, self.key, self.route.source
        ))
    }

    /// Logs that it needs a person, or does not any more: once for each change.
    fn log_change(&self, before: Option<CopyOutcome>, item: &DuplicatedItem) {
        let institution = &self.route.institution_identifier;
        let stores = (self.route.source.as_str(), self.route.destination.as_str());
        let (found, outcome) = ((self.route.space.as_str(), item.key.as_str()), item.outcome);
        match before.filter(|before| before.needs_person()) {
            before if before == Some(outcome) => {}
            _ if outcome.needs_person() => {
                Event::ContentItemInTrouble { institution, stores, item: found, outcome, detail: &item.detail }.emit();
            }
            Some(before) => Event::ContentItemRecovered { institution, stores, item: found, before, outcome }.emit(),
            None => {}
        }
    }

    /// The end of the task, with what is recorded in its transaction.
    fn end(&self, came: Came, known: Known, both: Both<'_>) -> Result<TaskEnd, OperationError> {
        let (now, route, key) = (now(self.home)?, self.route.clone(), self.key.to_string());
        let acts = self.acts(&came, &known, &both, now);
        let before = known.item.as_ref().map(|item| item.outcome);
        let source = both.in_source;
        let seen_again = source.as_ref().and_then(|found| SeenAgain::new(&route, known.event, found, now));
        let seen_again = seen_again.map(|seen| seen.by(self.task));
        let follow = |kind, reason: &str| {
            let place = (self.route.destination.as_str(), self.route.space.as_str(), key.as_str());
            Ok::<_, EngineError>(Follow::new(self.home, &policies(self.home)?, place, kind, reason, now))
        };
        let (item, follow) = match came {
            Came::Later => {
                let at = self.context.time_after(self.home.settings.restoration.retrieval_poll);
                return Ok(Outcome::Defer(at).into());
            }
            Came::AsKnown => (None, None),
            Came::Nothing => {
                let end = TaskEnd::from(Outcome::Done);
                return Ok(end.with(Box::new(move |tx, _| items::remove(tx, route.id, &key).map(|()| Vec::new()))));
            }
            Came::Equal(equal) => {
                let EqualItem { source, destination, sha512, proof, is_news, detail, .. } = *equal;
                let before = known.item.as_ref();
                let kept = before.filter(|item| item.source_etag.as_ref() == Some(&source.etag));
                let item = DuplicatedItem {
                    key: key.clone(),
                    outcome: CopyOutcome::Equal,
                    size: Some(source.size),
                    sha512: sha512.map(|digest| digest.as_bytes().to_vec()).or_else(|| kept?.sha512.clone()),
                    verified_at: match proof {
                        Proof::Compared => Some(now),
                        Proof::AsRecorded => kept.and_then(|item| item.verified_at),
                        Proof::None => None,
                    },
                    source_revision: source.revision,
                    source_etag: Some(source.etag),
                    destination_revision: destination.revision,
                    destination_etag: Some(destination.etag),
                    recorded_at: now,
                    detail,
                };
                (Some(item), is_news.then(|| follow(ContentEventKind::Put, "")).transpose()?)
            }
            Came::Else { outcome, destination, detail, is_followed, .. } => {
                // What people have to act on is known by the etags of both.
                let source = source.filter(|_| matches!(outcome, CopyOutcome::Damaged | CopyOutcome::Conflict));
                let mut before = known.item.unwrap_or_else(|| DuplicatedItem::empty(&key, now));
                if let Some(source) = source.as_ref().filter(|source| before.source_etag.as_ref() != Some(&source.etag))
                {
                    // What is known of the bytes is about another etag.
                    (before.sha512, before.verified_at) = (None, None);
                    before.source_revision.clone_from(&source.revision);
                }
                let follow = is_followed.then(|| follow(ContentEventKind::Delete, &detail)).transpose()?;
                let item = DuplicatedItem {
                    outcome,
                    source_etag: source.as_ref().map(|head| head.etag.clone()).or_else(|| before.source_etag.clone()),
                    destination_etag: destination.as_ref().map(|head| head.etag.clone()),
                    destination_revision: destination.as_ref().and_then(|head| head.revision.clone()),
                    size: destination.map(|head| head.size).or(before.size),
                    recorded_at: now,
                    detail,
                    ..before
                };
                (Some(item), follow)
            }
        };
        if let Some(item) = &item {
            self.log_change(before, item);
        }
        let write = move |tx: &mut dyn Transaction, _: Option<&_>| {
            if let Some(seen_again) = &seen_again {
                seen_again.write(tx)?;
            }
            if let Some(item) = &item {
                acts.append(tx, &route, item)?;
                items::put(tx, route.id, item)?;
            }
            follow.as_ref().map_or(Ok(Vec::new()), |follow| follow.write(tx))
        };
        Ok(TaskEnd::from(Outcome::Done).with(Box::new(write)))
    }
}
