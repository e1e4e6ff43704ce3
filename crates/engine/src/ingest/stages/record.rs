//! record: the version becomes true. It is marked `committing` only after every store has shown everything it brings; from
//! there it only goes forward: what was lost since is made again, then object root by object root in the stores, each read
//! back, then published in one short transaction.

use strongroom_digest::Digest;
use strongroom_ocfl::{Commit, OcflError};
use strongroom_registry::copies::{self, PendingCopy};
use strongroom_registry::counted;
use strongroom_registry::leases::{self, Hold};
use strongroom_registry::objects::Object;
use strongroom_registry::versions::{self, Version};
use strongroom_registry::work::Claim;
use strongroom_registry::{ContentId, RegistryError, Scope, Transaction, VersionState, items, object_ids, outbox};
use strongroom_storage::Store;

use super::write::{assembly, in_every_store, write_again};
use crate::home::NamedStore;
use crate::ingest::completion::{Brought, commit_failure, complete, missing};
use crate::ingest::deposit::DepositOptions;
use crate::ingest::inventory::Inventory;
use crate::ingest::kind::DepositKind;
use crate::ingest::lease::{Begun, Known, compare_anew, keep_object};
use crate::ingest::placement::bring_up;
use crate::ingest::version::{going_forward, standing};
use crate::watermark::{self, Confirmed};
use crate::workflow::{Outcome, StageContext, StageError};
use crate::{arks, crash_point, fixity};

/// What the stage reads besides what every stage under the object's lease knows.
struct Besides {
    /// How many contents are without a proved copy, in the order of the stores.
    unproved: Vec<u64>,
    /// The first page of the contents that the version brings.
    brought: Vec<PendingCopy>,
    /// The version's inventory; none where it is published.
    inventory: Option<Inventory>,
}

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let begun = keep_object(context, &mut |tx, known| {
        let is_published = known.version.state == VersionState::Published;
        let inventory =
            if is_published { None } else { Some(Inventory::of(context, tx, &known.version, &known.object)?) };
        Ok(Besides {
            inventory,
            unproved: copies::unproved(tx, &known.version, &known.store_names())?,
            brought: Brought::first_page(tx, &known.version)?,
        })
    })?;
    let (known, besides) = match begun {
        Begun::Known(known, besides) => (known, besides),
        Begun::Ends(end) => return Ok(end),
    };
    let Known { object, stores, mut version, .. } = *known;
    let mut confirmed = Confirmed::default();
    if let Some(inventory) = &besides.inventory {
        let is_begun_here = version.state == VersionState::Preparing;
        if is_begun_here {
            if let Some(end) = begin_commit(context, &version, &stores, inventory, &besides)? {
                return Ok(end);
            }
            version.state = VersionState::Committing;
            version.inventory = Some(inventory.seal.digest);
            crash_point("ingest.record.committing");
        } else if version.inventory != Some(inventory.seal.digest) {
            return Err(StageError::Transient(format!(
                "the inventory of version {} is no longer the one that was committed: the registry's rows of it changed",
                version.number
            )));
        }
        // A store that was replaced since the version was begun lacks the earlier ones.
        bring_up(context, &object, &stores)?;
        let commit = Committing {
            context,
            object: &object,
            stores: &stores,
            inventory,
            brought: Brought::new(&version, besides.brought.clone()),
            version: &version,
            are_proved: is_begun_here,
        };
        confirmed = commit.finish()?;
    }
    let (institution, collection) = (context.item.institution, context.item.collection);
    let unconditional = read_again(context, &stores);
    let names: Vec<String> = stores.into_iter().map(|(name, _)| name).collect();
    let update = arks::message(context.home, &object, &version).map_err(going_forward)?;
    let (object, ark) = (version.object, object.ark);
    let publish = move |tx: &mut dyn Transaction, claim: &Claim| {
        versions::publish(tx, claim, institution, collection, &names)?;
        if let Some(ark) = &ark {
            object_ids::set_ark(tx, object, ark)?;
        }
        if let Some((key, payload)) = &update {
            outbox::insert(tx, institution, claim.item, key, outbox::EZID, payload)?;
        }
        let now = tx.now()?;
        for (store, age) in &unconditional {
            copies::set_inventories_checked(tx, object, store, now.plus(-age))?;
        }
        let topics = leases::release_owner(tx, claim.item.0)?;
        // Last, since every deposit changes these rows.
        confirmed.note(tx)?;
        Ok(topics)
    };
    if version.description.part.is_none() {
        let hint = only_called_alike(context, &version)?;
        context.with_end(publish);
        return Ok(Outcome::done(format!("version {} is published{hint}", version.number)));
    }
    // What is reported of a part names those that came in, which are known when it is published.
    let topics = context.write(publish)?;
    context.registry().wakeups().notify(topics.iter().map(String::as_str));
    crash_point("ingest.record.published");
    let standing = standing(context, &version.description, version.object, version.generation, version.number)?;
    Ok(Outcome::done(format!("version {} is published{standing}", version.number)))
}

