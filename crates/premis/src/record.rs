//! What a document says: objects, events and agents, as plain records. What the schema demands has no `Option` here.

use jiff::Timestamp;
use strongroom_digest::{Algorithm, Digest};
use uuid::Uuid;

use crate::vocabulary::Term;
use crate::{AgentRole, EventType, Outcome};

/// An identifier with the name of its scheme, such as `UUID`, `ARK`, `URI` or `local`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identifier {
    /// The scheme.
    pub scheme: String,
    /// The value within the scheme.
    pub value: String,
}

impl Identifier {
    /// An identifier of any scheme.
    pub fn new(scheme: impl Into<String>, value: impl Into<String>) -> Self {
        Self { scheme: scheme.into(), value: value.into() }
    }
}

impl From<Uuid> for Identifier {
    fn from(uuid: Uuid) -> Self {
        Self::new("UUID", uuid.hyphenated().to_string())
    }
}

/// A preserved thing, in one of the three categories that are written here.
#[derive(Debug, Clone, PartialEq)]
pub enum Object {
    /// What is preserved as one thing, whatever its files.
    IntellectualEntity(IntellectualEntity),
    /// The set of files that makes it usable: here, one version of it.
    Representation(Representation),
    /// One file.
    File(Box<File>),
}

macro_rules! object_from {
    ($($name:ident($made:expr)),*) => {$(
        impl From<$name> for Object {
            fn from(record: $name) -> Self {
                Self::$name($made(record))
            }
        }
    )*};
}
object_from!(IntellectualEntity(std::convert::identity), Representation(std::convert::identity), File(Box::new));

/// An intellectual entity.
#[derive(Debug, Clone, PartialEq)]
pub struct IntellectualEntity {
    /// The identifier that others link to.
    pub identifier: Identifier,
    /// Further identifiers, such as an ARK or local ids.
    pub other_identifiers: Vec<Identifier>,
    /// Name and value of what describes it, such as `title`, `description`, `access`.
    pub properties: Vec<(String, String)>,
    /// The name under which it was deposited.
    pub original_name: Option<String>,
    /// Ties to other objects.
    pub relationships: Vec<Relationship>,
    /// Events that concern it. Events name their objects themselves, so this may stay empty.
    pub events: Vec<Identifier>,
}

impl IntellectualEntity {
    /// An entity of which only the identifier is known.
    pub fn new(identifier: Identifier) -> Self {
        Self {
            identifier,
            other_identifiers: Vec::new(),
            properties: Vec::new(),
            original_name: None,
            relationships: Vec::new(),
            events: Vec::new(),
        }
    }
}

/// A representation.
#[derive(Debug, Clone, PartialEq)]
pub struct Representation {
    /// The identifier that others link to.
    pub identifier: Identifier,
    /// Further identifiers.
    pub other_identifiers: Vec<Identifier>,
    /// Name and value of what describes it, such as `version`.
    pub properties: Vec<(String, String)>,
    /// The name under which it was deposited.
    pub original_name: Option<String>,
    /// Where it lies as a whole, one entry per store.
    pub storage: Vec<Storage>,
    /// Ties to other objects.
    pub relationships: Vec<Relationship>,
    /// Events that concern it; may stay empty.
    pub events: Vec<Identifier>,
}

impl Representation {
    /// A representation of which only the identifier is known.
    pub fn new(identifier: Identifier) -> Self {
        Self {
            identifier,
            other_identifiers: Vec::new(),
            properties: Vec::new(),
            original_name: None,
            storage: Vec::new(),
            relationships: Vec::new(),
            events: Vec::new(),
        }
    }
}

/// A file.
#[derive(Debug, Clone, PartialEq)]
pub struct File {
    /// The identifier that others link to.
    pub identifier: Identifier,
    /// Further identifiers.
    pub other_identifiers: Vec<Identifier>,
    /// Its digests, with who computed them.
    pub fixity: Vec<Fixity>,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// Its format; the schema wants one, so [`Format::unknown`] stands for none.
    pub format: Format,
    /// Further formats that fit as well.
    pub other_formats: Vec<Format>,
    /// Its path as deposited, unchanged.
    pub original_name: Option<String>,
    /// Where its copies lie, one entry each.
    pub storage: Vec<Storage>,
    /// Ties to other objects.
    pub relationships: Vec<Relationship>,
    /// Events that concern it; may stay empty.
    pub events: Vec<Identifier>,
}

impl File {
    /// A file of which only identifier and format are known.
    pub fn new(identifier: Identifier, format: Format) -> Self {
        Self {
            identifier,
            other_identifiers: Vec::new(),
            fixity: Vec::new(),
            size: None,
            format,
            other_formats: Vec::new(),
            original_name: None,
            storage: Vec::new(),
            relationships: Vec::new(),
            events: Vec::new(),
        }
    }
}

/// A digest of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixity {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The digest.
    pub digest: Digest,
    /// Who computed it, such as the depositor or a program with its version.
    pub originator: Option<String>,
}

