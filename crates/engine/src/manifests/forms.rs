//! How a manifest is written: the forms of the manifests of `DuraCloud`, and rows with everything, as CSV or JSON Lines.

use std::io::{self, Write};

use serde::Serialize;
use strongroom_digest::{Algorithm, Digest};
use strongroom_listing::{csv, tsv};
use strongroom_ocfl::object_id;
use strongroom_registry::manifests::{KeptCopy, KeptFile, KeptObject, StoredContent, Versions};
use strongroom_registry::{CopyState, Digests};

use crate::EngineError;

/// How a manifest is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `space-id`, `content-id` and one digest, with tabs between them.
    Tsv(Algorithm),
    /// The same with size and MIME type.
    ExtendedTsv(Algorithm),
    /// As a manifest of `BagIt`: the digest, two blanks, and the path.
    BagIt(Algorithm),
    /// A row for each copy, with everything.
    Csv,
    /// The same, each row as a JSON object.
    JsonLines,
}

/// A row with everything: a content of a file, with one copy of it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct FullRow {
    institution: String,
    collection: Option<String>,
    object: String,
    ocfl_id: String,
    version: u64,
    path: String,
    size: u64,
    md5: String,
    sha1: String,
    sha256: String,
    sha512: String,
    puid: Option<String>,
    mime: Option<String>,
    deposited_at: Option<String>,
    store: Option<String>,
    key: Option<String>,
    state: Option<CopyState>,
    stored_at: Option<String>,
    verified_at: Option<String>,
    last_fixity_at: Option<String>,
}

/// The columns of the CSV, which are the keys of the JSON.
const COLUMNS: [&str; 20] = [
    "institution",
    "collection",
    "object",
    "ocfl_id",
    "version",
    "path",
    "size",
    "md5",
    "sha1",
    "sha256",
    "sha512",
    "puid",
    "mime",
    "deposited_at",
    "store",
    "key",
    "state",
    "stored_at",
    "verified_at",
    "last_fixity_at",
];

impl FullRow {
    pub(super) fn of(
        object: &KeptObject,
        KeptCopy { file, deposited_at, copy }: KeptCopy,
    ) -> Result<Self, EngineError> {
        let mut row = Self {
            institution: object.institution.clone(),
            collection: object.collection.clone(),
            object: object.identifier.clone(),
            ocfl_id: object_id(&object.generation.to_string())?,
            version: file.version,
            path: file.path,
            size: file.size,
            md5: file.digests.md5.to_hex(),
            sha1: file.digests.sha1.to_hex(),
            sha256: file.digests.sha256.to_hex(),
            sha512: file.digests.sha512.to_hex(),
            puid: file.puid,
            mime: file.mime,
            deposited_at: deposited_at.map(|time| time.to_string()),
            store: None,
            key: None,
            state: None,
            stored_at: None,
            verified_at: None,
            last_fixity_at: None,
        };
        if let Some(copy) = copy {
            (row.store, row.key, row.state) = (Some(copy.store), Some(copy.key), Some(copy.state));
            row.stored_at = Some(copy.stored_at.to_string());
            row.verified_at = copy.verified_at.map(|time| time.to_string());
            row.last_fixity_at = copy.last_fixity_at.map(|time| time.to_string());
        }
        Ok(row)
    }

    fn cells(&self) -> [&str; 20] {
        fn of(text: Option<&String>) -> &str {
            text.map_or("", String::as_str)
        }
        [
            &self.institution,
            of(self.collection.as_ref()),
            &self.object,
            &self.ocfl_id,
            "",
            &self.path,
            "",
            &self.md5,
            &self.sha1,
            &self.sha256,
            &self.sha512,
            of(self.puid.as_ref()),
            of(self.mime.as_ref()),
            of(self.deposited_at.as_ref()),
            of(self.store.as_ref()),
            of(self.key.as_ref()),
            self.state.map_or("", CopyState::as_str),
            of(self.stored_at.as_ref()),
            of(self.verified_at.as_ref()),
            of(self.last_fixity_at.as_ref()),
        ]
    }
}

/// A row of a manifest.
pub(super) enum Row<'r> {
    /// A content of a file, wherever it lies.
    File { object: &'r KeptObject, file: &'r KeptFile, versions: Versions },
    /// A content in a store, whichever files have it.
    Content { object: &'r KeptObject, content: &'r StoredContent },
    /// Everything.
    Full(&'r FullRow),
}

/// The lines of a manifest.
pub(super) struct Lines<'o> {
    form: Form,
    out: &'o mut dyn Write,
    rows: u64,
}

impl<'o> Lines<'o> {
    /// Writes the first line, where the form has one.
    pub(super) fn begin(form: Form, out: &'o mut dyn Write) -> Result<Self, EngineError> {
        let mut lines = Self { form, out, rows: 0 };
        match form {
            Form::Tsv(digest) => lines.line(tsv::line(["space-id", "content-id", &heading(digest)]).as_bytes())?,
            Form::ExtendedTsv(digest) => {
                let cells = ["space-id", "content-id", &heading(digest), "content-size", "mime-type"];
                lines.line(tsv::line(cells).as_bytes())?;
            }
            Form::Csv => lines.line(&csv::line(COLUMNS))?,
            Form::BagIt(_) | Form::JsonLines => {}
        }
        Ok(lines)
    }

