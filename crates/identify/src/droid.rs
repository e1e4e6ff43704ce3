//! Lines as DROID 6 exports them: folders, files and the members of archives, each with the number of the one it is in. Where
//! a file has several matches, each has a line, with the number of the file.
//!
//! Each field is in quotes; times are in UTC. Names and paths are byte for byte, and URIs (RFC 8089) have what is no character
//! of a path percent-encoded, so that they stand for any name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, absolute};

use strongroom_digest::{Algorithm, Digest};
use strongroom_pronom::{Match, Method};

use crate::archives;
use crate::csv;
use crate::entry::{Folder, IdentifiedFile, Unidentified, UnidentifiedKind};
use crate::report::percent_encoded;

const TIME: &str = "%Y-%m-%dT%H:%M:%S";
/// What may stand in a path of a URI besides unreserved characters (RFC 3986 section 3.3).
const OF_PATH: &[u8] = b"/!$&'()*+,;=:@";

/// Numbers lines, and knows what each is in.
#[derive(Debug)]
pub(crate) struct DroidRows {
    has_archives: bool,
    last: u64,
    /// Folders and archives of which something may follow, each in the one before it.
    open: Vec<Container>,
}

#[derive(Debug)]
struct Container {
    number: u64,
    /// What the paths of all that is in it begin with.
    prefix: Vec<u8>,
    /// What the URIs of all that is in it begin with.
    uri: String,
    is_archive: bool,
}

/// The first columns of a line.
struct Place {
    number: u64,
    parent: Option<u64>,
    uri: String,
    /// Empty for the member of an archive.
    path: Vec<u8>,
    name: Vec<u8>,
}

/// The other columns.
#[derive(Default)]
struct Facts<'f> {
    method: &'f str,
    status: &'f str,
    size: String,
    kind: &'f str,
    extension: Vec<u8>,
    modified: Option<jiff::Timestamp>,
    mismatch: &'f str,
    digest: String,
    count: String,
    puid: &'f str,
    mime: &'f str,
    name: &'f str,
    version: &'f str,
}

impl DroidRows {
    pub(crate) fn new(has_archives: bool) -> Self {
        Self { has_archives, last: 0, open: Vec::new() }
    }

    /// The names of the columns, in the order in which DROID's own `CsvWriterConstants.HEADERS` has them; the name of the digest
    /// begins with the algorithm where one was computed.
    pub(crate) fn header(hash: Option<Algorithm>) -> Vec<u8> {
        let hash = hash.map_or_else(|| "HASH".to_owned(), |hash| format!("{}_HASH", hash.name().to_uppercase()));
        csv::quoted([
            "ID",
            "PARENT_ID",
            "URI",
            "FILE_PATH",
            "NAME",
            "METHOD",
            "STATUS",
            "SIZE",
            "TYPE",
            "EXT",
            "LAST_MODIFIED",
            "EXTENSION_MISMATCH",
            &hash,
            "FORMAT_COUNT",
            "PUID",
            "MIME_TYPE",
            "FORMAT_NAME",
            "FORMAT_VERSION",
        ])
    }

    pub(crate) fn folder(&mut self, folder: &Folder) -> Vec<u8> {
        let mut place = self.place(&folder.path);
        place.uri.push('/');
        self.open.push(Container {
            number: place.number,
            prefix: prefix_of(&folder.path, b'/'),
            uri: place.uri.clone(),
            is_archive: false,
        });
        let (status, kind, mismatch) = ("Done", "Folder", "false");
        place.row(&Facts { status, kind, mismatch, modified: folder.modified, ..Facts::default() })
    }

    pub(crate) fn entry(&mut self, entry: &IdentifiedFile) -> Vec<Vec<u8>> {
        let place = self.place(&entry.path);
        let archive = archives::kind(&entry.identification).filter(|_| self.has_archives);
        if let Some(archive) = archive {
            self.open.push(Container {
                number: place.number,
                prefix: prefix_of(&entry.path, b'#'),
                uri: format!("{}:{}!/", archive.scheme(), place.uri),
                is_archive: true,
            });
        }
        let matches = &entry.identification.matches;
        let row = |found: Option<&Match>| {
            let format = found.map(|found| &found.format);
            place.row(&Facts {
                method: found.map(method).unwrap_or_default(),
                status: "Done",
                size: entry.size.to_string(),
                kind: if archive.is_some() { "Container" } else { "File" },
                extension: extension(&place.name),
                modified: entry.modified,
                mismatch: if found.is_some_and(|found| found.extension_mismatch) { "true" } else { "false" },
                digest: entry.digest.as_ref().map(Digest::to_hex).unwrap_or_default(),
                count: matches.len().to_string(),
                puid: format.map(|format| format.puid.as_str()).unwrap_or_default(),
                mime: format.and_then(|format| format.mime.as_deref()).unwrap_or_default(),
                name: format.map(|format| format.name.as_str()).unwrap_or_default(),
                version: format.and_then(|format| format.version.as_deref()).unwrap_or_default(),
            })
        };
        if matches.is_empty() { vec![row(None)] } else { matches.iter().map(|found| row(Some(found))).collect() }
    }

