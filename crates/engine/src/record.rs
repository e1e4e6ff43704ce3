//! `metadata/vN/record.jsonl`: what an object's folder must say for a registry to be made from the stores alone. One JSON
//! object a line: the object and version, then every file that the version brings, then its events.

use std::io::{self, BufRead, Read as _, Write};

use serde::{Deserialize, Serialize};
use strongroom_registry::events::EventRow;
use strongroom_registry::objects::Digests;
use strongroom_registry::{
    ContentId, Description, FileId, Format, GenerationId, InstitutionId, ItemId, ObjectId, Origin, VersionId,
};

/// The form written today.
pub(crate) const FORM: u32 = 1;

/// The logical path of the record of a version.
pub(crate) fn path(version: u64) -> String {
    format!("metadata/v{version}/record.jsonl")
}

/// The format of a record itself, which no reader needs to detect.
pub(crate) fn format() -> Format {
    Format { mime: Some("application/jsonl".into()), ..Format::default() }
}

/// One line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "lowercase")]
pub(crate) enum Line {
    /// The first line.
    Version(Box<VersionLine>),
    /// A path that the version before had, and this one does not have.
    Removal(RemovalLine),
    /// A file that gets a content with this version.
    File(Box<FileLine>),
    /// An event of this version.
    Event(Box<EventRow>),
}

/// The object and this version of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct VersionLine {
    pub(crate) form: u32,
    pub(crate) institution: String,
    pub(crate) institution_id: InstitutionId,
    pub(crate) institution_name: String,
    pub(crate) collection: Option<String>,
    pub(crate) object: ObjectId,
    pub(crate) identifier: String,
    pub(crate) ark: Option<String>,
    pub(crate) object_created_at: i64,
    pub(crate) generation: GenerationId,
    pub(crate) version: u64,
    pub(crate) version_id: VersionId,
    pub(crate) created_at: i64,
    pub(crate) message: String,
    pub(crate) user: String,
    #[serde(default, skip_serializing_if = "HarvestedFrom::is_absent")]
    pub(crate) harvested_from: HarvestedFrom,
    pub(crate) item: ItemId,
    pub(crate) description: Description,
    /// The record's own file and content: it cannot hold its own digests.
    pub(crate) own_file: FileId,
    pub(crate) own_content: ContentId,
}

impl VersionLine {
    /// What the version was harvested from; none where it was not harvested. What is not a field is read of the message.
    pub(crate) fn origin(&self) -> Option<Origin> {
        match &self.harvested_from {
            HarvestedFrom::Stated(origin) => origin.clone(),
            HarvestedFrom::Absent => Origin::of_message(&self.message),
        }
    }
}

/// What a version was harvested from.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum HarvestedFrom {
    /// The field; null where the version was not harvested.
    Stated(Option<Origin>),
    /// Records that were written before this was a field do not have it.
    #[default]
    #[serde(skip)]
    Absent,
}

impl HarvestedFrom {
    fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

/// A path that the object does not have any more.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RemovalLine {
    pub(crate) file: FileId,
    /// The logical path.
    pub(crate) path: String,
}

/// A file and its content.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct FileLine {
    pub(crate) file: FileId,
    /// The logical path.
    pub(crate) path: String,
    pub(crate) modified: Option<jiff::Timestamp>,
    pub(crate) content: ContentId,
    pub(crate) size: u64,
    pub(crate) md5: String,
    pub(crate) sha1: String,
    pub(crate) sha256: String,
    pub(crate) sha512: String,
    pub(crate) format: Format,
}

impl FileLine {
    /// The digests as values.
    pub(crate) fn digests(&self) -> Result<Digests, strongroom_digest::DigestError> {
        Ok(Digests {
            md5: self.md5.parse()?,
            sha1: self.sha1.parse()?,
            sha256: self.sha256.parse()?,
            sha512: self.sha512.parse()?,
        })
    }
}

/// Writes one line.
pub(crate) fn write_line(out: &mut dyn Write, line: &Line) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

/// The longest line of a record that is read, in bytes: a record in a store may be anybody's.
pub(crate) const LONGEST_LINE: usize = 16 << 20;

/// Reads line by line, each with its length in bytes. No line longer than [`LONGEST_LINE`] is held in memory.
pub(crate) fn lines(mut input: impl BufRead) -> impl Iterator<Item = io::Result<(Line, usize)>> {
    let mut number = 0_u64;
    std::iter::from_fn(move || {
        number += 1;
        let mut line = Vec::new();
        let wrong = |text: String| io::Error::new(io::ErrorKind::InvalidData, format!("line {number} {text}"));
        match input.by_ref().take(LONGEST_LINE as u64 + 1).read_until(b'\n', &mut line) {
            Ok(0) => None,
            Ok(_) if line.len() > LONGEST_LINE => Some(Err(wrong(format!("is longer than {LONGEST_LINE} bytes")))),
            Ok(length) => {
                let read = serde_json::from_slice(&line).map(|line| (line, length));
                Some(read.map_err(|error| wrong(format!("cannot be read: {error}"))))
            }
            Err(error) => Some(Err(error)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_is_the_field_and_without_one_what_the_message_says() {
        let version = |changes: serde_json::Value| {
            let id = "018f0000-0000-7000-8000-000000000000";
            let mut line = serde_json::json!({
                "form": 1, "institution": "test.edu", "institution_id": id, "institution_name": "", "collection": null, "object": id,
                "identifier": "test.edu/a", "ark": null, "object_created_at": 0, "generation": id, "version": 1, "version_id": id,
                "created_at": 0, "message": "harvested from /elsewhere", "user": "someone", "item": id,
                "description": serde_json::to_value(Description::default()).expect("JSON"), "own_file": id, "own_content": id,
            });
            line.as_object_mut().expect("an object").extend(changes.as_object().expect("an object").clone());
            serde_json::from_value::<VersionLine>(line).expect("a line")
        };
        let origin = Origin { location: "/here".to_owned(), part: Some("element ead".to_owned()) };
        let old = version(serde_json::json!({}));
        assert_eq!(old.origin(), Some(Origin { location: "/elsewhere".to_owned(), part: None }));
        assert!(!serde_json::to_string(&old).expect("JSON").contains("harvested_from"));
        let none = version(serde_json::json!({ "harvested_from": null }));
        assert_eq!(none.origin(), None, "a person has written the message");
        assert!(serde_json::to_string(&none).expect("JSON").contains("\"harvested_from\":null"));
        assert_eq!(version(serde_json::json!({ "harvested_from": origin })).origin(), Some(origin));
    }

    #[test]
    fn a_line_of_any_length_is_refused_by_its_number_and_not_held() {
        let mut bytes = b"{\"event\": ".to_vec();
        bytes.resize(LONGEST_LINE + 2, b' ');
        let endless = io::Cursor::new(bytes).chain(io::repeat(b' '));
        let error = lines(io::BufReader::new(endless)).next().expect("an answer").map(drop).expect_err("is refused");
        assert!(error.to_string().contains("line 1 is longer than"), "{error}");
        let error = lines(&b"nonsense\n"[..]).next().expect("an answer").map(drop).expect_err("is refused");
        assert!(error.to_string().contains("line 1 cannot be read"), "{error}");
    }
}
