//! Checks a bag against a profile, from facts gathered by the caller that has read the bag.
//!
//! Everything is reported, in the order of the specification: container and version first, whose failure it calls fatal,
//! then the rest. A caller that wants to stop there looks for `profile.serialization` and `profile.version`.

use std::cell::RefCell;
use std::collections::HashMap;

use super::codes::severity;
use super::names::has_control_character;
use super::{BAG_INFO, BagFacts, IDENTIFIER, Patterns, Profile, SerializationRule, TagFact, TagRule, same_label};
use crate::Problem;
use crate::declaration::shorten;
use crate::manifest::ManifestName;
use crate::part::split_part;

impl Profile {
    /// Reports every way in which a bag breaks this profile. Memory does not grow with the number of files.
    pub fn check(&self, facts: &BagFacts<'_>, report: &mut dyn FnMut(Problem)) {
        let check = Check { profile: self, facts, report: RefCell::new(report) };
        check.serialization();
        check.version_and_encoding();
        check.fetch();
        check.manifests();
        check.identifier();
        for rule in &self.tag_rules {
            check.tag(rule);
        }
        check.tag_files();
        check.payload_files();
        check.base_directory();
    }
}

struct Check<'a, 'f> {
    profile: &'a Profile,
    facts: &'a BagFacts<'f>,
    report: RefCell<&'a mut dyn FnMut(Problem)>,
}

impl Check<'_, '_> {
    fn problem(&self, word: &str, file: Option<&str>, path: Option<&str>, line: Option<u64>, message: String) {
        let code = format!("profile.{word}");
        (*self.report.borrow_mut())(Problem {
            severity: severity(&code),
            code,
            file: file.map(str::to_owned),
            path: path.map(str::to_owned),
            line,
            message,
        });
    }

    fn serialization(&self) {
        let profile = self.profile;
        let accepted = profile.accept_serialization.join(", ");
        match (self.facts.serialization, profile.serialization) {
            (None, SerializationRule::Required) => self.problem(
                "serialization",
                None,
                None,
                None,
                format!("the bag is a directory, but the profile requires an archive of type {accepted}"),
            ),
            (Some(mime), SerializationRule::Forbidden) => self.problem(
                "serialization",
                None,
                None,
                None,
                format!("the bag is an archive ({mime}), but the profile requires a directory"),
            ),
            (Some(mime), _)
                if !profile.accept_serialization.is_empty()
                    && !profile.accept_serialization.iter().any(|accepted| same_mime(accepted, mime)) =>
            {
                self.problem(
                    "serialization",
                    None,
                    None,
                    None,
                    format!("the bag is an archive of type {mime}, but the profile allows {accepted}"),
                );
            }
            _ => {}
        }
    }

    fn version_and_encoding(&self) {
        let accepted = &self.profile.accept_versions;
        if let Some(version) = self.facts.version
            && !accepted.is_empty()
            && !accepted.iter().any(|known| known == version.trim())
        {
            self.problem(
                "version",
                Some("bagit.txt"),
                None,
                Some(1),
                format!("BagIt version {version:?} is not among those the profile allows: {}", accepted.join(", ")),
            );
        }
        let accepted = &self.profile.accept_encodings;
        if let Some(encoding) = self.facts.encoding
            && !accepted.is_empty()
            && !accepted.iter().any(|known| known.eq_ignore_ascii_case(encoding.trim()))
        {
            self.problem(
                "encoding",
                Some("bagit.txt"),
                None,
                Some(2),
                format!("encoding {encoding:?} is not among those the profile allows: {}", accepted.join(", ")),
            );
        }
    }

    fn fetch(&self) {
        let file = Some("fetch.txt");
        if self.facts.has_fetch && !self.profile.allow_fetch {
            self.problem("fetch_not_allowed", file, None, None, "the profile does not allow fetch.txt".to_owned());
        }
        if !self.facts.has_fetch && self.profile.fetch_required {
            self.problem("fetch_required", file, None, None, "fetch.txt is missing".to_owned());
        }
    }

    fn manifests(&self) {
        let (profile, facts) = (self.profile, self.facts);
        self.manifest_set(
            "manifest",
            facts.payload_manifests,
            &profile.manifests_required,
            profile.manifests_allowed.as_deref(),
        );
        self.manifest_set(
            "tagmanifest",
            facts.tag_manifests,
            &profile.tag_manifests_required,
            profile.tag_manifests_allowed.as_deref(),
        );
    }

