//! receive: the payload is located and its etag noted. A newer deposit of an object waits for the older; the
//! parts of one set do not wait for each other.

use strongroom_registry::object_ids;
use strongroom_registry::objects::{self, Object};
use strongroom_registry::tenants::Collection;
use strongroom_registry::work;
use strongroom_registry::{ObjectState, RegistryError, Scope, WaitKey, WaitReason, items, parts, tenants};

use super::provision::return_space;
use crate::ingest::deposit::{DepositOptions, takes_no_deposits};
use crate::ingest::intake::{check_is_bag, check_unreplaced, package_source};
use crate::ingest::kind::DepositKind;
use crate::ingest::naming::{self, Identifiers, name_of_package};
use crate::ingest::rules;
use crate::ingest::workflow::RECEIVE;
use crate::workflow::{Outcome, StageContext, StageError};

/// How long a newer deposit sleeps unless the older wakes it by ending, in microseconds.
const WAIT_FOR_OLDER: i64 = 60_000_000;

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let item = context.item;
    let (institution, collection, older, part) = context.registry().read(|tx| {
        let institution = tenants::institution_by_id(tx, Scope::System, item.institution)?;
        let collection = tenants::collection_of(tx, item)?;
        let older = match items::older_open(tx, item)? {
            Some(older) => items::get(tx, Scope::System, older)?,
            None => None,
        };
        Ok::<_, RegistryError>((institution, collection, older, parts::of_item(tx, item.id)?))
    })?;
    if !institution.is_some_and(|institution| institution.active) {
        return Err(StageError::fatal(format!("the institution {} may not deposit", item.institution_identifier)));
    }
    if let Some(removed) = collection.as_ref().filter(|collection| !collection.active) {
        return Err(StageError::fatal(takes_no_deposits(&removed.identifier, &removed.institution_identifier)));
    }
    if let Some(older) = older {
        // The older one may wait for the space that this one has, where that was read or failed before.
        return_space(context)?;
        return Err(StageError::Waits {
            until: context.now()?.plus(WAIT_FOR_OLDER),
            reason: WaitReason::OlderDeposit,
            note: format!("waits for the older deposit {} ({} at {})", older.id, older.status, older.stage),
        });
    }
    if part.is_some() {
        // Those that waited for the same deposit as this part need not wait for its end.
        let item = item.clone();
        let topics = context.write(move |tx, claim| {
            work::check_fence(tx, claim)?;
            work::wake_younger(tx, &item)
        })?;
        context.registry().wakeups().notify(topics.iter().map(String::as_str));
    }
    let mut options = DepositOptions::of(context.item)?;
    if options.kind() == DepositKind::Metadata {
        context.with_end(|tx, claim| work::set_source(tx, claim, "none", Some(0), None).map(|()| Vec::new()));
        return Ok(Outcome::done("there is no package: the object is described anew"));
    }
    let payload = package_source(context)?;
    payload.check_fits(options.kind())?;
    if options.kind() == DepositKind::Auto {
        let kind = payload.recognize(context)?;
        options.kind = Some(kind).filter(|kind| *kind != DepositKind::Bag);
        let text = serde_json::to_string(&options)?;
        if let Some(identifier) = named_by_ids(context, &options, &text)? {
            let note = format!("it is no bag: its object is named by its identifiers, {identifier}");
            return Ok(Outcome::RestartFrom { stage: RECEIVE, note });
        }
        context.with_end(move |tx, claim| work::set_options(tx, claim, &text).map(|()| Vec::new()));
    }
    let refused = |of: &Collection| rules::refused_type(of, options.kind());
    if let Some(text) = collection.as_ref().filter(|_| options.row.is_none()).and_then(refused) {
        return Err(StageError::fatal(text));
    }
    if options.kind() == DepositKind::Bag {
        check_is_bag(&payload)?;
    }
    let located = payload.locate(context)?;
    check_unreplaced(&payload, options.etag.as_deref(), &located)?;
    let etag = located.etag.clone();
    let size = located.size;
    context.with_end(move |tx, claim| work::set_source(tx, claim, &etag, size, None).map(|()| Vec::new()));
    Ok(Outcome::done("the package was found"))
}

/// Names the object by the identifiers of the deposit, where it was named by a package that turned out to be no bag: bags name their
/// objects themselves, and another object may only be called as the package is. The name, where it is another one; `text` are the options
/// that are kept with it.
fn named_by_ids(
    context: &StageContext<'_>,
    options: &DepositOptions,
    text: &str,
) -> Result<Option<String>, StageError> {
    let item = context.item;
    let identifiers = Identifiers { name: None, ark: options.ark.clone(), local_ids: options.local_ids.clone() };
    let (kind, ids) = (options.kind(), identifiers.ids());
    let by_package = format!("{}/{}", item.institution_identifier, name_of_package(DepositKind::Auto, &item.name));
    if kind == DepositKind::Bag || options.is_named || ids.is_empty() || item.object_identifier != by_package {
        return Ok(None);
    }
    let of_package = name_of_package(kind, &item.name);
    let by_ids = format!("{}/{}", item.institution_identifier, identifiers.object_name(kind, &of_package));
    let (item, text) = (item.clone(), text.to_owned());
    let named = context.write(move |tx, claim| {
        let (institution, id) = (item.institution, item.id);
        work::check_fence(tx, claim)?;
        let known = objects::by_identifier(tx, Scope::Institution(institution), &by_package)?;
        let has_one = |object: &Object| {
            object.ark.is_some() && object.ark == identifiers.ark
                || identifiers.local_ids.iter().any(|id| object.description.local_ids.contains(id))
        };
        if known.is_some_and(|object| object.state != ObjectState::New && has_one(&object)) {
            return Ok(None);
        }
        let free = naming::free_identifier(tx, (institution, id), &ids, &by_ids)?;
        if free == by_package {
            return Ok(None);
        }
        object_ids::rename(tx, institution, &ids, (&by_package, &free))?;
        work::set_options(tx, claim, &text)?;
        work::set_object_identifier(tx, claim, &free, Some(WaitKey::turn(institution, &free)))?;
        // What waited for its turn behind this one waits for nothing now.
        Ok(Some((free, work::wake_younger(tx, &item)?)))
    })?;
    Ok(named.map(|(identifier, topics)| {
        context.registry().wakeups().notify(topics.iter().map(String::as_str));
        identifier
    }))
}
