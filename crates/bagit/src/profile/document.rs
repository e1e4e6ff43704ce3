//! Reads a profile from JSON in the form of BagIt Profiles 1.4 and our superset of it, and says what is wrong with the
//! document. What is wrong is reported and read as meant where that is plain, else left out.

use serde_json::{Map, Value};

use super::codes::severity;
use super::{BAG_INFO, IDENTIFIER, Patterns, Profile, ProfileError, SerializationRule, TagRule, dart, same_label};
use crate::Problem;

/// A profile is a page or two; this bounds what a stranger's document can cost.
const LENGTH_LIMIT: usize = 1 << 20;

const INFO: &str = "BagIt-Profile-Info";
const SERIALIZATION: &str = "Serialization";
const ACCEPT_SERIALIZATION: &str = "Accept-Serialization";
const ACCEPT_VERSION: &str = "Accept-BagIt-Version";
const ALLOW_FETCH: &str = "Allow-Fetch.txt";
const FETCH_REQUIRED: &str = "Fetch.txt-Required";

/// Fields of BagIt Profiles 1.4.
const STANDARD_FIELDS: [&str; 16] = [
    INFO,
    "Bag-Info",
    "Manifests-Required",
    "Manifests-Allowed",
    ALLOW_FETCH,
    FETCH_REQUIRED,
    "Data-Empty",
    SERIALIZATION,
    ACCEPT_SERIALIZATION,
    ACCEPT_VERSION,
    "Tag-Manifests-Required",
    "Tag-Manifests-Allowed",
    "Tag-Files-Required",
    "Tag-Files-Allowed",
    "Payload-Files-Required",
    "Payload-Files-Allowed",
];

/// Fields of the superset.
const OWN_FIELDS: [&str; 6] = [
    "Tag-Files",
    "Accept-Encoding",
    "Identifier-Required",
    "Base-Directory-Matches-Archive",
    "Forbid-Control-Characters",
    "Ignore-Case-Of-Values",
];

impl Profile {
    /// The length of the longest document that is read, in bytes.
    pub const LONGEST_DOCUMENT: usize = LENGTH_LIMIT;

    /// Reads a profile from JSON, with all that is wrong with the document (codes `profile.document...`). A document with
    /// errors still gives a profile of what could be read; whether to use it is the caller's decision.
    ///
    /// Three forms are known: BagIt Profiles 1.4; that of DART (fields in camel case, a list of `tags`); and 1.4 with more:
    ///
    /// - `Tag-Files`: object of tag file to object of label to rule, like `Bag-Info`;
    /// - in a rule, `empty` (boolean: whether the tag may be empty) and `default` (the value that holds where it is absent);
    /// - `Accept-Encoding`: list of encodings `bagit.txt` may declare;
    /// - `Identifier-Required` (default true): whether bags must name the profile;
    /// - `Base-Directory-Matches-Archive`, `Forbid-Control-Characters`, `Ignore-Case-Of-Values` (default false).
    pub fn parse(document: &[u8]) -> Result<(Self, Vec<Problem>), ProfileError> {
        if document.len() > LENGTH_LIMIT {
            return Err(ProfileError::TooLong { length: document.len(), limit: LENGTH_LIMIT });
        }
        let value: Value = serde_json::from_slice(document).map_err(ProfileError::NotJson)?;
        let Value::Object(fields) = value else {
            return Err(ProfileError::NotAnObject { found: kind(&value) });
        };
        let mut reader = Reader { problems: Vec::new() };
        let profile =
            if dart::is_dart(&fields) { dart::read(&mut reader, &fields) } else { read_standard(&mut reader, &fields) };
        Ok((profile, reader.problems))
    }
}

