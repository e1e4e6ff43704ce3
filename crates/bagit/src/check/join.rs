//! The join of what is there with what is listed. Files and listings come sorted by meeting key, so that each group holds
//! all that can mean one another; within a group every listing finds its file, and every rule about the pair is applied.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::iter::Peekable;

use strongroom_digest::{Algorithm, hash_reader};
use strongroom_listing::Sorted;

use super::record::{FETCH, Listing, unpack_fact};
use super::survey::Survey;
use super::{Check, CheckLevel, FetchEntry, FileFact, source_file};
use crate::codes::{self, Rule};
use crate::declaration::Version;
use crate::error::BagError;
use crate::manifest::{ManifestKind, ManifestName, PAYLOAD};
use crate::path;
use crate::problem::Problem;

/// Most listings of one group that are inspected; an honest group has one per manifest.
const MOST_LISTINGS: usize = 1000;
/// Most files of one group that are inspected; an honest group has one.
const MOST_FILES: usize = 100;

/// What the join counts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Totals {
    /// Payload files that are listed and not there.
    pub(super) missing_payload: u64,
}

type Keyed<T> = Result<(Vec<u8>, T), BagError>;

fn broken() -> BagError {
    BagError::Spill(std::io::Error::from(std::io::ErrorKind::InvalidData))
}

/// Every file by its meeting key: those whose key is their path as they come, the others merged in.
struct Files<'f> {
    plain: Peekable<Box<dyn Iterator<Item = Keyed<FileFact>> + 'f>>,
    odd: Peekable<Box<dyn Iterator<Item = Keyed<FileFact>> + 'f>>,
}

impl<'f> Files<'f> {
    fn new(check: &'f Check<'_>, survey: &'f Survey) -> Result<Self, BagError> {
        let mut last = String::new();
        let plain = check.evidence.files()?.filter_map(move |fact| {
            let fact = match fact {
                Ok(fact) => fact,
                Err(error) => return Some(Err(error)),
            };
            if fact.path < last {
                let message = format!("{:?} comes after {last:?}: not in byte order", fact.path);
                return Some(Err(BagError::Evidence(message.into())));
            }
            last.clone_from(&fact.path);
            let is_plain = path::join_key(&fact.path) == fact.path;
            is_plain.then(|| Ok((fact.path.clone().into_bytes(), fact)))
        });
        let plain: Box<dyn Iterator<Item = Keyed<FileFact>> + 'f> = Box::new(plain);
        let odd: Box<dyn Iterator<Item = Keyed<FileFact>> + 'f> = match &survey.odd {
            Some(sorted) => Box::new(sorted.iter().map_err(BagError::Spill)?.map(|record| {
                let (key, packed) = record.map_err(BagError::Spill)?;
                let (fact, _) = unpack_fact(&key, &packed).ok_or_else(broken)?;
                Ok((key, fact))
            })),
            None => Box::new(std::iter::empty()),
        };
        Ok(Self { plain: plain.peekable(), odd: odd.peekable() })
    }

    /// The key of the next file.
    fn key(&mut self) -> Option<Vec<u8>> {
        let key = |next: Option<&Keyed<FileFact>>| match next {
            Some(Ok((key, _))) => Some(key.clone()),
            // An error comes first, so that it is not missed.
            Some(Err(_)) => Some(Vec::new()),
            None => None,
        };
        match (key(self.plain.peek()), key(self.odd.peek())) {
            (Some(plain), Some(odd)) => Some(plain.min(odd)),
            (plain, odd) => plain.or(odd),
        }
    }

    /// Takes all files of a key.
    fn take(&mut self, key: &[u8]) -> Result<Vec<FileFact>, BagError> {
        let mut files = Vec::new();
        for stream in [&mut self.plain, &mut self.odd] {
            while let Some(next) = stream.next_if(|next| next.as_ref().map_or(true, |(next, _)| next == key)) {
                let (_, fact) = next?;
                if files.len() < MOST_FILES {
                    files.push(fact);
                }
            }
        }
        Ok(files)
    }
}

