//! deposit: makes an ingest of each harvested document. The document is the one file of the object, and describes it where it is Dublin
//! Core; the identifier of the record in its source is the local identifier of the object, so that a later state of the record is a
//! version of the same object. A record of another source is refused where it would be such a version: two catalogues may call different records
//! alike. So is a state of a record where the object has one that was harvested later. Files that people have added to the object stay.
//!
//! A record is processed when its work item is made, in one transaction: none is made twice. How the work item ends, it says itself;
//! its identifier is the result.

use std::sync::Arc;

use serde::Deserialize;
use strongroom_metadata::Limits;
use strongroom_records::Takes;
use strongroom_registry::activities::{self, Activity};
use strongroom_registry::documents::{self, Document};
use strongroom_registry::items::{self, NewItem};
use strongroom_registry::object_ids::IdKind;
use strongroom_registry::tenants::{self, Collection, Institution};
use strongroom_registry::{
    DocumentId, HARVESTED_FROM, InstitutionId, ItemId, Origin, RegistryError, Scope, Transaction, Workflows, provenance,
};

use crate::activities::agent::{Agent, AgentInput, AgentOption, Asked, Makes, OpenAgent, Planned, RecordOutcome, Work};
use crate::activities::input::{check_valid, document_of};
use crate::activities::options::{many, parsed};
use crate::ingest::{
    DepositKind, DepositMode, DepositOptions, GivenDescription, INGEST, PackageSource, as_json, naming, rules,
};
use crate::{EngineError, Home};

const NAME: &str = "deposit";
/// The most bytes of a prefix of identifiers.
const LONGEST_PREFIX: usize = 200;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    collection: Option<String>,
    placement: Option<String>,
    file: Option<String>,
    prefix: Option<String>,
    #[serde(deserialize_with = "many")]
    earlier_source: Vec<String>,
}

/// See the header of the file.
pub(super) struct Deposit;

impl Agent for Deposit {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "Deposit harvested documents, each as an object"
    }

    fn options(&self) -> &'static [AgentOption] {
        &[
            AgentOption { name: "collection", default: "", meaning: "the short name of the collection of the objects" },
            AgentOption {
                name: "placement",
                default: "",
                meaning: "where their copies belong; as the collection says where it is not given",
            },
            AgentOption {
                name: "file",
                default: "",
                meaning: "the name of the file in each object; record.xml or record.json where it is not given",
            },
            AgentOption {
                name: "prefix",
                default: "",
                meaning: "what the local identifiers of the objects begin with, before the identifiers of the records; another one for each source whose \
                          records are called alike",
            },
            AgentOption {
                name: "earlier_source",
                default: "",
                meaning: "a URL or path that the source had before: records are versions of objects that were made from there; may be given several \
                          times",
            },
        ]
    }

    fn input(&self) -> AgentInput {
        AgentInput::Activity(Takes::Results)
    }

    fn makes(&self) -> Makes {
        Makes::WorkItems
    }

    fn takes(&self, made: Makes) -> bool {
        !matches!(made, Makes::Outcomes | Makes::WorkItems)
    }

    fn plan(&self, home: &Home, asked: &Asked<'_>) -> Result<Planned, EngineError> {
        let options: Options = parsed(NAME, asked.options)?;
        let is_name = |name: &String| !name.is_empty() && !name.contains('/') && !name.contains(char::is_control);
        if let Some(name) = options.file.as_ref().filter(|name| !is_name(name) || name.len() > 200) {
            return Err(EngineError::Usage(format!("{name:?} cannot be the name of a file")));
        }
        let is_prefix = |text: &String| !text.contains(char::is_control) && text.trim() == text;
        if let Some(text) = options.prefix.as_ref().filter(|text| !is_prefix(text) || text.len() > LONGEST_PREFIX) {
            return Err(EngineError::Usage(format!("{text:?} cannot be the prefix of identifiers"))
                .next(format!("give up to {LONGEST_PREFIX} bytes without spaces around, such as maps:")));
        }
        if let Some(name) = options.placement.as_ref().filter(|name| home.settings.placement(name).is_none()) {
            return Err(EngineError::NotFound { what: "placement", name: name.clone(), hint: String::new() });
        }
        let Some(institution) = asked.institution else {
            return Err(EngineError::Usage(
                "a deposit belongs to an institution, and its input belongs to none".into(),
            )
            .next("run the harvest with --option institution=DOMAIN"));
        };
        let institution = home.registry.read(|tx| tenants::institution_by_id(tx, asked.scope, institution))?;
        let institution = institution.ok_or_else(|| EngineError::Usage("the institution does not exist".into()))?;
        target(home, &options, institution)?;
        Ok(Planned { options: asked.options.clone(), watermark: None })
    }

    fn open(&self, home: &Arc<Home>, activity: &Activity) -> Result<Box<dyn OpenAgent>, EngineError> {
        let options: Options = parsed(NAME, &activity.options)?;
        let institution = match activity.institution {
            None => None,
            Some(id) => home.registry.read(|tx| tenants::institution_by_id(tx, Scope::System, id))?,
        };
        let institution =
            institution.ok_or_else(|| EngineError::Usage("a deposit belongs to an institution".into()))?;
        let (institution, collection) = target(home, &options, institution)?;
        let workflows = home.registry.workflows();
        Ok(Box::new(Depositing { options, institution, collection, workflows }))
    }
}

