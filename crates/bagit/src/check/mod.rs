//! Every rule of BagIt, applied to what a scan has seen. Nothing here reads payload bytes again (but for digests that
//! have not been computed), and memory does not grow with the number of files: manifests and files are sorted streams
//! that are joined.

mod collisions;
mod join;
mod listings;
mod metadata;
pub(crate) mod record;
mod survey;

use std::cell::RefCell;
use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use strongroom_digest::{Algorithm, Digest, DigestSet, Progress};

use crate::codes;
use crate::declaration::{self, Declaration, Version, shorten};
use crate::error::BagError;
use crate::manifest::{FETCH, ManifestKind, ManifestName, PAYLOAD};
use crate::problem::{Problem, Severity, Verdict};
use crate::profile::{BagFacts, Profile, TagFact};
use crate::report::{Collector, ProfileReason, Report};
use crate::source::{Limits, Scan, Serialization};
use crate::tag_file::{self, Tag, TagFile};
use crate::text::Charset;

pub use collisions::check_collisions;
use survey::Survey;

/// What is known of one regular file of a bag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFact {
    /// Relative to the bag, as [`crate::BagFile::path`] has it.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Digests computed so far, of any algorithms.
    pub digests: Vec<(Algorithm, Digest)>,
}

impl FileFact {
    /// The digest of an algorithm, if it has been computed.
    pub fn digest(&self, algorithm: Algorithm) -> Option<Digest> {
        self.digests.iter().find(|(known, _)| *known == algorithm).map(|(_, digest)| *digest)
    }
}

/// The files of an [`Evidence`], one by one.
pub type FileFacts<'e> = Box<dyn Iterator<Item = Result<FileFact, BagError>> + 'e>;

/// What a scan has seen, however it is kept.
pub trait Evidence {
    /// Every regular file of the bag, tag files too, in byte order of the path. May be called several times.
    fn files(&self) -> Result<FileFacts<'_>, BagError>;

    /// The bytes of a file. Called for tag files, and for payload files where a manifest has an algorithm that the facts
    /// lack.
    fn open(&self, path: &str) -> Result<Box<dyn Read + Send + '_>, BagError>;
}

/// Which profile a bag is checked against.
#[derive(Debug, Clone, Default)]
pub enum ProfileChoice {
    /// The known one that `BagIt-Profile-Identifier` in `bag-info.txt` names; where the bag names none, the default of
    /// the options, or else `aptrust-2.3` for a bag with an `aptrust-info.txt`, or else none.
    #[default]
    Declared,
    /// None.
    Nothing,
    /// This one.
    Given(Box<Profile>),
}

/// The profiles that a caller knows, in the place of those that come with the crate.
pub trait KnownProfiles: fmt::Debug + Send + Sync {
    /// The profile that a bag means by this `BagIt-Profile-Identifier`.
    fn for_identifier(&self, identifier: &str) -> Result<Option<Profile>, BagError>;

    /// The profile of bags that name none and have an `aptrust-info.txt`.
    fn for_aptrust(&self) -> Result<Option<Profile>, BagError>;
}

/// The profiles that come with the crate.
#[derive(Debug)]
struct Builtins;

impl KnownProfiles for Builtins {
    fn for_identifier(&self, identifier: &str) -> Result<Option<Profile>, BagError> {
        Ok(Profile::for_identifier(identifier))
    }

    fn for_aptrust(&self) -> Result<Option<Profile>, BagError> {
        Ok(Profile::builtin("aptrust"))
    }
}

/// How much of a bag a check covers. Structure, declaration, tags and the profile are always checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckLevel {
    /// Everything, each digest included.
    #[default]
    Full,
    /// Everything but digests: the manifests are compared with the files that are there.
    Completeness,
    /// Neither digests nor manifests: the payload is compared with `Payload-Oxum` only, so the bag must have one.
    Fast,
}