fn read_standard(reader: &mut Reader, fields: &Map<String, Value>) -> Profile {
    let mut profile = Profile::blank();
    reader.unknown_fields("the profile", fields, &[&STANDARD_FIELDS, &OWN_FIELDS]);
    read_info(reader, fields, &mut profile);
    read_tag_rules(reader, fields, &mut profile);

    profile.manifests_required = reader.algorithms(fields, "Manifests-Required").unwrap_or_default();
    profile.manifests_allowed = reader.algorithms(fields, "Manifests-Allowed");
    reader.within("Manifests", &profile.manifests_required, profile.manifests_allowed.as_deref());
    profile.tag_manifests_required = reader.algorithms(fields, "Tag-Manifests-Required").unwrap_or_default();
    profile.tag_manifests_allowed = reader.algorithms(fields, "Tag-Manifests-Allowed");
    reader.within("Tag-Manifests", &profile.tag_manifests_required, profile.tag_manifests_allowed.as_deref());

    profile.tag_files_required = reader.list(fields, "Tag-Files-Required").unwrap_or_default();
    profile.tag_files_allowed = reader.patterns(fields, "Tag-Files-Allowed");
    reader.covered("Tag-Files", &profile.tag_files_required, profile.tag_files_allowed.as_ref());
    for needless in profile.tag_files_required.iter().filter(|path| is_required_elsewhere(path)) {
        reader
            .report("needless", format!("Tag-Files-Required should not list {needless:?}, which other rules require"));
    }
    profile.payload_files_required = reader.list(fields, "Payload-Files-Required").unwrap_or_default();
    profile.payload_files_allowed = reader.patterns(fields, "Payload-Files-Allowed");
    reader.covered("Payload-Files", &profile.payload_files_required, profile.payload_files_allowed.as_ref());
    for path in profile.payload_files_required.iter().filter(|path| !path.starts_with("data/")) {
        reader.report("field_value", format!("Payload-Files-Required lists {path:?}, which is not in data/"));
    }

    profile.allow_fetch = reader.boolean(fields, ALLOW_FETCH).unwrap_or(true);
    profile.fetch_required = reader.boolean(fields, FETCH_REQUIRED).unwrap_or(false);
    if profile.fetch_required && !profile.allow_fetch {
        reader.report("contradiction", format!("{FETCH_REQUIRED} is true, but {ALLOW_FETCH} is false"));
    }
    profile.data_empty = reader.boolean(fields, "Data-Empty").unwrap_or(false);
    if profile.data_empty && !profile.payload_files_required.is_empty() {
        let listed = profile.payload_files_required.len();
        // One empty file, or one directory that holds it, can be in a payload that counts as empty.
        if listed > 1 {
            reader.report(
                "contradiction",
                format!("Data-Empty is true, but Payload-Files-Required lists {listed} paths"),
            );
        }
    }
    read_serialization(reader, fields, &mut profile);

    profile.accept_versions = reader.list(fields, ACCEPT_VERSION).unwrap_or_default();
    if profile.accept_versions.is_empty() {
        reader.report("field_missing", format!("{ACCEPT_VERSION} must list at least one version"));
    }
    for version in profile.accept_versions.iter().filter(|version| !is_version(version, 2)) {
        reader.report("field_value", format!("{ACCEPT_VERSION} lists {version:?}, which is not of the form M.N"));
    }

    profile.accept_encodings = reader.list(fields, "Accept-Encoding").unwrap_or_default();
    profile.identifier_required = reader.boolean(fields, "Identifier-Required").unwrap_or(true);
    profile.base_directory_matches_archive = reader.boolean(fields, "Base-Directory-Matches-Archive").unwrap_or(false);
    profile.forbid_control_characters = reader.boolean(fields, "Forbid-Control-Characters").unwrap_or(false);
    profile.ignore_case_of_values = reader.boolean(fields, "Ignore-Case-Of-Values").unwrap_or(false);
    check_defaults(reader, &profile);
    profile
}

fn read_info(reader: &mut Reader, fields: &Map<String, Value>, profile: &mut Profile) {
    let info = match fields.get(INFO) {
        Some(Value::Object(info)) => info,
        Some(other) => return reader.wrong_type(INFO, "an object", other),
        None => return reader.report("field_missing", format!("{INFO} is missing")),
    };
    profile.source_organization = reader.required_text(info, "Source-Organization");
    profile.description = reader.required_text(info, "External-Description");
    profile.version = reader.required_text(info, "Version");
    profile.identifier = reader.required_text(info, IDENTIFIER);
    if !profile.identifier.is_empty() && url::Url::parse(&profile.identifier).is_err() {
        reader.report("field_value", format!("{IDENTIFIER} {:?} is not a URI", profile.identifier));
    }
    // Absent means 1.1.0: the field came with 1.2.
    if let Some(specification) = reader.text(info, "BagIt-Profile-Version")
        && !is_version(&specification, 3)
    {
        reader.report("field_value", format!("BagIt-Profile-Version {specification:?} is not of the form M.N.P"));
    }
    for contact in ["Contact-Name", "Contact-Phone", "Contact-Email"] {
        reader.text(info, contact);
    }
}