/// The institution and the collection of the objects, which take deposits.
fn target(
    home: &Home,
    options: &Options,
    institution: Institution,
) -> Result<(Institution, Option<Collection>), EngineError> {
    if !institution.active {
        return Err(EngineError::Usage(format!(
            "the institution {} is deactivated and cannot deposit",
            institution.identifier
        )));
    }
    let Some(name) = &options.collection else { return Ok((institution, None)) };
    let scope = Scope::Institution(institution.id);
    let collection = home.registry.read(|tx| tenants::collection(tx, scope, institution.id, name))?;
    let collection = collection.filter(|collection| collection.active).ok_or_else(|| EngineError::NotFound {
        what: "collection",
        name: name.clone(),
        hint: format!(" of {} that takes deposits", institution.identifier),
    })?;
    if let Some(text) = rules::refused_type(&collection, DepositKind::File) {
        return Err(EngineError::Usage(text));
    }
    Ok((institution, Some(collection)))
}

struct Depositing {
    options: Options,
    institution: Institution,
    collection: Option<Collection>,
    workflows: Arc<dyn Workflows>,
}

impl Depositing {
    fn file_name(&self, document: &Document) -> String {
        let by_type = || match document.media_type.as_str() {
            media_type if media_type.contains("json") => "record.json",
            media_type if media_type.contains("xml") => "record.xml",
            _ => "record.txt",
        };
        self.options.file.clone().unwrap_or_else(|| by_type().to_owned())
    }

    /// The local identifier of the object of a document.
    fn local_id(&self, document: &Document) -> String {
        format!("{}{}", self.options.prefix.as_deref().unwrap_or_default(), document.record)
    }

    /// The work item of a document, but for the object that it is of.
    fn item(&self, id: ItemId, document: &Document, activity: &Activity) -> Result<NewItem, EngineError> {
        let file_name = self.file_name(document);
        let metadata = match strongroom_metadata::read_dublin_core(&document.bytes, &Limits::default()) {
            Ok(reading) => as_json(&reading.record),
            // It is another format, and the object is without a description.
            Err(_) => None,
        };
        let note = format!("{HARVESTED_FROM}{}", document.origin);
        let options = DepositOptions {
            local_ids: vec![self.local_id(document)],
            submitted_by: activity.actor.name.clone(),
            note: Some(note.clone()),
            kind: Some(DepositKind::File),
            description: GivenDescription { metadata, ..GivenDescription::default() },
            placement: self.options.placement.clone(),
            file_name: Some(file_name.clone()),
            harvested_from: Some(document.origin.clone()),
            // A file is sent to replace what an object has, unless it is said otherwise.
            mode: Some(DepositMode::Merge),
            ..DepositOptions::default()
        };
        let options = serde_json::to_string(&options)
            .map_err(|error| RegistryError::Corrupt { wanted: "options of a deposit", found: error.to_string() })?;
        let set = self.collection.as_ref().and_then(|collection| collection.rules.priority);
        Ok(NewItem {
            id,
            collection: self.collection.as_ref().map(|collection| collection.id),
            name: file_name,
            source: Some(PackageSource::Document(document.id).to_string()),
            size: Some(document.bytes.len() as u64),
            options,
            priority: set.map_or(NewItem::PRIORITY, u64::cast_signed),
            note,
            activity: Some(activity.id),
            ..NewItem::new(INGEST, self.institution.id, "")
        })
    }
}