    fn manifest_set(&self, prefix: &str, present: &[String], required: &[String], allowed: Option<&[String]>) {
        let code = if prefix == "manifest" { "manifest" } else { "tag_manifest" };
        for missing in required.iter().filter(|name| !present.contains(name)) {
            let file = format!("{prefix}-{missing}.txt");
            self.problem(&format!("{code}_required"), Some(&file), None, None, format!("{file} is missing"));
        }
        let Some(allowed) = allowed else { return };
        for extra in present.iter().filter(|name| !allowed.contains(name)) {
            let file = format!("{prefix}-{extra}.txt");
            let message = format!("{file} is not allowed; allowed are the algorithms {}", allowed.join(", "));
            self.problem(&format!("{code}_not_allowed"), Some(&file), None, None, message);
        }
    }

    fn identifier(&self) {
        if !self.profile.identifier_required {
            return;
        }
        let mut named = self.tags_of(BAG_INFO, IDENTIFIER).peekable();
        let Some(first) = named.peek().copied() else {
            let message = format!("{IDENTIFIER} is missing; it should name {}", self.profile.identifier);
            return self.problem("identifier_missing", Some(BAG_INFO), None, None, message);
        };
        if !named.any(|tag| self.profile.is_named_by(tag.value)) {
            let message = format!("{IDENTIFIER} is {:?}, not {}", shorten(first.value), self.profile.identifier);
            self.problem("identifier_other", Some(BAG_INFO), None, first.line, message);
        }
    }

    fn tags_of<'s>(&'s self, file: &'s str, label: &'s str) -> impl Iterator<Item = TagFact<'s>> {
        self.facts.tags.iter().copied().filter(move |tag| tag.file == file && same_label(tag.label, label))
    }

    fn tag(&self, rule: &TagRule) {
        let file = Some(rule.file.as_str());
        let mut count = 0_u64;
        for tag in self.tags_of(&rule.file, &rule.label) {
            count += 1;
            self.tag_value(rule, tag);
            if count > 1 && !rule.repeatable {
                let message = format!("{} is given more than once", rule.label);
                self.problem("tag_repeated", file, None, tag.line, message);
            }
        }
        if count == 0 && rule.required && rule.default.is_none() {
            self.problem("tag_required", file, None, None, format!("required tag {} is missing", rule.label));
        }
    }

    fn tag_value(&self, rule: &TagRule, tag: TagFact<'_>) {
        let file = Some(rule.file.as_str());
        if tag.value.trim().is_empty() {
            match rule.empty {
                Some(true) => return,
                Some(false) => {
                    return self.problem("tag_empty", file, None, tag.line, format!("{} has no value", rule.label));
                }
                None => {}
            }
        }
        if !rule.values.is_empty() && !rule.values.iter().any(|legal| self.profile.same_value(legal, tag.value)) {
            let message = format!("{} is {:?}; allowed are {}", rule.label, shorten(tag.value), rule.values.join(", "));
            self.problem("tag_value", file, None, tag.line, message);
        }
    }

    fn tag_files(&self) {
        let profile = self.profile;
        let mut required = Required::new(&profile.tag_files_required);
        (self.facts.tag_files)(&mut |path| {
            self.name(path);
            required.found(path);
            if !is_governed_elsewhere(path) && !is_allowed(profile.tag_files_allowed.as_ref(), path) {
                let message = format!("the profile does not allow the tag file {path:?}");
                self.problem("tag_file_not_allowed", None, Some(path), None, message);
            }
        });
        for missing in required.missing() {
            let message = format!("required tag file {missing:?} is missing");
            self.problem("tag_file_required", None, Some(missing), None, message);
        }
    }

    fn payload_files(&self) {
        let (profile, facts) = (self.profile, self.facts);
        let mut required = Required::new(&profile.payload_files_required);
        (facts.payload_paths)(&mut |path| {
            self.name(path);
            required.found(path);
            if !is_allowed(profile.payload_files_allowed.as_ref(), path) {
                let message = format!("the profile does not allow the payload file {path:?}");
                self.problem("payload_file_not_allowed", None, Some(path), None, message);
            }
        });
        for missing in required.missing() {
            let what = if missing.ends_with('/') { "directory" } else { "file" };
            let message = format!("required payload {what} {missing:?} is missing");
            self.problem("payload_file_required", None, Some(missing), None, message);
        }
        let is_empty = facts.payload_files == 0 || (facts.payload_files == 1 && facts.payload_bytes == 0);
        if profile.data_empty && !is_empty {
            let message = format!(
                "data/ has {} files with {} bytes; the profile allows no file, or one without a byte",
                facts.payload_files, facts.payload_bytes
            );
            self.problem("data_not_empty", None, None, None, message);
        }
    }

    fn name(&self, path: &str) {
        if self.profile.forbid_control_characters && has_control_character(path) {
            let message = format!("the name {path:?} has a control character");
            self.problem("name_control_character", None, Some(path), None, message);
        }
    }

    fn base_directory(&self) {
        let (Some(directory), Some(archive)) = (self.facts.base_directory, self.facts.archive_name) else { return };
        if self.profile.base_directory_matches_archive && !names_match(directory, archive, self.facts.institution) {
            let message = format!("the top directory is {directory:?}, but the archive is {archive:?}");
            self.problem("base_directory_name", None, None, None, message);
        }
    }
}