/// A file format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// The format's name.
    pub name: String,
    /// The format's version.
    pub version: Option<String>,
    /// The PRONOM identifier, such as `fmt/43`.
    pub puid: Option<String>,
    /// How it was found, such as the basis of an identification and the signature file's version.
    pub notes: Vec<String>,
}

impl Format {
    /// A format known by name only, such as a media type.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), version: None, puid: None, notes: Vec::new() }
    }

    /// A PRONOM format.
    pub fn pronom(name: impl Into<String>, version: Option<String>, puid: impl Into<String>) -> Self {
        Self { name: name.into(), version, puid: Some(puid.into()), notes: Vec::new() }
    }

    /// No format was recognised.
    pub fn unknown() -> Self {
        Self::named("unknown")
    }
}

/// One place where bytes lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Storage {
    /// What kind of location follows, such as `key` or `URI`.
    pub location_kind: String,
    /// The location.
    pub location: String,
    /// The store, and its class where it has one.
    pub medium: Option<String>,
}

/// A tie from one object to others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relationship {
    /// What kind of tie.
    pub kind: RelationshipKind,
    /// The object tied to.
    pub object: Identifier,
    /// Further objects tied to in the same way.
    pub other_objects: Vec<Identifier>,
}

impl Relationship {
    /// A tie to one object.
    pub fn new(kind: RelationshipKind, object: Identifier) -> Self {
        Self { kind, object, other_objects: Vec::new() }
    }
}

/// Kinds of ties between objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelationshipKind {
    /// This object is a part of that one.
    IsPartOf,
    /// That object is a part of this one.
    HasPart,
    /// This representation stands for that entity.
    Represents,
    /// That representation stands for this entity.
    IsRepresentedBy,
    /// This object was derived from that one.
    HasSource,
    /// That object was derived from this one.
    IsSourceOf,
}

impl RelationshipKind {
    /// The relationship's type and subtype.
    pub(crate) fn terms(self) -> (Term<'static>, Term<'static>) {
        let structural = Term::listed("structural", "relationshipType", "str");
        let derivation = Term::local("derivation");
        let subtype = |label, key| Term::listed(label, "relationshipSubType", key);
        match self {
            Self::IsPartOf => (structural, subtype("is part of", "isp")),
            Self::HasPart => (structural, subtype("has part", "hsp")),
            Self::Represents => (structural, subtype("represents", "rep")),
            Self::IsRepresentedBy => (structural, subtype("is represented by", "isr")),
            Self::HasSource => (derivation, Term::local("has source")),
            Self::IsSourceOf => (derivation, Term::local("is source of")),
        }
    }
}

/// An act, and how it ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The event's identifier.
    pub identifier: Identifier,
    /// What kind of act.
    pub event_type: EventType,
    /// When; written in UTC.
    pub time: Timestamp,
    /// What was done, and with what.
    pub detail: Option<String>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// What there is to say about the outcome.
    pub outcome_notes: Vec<String>,
    /// Who and what took part.
    pub agents: Vec<LinkedAgent>,
    /// What it was done to or made.
    pub objects: Vec<LinkedObject>,
}

impl Event {
    /// An event of which only the mandatory part is known.
    pub fn new(identifier: Identifier, event_type: EventType, time: Timestamp) -> Self {
        Self {
            identifier,
            event_type,
            time,
            detail: None,
            outcome: None,
            outcome_notes: Vec::new(),
            agents: Vec::new(),
            objects: Vec::new(),
        }
    }
}

/// An agent of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedAgent {
    /// The agent.
    pub identifier: Identifier,
    /// Its part in the event.
    pub role: Option<AgentRole>,
}

/// An object of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedObject {
    /// The object.
    pub identifier: Identifier,
    /// Its part in the event, such as `source` or `outcome`.
    pub role: Option<String>,
}

/// Who or what acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// The identifier that events link to.
    pub identifier: Identifier,
    /// Further identifiers.
    pub other_identifiers: Vec<Identifier>,
    /// The name.
    pub name: String,
    /// What kind of agent.
    pub kind: AgentKind,
    /// The version, of software.
    pub version: Option<String>,
    /// Anything else, such as the version of the signature file it used.
    pub notes: Vec<String>,
}

impl Agent {
    /// An agent without version and notes.
    pub fn new(identifier: Identifier, kind: AgentKind, name: impl Into<String>) -> Self {
        Self { identifier, other_identifiers: Vec::new(), name: name.into(), kind, version: None, notes: Vec::new() }
    }
}

/// Kinds of agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentKind {
    /// An institution.
    Organization,
    /// A human being.
    Person,
    /// A program.
    Software,
}

impl AgentKind {
    pub(crate) fn term(self) -> Term<'static> {
        match self {
            Self::Organization => Term::listed("organization", "agentType", "org"),
            Self::Person => Term::listed("person", "agentType", "per"),
            Self::Software => Term::listed("software", "agentType", "sof"),
        }
    }
}
