//! An object as a PREMIS 3 document: the object, its head version, every file of it with digests, format and copies, every
//! event, and who took part.

use std::collections::BTreeSet;
use std::io::Write;

use strongroom_digest::Algorithm;
use strongroom_ocfl::{Layout, object_id};
use strongroom_premis::{
    Agent, AgentKind, AgentRole, Event, EventType, File, Fixity, Format, Identifier, IntellectualEntity, LinkedAgent,
    LinkedObject, Outcome, PremisError, PremisWriter, Relationship, RelationshipKind, Representation, Storage,
};
use strongroom_registry::events::{self, EventCursor};
use strongroom_registry::journal::Actor;
use strongroom_registry::objects::{self, Copy, Object};
use strongroom_registry::{ActorKind, RegistryError, Scope};

use crate::content_name::in_package;
use crate::home::storage_root;
use crate::{EngineError, Home};

/// How many rows are read at once.
const ROWS_AT_ONCE: usize = 500;

/// Writes the PREMIS document of an object as it is published.
///
/// # Errors
/// The record cannot be read, or `out` refuses bytes.
pub fn premis(home: &Home, object: &Object, out: &mut dyn Write) -> Result<(), EngineError> {
    let mut document = PremisWriter::new(out).map_err(|error| unwritable(object, error))?;
    let representation = Identifier::new("OCFL", format!("urn:uuid:{}/v{}", object.generation, object.head));
    document.object(&entity(object, &representation).into()).map_err(|error| unwritable(object, error))?;
    let whole = whole(home, object, &representation)?;
    document.object(&whole.into()).map_err(|error| unwritable(object, error))?;
    let mut after = String::new();
    loop {
        let page = files(home, object, &after)?;
        let Some((last, _)) = page.last() else { break };
        after.clone_from(&last.path);
        for (file, copies) in &page {
            let described = described(file, copies, &representation);
            document.object(&described.into()).map_err(|error| unwritable(object, error))?;
        }
    }
    let mut agents = BTreeSet::new();
    let mut people = BTreeSet::new();
    let mut cursor = Some(EventCursor::START);
    while let Some(from) = cursor {
        let (page, next) = home.registry.read(|tx| {
            events::of_object(tx, Scope::Institution(object.institution), object.id, None, from, ROWS_AT_ONCE)
        })?;
        for act in page {
            document.event(&told(object, &act)).map_err(|error| unwritable(object, error))?;
            agents.insert(act.agent);
            people.extend(act.actor.iter().flat_map(accounts));
        }
        cursor = next;
    }
    for agent in &agents {
        document.agent(&software(agent)).map_err(|error| unwritable(object, error))?;
    }
    for (kind, name) in people {
        let person = Agent::new(Identifier::new(kind, name.as_str()), AgentKind::Person, name.as_str());
        document.agent(&person).map_err(|error| unwritable(object, error))?;
    }
    let owner = Identifier::new("domain", object.institution_identifier.as_str());
    let owner = Agent::new(owner, AgentKind::Organization, object.institution_identifier.as_str());
    document.agent(&owner).map_err(|error| unwritable(object, error))?;
    document.finish().map_err(|error| unwritable(object, error))?;
    Ok(())
}

fn unwritable(object: &Object, error: PremisError) -> EngineError {
    match error {
        PremisError::Output(source) => {
            EngineError::Io { act: "write the PREMIS document of", path: object.identifier.clone(), source }
        }
        other => EngineError::Usage(other.to_string()),
    }
}

fn entity(object: &Object, representation: &Identifier) -> IntellectualEntity {
    let said = &object.description;
    let mut entity = IntellectualEntity::new(Identifier::from(object.id.0));
    entity.other_identifiers.push(Identifier::new("local", object.identifier.as_str()));
    entity.other_identifiers.extend(object.ark.iter().map(|ark| Identifier::new("ARK", ark.as_str())));
    entity.other_identifiers.extend(said.local_ids.iter().map(|id| Identifier::new("depositor", id.as_str())));
    let profile_version = said.profile_version.map(|version| version.to_string());
    let properties = [
        ("title", &said.title),
        ("description", &said.description),
        ("access", &said.access),
        ("placement", &said.placement),
        ("profile", &said.profile),
        ("profile version", &profile_version),
        ("source organization", &said.source_organization),
        ("bag group identifier", &said.bag_group_identifier),
        ("internal sender identifier", &said.internal_sender_identifier),
        ("internal sender description", &said.internal_sender_description),
        ("collection", &object.collection_identifier),
    ];
    for (name, value) in properties {
        // An empty property would say nothing.
        if let Some(value) = value.as_ref().filter(|value| !value.is_empty()) {
            entity.properties.push((name.to_owned(), value.clone()));
        }
    }
    entity.relationships.push(Relationship::new(RelationshipKind::IsRepresentedBy, representation.clone()));
    entity
}

/// The head version as a whole, with where its inventories lie.
fn whole(home: &Home, object: &Object, identifier: &Identifier) -> Result<Representation, EngineError> {
    let stores = home.registry.read(|tx| objects::object_copies_in_use(tx, object.id))?;
    let path = Layout::ours().path(&object_id(&object.generation.to_string())?)?;
    let root = format!("{}/{path}", storage_root(&object.institution_identifier)?);
    let mut whole = Representation::new(identifier.clone());
    whole.properties.push(("version".into(), object.head.to_string()));
    whole.storage = stores
        .into_iter()
        .map(|(store, ..)| Storage { location_kind: "key".into(), location: root.clone(), medium: Some(store) })
        .collect();
    whole.relationships.push(Relationship::new(RelationshipKind::Represents, Identifier::from(object.id.0)));
    Ok(whole)
}