/// How a bag is checked.
#[derive(Debug, Clone, Default)]
pub struct CheckOptions {
    /// How much is checked.
    pub level: CheckLevel,
    /// Which profile it is checked against.
    pub profile: ProfileChoice,
    /// The profiles that a bag may name; absent: those that come with the crate.
    pub known: Option<Arc<dyn KnownProfiles>>,
    /// The depositing institution's identifier, which may stand before the bag's name in that of its archive.
    pub institution: Option<String>,
    /// Whether a base directory that is not named as the profile asks is a warning only.
    pub wrong_name_is_warning: bool,
    /// The profile of bags that name none. It goes before the one that `aptrust-info.txt` stands for.
    pub default_profile: Option<Box<Profile>>,
    /// Whether it is a warning only that a bag names a profile that is not known here.
    pub unknown_profile_is_warning: bool,
    /// Bounds on memory and on the number of problems, and where temporary files go.
    pub limits: Limits,
    /// Counts what is read of the files, and what there is to read where that is known beforehand.
    pub progress: Progress,
}

/// Checks a bag by what a scan has seen. Trouble with the evidence is an error; all that is wrong with the bag is in the
/// report.
pub fn check(evidence: &dyn Evidence, scan: &Scan, options: &CheckOptions) -> Result<Report, BagError> {
    check_with_entries(evidence, scan, options, &mut |_| Ok(()))
}

/// A file that `fetch.txt` names (RFC 8493 section 2.2.3): below `data/`, by a safe path, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchEntry {
    /// The path of the file, decoded, as [`crate::BagFile::path`] has it.
    pub path: String,
    /// The line of `fetch.txt`, from 1.
    pub line: u64,
    /// Where the file is.
    pub url: String,
    /// Its length in bytes, where stated.
    pub length: Option<u64>,
    /// What the payload manifests state of it.
    pub digests: DigestSet,
    /// Whether the bag has the file already.
    pub is_present: bool,
}

impl FetchEntry {
    /// The problem that the file could not be had, for this reason.
    pub fn failure(&self, reason: impl Into<String>) -> Problem {
        self.problem(codes::FETCH_FAILED, reason)
    }

    /// The problem that the file need not be fetched. One stands for all such files of a bag, and `others` is how many more there are.
    pub fn presence(&self, others: u64) -> Problem {
        let more =
            if others == 0 { String::new() } else { format!(", as are {others} more files that fetch.txt names") };
        self.problem(codes::FETCH_PRESENT, format!("the file is in the bag, and is not fetched{more}"))
    }

    fn problem(&self, rule: codes::Rule, message: impl Into<String>) -> Problem {
        rule.problem(message).in_file(FETCH).at_line(self.line).about(self.path.as_str())
    }
}

/// What is shown each file that `fetch.txt` names.
pub type FetchEntries<'e> = &'e mut dyn FnMut(FetchEntry) -> Result<(), BagError>;

/// As [`check`], and shows each file that `fetch.txt` names, in the order of their paths. Where the report
/// [lacks only fetched files](Report::lacks_only_fetched_files), they are what makes the bag complete.
pub fn check_with_entries(
    evidence: &dyn Evidence,
    scan: &Scan,
    options: &CheckOptions,
    entries: FetchEntries<'_>,
) -> Result<Report, BagError> {
    let check = Check {
        entries: RefCell::new(entries),
        evidence,
        scan,
        options,
        problems: RefCell::new(Collector::new(&options.limits)),
        tags: Vec::new(),
        tag_bytes: 0,
    };
    let mut problems: Vec<&Problem> = scan.problems.iter().collect();
    if scan.serialization == Serialization::Directory {
        // A folder is listed in no order.
        problems.sort_by(|one, other| one.path.cmp(&other.path));
    }
    for problem in problems {
        check.report(problem.clone());
    }
    check.problems.borrow_mut().push_unlisted(&scan.unlisted);
    check.run()
}

/// A check under way.
struct Check<'c> {
    evidence: &'c dyn Evidence,
    scan: &'c Scan,
    options: &'c CheckOptions,
    problems: RefCell<Collector>,
    tags: Vec<Tag>,
    tag_bytes: usize,
    entries: RefCell<FetchEntries<'c>>,
}