pub(super) fn join(
    check: &Check<'_>,
    survey: &Survey,
    listings: &Sorted,
    version: Version,
) -> Result<Totals, BagError> {
    let mut files = Files::new(check, survey)?;
    let mut listed = listings.iter().map_err(BagError::Spill)?.peekable();
    let mut join =
        Join { check, manifests: &survey.manifests, version, totals: Totals::default(), has_told_of_sets: false };
    loop {
        let listed_key = match listed.peek() {
            Some(Ok((key, _))) => Some(key.clone()),
            Some(Err(_)) => Some(Vec::new()),
            None => None,
        };
        let key = match (files.key(), listed_key) {
            (Some(file), Some(listing)) => file.min(listing),
            (Some(key), None) | (None, Some(key)) => key,
            (None, None) => break,
        };
        let found = files.take(&key)?;
        let mut group = Vec::new();
        let mut dropped = 0_u64;
        while let Some(record) = listed.next_if(|record| record.as_ref().map_or(true, |(next, _)| *next == key)) {
            let (key, packed) = record.map_err(BagError::Spill)?;
            if group.len() < MOST_LISTINGS {
                group.push(Listing::unpack(&key, &packed).ok_or_else(broken)?);
            } else {
                dropped += 1;
            }
        }
        join.group(&found, &group)?;
        if let (Some(last), 1..) = (group.last(), dropped) {
            let message = format!("the path is listed {dropped} times more");
            join.say(codes::MANIFEST_DUPLICATE_ENTRY, message, last);
        }
    }
    Ok(join.totals)
}

/// What a listing means.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    /// A file of the group.
    File(usize),
    /// A file that is not there.
    Missing(String),
}

struct Join<'j, 'c> {
    check: &'j Check<'c>,
    manifests: &'j [ManifestName],
    version: Version,
    totals: Totals,
    has_told_of_sets: bool,
}

impl Join<'_, '_> {
    fn kind(&self, source: u8) -> Option<ManifestKind> {
        self.manifests.get(usize::from(source)).map(|manifest| manifest.kind)
    }

    fn numbers(&self, kind: ManifestKind) -> impl Iterator<Item = u8> {
        self.manifests
            .iter()
            .enumerate()
            .filter(move |(_, manifest)| manifest.kind == kind)
            .map(|(number, _)| number as u8)
    }

    fn say(&self, rule: Rule, message: impl Into<String>, listing: &Listing) {
        let file = source_file(self.manifests, listing.source);
        self.check.report(rule.problem(message).in_file(file).at_line(listing.line).about(listing.path.as_str()));
    }

    fn group(&mut self, files: &[FileFact], listings: &[Listing]) -> Result<(), BagError> {
        let targets: Vec<Target> = listings.iter().map(|listing| self.target(listing, files, listings)).collect();
        self.report_ambiguous(files, listings, &targets);

        // Which listing of which source means which file; the first one counts.
        let mut first: BTreeMap<(&Target, u8), &Listing> = BTreeMap::new();
        for (listing, target) in listings.iter().zip(&targets) {
            match first.get(&(target, listing.source)) {
                Some(earlier) => self.report_repeated(earlier, listing),
                None => {
                    first.insert((target, listing.source), listing);
                }
            }
        }
        let of = |target: &Target, source: u8| first.get(&(target, source)).copied();
        for (number, file) in files.iter().enumerate() {
            let target = Target::File(number);
            self.present(file, &|source| of(&target, source))?;
        }
        let mut missing: Vec<&Target> = targets.iter().filter(|target| matches!(target, Target::Missing(_))).collect();
        missing.sort();
        missing.dedup();
        for target in missing {
            if let Target::Missing(path) = target {
                self.missing(path, &|source| of(target, source))?;
            }
        }
        Ok(())
    }

    /// Finds what a listing means: the right reading first, then the others, then names that differ in normal form.
    fn target(&self, listing: &Listing, files: &[FileFact], listings: &[Listing]) -> Target {
        if let [file] = files
            && file.path == listing.path
            && !listing.path.contains('%')
        {
            return Target::File(0);
        }
        let readings = path::readings(&listing.path, self.version.is_strict());
        for (rank, reading) in readings.iter().enumerate() {
            if let Some(number) = files.iter().position(|file| file.path == *reading) {
                if rank > 0 {
                    let message = format!(
                        "the path is not percent-encoded as version {} asks; it is read as {reading:?}",
                        self.version
                    );
                    self.say(codes::PATH_PERCENT_ENCODING, message, listing);
                }
                return Target::File(number);
            }
        }
        let is_named =
            |file: &FileFact| listings.iter().any(|other| other.source == listing.source && other.path == file.path);
        for reading in &readings {
            let normal = path::normal_form(reading);
            let same: Vec<usize> =
                (0..files.len()).filter(|at| path::normal_form(&files[*at].path) == normal).collect();
            // One that the manifest does not list by its own name is the likelier.
            let chosen = same.iter().copied().find(|at| !is_named(&files[*at])).or_else(|| same.first().copied());
            if let Some(number) = chosen {
                self.say(
                    codes::PATH_NORMALIZATION,
                    "the path and the name of the file differ in Unicode normal form",
                    listing,
                );
                return Target::File(number);
            }
        }
        Target::Missing(readings.first().map(Cow::to_string).unwrap_or_default())
    }