/// Files that are judged as manifests, declaration or fetch list, not as tag files.
fn is_governed_elsewhere(path: &str) -> bool {
    matches!(path, "bagit.txt" | "bag-info.txt" | "fetch.txt") || ManifestName::parse(path).is_some()
}

fn is_allowed(allowed: Option<&Patterns>, path: &str) -> bool {
    allowed.is_none_or(|patterns| patterns.matches(path))
}

/// Paths that have to be there, and which of them were seen. One that ends in `/` is a directory with something in it.
struct Required<'p> {
    seen: HashMap<&'p str, bool>,
    in_order: &'p [String],
}

impl<'p> Required<'p> {
    fn new(paths: &'p [String]) -> Self {
        Self { seen: paths.iter().map(|path| (path.as_str(), false)).collect(), in_order: paths }
    }

    fn found(&mut self, path: &str) {
        if self.seen.is_empty() {
            return;
        }
        let directories = path.match_indices('/').map(|(at, _)| &path[..=at]);
        for name in directories.chain([path]) {
            if let Some(seen) = self.seen.get_mut(name) {
                *seen = true;
            }
        }
    }

    fn missing(&self) -> impl Iterator<Item = &'p str> {
        self.in_order.iter().map(String::as_str).filter(|&path| self.seen.get(path) == Some(&false))
    }
}

/// Whether two MIME types mean the same container. Several spellings of each are in use.
fn same_mime(left: &str, right: &str) -> bool {
    canonical_mime(left) == canonical_mime(right)
}

fn canonical_mime(mime: &str) -> String {
    let mime = mime.trim().to_ascii_lowercase();
    match mime.as_str() {
        "application/x-tar" => "application/tar",
        "application/x-zip" | "application/x-zip-compressed" => "application/zip",
        "application/x-gzip"
        | "application/tar+gzip"
        | "application/x-gtar"
        | "application/x-compressed-tar"
        | "application/tgz"
        | "application/x-tgz" => "application/gzip",
        other => other,
    }
    .to_owned()
}

/// Whether the top directory is named like the archive, with or without the archive's leading `institution.`.
fn names_match(directory: &str, archive: &str, institution: Option<&str>) -> bool {
    let stem = without_extension(archive);
    [Some(stem), split_part(stem).map(|(whole, ..)| whole)].into_iter().flatten().any(|name| {
        name == directory
            || name.strip_suffix(directory).and_then(|rest| rest.strip_suffix('.')).is_some_and(|prefix| {
                match institution {
                    Some(institution) => prefix.eq_ignore_ascii_case(institution),
                    None => is_domain_name(prefix),
                }
            })
    })
}

fn without_extension(archive: &str) -> &str {
    [".tar.gz", ".tar.gzip", ".tgz", ".tar", ".zip"]
        .into_iter()
        .find_map(|extension| {
            let at = archive.len().checked_sub(extension.len())?;
            archive.get(at..)?.eq_ignore_ascii_case(extension).then(|| archive.get(..at))?
        })
        .unwrap_or(archive)
}

fn is_domain_name(text: &str) -> bool {
    text.contains('.')
        && text
            .split('.')
            .all(|label| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_directory_may_leave_out_the_institution() {
        for (directory, archive, institution, expected) in [
            ("example.edu.bag", "example.edu.bag.tar", None, true),
            ("bag", "example.edu.bag.tar", None, true),
            ("bag", "example.edu.bag.TAR.GZ", Some("example.edu"), true),
            ("bag", "other.edu.bag.tar", Some("example.edu"), false),
            ("bag", "prefix.bag.tar", None, false),
            ("wrong", "example.edu.bag.tar", None, false),
            ("ag", "example.edu.bag.tar", None, false),
            ("some.file", "example.edu.some.file.b001.of200.tar", None, true),
            ("some.file.b001.of200", "example.edu.some.file.b001.of200.tar", None, true),
            ("", ".tar", None, true),
            ("é", "é", None, true),
        ] {
            assert_eq!(names_match(directory, archive, institution), expected, "{directory} {archive}");
        }
    }
}
