//! Validates one object: its inventories, how they agree with each other, and what lies in the store.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Read};

use strongroom_digest::{Algorithm, Digest, DigestSet, HashingReader};
use strongroom_storage::{Key, StorageError, Store};

use super::algorithms::FixityAlgorithm;
use super::contents::Contents;
use super::facts::{Facts, check_inventory, read_fixity};
use super::report::Report;
use super::states::{Fingerprint, Fingerprints, states_by_place};
use super::{REGISTERED_EXTENSIONS, ValidateOptions};
use crate::path::{CONTENT, INVENTORY, sidecar_name};
use crate::root::read_small;
use crate::spec::declaration_text;
use crate::{OcflError, SpecVersion, VersionNumber};

/// Validates the object at `root`. An error of the store ends the validation; whatever is wrong with the object is in
/// the report.
pub fn validate_object(store: &dyn Store, root: &Key, options: &ValidateOptions) -> Result<Report, OcflError> {
    let mut validation = Validation {
        store,
        root,
        options,
        prints: Fingerprints::default(),
        report: Report::new(options.limits.problems),
    };
    validation.run()?;
    validation.report.sort();
    Ok(validation.report)
}

struct Validation<'a> {
    store: &'a dyn Store,
    root: &'a Key,
    options: &'a ValidateOptions,
    prints: Fingerprints,
    report: Report,
}

/// What the listing of an object showed beside its contents.
#[derive(Default)]
struct Structure {
    declarations: Vec<String>,
    /// Files directly in the object root, beside declarations.
    files: BTreeSet<String>,
    versions: BTreeMap<u32, VersionDirectory>,
}

#[derive(Default)]
struct VersionDirectory {
    name: String,
    files: BTreeSet<String>,
}

/// An inventory that was read, with the digests of its bytes.
struct ReadInventory {
    facts: Option<Facts>,
    digests: DigestSet,
}

