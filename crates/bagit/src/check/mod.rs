//! Every rule of BagIt, applied to what a scan has seen. Nothing here reads payload bytes again (but for digests nobody has
//! computed), and memory does not grow with the number of files: manifests and files are sorted streams that are joined.

mod join;
mod listings;
mod metadata;
pub(crate) mod record;
mod survey;

use std::cell::RefCell;
use std::io::{self, Read};

use strongroom_digest::{Algorithm, Digest};

use crate::codes;
use crate::declaration::{self, Declaration, Version};
use crate::error::BagError;
use crate::manifest::{ManifestKind, ManifestName, PAYLOAD};
use crate::problem::{Problem, Severity, Verdict};
use crate::profile::{BagFacts, Profile, TagFact};
use crate::report::{Collector, Report};
use crate::source::{Limits, Scan};
use crate::tag_file::{Tag, TagFile};
use crate::text::Charset;

use survey::Survey;

/// What is known of one regular file of a bag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFact {
    /// Relative to the bag, as [`crate::Entry::path`] has it.
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
    /// The built-in one that `BagIt-Profile-Identifier` in `bag-info.txt` names, if any.
    #[default]
    Declared,
    /// None.
    Nothing,
    /// This one.
    Given(Box<Profile>),
}

/// How a bag is checked.
#[derive(Debug, Clone, Default)]
pub struct CheckOptions {
    /// Which profile it is checked against.
    pub profile: ProfileChoice,
    /// The depositing institution's identifier, which may stand before the bag's name in that of its archive.
    pub institution: Option<String>,
    /// Whether a base directory that is not named as the profile asks is a warning only.
    pub wrong_name_is_warning: bool,
    /// Bounds on memory and on the number of problems, and where temporary files go.
    pub limits: Limits,
}

/// Checks a bag by what a scan has seen. Trouble with the evidence is an error; all that is wrong with the bag is in the
/// report.
pub fn check(evidence: &dyn Evidence, scan: &Scan, options: &CheckOptions) -> Result<Report, BagError> {
    let check = Check {
        evidence,
        scan,
        options,
        problems: RefCell::new(Collector::new(options.limits.problems)),
        tags: Vec::new(),
    };
    for problem in &scan.problems {
        check.report(problem.clone());
    }
    check.run()
}

/// A check under way.
struct Check<'c> {
    evidence: &'c dyn Evidence,
    scan: &'c Scan,
    options: &'c CheckOptions,
    problems: RefCell<Collector>,
    tags: Vec<Tag>,
}

impl Check<'_> {
    fn report(&self, problem: Problem) {
        self.problems.borrow_mut().push(problem);
    }

    fn run(mut self) -> Result<Report, BagError> {
        if self.scan.truncated {
            // What could not be read would all be reported as missing; that helps nobody.
            let survey = Survey { files: self.scan.files, bytes: self.scan.bytes, ..Survey::default() };
            return Ok(self.finish(&survey, &Declaration::default(), None));
        }
        let survey = Survey::take(self.evidence, &self.options.limits, &mut |problem| self.report(problem))?;
        if !survey.has_declaration {
            self.report(codes::BAGIT_DECLARATION.problem("there is no bagit.txt").in_file(declaration::FILE));
            if survey.manifests.is_empty() {
                let report = self.finish(&survey, &Declaration::default(), None);
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
            let message = format!("the character encoding {:?} is not known", declaration::shorten(label));
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
        let profile = self.profile();
        if let Some(profile) = &profile {
            let rest = profile.tag_files_with_rules();
            for file in rest.into_iter().filter(|file| *file != bag_info && *file != declaration::FILE) {
                if !survey.info_files.iter().any(|known| known == file) && Survey::has_file(self.evidence, file)? {
                    self.read_tags(file, charset, version, false)?;
                }
            }
        }

        let listings = listings::read(&self, &survey, charset, version)?;
        let totals = join::join(&self, &survey, &listings, version)?;
        metadata::check_bag_info(&self.tags, bag_info, &survey, totals, &mut |problem| self.report(problem));
        if let Some(profile) = &profile {
            self.check_profile(profile, &survey, &declaration)?;
        }
        Ok(self.finish(&survey, &declaration, profile.as_ref()))
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
        self.tags.extend(tags.unwrap_or_default());
        Ok(())
    }

    fn profile(&self) -> Option<Profile> {
        match &self.options.profile {
            ProfileChoice::Given(profile) => Some(Profile::clone(profile)),
            ProfileChoice::Nothing => None,
            ProfileChoice::Declared => self
                .tags
                .iter()
                .filter(|tag| tag.file == "bag-info.txt" && tag.label.eq_ignore_ascii_case("BagIt-Profile-Identifier"))
                .find_map(|tag| Profile::for_identifier(&tag.value)),
        }
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

    fn finish(self, survey: &Survey, declaration: &Declaration, profile: Option<&Profile>) -> Report {
        let collected = self.problems.into_inner().finish();
        let algorithms = |kind| survey.of_kind(kind).filter_map(|manifest| manifest.algorithm).collect();
        Report {
            verdict: collected.verdict,
            version: declaration.version_text.clone(),
            encoding: declaration.encoding_text.clone(),
            profile: profile.map(|profile| profile.name().to_owned()),
            files: survey.files,
            bytes: survey.bytes,
            payload_files: survey.payload_files,
            payload_bytes: survey.payload_bytes,
            problems: collected.problems,
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
