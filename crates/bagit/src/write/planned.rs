//! What a bag will say, known before a byte of it is written, and what a profile has against it.

use std::cell::RefCell;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use strongroom_digest::Algorithm;

use super::bagger::{BagOptions, KEEP, Visited, walk};
use super::{WriteError, archive_stem, tags};
use crate::declaration::{self, Version};
use crate::profile::{BagFacts, Profile, TagFact, TagRule};
use crate::tag_file::{LARGEST, Tag, TagFile};
use crate::text::Charset;
use crate::{Problem, Serialization, Severity};

const BAG_INFO: &str = "bag-info.txt";
const IDENTIFIER: &str = "BagIt-Profile-Identifier";
const VERSION: &str = "1.0";
const ENCODING: &str = "UTF-8";

/// The payload as a survey has found it.
pub(super) struct Payload<'p> {
    pub(super) directory: &'p Path,
    pub(super) files: u64,
    pub(super) bytes: u64,
}

impl Profile {
    /// The tags that this profile requires and the options lack, which have no default. What the writer makes itself is not
    /// among them.
    pub fn missing_tags(&self, options: &BagOptions) -> Result<Vec<&TagRule>, WriteError> {
        let options = BagOptions { profile: Some(self.clone()), ..options.clone() };
        let given = all_tags(self, &options, 0, 0)?;
        let has = |rule: &TagRule| {
            given.iter().any(|tag| tag.file == rule.file && tag.label.eq_ignore_ascii_case(&rule.label))
        };
        let rules = self.tag_rules().iter();
        Ok(rules.filter(|rule| rule.required && rule.default.is_none() && !has(rule)).collect())
    }

    /// Algorithms that make the manifests this profile asks for: those it requires; where it requires none, SHA-512, or the
    /// first one that it allows.
    pub fn algorithms(&self) -> Vec<Algorithm> {
        let known =
            |names: &[String]| -> Vec<Algorithm> { names.iter().filter_map(|name| name.parse().ok()).collect() };
        let mut required = known(self.manifests_required());
        required.extend(known(self.tag_manifests_required()));
        let allowed = self.manifests_allowed().map(known);
        if required.is_empty() {
            required.push(match allowed.as_deref() {
                Some([first, ..]) => *allowed.iter().flatten().find(|one| **one == Algorithm::Sha512).unwrap_or(first),
                _ => Algorithm::Sha512,
            });
        }
        required.sort_unstable();
        required.dedup();
        required
    }
}

/// The tags of `bag-info.txt` as given, with the name of the profile where it is not among them.
pub(super) fn bag_info(options: &BagOptions) -> Vec<(String, String)> {
    let mut given = options.bag_info.clone();
    if let Some(profile) = options.profile.as_ref().filter(|profile| !profile.identifier().is_empty())
        && !given.iter().any(|(label, _)| label.eq_ignore_ascii_case(IDENTIFIER))
    {
        given.push((IDENTIFIER.to_owned(), profile.identifier().to_owned()));
    }
    given
}

/// Reports every way in which the bag would break the profile.
pub(super) fn check(
    profile: &Profile,
    payload: &Payload<'_>,
    target: &Path,
    options: &BagOptions,
    report: &mut dyn FnMut(Problem),
) -> Result<(), WriteError> {
    let tags = all_tags(profile, options, payload.files, payload.bytes)?;
    let tags: Vec<TagFact<'_>> =
        tags.iter().map(|tag| TagFact { file: &tag.file, label: &tag.label, value: &tag.value, line: None }).collect();
    let algorithms: Vec<String> = options.writer.algorithms.iter().map(ToString::to_string).collect();
    let mut tag_files = vec![declaration::FILE.to_owned(), BAG_INFO.to_owned()];
    for kind in ["manifest", "tagmanifest"] {
        tag_files.extend(algorithms.iter().map(|algorithm| format!("{kind}-{algorithm}.txt")));
    }
    tag_files.extend(options.tag_files.iter().map(|(path, _)| path.clone()));
    tag_files.extend(options.info_files.iter().map(|(path, _)| path.clone()));
    let failure = RefCell::new(None);
    let payload_paths = |take: &mut dyn FnMut(&str)| {
        let outcome = walk(payload.directory, &mut |found| {
            match found {
                Visited::File { name, .. } => take(&format!("data/{name}")),
                Visited::EmptyDirectory { name } if options.keep_empty_directories => {
                    take(&format!("data/{name}/{KEEP}").replace("//", "/"));
                }
                _ => {}
            }
            Ok(())
        });
        if let Err(error) = outcome {
            failure.borrow_mut().get_or_insert(error);
        }
    };
    let is_archive = options.form != Serialization::Directory;
    let name = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
    let name = name.file_name().map(|name| name.to_string_lossy().into_owned());
    let base_directory = match &options.writer.base_directory {
        Some(base) if is_archive => Some(base.clone()),
        _ if is_archive => archive_stem(target).ok(),
        _ => name.clone(),
    };
    let facts = BagFacts {
        version: Some(VERSION),
        encoding: Some(ENCODING),
        serialization: options.form.mime(),
        has_fetch: false,
        payload_manifests: &algorithms,
        tag_manifests: &algorithms,
        tag_files: &|take| tag_files.iter().for_each(|path| take(path)),
        tags: &tags,
        payload_paths: &payload_paths,
        payload_files: payload.files,
        payload_bytes: payload.bytes,
        base_directory: base_directory.as_deref(),
        archive_name: name.as_deref().filter(|_| is_archive),
        institution: None,
    };
    profile.check(&facts, &mut |mut problem| {
        // As in a check of the bag when it is there.
        if problem.code == "profile.base_directory_name" {
            problem.severity = Severity::Warning;
        }
        report(problem);
    });
    failure.into_inner().map_or(Ok(()), Err)
}