    pub(crate) fn trouble(&mut self, trouble: &Unidentified) -> Vec<u8> {
        let place = self.place(&trouble.path);
        let status = if trouble.kind == UnidentifiedKind::Missing { "Not found" } else { "Error" };
        let extension = extension(&place.name);
        place.row(&Facts { status, kind: "File", extension, ..Facts::default() })
    }

    /// The number, parent, URI, path and name of what comes next.
    fn place(&mut self, path: &OsStr) -> Place {
        self.last += 1;
        while self.open.last().is_some_and(|container| !path.as_bytes().starts_with(&container.prefix)) {
            self.open.pop();
        }
        let number = self.last;
        let full = full_path(path);
        let Some(container) = self.open.last() else {
            let uri = format!("file:{}", percent_encoded(&full, OF_PATH));
            return Place { number, parent: None, uri, name: base_name(&full), path: full };
        };
        let inside = path.as_bytes().get(container.prefix.len()..).unwrap_or_default();
        Place {
            number,
            parent: Some(container.number),
            uri: format!("{}{}", container.uri, percent_encoded(inside, OF_PATH)),
            path: if self.open.iter().any(|container| container.is_archive) { Vec::new() } else { full },
            name: base_name(inside),
        }
    }
}

impl Place {
    fn row(&self, facts: &Facts<'_>) -> Vec<u8> {
        let parent = self.parent.map(|parent| parent.to_string()).unwrap_or_default();
        let modified = facts.modified.map(|time| time.strftime(TIME).to_string()).unwrap_or_default();
        csv::quoted([
            self.number.to_string().as_bytes(),
            parent.as_bytes(),
            self.uri.as_bytes(),
            &self.path,
            &self.name,
            facts.method.as_bytes(),
            facts.status.as_bytes(),
            facts.size.as_bytes(),
            facts.kind.as_bytes(),
            &facts.extension,
            modified.as_bytes(),
            facts.mismatch.as_bytes(),
            facts.digest.as_bytes(),
            facts.count.as_bytes(),
            facts.puid.as_bytes(),
            facts.mime.as_bytes(),
            facts.name.as_bytes(),
            facts.version.as_bytes(),
        ])
    }
}

fn method(found: &Match) -> &'static str {
    match found.method {
        Method::Container => "Container",
        Method::Signature => "Signature",
        Method::Text if found.extension_mismatch => "Text",
        // DROID knows plain text by its extension only.
        Method::Extension | Method::Text => "Extension",
    }
}

/// The absolute path, without a slash at its end.
fn full_path(path: &OsStr) -> Vec<u8> {
    let full = absolute(Path::new(path)).unwrap_or_else(|_| path.into()).into_os_string();
    let end = full.as_bytes().iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    full.as_bytes().get(..end).unwrap_or_default().to_vec()
}

/// What the paths begin with of all that is in a folder or an archive.
fn prefix_of(path: &OsStr, separator: u8) -> Vec<u8> {
    let mut prefix = path.as_bytes().to_vec();
    if separator != b'/' || !prefix.ends_with(b"/") {
        prefix.push(separator);
    }
    prefix
}

fn base_name(path: &[u8]) -> Vec<u8> {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default().to_vec()
}

/// The extension in lower case, as DROID 6.6.1 writes it for `a.PDF`.
fn extension(name: &[u8]) -> Vec<u8> {
    let at = name.iter().rposition(|byte| *byte == b'.');
    let extension = at.and_then(|at| name.get(at + 1..)).unwrap_or_default();
    str::from_utf8(extension)
        .map_or_else(|_| extension.to_ascii_lowercase(), |extension| extension.to_lowercase().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(paths: &[(&str, bool)]) -> Vec<String> {
        let mut droid = DroidRows::new(false);
        paths
            .iter()
            .map(|(path, is_folder)| {
                let row = if *is_folder {
                    droid.folder(&Folder { path: path.into(), modified: None })
                } else {
                    droid.trouble(&Unidentified::new(OsStr::new(path), UnidentifiedKind::Unreadable, ""))
                };
                let row = String::from_utf8(row).unwrap();
                row.split(',').take(5).collect::<Vec<_>>().join(" ").replace('"', "")
            })
            .collect()
    }

    #[test]
    fn each_row_has_the_number_of_the_folder_it_is_in() {
        let found = rows(&[("/in/", true), ("/in/a", true), ("/in/a/b", false), ("/in/ab", false), ("/other", false)]);
        assert_eq!(
            found,
            [
                "1  file:/in/ /in in",
                "2 1 file:/in/a/ /in/a a",
                "3 2 file:/in/a/b /in/a/b b",
                "4 1 file:/in/ab /in/ab ab",
                "5  file:/other /other other",
            ]
        );
        assert_eq!(rows(&[("/", true), ("/a", false)]), ["1  file:/  ", "2 1 file:/a /a a"]);
    }
}