impl OpenAgent for Depositing {
    /// Work items of several workers are made one transaction after the other: few at once keep none of them waiting for long.
    fn chunk(&self) -> usize {
        20
    }

    fn process(&self, record: &str, work: &Work<'_>) -> RecordOutcome {
        let failed = |error: String| RecordOutcome::Failed { error };
        let document = match document_of(record, work) {
            Ok(document) => document,
            Err(outcome) => return outcome,
        };
        let id = activities::item_of(work.activity, record);
        let new = match self.item(id, &document, work.activity) {
            Ok(new) => new,
            Err(error) => return failed(error.chain()),
        };
        let local_id = self.local_id(&document);
        if let Err(error) = naming::check_local_id(&local_id) {
            return failed(error);
        }
        let name = format!("{}/{}", self.institution.identifier, naming::name_of_id(&local_id));
        let (ids, workflows) = (vec![(IdKind::Local, local_id)], self.workflows.clone());
        let earlier = self.options.earlier_source.clone();
        RecordOutcome::Processed {
            result: Some(id.to_string()),
            writes: Some(Arc::new(move |tx, actor| {
                if items::get(tx, Scope::System, id)?.is_some() {
                    return Ok(Vec::new());
                }
                // A harvest may have replaced it since it was read.
                check_valid(tx, Some(new.institution), &documents::entity(document.id))?;
                let of = (new.institution, id);
                let identifier = naming::free_identifier(tx, of, &ids, &name)?;
                let object = naming::object_of(tx, of, &ids, (&identifier, false))?;
                let object_identifier = object.map_err(|text| RegistryError::State {
                    what: "record",
                    id: name.clone(),
                    state: text,
                    act: "deposit it".to_owned(),
                })?;
                // No other deposit becomes one of this object before this transaction ends.
                check_source(tx, new.institution, &object_identifier, (document.id, &document.origin, &earlier))?;
                let new = NewItem { object_identifier, actor: Some(actor.id), ..new.clone() };
                Ok(vec![items::create(tx, workflows.as_ref(), &new)?])
            })),
        }
    }
}

/// Refuses a record where its object was made from another source, which is none of the earlier ones, or from a state of it that was harvested
/// later. What people have deposited besides does not count.
fn check_source(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    object: &str,
    (document, origin, earlier): (DocumentId, &Origin, &[String]),
) -> Result<(), RegistryError> {
    let Some((from, source)) = items::harvested_from(tx, institution, object)? else { return Ok(()) };
    let refused = |state: String, act: &str| {
        Err(RegistryError::State { what: "object", id: object.to_owned(), state, act: act.to_owned() })
    };
    let is_earlier = |source: &String| *source == from.location || *source == from.to_string();
    if !from.may_be(origin) && !earlier.iter().any(is_earlier) {
        return refused(
            format!("made from another source, {from}"),
            "deposit a record of the same identifier from here; next: run the deposit with --option prefix=TEXT, which makes other objects, or, where the \
             source has moved, with --option earlier_source= and that source",
        );
    }
    let Some(Ok(PackageSource::Document(theirs))) = source.map(|source| PackageSource::kept(&source)) else {
        return Ok(());
    };
    let mut last_made = |id| provenance::last_made(tx, Some(institution), &documents::entity(id));
    if theirs != document
        && let (Some(ours_at), Some(theirs_at)) = (last_made(document)?, last_made(theirs)?)
        && ours_at < theirs_at
    {
        return refused(
            format!(
                "made from a state of the record that was harvested later, at {theirs_at}; this one was harvested at {ours_at}"
            ),
            "deposit the earlier one; next: nothing, unless the source has gone back to it: then harvest it again, and run \"activity retry-failed\"",
        );
    }
    Ok(())
}