impl Validation<'_> {
    fn run(&mut self) -> Result<(), OcflError> {
        let root_inventory = self.read_inventory(INVENTORY)?;
        let facts = root_inventory.as_ref().and_then(|inventory| inventory.facts.as_ref());
        let mut contents = facts.map(Contents::of).unwrap_or_default();
        let structure = self.list(facts, &mut contents)?;
        let spec = self.check_declarations(&structure)?;
        let Some(inventory) = &root_inventory else {
            self.report.add("E063", INVENTORY, "there is no root inventory");
            return Ok(());
        };
        let Some(facts) = &inventory.facts else { return Ok(()) };
        self.report.id.clone_from(&facts.id);
        self.report.head.clone_from(&facts.head);
        self.check_sidecar("", inventory, &structure.files)?;
        if let (Some(declared), Some(of_type)) = (spec, facts.spec)
            && declared != of_type
        {
            let message = format!("the object declares OCFL {declared}, its inventory is of OCFL {of_type}");
            self.report.add("E038", INVENTORY, message);
        }
        self.check_directories(facts, &structure);
        self.check_presence(facts, &contents);
        self.check_fixity(facts, facts, &mut contents)?;
        self.check_version_inventories(inventory, facts, &structure, &mut contents)?;
        if self.options.quick {
            contents.contradictions(facts, &mut self.report);
        } else {
            contents.verify(self.store, self.root, facts, self.options, &mut self.report);
        }
        Ok(())
    }

    /// Reads and checks the inventory at a path below the object root.
    fn read_inventory(&mut self, path: &str) -> Result<Option<ReadInventory>, OcflError> {
        let Some(body) = self.open(path)? else { return Ok(None) };
        let mut hashing = HashingReader::new(body, &[Algorithm::Sha256, Algorithm::Sha512]);
        let limits = self.options.limits;
        let facts = check_inventory(&mut hashing, path, limits, &self.prints, &mut self.report)?;
        if facts.is_none() {
            let mut rest = (&mut hashing).take(limits.inventory_bytes);
            io::copy(&mut rest, &mut io::sink())
                .map_err(|source| OcflError::Io { act: "read an inventory", source })?;
        }
        let (_, digests) = hashing.finish();
        Ok(Some(ReadInventory { facts, digests }))
    }

    fn open(&self, path: &str) -> Result<Option<strongroom_storage::Body>, OcflError> {
        match self.store.open(&self.root.join(path)?, 0, None) {
            Ok(body) => Ok(Some(body)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Walks over everything below the object root once.
    fn list(&mut self, facts: Option<&Facts>, contents: &mut Contents) -> Result<Structure, OcflError> {
        let content_directory = facts.map_or(CONTENT, Facts::content_directory);
        let mut structure = Structure::default();
        let mut named = BTreeSet::new();
        for listed in self.store.list(self.root)? {
            let listed = match listed {
                Ok(listed) => listed,
                Err(StorageError::Key(error)) => {
                    self.report.add("E001", "", format!("a name is no key of a store: {error}"));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let Some(path) = listed.key.below(self.root) else { continue };
            let Some((directory, rest)) = path.split_once('/') else {
                if path.starts_with("0=") || path.contains("=ocfl_object_") {
                    structure.declarations.push(path.to_owned());
                } else {
                    structure.files.insert(path.to_owned());
                }
                continue;
            };
            match directory {
                "logs" => {}
                "extensions" => match rest.split_once('/') {
                    None => self.report.add("E067", path, "a file is directly in extensions"),
                    Some((name, _)) if !REGISTERED_EXTENSIONS.contains(&name) => {
                        if named.insert(format!("extensions/{name}")) {
                            self.report.add("W013", format!("extensions/{name}"), "the extension is not registered");
                        }
                    }
                    Some(_) => {}
                },
                _ => {
                    let Ok(number) = directory.parse::<VersionNumber>() else {
                        if named.insert(directory.to_owned()) {
                            self.report.add("E001", directory, "the directory is none of an object");
                        }
                        continue;
                    };
                    let version = structure.versions.entry(number.number()).or_default();
                    if version.name.is_empty() {
                        directory.clone_into(&mut version.name);
                    } else if version.name != directory && named.insert(directory.to_owned()) {
                        let message = format!("it and {} have the same version number", version.name);
                        self.report.add("E012", directory, message);
                    }
                    let Some((below, _)) = rest.split_once('/') else {
                        version.files.insert(rest.to_owned());
                        continue;
                    };
                    if below != content_directory {
                        if named.insert(format!("{directory}/{below}")) {
                            let message = "a version has a directory beside its content directory";
                            self.report.add("W002", format!("{directory}/{below}"), message);
                        }
                        continue;
                    }
                    self.report.count += 1;
                    self.report.bytes += listed.size;
                    let Some(facts) = facts else { continue };
                    match facts.manifest.find(path) {
                        Some(index) => contents.found(index, listed.size),
                        None => self.report.add("E023", path, "the content is not in the manifest"),
                    }
                }
            }
        }
        Ok(structure)
    }

    /// The version of the specification that the object declares.
    fn check_declarations(&mut self, structure: &Structure) -> Result<Option<SpecVersion>, OcflError> {
        let mut declared = Vec::new();
        for name in &structure.declarations {
            let known = SpecVersion::ALL.into_iter().find(|version| version.object_declaration() == *name);
            let Some(version) = known else {
                let code = match name.strip_prefix("0=") {
                    None => "E005",
                    Some(value) if value.starts_with("ocfl_object_") => "E004",
                    Some(_) => "E006",
                };
                self.report.add(code, name.as_str(), "not the name of a declaration of OCFL 1.0 or 1.1");
                continue;
            };
            declared.push(version);
            let text = read_small(self.store, &self.root.join(name)?)?;
            if text.as_deref() != Some(declaration_text(name).as_bytes()) {
                self.report.add("E007", name.as_str(), "the declaration does not say what its name says");
            }
        }
        match declared.len() {
            0 => self.report.add("E003", "", "there is no declaration of an object"),
            1 => {}
            _ => self.report.add("E003", "", "there is more than one declaration"),
        }
        Ok(declared.into_iter().max())
    }

    /// The sidecar of the inventory in `directory`, empty for the object root or `vN/`.
    fn check_sidecar(
        &mut self,
        directory: &str,
        inventory: &ReadInventory,
        files: &BTreeSet<String>,
    ) -> Result<(), OcflError> {
        let facts = inventory.facts.as_ref();
        let Some(algorithm) = facts.and_then(|facts| facts.algorithm) else {
            if !files.iter().any(|name| name.starts_with("inventory.json.")) {
                self.report.add("E058", format!("{directory}{INVENTORY}"), "the inventory has no sidecar");
            }
            return Ok(());
        };
        let name = sidecar_name(algorithm);
        let path = format!("{directory}{name}");
        for other in files.iter().filter(|file| file.starts_with("inventory.json.") && **file != name) {
            let code = if directory.is_empty() { "E001" } else { "E015" };
            let message = format!("the inventory's digest algorithm is {algorithm}");
            self.report.add(code, format!("{directory}{other}"), message.as_str());
            self.report.add("E059", format!("{directory}{other}"), message);
        }
        let Some(text) = read_small(self.store, &self.root.join(&path)?)? else {
            self.report.add("E058", path, "the inventory has no sidecar");
            return Ok(());
        };
        let Some(stated) = sidecar_digest(&text) else {
            self.report.add("E061", path, "the sidecar is not a digest followed by inventory.json");
            return Ok(());
        };
        let found = inventory.digests.get(algorithm);
        if found != Some(stated) {
            let found = found.map(|digest| digest.to_hex()).unwrap_or_default();
            self.report.add("E060", path, format!("the inventory has the digest {found}, the sidecar states {stated}"));
        }
        Ok(())
    }

    /// Directories and files of the store against the versions that the root inventory names.
    fn check_directories(&mut self, facts: &Facts, structure: &Structure) {
        for name in &structure.files {
            if name != INVENTORY && !name.starts_with("inventory.json.") {
                self.report.add("E001", name.as_str(), "the file is none of an object");
            }
        }
        for (number, directory) in &structure.versions {
            match facts.versions.get(number) {
                None => {
                    let message = "the root inventory does not name this version";
                    self.report.add("E046", directory.name.as_str(), message);
                }
                Some(version) if version.name != directory.name => {
                    let message = format!("the root inventory names this version {}", version.name);
                    self.report.add("E046", directory.name.as_str(), message);
                }
                Some(_) => {}
            }
            for name in &directory.files {
                let is_sidecar = name.starts_with("inventory.json.") && directory.files.contains(INVENTORY);
                if name != INVENTORY && !is_sidecar {
                    let message = "the file is none of a version directory";
                    self.report.add("E015", format!("{}/{name}", directory.name), message);
                }
            }
        }
        let mut missing: Vec<_> =
            facts.versions.iter().filter(|(number, _)| !structure.versions.contains_key(number)).collect();
        missing.sort_by_key(|(number, _)| **number);
        for (_, version) in missing {
            self.report.add("E010", version.name.as_str(), "the version has no directory");
        }
    }

    fn check_presence(&mut self, facts: &Facts, contents: &Contents) {
        for (index, (path, _)) in facts.manifest.iter().enumerate() {
            if !contents.is_found(index) {
                self.report.add("E092", path, "the manifest names a content that is not there");
            }
        }
    }

    /// Notes what the fixity block of `of` states of the contents.
    fn check_fixity(&mut self, facts: &Facts, of: &Facts, contents: &mut Contents) -> Result<(), OcflError> {
        if !of.has_fixity {
            return Ok(());
        }
        let Some(body) = self.open(&of.path)? else { return Ok(()) };
        let is_root = std::ptr::eq(facts, of);
        let report = &mut self.report;
        read_fixity(body, self.options.limits, &mut |algorithm, digest, path| {
            let at_root = facts.manifest.find(path);
            let is_named = if is_root { at_root.is_some() } else { of.manifest.find(path).is_some() };
            if !is_named {
                report.add("E057", of.path.as_str(), format!("the fixity block names {path:?}, the manifest does not"));
            }
            match at_root {
                Some(index) if contents.is_found(index) => {
                    contents.expect(facts, index, (algorithm, digest), "E093", &of.path);
                }
                Some(_) => report.add("E093", path, "the fixity block names a content that is not there"),
                None => {}
            }
        })
    }

    fn check_version_inventories(
        &mut self,
        root_inventory: &ReadInventory,
        facts: &Facts,
        structure: &Structure,
        contents: &mut Contents,
    ) -> Result<(), OcflError> {
        let newest = facts.versions.keys().max().copied();
        let mut places: Option<HashMap<u32, Fingerprint>> = None;
        let mut spec_after = facts.spec;
        for (number, directory) in structure.versions.iter().rev() {
            if !facts.versions.contains_key(number) {
                continue;
            }
            let path = format!("{}/{INVENTORY}", directory.name);
            let Some(inventory) = self.read_inventory_of(&path, directory)? else { continue };
            self.check_sidecar(&format!("{}/", directory.name), &inventory, &directory.files)?;
            let same = inventory.digests == root_inventory.digests;
            if Some(*number) == newest && !same {
                self.report.add("E064", path.as_str(), "the inventory of the newest version is not the root inventory");
            }
            let Some(prior) = &inventory.facts else { continue };
            if same && Some(*number) == newest {
                continue;
            }
            self.check_prior(facts, prior, *number);
            if prior.spec > spec_after && spec_after.is_some() {
                self.report.add("E103", path.as_str(), "a later version follows an older specification");
            }
            spec_after = prior.spec.or(spec_after);
            self.check_prior_contents(facts, prior, *number, contents)?;
            self.check_fixity(facts, prior, contents)?;
            let by_place = prior.algorithm != facts.algorithm;
            if by_place && places.is_none() {
                places = Some(self.places(facts)?);
            }
            let prior_places = if by_place { self.places(prior)? } else { HashMap::new() };
            for earlier in 1..=*number {
                let (Some(now), Some(then)) = (facts.versions.get(&earlier), prior.versions.get(&earlier)) else {
                    continue;
                };
                let same_state = match &places {
                    Some(places) if by_place => {
                        let empty = Fingerprint::default();
                        places.get(&earlier).unwrap_or(&empty) == prior_places.get(&earlier).unwrap_or(&empty)
                    }
                    _ => now.state == then.state,
                };
                if !same_state {
                    let message = format!("the state of {} is not the one of the root inventory", now.name);
                    self.report.add("E066", path.as_str(), message);
                }
                let details_agree = now.created == then.created
                    && now.message == then.message
                    && now.user_name == then.user_name
                    && now.user_address == then.user_address;
                if !details_agree {
                    let message = format!("the root inventory has another time, message or user for {}", now.name);
                    self.report.add("W011", path.as_str(), message);
                }
            }
        }
        Ok(())
    }

    fn read_inventory_of(
        &mut self,
        path: &str,
        directory: &VersionDirectory,
    ) -> Result<Option<ReadInventory>, OcflError> {
        if directory.files.contains(INVENTORY) {
            return self.read_inventory(path);
        }
        self.report.add("W010", directory.name.as_str(), "the version has no inventory");
        Ok(None)
    }

    /// What the inventory of version `number` says of the object, against the root inventory.
    fn check_prior(&mut self, facts: &Facts, prior: &Facts, number: u32) {
        let path = prior.path.as_str();
        if prior.id.is_some() && facts.id.is_some() && prior.id != facts.id {
            self.report.add("E037", path, "the id is not the one of the root inventory");
            if facts.spec >= Some(SpecVersion::V1_1) {
                self.report.add("E110", path, "the id is not the one of the root inventory");
            }
        }
        if prior.head_number().is_some_and(|head| head.number() != number) {
            self.report.add("E040", path, format!("the head is {}", prior.head.as_deref().unwrap_or("")));
        }
        if prior.content_directory() != facts.content_directory() {
            let message = "the content directory is not the one of the root inventory";
            self.report.add("E019", path, message);
            if prior.content_directory.is_some() {
                self.report.add("E020", path, message);
            }
        }
        for earlier in facts.versions.keys().filter(|earlier| **earlier <= number) {
            if !prior.versions.contains_key(earlier) {
                self.report.add("E066", path, format!("the inventory lacks version {earlier}"));
            }
        }
    }

    /// The manifest of an earlier inventory against the root's and the store.
    fn check_prior_contents(
        &mut self,
        facts: &Facts,
        prior: &Facts,
        number: u32,
        contents: &mut Contents,
    ) -> Result<(), OcflError> {
        let mut only_prior = Vec::new();
        let report = &mut self.report;
        facts.manifest.walk_with(&prior.manifest, &mut |at_root, at_prior| match (at_root, at_prior) {
            (Some(index), Some(at_prior)) => {
                if let (Some(algorithm), Some((_, written))) = (prior.algorithm, prior.manifest.get(at_prior)) {
                    let expected = (FixityAlgorithm::Known(algorithm), written.digest);
                    contents.expect(facts, index, expected, "E092", &prior.path);
                }
            }
            (Some(index), None) => {
                let Some((path, _)) = facts.manifest.get(index) else { return };
                let version = path.split('/').next().and_then(|name| name.parse::<VersionNumber>().ok());
                let is_earlier = version.is_some_and(|version| version.number() <= number);
                if is_earlier && contents.is_found(index) {
                    report.add("E023", path, format!("the content is not in the manifest of {}", prior.path));
                }
            }
            (None, Some(at_prior)) => only_prior.push(at_prior),
            (None, None) => {}
        });
        for at_prior in only_prior {
            let Some((path, _)) = prior.manifest.get(at_prior) else { continue };
            match self.root.join(path).ok().map(|key| self.store.head(&key)) {
                Some(Ok(_)) => {}
                Some(Err(error)) if !error.is_not_found() => return Err(error.into()),
                _ => {
                    let message = format!("the manifest of {} names a content that is not there", prior.path);
                    self.report.add("E092", path, message);
                }
            }
        }
        Ok(())
    }

    fn places(&self, of: &Facts) -> Result<HashMap<u32, Fingerprint>, OcflError> {
        match self.open(&of.path)? {
            Some(body) => states_by_place(body, self.options.limits, &self.prints, &of.manifest),
            None => Ok(HashMap::new()),
        }
    }
}

/// The digest of a sidecar's text: a digest, white space, `inventory.json`, at most one newline.
fn sidecar_digest(text: &[u8]) -> Option<Digest> {
    let line = str::from_utf8(text).ok()?;
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    let (digest, name) = line.split_once([' ', '\t'])?;
    if name.trim_start_matches([' ', '\t']) != INVENTORY {
        return None;
    }
    digest.parse().ok()
}