impl Check<'_> {
    fn report(&self, problem: Problem) {
        self.problems.borrow_mut().push(problem);
    }

    fn run(mut self) -> Result<Report, BagError> {
        if self.scan.truncated {
            // What could not be read would all be reported as missing; that is of no use.
            let survey = Survey { files: self.scan.files, bytes: self.scan.bytes, ..Survey::default() };
            return Ok(self.finish(&survey, &Declaration::default(), None));
        }
        let survey = Survey::take(self.evidence, &self.options.limits, &mut |problem| self.report(problem))?;
        if !survey.has_declaration {
            self.report(codes::BAGIT_DECLARATION.problem("there is no bagit.txt").in_file(declaration::FILE));
            if survey.manifests.is_empty() {
                let mut report = self.finish(&survey, &Declaration::default(), None);
                // What is wrong with the entries of something that is no bag comes after that.
                report.problems.sort_by_key(|problem| problem.code != codes::BAGIT_DECLARATION.code);
                return Ok(Report { verdict: Verdict::NotABag, ..report });
            }
        }
        let declaration = if survey.has_declaration { self.declaration()? } else { Declaration::default() };
        // Where no version can be made out, the more tolerant rules hold; there is an error already.
        let version = declaration.version.unwrap_or(Version::V0_97);
        if !Version::KNOWN.contains(&version) {
            let message = format!("BagIt version {version} is not known; known are 0.93 to 0.97 and 1.0");
            self.report(codes::BAGIT_VERSION_UNSUPPORTED.problem(message).in_file(declaration::FILE));
            return Ok(self.finish(&survey, &declaration, None));
        }
        if !self.scan.has_payload_directory {
            self.report(codes::PAYLOAD_DIRECTORY_MISSING.problem("there is no directory data/").about(PAYLOAD));
        }
        self.manifest_names(&survey);
        let Some(charset) = declaration.charset() else {
            let label = declaration.encoding_text.as_deref().unwrap_or_default();
            let message = format!("the character encoding {:?} is not known", shorten(label));
            self.report(codes::BAGIT_ENCODING_UNSUPPORTED.problem(message).in_file(declaration::FILE));
            return Ok(self.finish(&survey, &declaration, None));
        };

        for (line, label, value) in [
            (1, "BagIt-Version", &declaration.version_text),
            (2, "Tag-File-Character-Encoding", &declaration.encoding_text),
        ] {
            if let Some(value) = value.clone() {
                self.tags.push(Tag { file: declaration::FILE.to_owned(), label: label.to_owned(), value, line });
            }
        }
        let bag_info = version.bag_info_file();
        for file in &survey.info_files {
            self.read_tags(file, charset, version, file == bag_info)?;
        }
        let chosen = self.profile(&survey, bag_info)?;
        let profile = chosen.as_ref().map(|(profile, _)| profile);
        if let Some(profile) = profile {
            let rest = profile.tag_files_with_rules();
            for file in rest.into_iter().filter(|file| *file != bag_info && *file != declaration::FILE) {
                if !survey.info_files.iter().any(|known| known == file) && Survey::has_file(self.evidence, file)? {
                    self.read_tags(file, charset, version, false)?;
                }
            }
        }

        let totals = if self.options.level == CheckLevel::Fast {
            if !self.tags.iter().any(|tag| tag.file == bag_info && tag.label.eq_ignore_ascii_case("Payload-Oxum")) {
                let message = "there is no Payload-Oxum to compare the payload with; check the bag completely instead";
                self.report(codes::OXUM_MISSING.problem(message).in_file(bag_info));
            }
            join::Totals::default()
        } else {
            let listings = listings::read(&self, &survey, charset, version)?;
            join::join(&self, &survey, &listings, version)?
        };
        metadata::check_bag_info(&self.tags, bag_info, &survey, totals, &mut |problem| self.report(problem));
        if let Some(profile) = profile {
            self.check_profile(profile, &survey, &declaration)?;
        }
        Ok(self.finish(&survey, &declaration, chosen.as_ref()))
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + Send + '_>, BagError> {
        self.evidence.open(path)
    }

    /// Reads a tag file with `read`; that its bytes cannot be read is a problem of the bag, and yields nothing.
    fn read_with<T>(
        &self,
        path: &str,
        read: impl FnOnce(Box<dyn Read + '_>) -> io::Result<T>,
    ) -> Result<Option<T>, BagError> {
        match read(self.open(path)?) {
            Ok(value) => Ok(Some(value)),
            Err(error) => {
                self.report(codes::ENTRY_UNREADABLE.problem(format!("the file cannot be read: {error}")).about(path));
                Ok(None)
            }
        }
    }

    fn declaration(&self) -> Result<Declaration, BagError> {
        let found = self
            .read_with(declaration::FILE, |reader| Declaration::parse(reader, &mut |problem| self.report(problem)))?;
        Ok(found.unwrap_or_default())
    }

    fn manifest_names(&self, survey: &Survey) {
        if !survey.manifests.iter().any(|manifest| manifest.kind == ManifestKind::Payload) {
            self.report(codes::MANIFEST_MISSING.problem("there is no payload manifest (manifest-ALGORITHM.txt)"));
        }
        for manifest in &survey.manifests {
            if manifest.algorithm.is_none() {
                let message = format!("the digest algorithm {:?} is not known", manifest.algorithm_text);
                self.report(codes::MANIFEST_ALGORITHM_UNSUPPORTED.problem(message).in_file(&manifest.file));
            } else if !manifest.is_well_formed() {
                let message = format!(
                    "the algorithm has to be written in lower case letters and digits, not {:?}",
                    manifest.algorithm_text
                );
                self.report(codes::MANIFEST_NAME.problem(message).in_file(&manifest.file));
            }
        }
    }

    fn read_tags(&mut self, file: &str, charset: Charset, version: Version, is_bag_info: bool) -> Result<(), BagError> {
        if self.tag_bytes > tag_file::LARGEST {
            let message = "the tag files together have more tags than are kept; this one is not read";
            self.report(codes::FILE_TOO_LARGE.problem(message).in_file(file));
            return Ok(());
        }
        // The standard gives form to bag-info.txt only; other files are read as freely as can be.
        let version = if is_bag_info { version } else { Version::V0_97 };
        let tag_file = TagFile { name: file, charset, version };
        let tags = self.read_with(file, |reader| {
            tag_file.parse(reader, &mut |problem| {
                if is_bag_info || problem.code == codes::ENCODING_MALFORMED.code {
                    self.report(problem);
                }
            })
        })?;
        let tags = tags.unwrap_or_default();
        self.tag_bytes += tags.iter().map(Tag::cost).sum::<usize>();
        self.tags.extend(tags);
        Ok(())
    }

    /// The profile that the bag is checked against, and why. Reports profiles that the bag names and that are not known.
    fn profile(&self, survey: &Survey, bag_info: &str) -> Result<Option<(Profile, ProfileReason)>, BagError> {
        match &self.options.profile {
            ProfileChoice::Given(profile) => return Ok(Some((Profile::clone(profile), ProfileReason::Given))),
            ProfileChoice::Nothing => return Ok(None),
            ProfileChoice::Declared => {}
        }
        let known = self.options.known.as_deref().unwrap_or(&Builtins);
        let named = self.tags.iter().filter(|tag| {
            tag.file == bag_info
                && tag.label.eq_ignore_ascii_case("BagIt-Profile-Identifier")
                && !tag.value.trim().is_empty()
        });
        let mut declared = None;
        let mut is_unknown = false;
        for tag in named {
            if let Some(profile) = known.for_identifier(&tag.value)? {
                declared.get_or_insert(profile);
                continue;
            }
            is_unknown = true;
            let message = format!("the bag names the profile {:?}, which is not known here", shorten(&tag.value));
            let problem = codes::profile_unknown(self.options.unknown_profile_is_warning, message);
            self.report(problem.in_file(bag_info).at_line(tag.line));
        }
        if let Some(profile) = declared {
            return Ok(Some((profile, ProfileReason::Declared)));
        }
        if is_unknown && !self.options.unknown_profile_is_warning {
            return Ok(None);
        }
        if let Some(profile) = &self.options.default_profile {
            return Ok(Some((Profile::clone(profile), ProfileReason::Default)));
        }
        if !survey.info_files.iter().any(|file| file == "aptrust-info.txt") {
            return Ok(None);
        }
        Ok(known.for_aptrust()?.map(|found| (found, ProfileReason::AptrustInfo)))
    }

    fn check_profile(&self, profile: &Profile, survey: &Survey, declaration: &Declaration) -> Result<(), BagError> {
        let failure: RefCell<Option<BagError>> = RefCell::new(None);
        let paths = |is_payload: bool, take: &mut dyn FnMut(&str)| {
            let mut walk = || -> Result<(), BagError> {
                for fact in self.evidence.files()? {
                    let fact = fact?;
                    if fact.path.starts_with(PAYLOAD) == is_payload {
                        take(&fact.path);
                    }
                }
                Ok(())
            };
            if let Err(error) = walk() {
                failure.borrow_mut().get_or_insert(error);
            }
        };
        let tags: Vec<TagFact<'_>> = self
            .tags
            .iter()
            .map(|tag| TagFact { file: &tag.file, label: &tag.label, value: &tag.value, line: Some(tag.line) })
            .collect();
        let names =
            |kind| -> Vec<String> { survey.of_kind(kind).map(|manifest| manifest.algorithm_text.clone()).collect() };
        let facts = BagFacts {
            version: declaration.version_text.as_deref(),
            encoding: declaration.encoding_text.as_deref(),
            serialization: self.scan.serialization.mime(),
            has_fetch: survey.has_fetch,
            payload_manifests: &names(ManifestKind::Payload),
            tag_manifests: &names(ManifestKind::Tag),
            tag_files: &|take| paths(false, take),
            tags: &tags,
            payload_paths: &|take| paths(true, take),
            payload_files: survey.payload_files,
            payload_bytes: survey.payload_bytes,
            base_directory: self.scan.base_directory.as_deref(),
            archive_name: self.scan.archive_name.as_deref(),
            institution: self.options.institution.as_deref(),
        };
        profile.check(&facts, &mut |mut problem| {
            if self.options.wrong_name_is_warning && problem.code == "profile.base_directory_name" {
                problem.severity = Severity::Warning;
            }
            self.report(problem);
        });
        failure.into_inner().map_or(Ok(()), Err)
    }

    fn finish(self, survey: &Survey, declaration: &Declaration, profile: Option<&(Profile, ProfileReason)>) -> Report {
        let collected = self.problems.into_inner().finish_with_summary();
        let algorithms = |kind| survey.of_kind(kind).filter_map(|manifest| manifest.algorithm).collect();
        Report {
            verdict: collected.verdict,
            level: self.options.level,
            version: declaration.version_text.clone(),
            encoding: declaration.encoding_text.clone(),
            profile: profile.map(|(profile, _)| profile.name().to_owned()),
            profile_version: profile.and_then(|(profile, _)| profile.number()),
            profile_reason: profile.map(|(_, reason)| *reason),
            files: survey.files,
            bytes: survey.bytes,
            payload_files: survey.payload_files,
            payload_bytes: survey.payload_bytes,
            problems: collected.problems,
            unlisted: collected.unlisted,
            errors: collected.errors,
            warnings: collected.warnings,
            manifests: algorithms(ManifestKind::Payload),
            tag_manifests: algorithms(ManifestKind::Tag),
            tags: self.tags,
            has_fetch: survey.has_fetch,
        }
    }
}

/// Where a listing stands: the number of its manifest, or `fetch.txt`.
fn source_file(manifests: &[ManifestName], source: u8) -> &str {
    manifests.get(usize::from(source)).map_or(crate::manifest::FETCH, |manifest| manifest.file.as_str())
}
