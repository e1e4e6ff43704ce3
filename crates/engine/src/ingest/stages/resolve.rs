//! resolve: which object the deposit is of, found or made, and where its copies belong.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use strongroom_registry::items::ItemProblem;
use strongroom_registry::object_ids::{self, IdKind};
use strongroom_registry::objects::{self, Object};
use strongroom_registry::tenants::{self, Collection};
use strongroom_registry::work;
use strongroom_registry::{
    GenerationId, Layout, ObjectId, ObjectState, RegistryError, Scope, WaitKey, backfill, interim, items,
};

use super::Findings;
use super::package::problem;
use crate::ingest::deposit::DepositOptions;
use crate::ingest::kind::{DepositKind, DepositMode};
use crate::ingest::lease::expect;
use crate::ingest::workflow::RECEIVE;
use crate::ingest::{metadata, naming};
use crate::workflow::{Outcome, StageContext, StageError};
use crate::{EngineError, Home, arks};

/// The object and its placement, fixed for the rest of the way.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Resolved {
    pub(crate) object: ObjectId,
    pub(crate) generation: GenerationId,
    pub(crate) placement: String,
    /// Whether a deposit named the placement; none where that was not recorded.
    #[serde(default)]
    pub(crate) placement_requested: Option<bool>,
    /// The ARK that the object has from the next version on.
    #[serde(default)]
    pub(crate) ark: Option<String>,
}

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let item = context.item;
    let options = DepositOptions::of(item)?;
    let scope = Scope::Institution(item.institution);
    let (facts, rules, retired) = context.registry().read(|tx| {
        let rules = tenants::collection_of(tx, item)?;
        Ok::<_, RegistryError>((interim::facts(tx, item.id)?, rules, backfill::retired(tx)?))
    })?;
    let findings: Findings = expect(&facts, "findings")?;
    let ark: Option<String> = expect(&facts, "ark")?;
    if let Some(other) = other_object(context, &options, &findings, ark.as_ref())? {
        return belongs_to(context, other);
    }
    let known = context.registry().read(|tx| objects::by_identifier(tx, scope, &item.object_identifier))?;
    let known = known.filter(|object| object.state != ObjectState::New);
    if options.is_own_object && known.is_some() {
        // Another deposit took the name while this one had ended.
        let id = item.id.to_string();
        let short = id.get(id.len().saturating_sub(8)..).unwrap_or_default();
        return belongs_to(context, format!("{}-{short}", item.object_identifier));
    }
    if (options.update || options.kind() == DepositKind::Metadata) && known.is_none() {
        let next =
            if options.update { "; next: strongroom deposit without --update, where it is a new one" } else { "" };
        let note = format!("an update of {} was asked for, and there is no such object{next}", item.object_identifier);
        return Err(StageError::fatal(note));
    }
    // What was deleted begins anew.
    let kept = known.as_ref().filter(|object| object.state != ObjectState::Deleted);
    if (options.update || options.kind() == DepositKind::Metadata) && kept.is_none() {
        let note = format!("an update of {} was asked for, and it was deleted", item.object_identifier);
        return Err(StageError::fatal(format!(
            "{note}; next: strongroom deposit without --update, which begins it anew"
        )));
    }
    if let Some(known) = &known {
        check_known(known, &options, &findings, ark.as_ref())?;
    }
    let Chosen { placement, is_requested: placement_requested, warning } =
        placement(context, &findings, kept, (rules, &retired))?;
    let (institution, collection) = (item.institution, item.collection);
    let identifier = item.object_identifier.clone();
    let (new_object, new_generation) = (ObjectId::new(), GenerationId::new());
    if let Some(warning) = warning {
        let mut problems =
            context.registry().read(|tx| items::problems(tx, Scope::System, item.id, usize::MAX >> 1))?;
        if !problems.contains(&warning) {
            problems.push(warning);
            context.write(move |tx, claim| work::note_problems(tx, claim, &problems))?;
        }
    }
    let erc = || metadata::erc(context, &findings, kept);
    let ark = arks::assign(context, known.as_ref(), ark.as_deref(), &erc)?;
    let files = metadata::stage(context, &findings, kept, ark.as_deref())?;
    context.with_end(move |tx, claim| {
        let object = objects::find_or_make(tx, institution, collection, &identifier, new_object, new_generation)?;
        // Of an object that has versions it is set with the version whose record has it.
        if let (Some(ark), true) = (&ark, object.head == 0 || object.state == ObjectState::Deleted) {
            object_ids::set_ark(tx, object.id, ark)?;
        }
        if !files.is_empty() {
            interim::put_files(tx, claim, &files)?;
        }
        let resolved = Resolved {
            object: object.id,
            generation: object.generation,
            placement: placement.clone(),
            placement_requested,
            ark: ark.clone(),
        };
        let text = serde_json::to_string(&resolved).map_err(|_| RegistryError::Corrupt {
            wanted: "an object and its placement",
            found: format!("{resolved:?}"),
        })?;
        work::note_object(tx, claim, object.id, &[("resolved".to_owned(), text)]).map(|()| Vec::new())
    });
    let note = match &known {
        None => "a new object",
        Some(known) if known.state == ObjectState::Deleted => "an object that was deleted begins anew",
        Some(_) => "a further deposit of a known object",
    };
    Ok(Outcome::done(note))
}