/// A page of files with their copies.
fn files(home: &Home, object: &Object, after: &str) -> Result<Vec<(objects::File, Vec<Copy>)>, EngineError> {
    Ok(home.registry.read(|tx| {
        let page = objects::files(tx, object.id, object.head, "", after, ROWS_AT_ONCE)?;
        page.into_iter()
            .map(|file| {
                let copies = objects::copies_in_use(tx, file.content)?;
                Ok((file, copies))
            })
            .collect::<Result<Vec<_>, RegistryError>>()
    })?)
}

fn described(file: &objects::File, copies: &[Copy], representation: &Identifier) -> File {
    let (format, others) = formats(&file.format);
    let mut described = File::new(Identifier::from(file.id.0), format);
    described.other_formats = others;
    let digests = &file.digests;
    described.fixity = [
        (Algorithm::Md5, digests.md5),
        (Algorithm::Sha1, digests.sha1),
        (Algorithm::Sha256, digests.sha256),
        (Algorithm::Sha512, digests.sha512),
    ]
    .map(|(algorithm, digest)| Fixity { algorithm, digest, originator: Some("strongroom".into()) })
    .to_vec();
    described.size = Some(file.size);
    described.original_name = Some(in_package(&file.path).to_owned());
    described.storage = copies
        .iter()
        .map(|copy| Storage {
            location_kind: "key".into(),
            location: copy.key.clone(),
            medium: Some(match &copy.class {
                Some(class) => format!("{} ({class})", copy.store),
                None => copy.store.clone(),
            }),
        })
        .collect();
    described.relationships.push(Relationship::new(RelationshipKind::IsPartOf, representation.clone()));
    described
}

/// The format that was identified; then every other that matches as well, and the media types where they say something
/// else.
fn formats(known: &strongroom_registry::Format) -> (Format, Vec<Format>) {
    let mut others: Vec<Format> = Vec::new();
    for puid in known.others.iter().flat_map(|others| others.split(' ')) {
        let notes = vec!["matches as well".to_owned()];
        others.push(Format { notes, ..Format::pronom(puid, None, puid) });
    }
    let mut media_types = known.mime.iter().flat_map(|types| types.split(", ")).map(Format::named);
    let format = match (&known.puid, &known.name) {
        (Some(puid), name) => {
            let name = name.as_ref().or(known.mime.as_ref()).unwrap_or(puid);
            Format::pronom(name.as_str(), known.version.clone(), puid.as_str())
        }
        (None, Some(name)) => Format { version: known.version.clone(), ..Format::named(name.as_str()) },
        (None, None) => media_types.next().unwrap_or_else(Format::unknown),
    };
    others.extend(media_types.filter(|other| other.name != format.name));
    (noted(format, known), others)
}

/// Says how a format was identified, by which signature files, and what to be wary of.
fn noted(mut format: Format, known: &strongroom_registry::Format) -> Format {
    let how = known.method.as_ref().map(|method| match &known.basis {
        Some(basis) => format!("identified by {method}: {basis}"),
        None => format!("identified by {method}"),
    });
    let with = known.signatures.as_ref().map(|signatures| format!("signatures: {signatures}"));
    let wary = known.warning.as_ref().map(|warning| format!("warning: {warning}"));
    format.notes.extend([how, with, wary].into_iter().flatten());
    format
}

fn told(object: &Object, act: &events::Event) -> Event {
    let identifier = Identifier::from(act.id.0);
    let mut event = Event::new(identifier, EventType::from(act.kind.as_str()), act.time.timestamp());
    event.detail.clone_from(&act.detail);
    event.outcome = Some(Outcome::from(act.outcome.as_str()));
    event.outcome_notes.extend(act.outcome_detail.clone());
    event.agents = vec![
        LinkedAgent { identifier: Identifier::new("URI", act.agent.as_str()), role: Some(AgentRole::ExecutingProgram) },
        LinkedAgent {
            identifier: Identifier::new("domain", object.institution_identifier.as_str()),
            role: Some(AgentRole::Implementer),
        },
    ];
    for (kind, name) in act.actor.iter().flat_map(accounts) {
        event.agents.push(LinkedAgent { identifier: Identifier::new(kind, name), role: Some(AgentRole::Implementer) });
    }
    let about = act.file.map_or(object.id.0, |file| file.0);
    event.objects.push(LinkedObject { identifier: Identifier::from(about), role: None });
    event
}

/// How a person is identified: the types of the identifiers, and the identifiers. A user may act by an account of the operating system. None for
/// the system, which is a program.
fn accounts(actor: &Actor) -> Vec<(&'static str, String)> {
    let name = match actor.kind {
        ActorKind::System => return Vec::new(),
        ActorKind::Console => ("account", actor.name.clone()),
        ActorKind::User => ("email", actor.name.clone()),
    };
    [name].into_iter().chain(actor.account.clone().map(|account| ("account", account))).collect()
}

/// A program by its address, whose last segment is its version.
fn software(address: &str) -> Agent {
    let mut segments = address.rsplit('/');
    let (version, name) = (segments.next().unwrap_or_default(), segments.next().unwrap_or(address));
    let mut agent = Agent::new(Identifier::new("URI", address), AgentKind::Software, name);
    agent.version = Some(version.to_owned()).filter(|version| !version.is_empty());
    agent
}