    fn line(&mut self, line: &[u8]) -> Result<(), EngineError> {
        self.out.write_all(line).and_then(|()| self.out.write_all(b"\n")).map_err(unwritten)
    }

    pub(super) fn row(&mut self, row: &Row<'_>) -> Result<(), EngineError> {
        self.rows += 1;
        match row {
            Row::Full(row) => self.full(row),
            Row::File { object, file, versions } => {
                let content_id = content_id(object, file, *versions);
                let fact = Fact { digests: &file.digests, size: file.size, mime: file.mime.as_deref() };
                self.short(&object.institution, &content_id, &fact)
            }
            Row::Content { object, content } => {
                // Keys begin with the storage root of the institution.
                let root = format!("{}/", object.institution);
                let content_id = content.key.strip_prefix(&root).unwrap_or(&content.key);
                let fact = Fact { digests: &content.digests, size: content.size, mime: content.mime.as_deref() };
                self.short(&object.institution, content_id, &fact)
            }
        }
    }

    fn short(&mut self, space: &str, content_id: &str, fact: &Fact<'_>) -> Result<(), EngineError> {
        let line = match self.form {
            Form::ExtendedTsv(digest) => {
                let (hex, size) = (fact.hex(digest), fact.size.to_string());
                tsv::line([space, content_id, &hex, &size, fact.mime.unwrap_or_default()])
            }
            Form::BagIt(digest) => format!("{}  {space}/{}", fact.hex(digest), as_in_bagit(content_id)),
            Form::Tsv(digest) => tsv::line([space, content_id, &fact.hex(digest)]),
            Form::Csv | Form::JsonLines => String::new(),
        };
        self.line(line.as_bytes())
    }

    fn full(&mut self, row: &FullRow) -> Result<(), EngineError> {
        if self.form == Form::JsonLines {
            let line = serde_json::to_vec(row).map_err(|error| unwritten(error.into()))?;
            return self.line(&line);
        }
        let (version, size) = (row.version.to_string(), row.size.to_string());
        let cells = COLUMNS.into_iter().zip(row.cells()).map(|(column, cell)| match column {
            "version" => version.as_str(),
            "size" => size.as_str(),
            _ => cell,
        });
        let line = csv::line(cells);
        self.line(&line)
    }

    /// Ends the manifest; how many rows it has.
    pub(super) fn end(self) -> Result<u64, EngineError> {
        self.out.flush().map_err(unwritten)?;
        Ok(self.rows)
    }
}

/// What the short forms say of a content.
struct Fact<'f> {
    digests: &'f Digests,
    size: u64,
    mime: Option<&'f str>,
}

impl Fact<'_> {
    fn hex(&self, algorithm: Algorithm) -> String {
        let digest: &Digest = match algorithm {
            Algorithm::Sha1 => &self.digests.sha1,
            Algorithm::Sha256 => &self.digests.sha256,
            Algorithm::Sha512 => &self.digests.sha512,
            _ => &self.digests.md5,
        };
        digest.to_hex()
    }
}

/// The heading of the column of a digest: `MD5`, as `DuraCloud` writes it.
fn heading(algorithm: Algorithm) -> String {
    algorithm.to_string().to_uppercase()
}

/// The name of the object within its institution, with the version where every version is listed, and the logical path. Names of objects
/// have no slash in them.
fn content_id(object: &KeptObject, file: &KeptFile, versions: Versions) -> String {
    let root = format!("{}/", object.institution);
    let name = object.identifier.strip_prefix(&root).unwrap_or(&object.identifier);
    match versions {
        Versions::Newest => format!("{name}/{}", file.path),
        Versions::All => format!("{name}/v{}/{}", file.version, file.path),
    }
}

/// A path as the manifests of `BagIt` have it (RFC 8493, section 2.1.3): carriage return, line feed and the percent sign are encoded.
fn as_in_bagit(path: &str) -> String {
    path.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn unwritten(source: io::Error) -> EngineError {
    EngineError::Io { act: "write", path: "the manifest".to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_the_keys_of_the_json_in_their_order() {
        let digest = |bytes: &[u8]| Digest::from_bytes(bytes).expect("a digest");
        let digests = Digests {
            md5: digest(&[0; 16]),
            sha1: digest(&[0; 20]),
            sha256: digest(&[0; 32]),
            sha512: digest(&[0; 64]),
        };
        let file = KeptFile { path: "deposit/a".into(), version: 1, size: 2, digests, puid: None, mime: None };
        let object = KeptObject {
            id: strongroom_registry::ObjectId::new(),
            identifier: "a.edu/b".into(),
            institution: "a.edu".into(),
            collection: None,
            generation: strongroom_registry::GenerationId::new(),
            head: 1,
        };
        let row = FullRow::of(&object, KeptCopy { file, deposited_at: None, copy: None }).expect("a row");
        let json = serde_json::to_string(&row).expect("JSON");
        let places: Vec<_> = COLUMNS.iter().map(|column| json.find(&format!("\"{column}\":"))).collect();
        assert!(places.is_sorted() && places.iter().all(Option::is_some), "{json}");
        assert_eq!(json.matches("\":").count(), COLUMNS.len());
    }

    #[test]
    fn paths_are_encoded_as_in_bagit() {
        assert_eq!(as_in_bagit("a%0A\r\nb\\c\td"), "a%250A%0D%0Ab\\c\td");
    }
}