    /// A listing may mean two files that both exist; that matters only where the manifest leaves a file of the group out.
    fn report_ambiguous(&self, files: &[FileFact], listings: &[Listing], targets: &[Target]) {
        if files.len() < 2 {
            return;
        }
        for listing in listings {
            let readings = path::readings(&listing.path, self.version.is_strict());
            let meant = files.iter().filter(|file| readings.contains(&Cow::Borrowed(file.path.as_str()))).count();
            let covered = |number: usize| {
                listings
                    .iter()
                    .zip(targets)
                    .any(|(other, target)| other.source == listing.source && *target == Target::File(number))
            };
            if meant > 1 && !(0..files.len()).all(covered) {
                self.say(
                    codes::PATH_AMBIGUOUS,
                    "the path can mean two files, by different readings of its percent-encoding",
                    listing,
                );
            }
        }
    }

    fn report_repeated(&self, earlier: &Listing, listing: &Listing) {
        let line = earlier.line;
        if listing.source == FETCH {
            self.say(codes::FETCH_DUPLICATE, format!("the path is in line {line} already"), listing);
        } else if self.version.is_strict() {
            self.say(codes::MANIFEST_DUPLICATE_ENTRY, format!("the path is listed in line {line} already"), listing);
        } else if earlier.digest == listing.digest {
            self.say(
                codes::MANIFEST_DUPLICATE_ENTRY_EQUAL,
                format!("the path is listed in line {line} already, with the same digest"),
                listing,
            );
        } else {
            self.say(
                codes::MANIFEST_DUPLICATE_ENTRY,
                format!("the path is listed in line {line} already, with another digest"),
                listing,
            );
        }
    }

