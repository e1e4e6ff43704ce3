//! Reads an inventory as a stream of events, in the order of the document, and says where it breaks the structure that
//! the specification prescribes. What needs the whole to be seen is judged elsewhere.

use std::collections::BTreeSet;
use std::io::Read;

use strongroom_digest::{Algorithm, Digest};

use crate::json::{JsonReader, Limits, Token};
use crate::version::is_rfc3339;
use crate::{InventoryHeader, OcflError, SpecVersion, User, VersionDetails, VersionNumber};

/// A member of an inventory that is a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Field {
    Id,
    Type,
    DigestAlgorithm,
    Head,
    ContentDirectory,
}

/// One event. A [`Event::Digest`] and its [`Event::Path`]s belong to the block begun last.
#[derive(Debug)]
pub(crate) enum Event<'a> {
    Field(Field, &'a str),
    Manifest,
    Fixity(&'a str),
    Version(&'a str),
    Created(&'a str),
    Message(&'a str),
    UserName(&'a str),
    UserAddress(&'a str),
    State,
    Digest(&'a str),
    Path(&'a str),
    VersionEnd,
    Flaw(&'static str, String),
}

/// What takes the events.
pub(crate) type Sink<'s> = dyn FnMut(Event<'_>) -> Result<(), OcflError> + 's;

/// Reads a whole inventory into `sink`, and returns the input, so that the caller can see what was read.
pub(crate) fn read_events<R: Read>(input: R, limits: Limits, sink: &mut Sink<'_>) -> Result<R, OcflError> {
    let mut reader = EventReader { json: JsonReader::new(input, limits), limits };
    reader.inventory(sink)?;
    Ok(reader.json.into_input())
}

struct EventReader<R> {
    json: JsonReader<R>,
    limits: Limits,
}

/// How a value began: what is left of it to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Began {
    Object,
    Array,
    Scalar,
}

impl<R: Read> EventReader<R> {
    fn inventory(&mut self, sink: &mut Sink<'_>) -> Result<(), OcflError> {
        if !self.object(sink, "E033", "an inventory is not a JSON object")? {
            return self.end();
        }
        let mut seen = BTreeSet::new();
        while let Some(key) = self.key()? {
            if !seen.insert(key.clone()) {
                sink(Event::Flaw("E033", format!("the key {key:?} occurs more than once")))?;
                self.skip_value()?;
                continue;
            }
            match key.as_str() {
                "id" => self.text(sink, |text| Event::Field(Field::Id, text), "E037", "id")?,
                "type" => self.text(sink, |text| Event::Field(Field::Type, text), "E038", "type")?,
                "digestAlgorithm" => {
                    self.text(sink, |text| Event::Field(Field::DigestAlgorithm, text), "E025", "digestAlgorithm")?;
                }
                "head" => self.text(sink, |text| Event::Field(Field::Head, text), "E040", "head")?,
                "contentDirectory" => {
                    self.text(sink, |text| Event::Field(Field::ContentDirectory, text), "E033", "contentDirectory")?;
                }
                "manifest" => {
                    if self.object(sink, "E106", "the manifest is not an object")? {
                        sink(Event::Manifest)?;
                        self.digests(sink, "E092", "a manifest entry is not an array of content paths")?;
                    }
                }
                "versions" => self.versions(sink)?,
                "fixity" => self.fixity(sink)?,
                _ => {
                    sink(Event::Flaw("E102", format!("the key {key:?} is not one of an inventory")))?;
                    self.skip_value()?;
                }
            }
        }
        for key in ["id", "type", "digestAlgorithm", "head"] {
            if !seen.contains(key) {
                sink(Event::Flaw("E036", format!("the key {key:?} is missing")))?;
            }
        }
        if !seen.contains("manifest") {
            sink(Event::Flaw("E041", "the block \"manifest\" is missing".to_owned()))?;
        }
        if !seen.contains("versions") {
            sink(Event::Flaw("E041", "the block \"versions\" is missing".to_owned()))?;
            sink(Event::Flaw("E043", "the block \"versions\" is missing".to_owned()))?;
        }
        self.end()
    }

    fn versions(&mut self, sink: &mut Sink<'_>) -> Result<(), OcflError> {
        if !self.object(sink, "E044", "the block \"versions\" is not an object")? {
            return Ok(());
        }
        let mut seen = BTreeSet::new();
        while let Some(name) = self.key()? {
            if seen.len() >= self.limits.versions {
                sink(Event::Flaw("E033", format!("there are more than {} versions", self.limits.versions)))?;
                self.skip_value()?;
                continue;
            }
            if !seen.insert(name.clone()) {
                sink(Event::Flaw("E033", format!("the version {name:?} occurs more than once")))?;
                self.skip_value()?;
                continue;
            }
            if self.object(sink, "E047", "a version is not an object")? {
                sink(Event::Version(&name))?;
                self.version(sink, &name)?;
                sink(Event::VersionEnd)?;
            }
        }
        Ok(())
    }

    fn version(&mut self, sink: &mut Sink<'_>, name: &str) -> Result<(), OcflError> {
        let mut seen = BTreeSet::new();
        while let Some(key) = self.key()? {
            if !seen.insert(key.clone()) {
                sink(Event::Flaw("E033", format!("the key {key:?} of {name} occurs more than once")))?;
                self.skip_value()?;
                continue;
            }
            match key.as_str() {
                "created" => self.text(sink, |text| Event::Created(text), "E049", "created")?,
                "message" => self.text(sink, |text| Event::Message(text), "E094", "message")?,
                "user" => {
                    if self.object(sink, "E054", "a user is not an object")? {
                        self.user(sink, name)?;
                    }
                }
                "state" => {
                    if self.object(sink, "E050", "a state is not an object")? {
                        sink(Event::State)?;
                        self.digests(sink, "E051", "a state entry is not an array of logical paths")?;
                    }
                }
                _ => {
                    sink(Event::Flaw("E102", format!("the key {key:?} is not one of a version")))?;
                    self.skip_value()?;
                }
            }
        }
        for key in ["created", "state"] {
            if !seen.contains(key) {
                sink(Event::Flaw("E048", format!("the key {key:?} of {name} is missing")))?;
            }
        }
        Ok(())
    }

    fn user(&mut self, sink: &mut Sink<'_>, name: &str) -> Result<(), OcflError> {
        let mut seen = BTreeSet::new();
        while let Some(key) = self.key()? {
            match key.as_str() {
                _ if !seen.insert(key.clone()) => {
                    sink(Event::Flaw("E033", format!("the key {key:?} of a user occurs more than once")))?;
                    self.skip_value()?;
                }
                "name" => self.text(sink, |text| Event::UserName(text), "E054", "name of a user")?,
                "address" => self.text(sink, |text| Event::UserAddress(text), "E054", "address of a user")?,
                _ => {
                    sink(Event::Flaw("E102", format!("the key {key:?} is not one of a user")))?;
                    self.skip_value()?;
                }
            }
        }
        if !seen.contains("name") {
            sink(Event::Flaw("E054", format!("the user of {name} has no name")))?;
        }
        Ok(())
    }

    fn fixity(&mut self, sink: &mut Sink<'_>) -> Result<(), OcflError> {
        if !self.object(sink, "E111", "the fixity block is not an object")? {
            return Ok(());
        }
        let mut seen = BTreeSet::new();
        while let Some(algorithm) = self.key()? {
            // No more algorithms exist than this; a hostile list is not kept.
            if seen.len() >= 256 || !seen.insert(algorithm.clone()) {
                sink(Event::Flaw("E033", format!("the fixity algorithm {algorithm:?} is one too many")))?;
                self.skip_value()?;
                continue;
            }
            if self.object(sink, "E057", "the entries of a fixity algorithm are not an object")? {
                sink(Event::Fixity(&algorithm))?;
                self.digests(sink, "E057", "a fixity entry is not an array of content paths")?;
            }
        }
        Ok(())
    }

    /// Reads the members of an object that maps digests to arrays of paths.
    fn digests(&mut self, sink: &mut Sink<'_>, code: &'static str, message: &str) -> Result<(), OcflError> {
        loop {
            match self.json.next()? {
                Token::Key(digest) => sink(Event::Digest(digest))?,
                _ => return Ok(()),
            }
            let began = self.began()?;
            if began != Began::Array {
                sink(Event::Flaw(code, message.to_owned()))?;
                self.skip(began)?;
                continue;
            }
            loop {
                let began = match self.json.next()? {
                    Token::ArrayEnd => break,
                    Token::Text(path) => {
                        sink(Event::Path(path))?;
                        continue;
                    }
                    Token::ObjectStart => Began::Object,
                    Token::ArrayStart => Began::Array,
                    _ => Began::Scalar,
                };
                sink(Event::Flaw(code, message.to_owned()))?;
                self.skip(began)?;
            }
        }
    }

    /// Reads a value that must be a text.
    fn text(
        &mut self,
        sink: &mut Sink<'_>,
        event: impl for<'a> Fn(&'a str) -> Event<'a>,
        code: &'static str,
        what: &str,
    ) -> Result<(), OcflError> {
        let began = match self.json.next()? {
            Token::Text(text) => return sink(event(text)),
            Token::ObjectStart => Began::Object,
            Token::ArrayStart => Began::Array,
            _ => Began::Scalar,
        };
        sink(Event::Flaw(code, format!("the {what} is not a text")))?;
        self.skip(began)
    }

    /// Begins a value that must be an object; otherwise reads over it.
    fn object(&mut self, sink: &mut Sink<'_>, code: &'static str, message: &str) -> Result<bool, OcflError> {
        let began = self.began()?;
        if began == Began::Object {
            return Ok(true);
        }
        sink(Event::Flaw(code, message.to_owned()))?;
        self.skip(began)?;
        Ok(false)
    }

    /// The next key of an object, or `None` at its end.
    fn key(&mut self) -> Result<Option<String>, OcflError> {
        Ok(match self.json.next()? {
            Token::Key(key) => Some(key.to_owned()),
            _ => None,
        })
    }

    fn began(&mut self) -> Result<Began, OcflError> {
        Ok(match self.json.next()? {
            Token::ObjectStart => Began::Object,
            Token::ArrayStart => Began::Array,
            _ => Began::Scalar,
        })
    }

    fn skip(&mut self, began: Began) -> Result<(), OcflError> {
        if began == Began::Scalar { Ok(()) } else { self.json.skip() }
    }

    fn skip_value(&mut self) -> Result<(), OcflError> {
        let began = self.began()?;
        self.skip(began)
    }

    fn end(&mut self) -> Result<(), OcflError> {
        while self.json.next()? != Token::End {}
        Ok(())
    }
}

/// One entry of an inventory that keeps to the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InventoryEntry<'a> {
    /// A content lies under this path, relative to the object root.
    Manifest {
        /// Its digest, by the inventory's algorithm.
        digest: Digest,
        /// Its content path.
        path: &'a str,
    },
    /// A logical path has this content in this version.
    State {
        /// The version.
        version: VersionNumber,
        /// The digest of the content.
        digest: Digest,
        /// The logical path.
        path: &'a str,
    },
    /// One more digest of a content.
    Fixity {
        /// The algorithm, as the inventory names it.
        algorithm: &'a str,
        /// The digest.
        digest: Digest,
        /// The content path.
        path: &'a str,
    },
}

/// What is left of an inventory when its entries have passed by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InventorySummary {
    /// What it says of the object as a whole.
    pub header: InventoryHeader,
    /// Its versions, in order.
    pub versions: Vec<(VersionNumber, VersionDetails)>,
}

/// Reads an inventory with constant memory, in the order of its document, and hands each entry to `visit`. The first
/// breach of the specification's rules for names, types and forms is an error. That manifest and states agree is left to
/// [`crate::validate_object`].
pub fn read_inventory(
    input: impl Read,
    limits: Limits,
    visit: &mut dyn FnMut(InventoryEntry<'_>) -> Result<(), OcflError>,
) -> Result<InventorySummary, OcflError> {
    let mut strict = Strict::default();
    read_events(input, limits, &mut |event| strict.take(event, visit))?;
    strict.finish()
}

/// Where a digest belongs.
#[derive(Debug, Default)]
enum Block {
    #[default]
    None,
    Manifest,
    State(VersionNumber),
    Fixity(String),
}

#[derive(Default)]
struct Strict {
    id: String,
    spec: Option<SpecVersion>,
    algorithm: Option<Algorithm>,
    head: Option<VersionNumber>,
    content_directory: Option<String>,
    versions: Vec<(VersionNumber, VersionDetails)>,
    version: Option<VersionNumber>,
    details: Option<VersionDetails>,
    block: Block,
    digest: Option<Digest>,
}

impl Strict {
    fn take(
        &mut self,
        event: Event<'_>,
        visit: &mut dyn FnMut(InventoryEntry<'_>) -> Result<(), OcflError>,
    ) -> Result<(), OcflError> {
        match event {
            Event::Flaw(code, message) => return Err(flaw(code, message)),
            Event::Field(field, text) => self.field(field, text)?,
            Event::Manifest => self.block = Block::Manifest,
            Event::Fixity(algorithm) => self.block = Block::Fixity(algorithm.to_owned()),
            Event::Version(name) => {
                self.version = Some(name.parse().map_err(|_| flaw("E046", format!("{name:?} is not a version")))?);
                self.details = Some(VersionDetails { created: String::new(), message: None, user: None });
            }
            Event::State => self.block = self.version.map_or(Block::None, Block::State),
            Event::VersionEnd => self.versions.extend(self.version.take().zip(self.details.take())),
            Event::Digest(text) => {
                self.digest = Some(text.parse().map_err(|error| flaw("E050", format!("{error}")))?);
            }
            Event::Path(path) => {
                if let Some(found) = crate::path::path_flaws(path).next() {
                    return Err(flaw("E052", format!("{path:?}: {}", found.reason())));
                }
                let Some(digest) = self.digest else { return Ok(()) };
                match &self.block {
                    Block::None => {}
                    Block::Manifest => visit(InventoryEntry::Manifest { digest, path })?,
                    Block::State(version) => visit(InventoryEntry::State { version: *version, digest, path })?,
                    Block::Fixity(algorithm) => visit(InventoryEntry::Fixity { algorithm, digest, path })?,
                }
            }
            Event::Created(_) | Event::Message(_) | Event::UserName(_) | Event::UserAddress(_) => {
                self.detail(&event)?;
            }
        }
        Ok(())
    }

    fn field(&mut self, field: Field, text: &str) -> Result<(), OcflError> {
        match field {
            Field::Id => text.clone_into(&mut self.id),
            Field::Type => {
                let spec = SpecVersion::of_inventory_type(text);
                self.spec = Some(spec.ok_or_else(|| flaw("E038", format!("{text:?} is not a type known here")))?);
            }
            Field::DigestAlgorithm => {
                let algorithm = content_algorithm(text);
                self.algorithm =
                    Some(algorithm.ok_or_else(|| flaw("E025", format!("{text:?} is neither sha512 nor sha256")))?);
            }
            Field::Head => {
                self.head = Some(text.parse().map_err(|_| flaw("E040", format!("{text:?} is not a version")))?);
            }
            Field::ContentDirectory => {
                if text.is_empty() || text.contains('/') || text == "." || text == ".." {
                    return Err(flaw("E017", format!("{text:?} is not a content directory")));
                }
                self.content_directory = Some(text.to_owned());
            }
        }
        Ok(())
    }

    fn detail(&mut self, event: &Event<'_>) -> Result<(), OcflError> {
        let Some(details) = &mut self.details else { return Ok(()) };
        let nobody = || User { name: String::new(), address: None };
        match *event {
            Event::UserName(text) => text.clone_into(&mut details.user.get_or_insert_with(nobody).name),
            Event::UserAddress(text) => details.user.get_or_insert_with(nobody).address = Some(text.to_owned()),
            Event::Message(text) => details.message = Some(text.to_owned()),
            Event::Created(text) if is_rfc3339(text) => text.clone_into(&mut details.created),
            Event::Created(text) => return Err(flaw("E049", format!("{text:?} is not a time of RFC 3339"))),
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self) -> Result<InventorySummary, OcflError> {
        let (Some(spec), Some(algorithm), Some(head)) = (self.spec, self.algorithm, self.head) else {
            return Err(flaw("E036", "a key is missing".to_owned()));
        };
        self.versions.sort_by_key(|(number, _)| *number);
        let complete = self.versions.len() == head.number() as usize
            && self.versions.iter().zip(1..).all(|((number, _), expected)| number.number() == expected);
        if !complete {
            return Err(flaw("E010", format!("there is not every version up to {head}")));
        }
        let content_directory = self.content_directory;
        let header = InventoryHeader { id: self.id, spec, algorithm, head, content_directory };
        Ok(InventorySummary { header, versions: self.versions })
    }
}

/// The algorithms that may address contents (OCFL 1.1 section 3.4).
pub(crate) fn content_algorithm(name: &str) -> Option<Algorithm> {
    [Algorithm::Sha512, Algorithm::Sha256].into_iter().find(|algorithm| algorithm.name() == name)
}

fn flaw(code: &'static str, message: String) -> OcflError {
    OcflError::Inventory { code, what: "inventory".to_owned(), message }
}