fn read_serialization(reader: &mut Reader, fields: &Map<String, Value>, profile: &mut Profile) {
    let stated = reader.text(fields, SERIALIZATION);
    profile.serialization = match stated.as_deref() {
        Some("forbidden") => SerializationRule::Forbidden,
        Some("required") => SerializationRule::Required,
        Some("optional") | None => SerializationRule::Optional,
        Some(other) => {
            reader.report("field_value", format!("{SERIALIZATION} is {other:?}, not forbidden, required or optional"));
            SerializationRule::Optional
        }
    };
    profile.accept_serialization = reader.list(fields, ACCEPT_SERIALIZATION).unwrap_or_default();
    if stated.is_some()
        && profile.serialization != SerializationRule::Forbidden
        && profile.accept_serialization.is_empty()
    {
        reader.report(
            "field_missing",
            format!("{ACCEPT_SERIALIZATION} must list at least one MIME type unless serialization is forbidden"),
        );
    }
    for mime in profile.accept_serialization.iter().filter(|mime| !mime.contains('/')) {
        reader.report("field_value", format!("{ACCEPT_SERIALIZATION} lists {mime:?}, which is no MIME type"));
    }
}

fn read_tag_rules(reader: &mut Reader, fields: &Map<String, Value>, profile: &mut Profile) {
    if let Some(tags) = reader.object(fields, "Bag-Info") {
        read_tags(reader, BAG_INFO, tags, profile);
        if tags.keys().any(|label| same_label(label, IDENTIFIER)) {
            reader.report("needless", format!("Bag-Info should not list {IDENTIFIER}, which is always required"));
        }
    }
    for (file, tags) in reader.object(fields, "Tag-Files").into_iter().flatten() {
        match tags {
            Value::Object(tags) => read_tags(reader, file, tags, profile),
            other => reader.wrong_type(&format!("Tag-Files/{file}"), "an object", other),
        }
    }
}

fn read_tags(reader: &mut Reader, file: &str, tags: &Map<String, Value>, profile: &mut Profile) {
    for (label, rule) in tags {
        let place = format!("{file}/{label}");
        let Value::Object(rule) = rule else {
            reader.wrong_type(&place, "an object", rule);
            continue;
        };
        reader.unknown_fields(
            &place,
            rule,
            &[&["required", "values", "repeatable", "description", "empty", "default"]],
        );
        if profile.tag_rules.iter().any(|known| known.file == file && same_label(&known.label, label)) {
            reader.report("contradiction", format!("{file} has two rules for the tag {label}"));
        }
        let tag_rule = reader.at(&place, |reader| TagRule {
            file: file.to_owned(),
            label: label.clone(),
            required: reader.boolean(rule, "required").unwrap_or(false),
            empty: reader.boolean(rule, "empty"),
            values: reader.list(rule, "values").unwrap_or_default(),
            repeatable: reader.boolean(rule, "repeatable").unwrap_or(true),
            default: reader.text(rule, "default"),
            description: reader.text(rule, "description"),
        });
        profile.tag_rules.push(tag_rule);
    }
}

fn check_defaults(reader: &mut Reader, profile: &Profile) {
    for rule in &profile.tag_rules {
        if let Some(default) = &rule.default
            && !rule.values.is_empty()
            && !rule.values.contains(default)
        {
            reader.report(
                "contradiction",
                format!("the default {default:?} of {}/{} is not among its values", rule.file, rule.label),
            );
        }
    }
}

/// Tag files whose presence other rules ask for, which `Tag-Files-Required` should leave out.
fn is_required_elsewhere(path: &str) -> bool {
    path == BAG_INFO || path == "bagit.txt" || path.starts_with("manifest-") || path.starts_with("tagmanifest-")
}

fn is_version(text: &str, parts: usize) -> bool {
    text.split('.').count() == parts
        && text.split('.').all(|part| !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit()))
}

pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Reads typed fields and keeps what is wrong with them.
pub(super) struct Reader {
    problems: Vec<Problem>,
}