    /// Applies the rules about a file that is there.
    fn present<'l>(&mut self, file: &FileFact, listing: &dyn Fn(u8) -> Option<&'l Listing>) -> Result<(), BagError> {
        if self.check.options.level == CheckLevel::Full {
            self.check_digests(file, listing)?;
        }
        if let Some(fetch) = listing(FETCH) {
            self.fetch_coverage(fetch, listing);
            if let Some(length) = fetch.length.filter(|length| *length != file.size) {
                let message = format!("fetch.txt states {length} bytes, and the file has {}", file.size);
                self.say(codes::FETCH_LENGTH_MISMATCH, message, fetch);
            }
            self.show_entry(&file.path, true, fetch, listing)?;
        }
        if file.path.starts_with(PAYLOAD) {
            self.payload_coverage(file, listing);
        } else if self.version.is_strict() {
            self.tag_coverage(file, listing);
        }
        Ok(())
    }

    fn check_digests<'l>(&self, file: &FileFact, listing: &dyn Fn(u8) -> Option<&'l Listing>) -> Result<(), BagError> {
        let wanted: Vec<(u8, Algorithm, &Listing)> = (0..self.manifests.len() as u8)
            .filter_map(|number| Some((number, self.manifests[usize::from(number)].algorithm?, listing(number)?)))
            .collect();
        let unknown: Vec<Algorithm> = wanted
            .iter()
            .map(|(_, algorithm, _)| *algorithm)
            .filter(|algorithm| file.digest(*algorithm).is_none())
            .collect();
        let late = if unknown.is_empty() {
            None
        } else {
            self.check.read_with(&file.path, |reader| Ok(hash_reader(reader, &unknown)?.1))?
        };
        for (_, algorithm, listing) in wanted {
            let found = file.digest(algorithm).or_else(|| late.as_ref()?.get(algorithm));
            if let (Some(stated), Some(found)) = (listing.digest, found)
                && stated != found
            {
                let message = format!("{algorithm} is {found}, and the manifest states {stated}");
                self.say(codes::MANIFEST_DIGEST_MISMATCH, message, listing);
            }
        }
        Ok(())
    }

    fn payload_coverage<'l>(&self, file: &FileFact, listing: &dyn Fn(u8) -> Option<&'l Listing>) {
        let numbers: Vec<u8> = self.numbers(ManifestKind::Payload).collect();
        let unlisted: Vec<u8> = numbers.iter().copied().filter(|number| listing(*number).is_none()).collect();
        if self.version.is_strict() {
            for number in unlisted {
                let problem = codes::MANIFEST_FILE_UNLISTED.problem("the payload file is not listed");
                self.check.report(problem.in_file(source_file(self.manifests, number)).about(file.path.as_str()));
            }
        } else if !numbers.is_empty() && unlisted.len() == numbers.len() {
            let problem = codes::MANIFEST_FILE_UNLISTED
                .problem("the payload file is in no payload manifest")
                .about(file.path.as_str());
            self.check.report(match numbers.as_slice() {
                [only] => problem.in_file(source_file(self.manifests, *only)),
                _ => problem,
            });
        }
    }

    fn tag_coverage<'l>(&mut self, file: &FileFact, listing: &dyn Fn(u8) -> Option<&'l Listing>) {
        let numbers: Vec<u8> = self.numbers(ManifestKind::Tag).collect();
        let unlisted: Vec<u8> = numbers.iter().copied().filter(|number| listing(*number).is_none()).collect();
        if unlisted.is_empty() {
            return;
        }
        let about = |problem: Problem| self.check.report(problem.about(file.path.as_str()));
        match ManifestName::parse(&file.path).map(|name| name.kind) {
            Some(ManifestKind::Payload) => {
                for number in unlisted {
                    let problem = codes::TAG_MANIFEST_MANIFEST_UNLISTED
                        .problem("a tag manifest has to list every payload manifest");
                    about(problem.in_file(source_file(self.manifests, number)));
                }
            }
            None if unlisted.len() == numbers.len() => {
                about(
                    codes::TAG_MANIFEST_FILE_UNLISTED
                        .problem("the tag file is in no tag manifest, so nothing proves it"),
                );
            }
            None if !self.has_told_of_sets => {
                about(
                    codes::TAG_MANIFEST_DIFFERENT_SETS
                        .problem("the tag file is in some tag manifests and not in others"),
                );
                self.has_told_of_sets = true;
            }
            Some(ManifestKind::Tag) | None => {}
        }
    }

    /// Reports a file to fetch that the payload manifests do not list as they should.
    fn fetch_coverage<'l>(&self, fetch: &Listing, listing: &dyn Fn(u8) -> Option<&'l Listing>) {
        let numbers: Vec<u8> = self.numbers(ManifestKind::Payload).collect();
        let listed = numbers.iter().filter(|number| listing(**number).is_some()).count();
        let is_covered = if self.version.is_strict() { listed == numbers.len() } else { listed > 0 };
        if !is_covered && !numbers.is_empty() {
            let message = if listed == 0 {
                "no payload manifest lists the file to fetch"
            } else {
                "not every payload manifest lists the file to fetch"
            };
            self.say(codes::FETCH_UNLISTED, message, fetch);
        }
    }

    /// Applies the rules about a file that is listed and not there.
    fn missing<'l>(&mut self, path: &str, listing: &dyn Fn(u8) -> Option<&'l Listing>) -> Result<(), BagError> {
        let is_payload = (0..self.manifests.len() as u8)
            .any(|number| self.kind(number) == Some(ManifestKind::Payload) && listing(number).is_some());
        if is_payload {
            self.totals.missing_payload += 1;
        }
        if let Some(fetch) = listing(FETCH) {
            self.fetch_coverage(fetch, listing);
            self.say(codes::FETCH_PENDING, "the file has not been fetched yet", fetch);
            return self.show_entry(path, false, fetch, listing);
        }
        for listing in (0..self.manifests.len() as u8).filter_map(listing) {
            let message = if path == listing.path {
                "the listed file is not there".to_owned()
            } else {
                format!("the listed file {path:?} is not there")
            };
            self.say(codes::MANIFEST_FILE_MISSING, message, listing);
        }
        Ok(())
    }

    /// Shows a file that `fetch.txt` names, with the digests that the payload manifests state of it.
    fn show_entry<'l>(
        &self,
        path: &str,
        is_present: bool,
        fetch: &Listing,
        listing: &dyn Fn(u8) -> Option<&'l Listing>,
    ) -> Result<(), BagError> {
        let digest = |number: u8| Some((self.manifests.get(usize::from(number))?.algorithm?, listing(number)?.digest?));
        let entry = FetchEntry {
            path: path.to_owned(),
            line: fetch.line,
            url: fetch.url.clone().unwrap_or_default(),
            length: fetch.length,
            digests: self.numbers(ManifestKind::Payload).filter_map(digest).collect(),
            is_present,
        };
        (self.check.entries.borrow_mut())(entry)
    }
}