/// Another object than the item is about, where the identifiers that the package names are those of one.
///
/// # Errors
/// The identifiers are those of different objects.
fn other_object(
    context: &StageContext<'_>,
    options: &DepositOptions,
    findings: &Findings,
    ark: Option<&String>,
) -> Result<Option<String>, StageError> {
    let item = context.item;
    let local_ids = findings.description.deposit_ids.iter().map(|id| (IdKind::Local, id.clone()));
    let ids: Vec<(IdKind, String)> = local_ids.chain(ark.map(|ark| (IdKind::Ark, ark.clone()))).collect();
    if ids.is_empty() {
        return Ok(None);
    }
    // What the submission knew decided which object the item is about.
    let is_given = options.is_named || options.kind() == DepositKind::Metadata;
    let of = (item.institution, item.id);
    let identifier = item.object_identifier.clone();
    let named = context.write(move |tx, claim| {
        work::check_fence(tx, claim)?;
        naming::object_of(tx, of, &ids, (&identifier, is_given))
    })?;
    match named {
        Ok(object) => Ok(Some(object).filter(|object| *object != item.object_identifier)),
        Err(text) => {
            let problems = vec![problem("error", "deposit.identifiers_contradict", None, text.clone())];
            Err(StageError::Fatal { note: text, problems })
        }
    }
}

/// The package belongs to another object than its name says: the item is about that one from now on, and waits for its older deposits.
fn belongs_to(context: &StageContext<'_>, other: String) -> Result<Outcome, StageError> {
    let note = format!("its identifiers are those of {other}: it is a deposit of that object");
    let item = context.item.clone();
    let topics = context.write(move |tx, claim| {
        let key = WaitKey::turn(item.institution, &other);
        work::set_object_identifier(tx, claim, &other, Some(key))?;
        // What waited for its turn behind this one waits for nothing now.
        work::wake_younger(tx, &item)
    })?;
    context.registry().wakeups().notify(topics.iter().map(String::as_str));
    Ok(Outcome::RestartFrom { stage: RECEIVE, note })
}

/// Refuses a package that cannot be a version of an object as it is.
fn check_known(
    known: &Object,
    options: &DepositOptions,
    findings: &Findings,
    ark: Option<&String>,
) -> Result<(), StageError> {
    if let (Some(ark), Some(kept)) = (ark, &known.ark)
        && ark != kept
    {
        let note = format!("the deposit says that {} is {ark}, and it is {kept}", known.identifier);
        let problems = vec![problem("error", "deposit.identifiers_contradict", None, note.clone())];
        return Err(StageError::Fatal { note, problems });
    }
    let (layout, kept) = (findings.description.layout, known.description.layout);
    let is_mixed = layout != kept && known.state == ObjectState::Active;
    if is_mixed && options.mode() == DepositMode::Merge && options.kind() != DepositKind::Metadata {
        let (sent, kept) = match layout {
            Layout::Bag => ("a bag", "files that came in no bag"),
            Layout::Files => ("no bag", "a bag"),
        };
        let note = format!(
            "{} holds {kept}, and the package is {sent}: they cannot be merged; next: strongroom deposit --mode replace",
            known.identifier
        );
        return Err(StageError::fatal(note));
    }
    Ok(())
}

