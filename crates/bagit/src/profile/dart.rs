//! Reads a profile in the form of APTrust's DART: fields in camel case, one list of tags of all tag files.
//!
//! A `defaultValue` there is what DART offers to the person who bags, not what holds where a tag is absent, so it is
//! not taken as a default.

use serde_json::{Map, Value};

use super::document::Reader;
use super::{Profile, SerializationRule, TagRule};

pub(super) fn is_dart(fields: &Map<String, Value>) -> bool {
    fields.contains_key("bagItProfileInfo")
        || (fields.contains_key("acceptBagItVersion") && fields.contains_key("tags"))
}

pub(super) fn read(reader: &mut Reader, fields: &Map<String, Value>) -> Profile {
    let mut profile = Profile::blank();
    profile.name = reader.text(fields, "name").unwrap_or_default();
    profile.description = reader.text(fields, "description").unwrap_or_default();
    if let Some(info) = reader.object(fields, "bagItProfileInfo") {
        profile.identifier = reader.text(info, "bagItProfileIdentifier").unwrap_or_default();
        profile.version = reader.text(info, "version").unwrap_or_default();
        profile.source_organization = reader.text(info, "sourceOrganization").unwrap_or_default();
    }
    // DART validates bags without this tag, unless the profile lists it among its tags.
    profile.identifier_required = false;
    profile.ignore_case_of_values = true;
    profile.forbid_control_characters = true;
    profile.accept_versions = reader.list(fields, "acceptBagItVersion").unwrap_or_default();
    profile.accept_serialization = reader.list(fields, "acceptSerialization").unwrap_or_default();
    profile.serialization = match reader.text(fields, "serialization").as_deref() {
        Some("forbidden") => SerializationRule::Forbidden,
        Some("required") => SerializationRule::Required,
        Some("optional" | "") | None => SerializationRule::Optional,
        Some(other) => {
            reader.report("field_value", format!("serialization is {other:?}, not forbidden, required or optional"));
            SerializationRule::Optional
        }
    };
    profile.allow_fetch = reader.boolean(fields, "allowFetchTxt").unwrap_or(true);
    profile.manifests_required = reader.algorithms(fields, "manifestsRequired").unwrap_or_default();
    profile.manifests_allowed = some_if_any(reader.algorithms(fields, "manifestsAllowed"));
    profile.tag_manifests_required = reader.algorithms(fields, "tagManifestsRequired").unwrap_or_default();
    profile.tag_manifests_allowed = some_if_any(reader.algorithms(fields, "tagManifestsAllowed"));
    profile.tag_files_required = reader.list(fields, "tagFilesRequired").unwrap_or_default();
    profile.tag_files_allowed = reader.patterns(fields, "tagFilesAllowed").filter(|patterns| !patterns.is_empty());
    profile.base_directory_matches_archive = reader.boolean(fields, "tarDirMustMatchName").unwrap_or(false);
    match fields.get("tags") {
        Some(Value::Array(tags)) => tags.iter().for_each(|tag| read_tag(reader, tag, &mut profile)),
        Some(other) => reader.wrong_type("tags", "a list of objects", other),
        None => {}
    }
    profile
}

fn read_tag(reader: &mut Reader, tag: &Value, profile: &mut Profile) {
    let Value::Object(tag) = tag else { return reader.wrong_type("an item of tags", "an object", tag) };
    let (Some(file), Some(label)) = (reader.text(tag, "tagFile"), reader.text(tag, "tagName")) else {
        return reader.report("field_missing", "an item of tags lacks tagFile or tagName".to_owned());
    };
    let values = match tag.get("values") {
        None | Some(Value::Null) => Vec::new(),
        Some(_) => reader.list(tag, "values").unwrap_or_default(),
    };
    match (file.as_str(), label.as_str()) {
        // Said once, by the list of accepted versions.
        ("bagit.txt", "BagIt-Version") => {
            if profile.accept_versions.is_empty() {
                profile.accept_versions = values;
            }
        }
        ("bagit.txt", "Tag-File-Character-Encoding") => profile.accept_encodings = values,
        _ => {
            let required = reader.boolean(tag, "required").unwrap_or(false);
            // Both spellings are in use; absent means no. It binds required tags only.
            let may_be_empty =
                reader.boolean(tag, "emptyOk").or_else(|| reader.boolean(tag, "emptyOK")).unwrap_or(false);
            profile.tag_rules.push(TagRule {
                file,
                label,
                required,
                empty: Some(may_be_empty || !required),
                values,
                repeatable: true,
                default: None,
                description: reader.text(tag, "help"),
            });
        }
    }
}

/// DART writes an empty list where everything is allowed.
fn some_if_any<T>(list: Option<Vec<T>>) -> Option<Vec<T>> {
    list.filter(|list| !list.is_empty())
}