/// What is said of a further version whose deposit named its object only by being called like an earlier one from somewhere else:
/// the depositor may have meant another object.
fn only_called_alike(context: &StageContext<'_>, version: &Version) -> Result<String, StageError> {
    let (item, options) = (context.item, DepositOptions::of(context.item)?);
    let names_itself = matches!(options.kind(), DepositKind::Bag | DepositKind::Metadata)
        || options.is_named
        || options.update
        || options.is_own_object
        || !options.local_ids.is_empty()
        || options.ark.is_some();
    if version.number == 1 || names_itself {
        return Ok(String::new());
    }
    let earlier = context.registry().read(|tx| {
        let before = versions::published_before(tx, version.object, version.generation, version.number)?;
        match before.and_then(|before| before.item).map(|id| items::find(tx, Scope::System, id)) {
            Some(Err(RegistryError::NotFound { .. })) | None => Ok(None),
            Some(found) => Ok::<_, RegistryError>(found?.source),
        }
    })?;
    if earlier.is_none() || earlier == item.source {
        return Ok(String::new());
    }
    Ok(format!(" of {}, which existed; --local-id or --primary-id would make another object", item.object_identifier))
}

/// The stores that honour no conditions on puts, each with the age that its inventories count as having since their last
/// check, in microseconds: they are due when every lease of before the commit must have ended. A process that slept in its
/// commit may have put an older root inventory by then, which the check replaces by the one recorded.
fn read_again(context: &StageContext<'_>, stores: &[NamedStore]) -> Vec<(String, i64)> {
    let settings = &context.home.settings;
    let lease = context.task.settings().lease.saturating_mul(3);
    let age = settings.fixity.max_age.saturating_sub(lease);
    let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
    let unconditional = stores.iter().filter(|(_, store)| !store.capabilities().conditional_put);
    unconditional.map(|(name, _)| (name.clone(), age)).collect()
}

/// Marks the version as committing, once every store of the placement has proved copies of everything it brings and shows
/// each under the version's identifier with its size: seen in this attempt, under the object's lease. The end of the stage
/// where that is not so.
fn begin_commit(
    context: &StageContext<'_>,
    version: &Version,
    stores: &[NamedStore],
    inventory: &Inventory,
    besides: &Besides,
) -> Result<Option<Outcome>, StageError> {
    for ((name, _), unproved) in stores.iter().zip(&besides.unproved) {
        if *unproved > 0 {
            let what = format!("{} no verified copy in {name}", counted(*unproved, "content has", "contents have"));
            return write_again(context, version, &what).map(Some);
        }
    }
    let brought = Brought::new(version, besides.brought.clone());
    let mut lost = Vec::new();
    for listed in in_every_store(stores, |name, store| Ok((name.to_owned(), missing(context, &brought, store)?))) {
        let (name, missing) = listed?;
        if missing.is_empty() {
            continue;
        }
        lost.push(format!("{} in {name}", counted(missing.len() as u64, "content", "contents")));
        let of = version.clone();
        let contents: Vec<ContentId> = missing.iter().map(|copy| copy.content).collect();
        context.write(move |tx, claim| copies::forget_copies(tx, claim, &of, &name, &contents))?;
    }
    if !lost.is_empty() {
        let what = format!("lost after it was verified: {}", lost.join(", "));
        return write_again(context, version, &what).map(Some);
    }
    crash_point("ingest.record.listed");
    let is_committing = commit(context, version, inventory.seal.digest)?;
    Ok((!is_committing).then(compare_anew))
}