/// Where the copies of an object belong.
struct Chosen {
    placement: String,
    /// Whether a deposit named it; none where that was not recorded.
    is_requested: Option<bool>,
    /// What to warn of.
    warning: Option<ItemProblem>,
}

/// The placement of the object's copies, and what to warn of. A deposit does not change it: an object's files are never split.
fn placement(
    context: &StageContext<'_>,
    findings: &Findings,
    known: Option<&Object>,
    (rules, retired): (Option<Collection>, &BTreeSet<String>),
) -> Result<Chosen, StageError> {
    let home = context.home;
    let warning = |code: &str, message: String| ItemProblem {
        severity: "warning".into(),
        code: code.into(),
        file: None,
        path: None,
        line: None,
        message,
    };
    let sticky = known.and_then(|object| object.description.placement.clone());
    if let Some(kept) = sticky {
        let differs = findings.storage_option.as_ref().filter(|(option, _)| !option.eq_ignore_ascii_case(&kept));
        let warning = differs.map(|(option, _)| {
            let message = format!("the deposit asks for {option}; the object stays in {kept} while it has files");
            warning("deposit.placement_kept", message)
        });
        let is_requested = known.and_then(|object| object.description.placement_requested);
        return Ok(Chosen { placement: kept, is_requested, warning });
    }
    let default = || -> Result<String, StageError> {
        let asked = rules.as_ref().and_then(|collection| collection.rules.placement.clone());
        let name = asked.unwrap_or_else(|| home.settings.ingest.default_placement.clone());
        Ok(home.placement_without(&name, retired).map_err(|error| StageError::fatal(error.chain()))?.0)
    };
    let Some((option, replaceable)) = &findings.storage_option else {
        return Ok(Chosen { placement: default()?, is_requested: Some(false), warning: None });
    };
    match home.placement_without(option, retired) {
        Ok((name, stores)) => {
            let message = not_archived(option, stores.iter().map(|(store, _)| store.as_str()), home);
            let warning = message.map(|message| warning("deposit.storage_not_archived", message));
            Ok(Chosen { placement: name, is_requested: Some(true), warning })
        }
        Err(EngineError::NotFound { .. }) if *replaceable => {
            let name = default()?;
            let message = format!("the deposit asks for the unknown storage option {option:?}; {name} is used");
            let warning = Some(warning("deposit.placement_unknown", message));
            Ok(Chosen { placement: name, is_requested: Some(false), warning })
        }
        Err(error) => Err(StageError::fatal(error.chain())),
    }
}

/// Says where copies go that a depositor asks to keep in archive storage, where stores of the placement keep them otherwise. The
/// storage options of APTrust that begin so mean classes of object storage whose contents are retrieved before they are read.
fn not_archived<'s>(option: &str, stores: impl Iterator<Item = &'s str>, home: &Home) -> Option<String> {
    const ARCHIVE: &str = "glacier";
    let beginning = option.get(..ARCHIVE.len())?;
    if !beginning.eq_ignore_ascii_case(ARCHIVE) {
        return None;
    }
    let others: Vec<String> = stores
        .filter_map(|name| home.settings.stores.get(name).map(|store| (name, store)))
        .filter(|(_, store)| store.content_class().is_none())
        .map(|(name, store)| format!("{name} ({})", store.kind()))
        .collect();
    let others = (!others.is_empty()).then(|| others.join(", "))?;
    Some(format!(
        "the deposit asks for {option}, which means archive storage; its copies go to {others}, which is none"
    ))
}