/// Every tag that the bag will have and that the profile may have rules for.
fn all_tags(profile: &Profile, options: &BagOptions, files: u64, bytes: u64) -> Result<Vec<Tag>, WriteError> {
    let tag = |file: &str, label: &str, value: &str| Tag {
        file: file.to_owned(),
        label: label.to_owned(),
        value: value.to_owned(),
        line: 0,
    };
    let mut all = vec![
        tag(declaration::FILE, "BagIt-Version", VERSION),
        tag(declaration::FILE, "Tag-File-Character-Encoding", ENCODING),
    ];
    let bag_info = tags::completed(&bag_info(options), options.writer.timestamp, files, bytes);
    let of_info_files = options.info_files.iter().map(|(file, tags)| (file.as_str(), tags));
    for (file, tags) in [(BAG_INFO, &bag_info)].into_iter().chain(of_info_files) {
        all.extend(tags.iter().map(|(label, value)| tag(file, label, value)));
    }
    for (path, file) in &options.tag_files {
        if profile.tag_files_with_rules().contains(&path.as_str()) {
            all.extend(read_tags(path, file)?);
        }
    }
    Ok(all)
}

/// Reads the tags of a file in the form of `bag-info.txt`, which is UTF-8; `name` is what it is called in the bag. A line that is
/// no tag is an error.
pub fn read_tags(name: &str, file: &Path) -> Result<Vec<Tag>, WriteError> {
    let failed = |source| WriteError::io("read", file, source);
    let opened = crate::source::open_regular(file).map_err(failed)?;
    let tag_file = TagFile { name, charset: Charset::UTF_8, version: Version::V0_97 };
    let mut wrong: Option<Problem> = None;
    let tags = tag_file.parse(opened.take(LARGEST as u64 + 1), &mut |problem| {
        if problem.severity == Severity::Error {
            wrong.get_or_insert(problem);
        }
    });
    let tags = tags.map_err(failed)?;
    match wrong {
        None => Ok(tags),
        Some(problem) => {
            let line = problem.line.map(|line| format!("line {line}: ")).unwrap_or_default();
            Err(WriteError::TagFile { path: file.to_owned(), reason: format!("{line}{}", problem.message) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_profiles_say_which_tags_they_miss() {
        let profile = Profile::builtin("aptrust-2.3").unwrap();
        let labels = |options: &BagOptions| -> Vec<String> {
            profile.missing_tags(options).unwrap().iter().map(|rule| format!("{}/{}", rule.file, rule.label)).collect()
        };
        let mut options = BagOptions::default();
        let all = labels(&options);
        assert!(all.contains(&"aptrust-info.txt/Title".to_owned()), "{all:?}");
        assert!(!all.iter().any(|label| label.contains("Payload-Oxum") || label.contains(IDENTIFIER)), "{all:?}");
        let title = ("title".to_owned(), "A".to_owned());
        options.info_files.push(("aptrust-info.txt".to_owned(), vec![title]));
        assert!(!labels(&options).contains(&"aptrust-info.txt/Title".to_owned()));
    }
}