/// A version that is being committed.
struct Committing<'a, 'c> {
    context: &'a StageContext<'c>,
    version: &'a Version,
    object: &'a Object,
    stores: &'a [NamedStore],
    inventory: &'a Inventory,
    brought: Brought<'a>,
    /// See [`complete`].
    are_proved: bool,
}

impl Committing<'_, '_> {
    /// Makes the version the head of its object in every store. The marks that name it there, which are noted when it
    /// is published.
    fn finish(&self) -> Result<Confirmed, StageError> {
        let home = self.context.home;
        let announced = watermark::announce(home).map_err(going_forward)?;
        let marked: Vec<&dyn Store> = self.stores.iter().map(|(_, store)| store.as_ref()).collect();
        for store in &marked {
            watermark::advance(home, *store, &announced).map_err(going_forward)?;
        }
        crash_point("ingest.record.marked");
        match self.commit_in_each() {
            Ok(()) => watermark::confirm_in_each(home, &marked, &announced).map_err(going_forward),
            Err(failure) => {
                // The act may have ended in other stores than the one that fails. What was seen of the stores since the item was
                // claimed is of those that were there then.
                let _ = watermark::confirm_since(home, &marked, &announced, self.context.claim.replacements);
                Err(failure)
            }
        }
    }

    fn commit_in_each(&self) -> Result<(), StageError> {
        let Self { context, version, object, stores, inventory, .. } = *self;
        for (name, store) in stores {
            complete(context, &self.brought, (name, store), stores, self.are_proved)?;
            let assembly = assembly(context, version, store)?;
            let make = || {
                assembly.commit(&mut Commit {
                    seal: &inventory.seal,
                    replaces: inventory.replaces.as_ref(),
                    inventory: &mut || inventory.open(),
                    may_go_on: &mut || {
                        context.task.check_lease().map_err(|reason| OcflError::Stopped { reason: reason.to_string() })
                    },
                })
            };
            let mut committed = make();
            // No other process can repair what was damaged behind `committing`: the item holds the object until it is
            // published.
            if committed.as_ref().is_err_and(may_be_damage)
                && put_back_head(context, (object, version), name, inventory)?
            {
                committed = make();
            }
            committed.map_err(|error| commit_failure(context, error))?;
            crash_point("ingest.record.middle");
        }
        Ok(())
    }
}

/// Whether a root inventory that is damaged, or that its medium cannot read, may be the reason.
fn may_be_damage(error: &OcflError) -> bool {
    match error {
        OcflError::Head { .. } => true,
        OcflError::Storage(error) => fixity::is_unreadable(error),
        _ => false,
    }
}

/// Puts back the root inventory of the latest published version in a store, and whatever else is not as recorded; of a first
/// version what is damaged. Whether that helped.
fn put_back_head(
    context: &StageContext<'_>,
    (object, version): (&Object, &Version),
    store: &str,
    inventory: &Inventory,
) -> Result<bool, StageError> {
    let go_on = || context.task.check_lease();
    let outcome = if object.head > 0 {
        fixity::put_right(context.home, (object.id, context.claim), store, &go_on)
    } else {
        let open = || Ok(inventory.open()?);
        let recorded = fixity::Recorded { seal: inventory.seal, open: &open };
        fixity::put_right_first(context.home, (object, context.claim), version, (store, &recorded), &go_on)
    };
    outcome.map_err(|halt| StageError::of_halt(halt, going_forward))
}

/// Marks the version as committing, if no other process has had the object since the stage began; whether it did.
fn commit(context: &StageContext<'_>, version: &Version, inventory: Digest) -> Result<bool, StageError> {
    let (object, version) = (version.object, version.clone());
    let lease = context.task.settings().lease_microseconds();
    context.write(move |tx, claim| {
        let until = tx.now()?.plus(lease);
        match leases::hold_for_item(tx, claim, object, until)? {
            Hold::Held { kept: true, .. } => versions::commit(tx, claim, &version, inventory).map(|()| true),
            _ => Ok(false),
        }
    })
}
