//! Checks one inventory by itself, and keeps of it what the comparison with the store and with other inventories needs.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::io::Read;

use strongroom_digest::{Algorithm, Digest};

use super::algorithms::FixityAlgorithm;
use super::paths::{Conflict, PathTable};
use super::report::Report;
use super::states::{Fingerprint, Fingerprints};
use crate::inventory::{Event, Field, content_algorithm, read_events};
use crate::path::{CONTENT, PathFlaw, path_flaws};
use crate::version::is_rfc3339;
use crate::{Limits, OcflError, SpecVersion, VersionNumber};

/// A digest and how its text was written: letter case counts where a state names a manifest's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct WrittenDigest {
    pub(super) digest: Digest,
    spelling: u64,
}

/// What one version block says.
#[derive(Debug, Clone, Default)]
pub(super) struct VersionFacts {
    pub(super) name: String,
    pub(super) created: Option<String>,
    pub(super) message: Option<String>,
    pub(super) user_name: Option<String>,
    pub(super) user_address: Option<String>,
    pub(super) state: Fingerprint,
}

/// What is kept of one inventory.
#[derive(Default)]
pub(super) struct Facts {
    /// Its path below the object root.
    pub(super) path: String,
    pub(super) id: Option<String>,
    pub(super) spec: Option<SpecVersion>,
    pub(super) algorithm: Option<Algorithm>,
    pub(super) head: Option<String>,
    pub(super) content_directory: Option<String>,
    /// Content paths with their digests, sorted.
    pub(super) manifest: PathTable<WrittenDigest>,
    pub(super) versions: HashMap<u32, VersionFacts>,
    pub(super) has_fixity: bool,
}

impl Facts {
    /// The name of its content directory.
    pub(super) fn content_directory(&self) -> &str {
        self.content_directory.as_deref().unwrap_or(CONTENT)
    }