impl Reader {
    /// Reports under `profile.document.` and the given word.
    pub(super) fn report(&mut self, word: &str, message: String) {
        let code = format!("profile.document.{word}");
        self.problems.push(Problem { severity: severity(&code), code, file: None, path: None, line: None, message });
    }

    pub(super) fn wrong_type(&mut self, field: &str, wanted: &str, found: &Value) {
        self.report("field_type", format!("{field} must be {wanted}, not {}", kind(found)));
    }

    /// Reads a part, and puts its place before what is found wrong in it.
    fn at<T>(&mut self, place: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.problems.len();
        let result = read(self);
        for problem in self.problems.iter_mut().skip(before) {
            problem.message = format!("{place}: {}", problem.message);
        }
        result
    }

    fn unknown_fields(&mut self, place: &str, fields: &Map<String, Value>, known: &[&[&str]]) {
        for field in fields.keys().filter(|field| !known.iter().any(|names| names.contains(&field.as_str()))) {
            self.report("field_unknown", format!("{place} has an unknown field {field:?}"));
        }
    }

    pub(super) fn text(&mut self, fields: &Map<String, Value>, field: &str) -> Option<String> {
        match fields.get(field)? {
            Value::String(text) => Some(text.clone()),
            other => {
                self.wrong_type(field, "a string", other);
                None
            }
        }
    }

    fn required_text(&mut self, fields: &Map<String, Value>, field: &str) -> String {
        if !fields.contains_key(field) {
            self.report("field_missing", format!("{INFO}/{field} is missing"));
        }
        let text = self.text(fields, field);
        if text.as_deref().is_some_and(|text| text.trim().is_empty()) {
            self.report("field_value", format!("{INFO}/{field} is empty"));
        }
        text.unwrap_or_default()
    }

    pub(super) fn boolean(&mut self, fields: &Map<String, Value>, field: &str) -> Option<bool> {
        let value = fields.get(field)?;
        if let Value::Bool(boolean) = value {
            return Some(*boolean);
        }
        self.wrong_type(field, "true or false", value);
        // A string or number in its place is a common slip, and what it means is plain.
        match value {
            Value::String(text) => text.trim().to_ascii_lowercase().parse().ok(),
            _ => None,
        }
    }

    pub(super) fn object<'v>(&mut self, fields: &'v Map<String, Value>, field: &str) -> Option<&'v Map<String, Value>> {
        match fields.get(field)? {
            Value::Object(object) => Some(object),
            other => {
                self.wrong_type(field, "an object", other);
                None
            }
        }
    }

    pub(super) fn list(&mut self, fields: &Map<String, Value>, field: &str) -> Option<Vec<String>> {
        let items = match fields.get(field)? {
            Value::Array(items) => items,
            other => {
                self.wrong_type(field, "a list of strings", other);
                return None;
            }
        };
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Value::String(text) => list.push(text.clone()),
                other => self.report("field_type", format!("{field} must list strings, not {}", kind(other))),
            }
        }
        Some(list)
    }

    pub(super) fn patterns(&mut self, fields: &Map<String, Value>, field: &str) -> Option<Patterns> {
        self.list(fields, field).map(Patterns::new)
    }

    pub(super) fn algorithms(&mut self, fields: &Map<String, Value>, field: &str) -> Option<Vec<String>> {
        let mut list = self.list(fields, field)?;
        for name in &mut list {
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
                self.report("field_value", format!("{field} lists {name:?}; algorithms are written like sha256"));
                *name = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
            }
        }
        Some(list)
    }

    fn within(&mut self, what: &str, required: &[String], allowed: Option<&[String]>) {
        let Some(allowed) = allowed else { return };
        for missing in required.iter().filter(|name| !allowed.contains(name)) {
            self.report("not_allowed", format!("{what}-Required lists {missing:?}, which {what}-Allowed leaves out"));
        }
    }

    fn covered(&mut self, what: &str, required: &[String], allowed: Option<&Patterns>) {
        let Some(allowed) = allowed else { return };
        for missing in required.iter().filter(|path| !allowed.matches(path)) {
            self.report("not_allowed", format!("{what}-Required lists {missing:?}, which {what}-Allowed leaves out"));
        }
    }
}