    /// The version that its head names.
    pub(super) fn head_number(&self) -> Option<VersionNumber> {
        self.head.as_deref().and_then(|head| head.parse().ok())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    None,
    Manifest,
    State,
    Fixity(Option<FixityAlgorithm>),
}

/// Reads an inventory, reports its flaws and returns its facts. An inventory that is not JSON is a flaw and has no facts.
pub(super) fn check_inventory(
    input: impl Read,
    path: &str,
    limits: Limits,
    prints: &Fingerprints,
    report: &mut Report,
) -> Result<Option<Facts>, OcflError> {
    let mut check = Check {
        prints,
        facts: Facts { path: path.to_owned(), ..Facts::default() },
        declared_spec: None,
        keys: HashMap::new(),
        used: HashMap::new(),
        fixity_keys: HashSet::new(),
        block: Block::None,
        digest: None,
        version: None,
        logical: PathTable::default(),
        version_names: Vec::new(),
        versions_seen: false,
        manifest_seen: false,
    };
    match read_events(input, limits, &mut |event| {
        check.take(event, report);
        Ok(())
    }) {
        Ok(_) => Ok(Some(check.finish(report))),
        Err(OcflError::Json { offset, reason }) => {
            report.add("E033", path, format!("not readable as JSON at byte {offset}: {reason}"));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Reads only the fixity block of an inventory and hands out each entry of an algorithm that is known here.
pub(super) fn read_fixity(
    input: impl Read,
    limits: Limits,
    visit: &mut dyn FnMut(FixityAlgorithm, Digest, &str),
) -> Result<(), OcflError> {
    let mut algorithm = None;
    let mut digest: Option<Digest> = None;
    read_events(input, limits, &mut |event| {
        match event {
            Event::Fixity(name) => algorithm = FixityAlgorithm::of_name(name),
            Event::Manifest | Event::State => algorithm = None,
            Event::Digest(text) => digest = text.parse().ok(),
            Event::Path(path) => {
                if let (Some(algorithm), Some(digest)) = (algorithm, digest) {
                    visit(algorithm, digest, path);
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(())
}

struct Check<'p> {
    prints: &'p Fingerprints,
    facts: Facts,
    declared_spec: Option<String>,
    /// Digests of the manifest, and how each is spelled.
    keys: HashMap<Digest, u64>,
    /// Digests of the states, each with a version that uses it.
    used: HashMap<WrittenDigest, u32>,
    /// Digests of the fixity algorithm being read.
    fixity_keys: HashSet<Digest>,
    block: Block,
    digest: Option<WrittenDigest>,
    version: Option<(u32, VersionFacts)>,
    logical: PathTable<()>,
    version_names: Vec<String>,
    versions_seen: bool,
    manifest_seen: bool,
}

impl Check<'_> {
    fn flaw(&self, report: &mut Report, code: &'static str, message: impl Into<String>) {
        report.add(code, self.facts.path.as_str(), message);
    }

    fn version_name(&self) -> &str {
        self.version.as_ref().map_or("", |(_, version)| version.name.as_str())
    }

    fn take(&mut self, event: Event<'_>, report: &mut Report) {
        match event {
            Event::Flaw(code, message) => {
                self.versions_seen |= code == "E044" || code == "E043";
                self.flaw(report, code, message);
            }
            Event::Field(field, text) => self.field(report, field, text),
            Event::Manifest => {
                self.block = Block::Manifest;
                self.manifest_seen = true;
            }
            Event::Fixity(name) => {
                self.facts.has_fixity = true;
                self.fixity_keys.clear();
                self.block = Block::Fixity(FixityAlgorithm::of_name(name));
            }
            Event::Version(name) => {
                self.version_names.push(name.to_owned());
                let number = name.parse::<VersionNumber>().map_or(0, VersionNumber::number);
                if number == 0 {
                    self.flaw(report, "E046", format!("{name:?} is not the name of a version directory"));
                }
                self.version = Some((number, VersionFacts { name: name.to_owned(), ..VersionFacts::default() }));
            }
            Event::State => {
                self.block = Block::State;
                self.logical.clear();
            }
            Event::VersionEnd => self.end_version(report),
            Event::Digest(text) => self.take_digest(report, text),
            Event::Path(path) => self.take_path(report, path),
            Event::Created(text) => {
                if !is_rfc3339(text) {
                    let message = format!("created of {} is {text:?}, not a time of RFC 3339", self.version_name());
                    self.flaw(report, "E049", message);
                }
                self.detail(|version| version.created = Some(text.to_owned()));
            }
            Event::Message(text) => self.detail(|version| version.message = Some(text.to_owned())),
            Event::UserName(text) => {
                if text.is_empty() {
                    self.flaw(report, "E054", format!("the user of {} has an empty name", self.version_name()));
                }
                self.detail(|version| version.user_name = Some(text.to_owned()));
            }
            Event::UserAddress(text) => self.detail(|version| version.user_address = Some(text.to_owned())),
        }
    }

    fn detail(&mut self, set: impl FnOnce(&mut VersionFacts)) {
        if let Some((_, version)) = &mut self.version {
            set(version);
        }
    }

    fn field(&mut self, report: &mut Report, field: Field, text: &str) {
        match field {
            Field::Id => {
                if text.is_empty() {
                    self.flaw(report, "E037", "the id is empty");
                } else if !is_uri(text) {
                    self.flaw(report, "W005", format!("the id {text:?} is not a URI"));
                }
                self.facts.id = Some(text.to_owned());
            }
            Field::Type => {
                self.facts.spec = SpecVersion::of_inventory_type(text);
                if self.facts.spec.is_none() {
                    self.flaw(
                        report,
                        "E038",
                        format!("the type {text:?} is not that of an inventory of OCFL 1.0 or 1.1"),
                    );
                }
                self.declared_spec = Some(text.to_owned());
            }
            Field::DigestAlgorithm => {
                self.facts.algorithm = content_algorithm(text);
                match self.facts.algorithm {
                    None => self.flaw(report, "E025", format!("the digest algorithm is {text:?}")),
                    Some(Algorithm::Sha512) => {}
                    Some(_) => self.flaw(report, "W004", format!("the digest algorithm is {text}")),
                }
            }
            Field::Head => self.facts.head = Some(text.to_owned()),
            Field::ContentDirectory => {
                if text.contains('/') {
                    self.flaw(report, "E017", format!("the content directory {text:?} has a slash"));
                    self.flaw(report, "E108", format!("the content directory {text:?} is not a direct child"));
                } else if text.is_empty() || text == "." || text == ".." {
                    self.flaw(report, "E018", format!("the content directory is {text:?}"));
                } else {
                    self.facts.content_directory = Some(text.to_owned());
                }
            }
        }
    }

    fn take_digest(&mut self, report: &mut Report, text: &str) {
        let Ok(digest) = text.parse::<Digest>() else {
            self.digest = None;
            let code = match self.block {
                Block::State => "E050",
                Block::Fixity(algorithm) => algorithm.map_or("E057", FixityAlgorithm::encoding_code),
                _ => self.facts.algorithm.map_or("E092", |known| FixityAlgorithm::Known(known).encoding_code()),
            };
            return self.flaw(report, code, format!("{text:?} is not a hexadecimal digest"));
        };
        let written = WrittenDigest { digest, spelling: self.prints.text(text) };
        self.digest = Some(written);
        match self.block {
            Block::None => {}
            Block::Manifest => {
                if self.keys.insert(digest, written.spelling).is_some() {
                    self.flaw(report, "E096", format!("the digest {text} occurs more than once in the manifest"));
                }
            }
            Block::State => {
                let number = self.version.as_ref().map_or(0, |(number, _)| *number);
                self.used.entry(written).or_insert(number);
            }
            Block::Fixity(algorithm) => {
                if !self.fixity_keys.insert(digest) {
                    self.flaw(report, "E097", format!("the digest {text} occurs more than once in a fixity block"));
                }
                if let Some(algorithm) = algorithm
                    && algorithm.length() != digest.as_bytes().len()
                {
                    let message = format!("the digest {text} is not of the length of its algorithm");
                    self.flaw(report, algorithm.encoding_code(), message);
                }
            }
        }
    }

    fn take_path(&mut self, report: &mut Report, path: &str) {
        let is_logical = self.block == Block::State;
        let mut sound = true;
        for flaw in path_flaws(path) {
            let code = match (flaw, is_logical) {
                (PathFlaw::Edge, true) => "E053",
                (PathFlaw::Element, true) => "E052",
                (PathFlaw::Edge, false) => "E100",
                (PathFlaw::Element, false) => "E099",
            };
            sound = false;
            self.flaw(report, code, format!("{path:?}: {}", flaw.reason()));
        }
        match self.block {
            Block::Manifest if sound => {
                if let Some(written) = self.digest {
                    self.facts.manifest.push(path, written);
                }
            }
            Block::State => {
                self.logical.push(path, ());
                if let (Some((_, version)), Some(written)) = (&mut self.version, self.digest) {
                    self.prints.add(&mut version.state, (path, written.digest.as_bytes()));
                }
            }
            _ => {}
        }
    }

    fn end_version(&mut self, report: &mut Report) {
        self.block = Block::None;
        self.logical.sort();
        let Some((number, version)) = self.version.take() else { return };
        let name = version.name.as_str();
        for conflict in self.logical.conflicts() {
            let message = match conflict {
                Conflict::Twice(path) => format!("the logical path {path:?} occurs more than once in {name}"),
                Conflict::Below(file, path) => format!("in {name} {file:?} is a file and {path:?} is below it"),
            };
            report.add("E095", self.facts.path.as_str(), message);
        }
        self.logical.clear();
        if version.message.is_none() || version.user_name.is_none() {
            self.flaw(report, "W007", format!("{name} lacks a message or a user"));
        }
        match &version.user_address {
            None if version.user_name.is_some() => {
                self.flaw(report, "W008", format!("the user of {name} has no address"));
            }
            Some(address) if !is_uri(address) => {
                self.flaw(report, "W009", format!("the address {address:?} of the user of {name} is not a URI"));
            }
            _ => {}
        }
        self.versions_seen = true;
        match self.facts.versions.entry(number) {
            Entry::Vacant(place) => {
                place.insert(version);
            }
            Entry::Occupied(_) => {
                let message = format!("{name} and another version have the same number");
                report.add("E046", self.facts.path.as_str(), message);
            }
        }
    }

    fn finish(mut self, report: &mut Report) -> Facts {
        self.facts.manifest.sort();
        for conflict in self.facts.manifest.conflicts() {
            let message = match conflict {
                Conflict::Twice(path) => format!("the content path {path:?} occurs more than once"),
                Conflict::Below(file, path) => format!("{file:?} is a content and {path:?} is below it"),
            };
            report.add("E101", self.facts.path.as_str(), message);
        }
        if self.manifest_seen {
            self.check_use(report);
        }
        self.check_content_paths(report);
        self.check_sequence(report);
        self.facts
    }

    /// Every digest of a state is a key of the manifest, and every key of the manifest is used.
    fn check_use(&self, report: &mut Report) {
        for (written, number) in &self.used {
            if self.keys.get(&written.digest) != Some(&written.spelling) {
                let message =
                    format!("the digest {} in the state of v{number} is no key of the manifest", written.digest);
                self.flaw(report, "E050", message);
            }
        }
        if self.facts.spec == Some(SpecVersion::V1_0) {
            return;
        }
        for (digest, spelling) in &self.keys {
            if !self.used.contains_key(&WrittenDigest { digest: *digest, spelling: *spelling }) {
                self.flaw(report, "E107", format!("the digest {digest} of the manifest is in no state"));
            }
        }
        if let Some(algorithm) = self.facts.algorithm
            && let Some(digest) = self.keys.keys().find(|digest| digest.as_bytes().len() != algorithm.length())
        {
            self.flaw(report, "E039", format!("the digest {digest} of the manifest is not one of {algorithm}"));
        }
    }

    /// A content path begins with the directory of a version and its content directory.
    fn check_content_paths(&self, report: &mut Report) {
        let mut names: HashMap<u32, &str> = HashMap::new();
        for name in &self.version_names {
            if let Ok(number) = name.parse::<VersionNumber>() {
                names.insert(number.number(), name);
            }
        }
        for (path, _) in self.facts.manifest.iter() {
            let mut elements = path.splitn(3, '/');
            let (directory, content) = (elements.next().unwrap_or_default(), elements.next().unwrap_or_default());
            let known = directory.parse::<VersionNumber>().ok().and_then(|number| names.get(&number.number()));
            match known {
                None => self.flaw(report, "E042", format!("the content path {path:?} names no version of the object")),
                Some(name) if *name != directory => {
                    let message = format!("the content path {path:?} does not use the directory name {name}");
                    self.flaw(report, "E014", message);
                }
                Some(_) if elements.next().is_none() || content != self.facts.content_directory() => {
                    let message = format!("the content path {path:?} is not in a content directory");
                    self.flaw(report, "E042", message);
                }
                Some(_) => {}
            }
        }
    }

    /// Versions are named by one convention, start at 1, leave no gap and end with the head.
    fn check_sequence(&self, report: &mut Report) {
        let mut numbers: Vec<VersionNumber> = self.version_names.iter().filter_map(|name| name.parse().ok()).collect();
        numbers.sort();
        let head = self.facts.head_number();
        if self.facts.head.is_some() && head.is_none() {
            self.flaw(
                report,
                "E040",
                format!("the head {:?} is not a version", self.facts.head.as_deref().unwrap_or("")),
            );
        }
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else {
            if !self.versions_seen {
                self.flaw(report, "E008", "there is no version");
            }
            return;
        };
        if first.number() != 1 {
            self.flaw(report, "E009", format!("the first version is {first}"));
        }
        for pair in numbers.windows(2) {
            if let [one, next] = pair
                && next.number() > one.number() + 1
            {
                self.flaw(report, "E010", format!("there is no version between {one} and {next}"));
            }
        }
        if head.is_some_and(|head| head != *last || head.to_string() != last.to_string()) {
            let head = self.facts.head.as_deref().unwrap_or("");
            self.flaw(report, "E040", format!("the head is {head}, the newest version is {last}"));
        }
        let padded = numbers.iter().filter(|number| number.width() > 0).count();
        if padded > 0 {
            self.flaw(report, "W001", "version directories are zero-padded");
        }
        if padded > 0 && padded < numbers.len() {
            self.flaw(report, "E011", "some version directories are zero-padded and some are not");
        }
        if numbers.iter().any(|number| number.width() != first.width()) {
            self.flaw(report, "E012", "version directories are not named by one convention");
            self.flaw(report, "E013", "a version does not follow the naming convention of those before it");
        }
    }
}

/// Whether a text is a URI: a scheme, a colon, and more (RFC 3986 section 3).
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|other| other.is_ascii_alphanumeric() || matches!(other, '+' | '-' | '.'))
        && !rest.is_empty()
        && !rest.chars().any(char::is_whitespace)
}
