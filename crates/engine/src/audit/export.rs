//! Chains in files: as they are in the stores, for `audit verify` and for other programs, or as a table.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use strongroom_audit::names;
use strongroom_registry::audit::{self as rows, Chain, RangeRow};
use strongroom_registry::{Scope, Time};

use super::copies::open_entries;
use super::publish::{head_of, publish};
use super::{seal, tsv};
use crate::runtime::Shutdown;
use crate::{EngineError, Home, paging};

/// Ranges that are listed at once.
const AT_ONCE: usize = 100;

/// In which form chains are exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As they are in the stores, to be verified.
    Lines,
    /// A table for each chain, with the columns of the audit log of DuraCloud.
    Tsv,
}

/// A chain that was exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exported {
    /// Its name.
    pub(crate) chain: String,
    /// The number of the first entry.
    pub(crate) first: u64,
    /// The number of the last one.
    pub(crate) last: u64,
    /// The SHA-256 of the last one.
    pub(crate) sha256: String,
    /// Files of entries, or rows of the table.
    pub(crate) count: u64,
    /// The folder, or the table.
    pub(crate) path: PathBuf,
}

/// Writes chains into a folder: all that was done until now, which is published for it. With `since` only the files that have entries of then
/// or later.
pub(crate) fn export(
    home: &Home,
    folder: &Path,
    scope: Scope,
    (since, form): (Option<Time>, Form),
    stop: &Shutdown,
) -> Result<Vec<Exported>, EngineError> {
    let is_wanted = |chain: &Chain| match scope {
        Scope::System => true,
        Scope::Institution(id) => chain.institution == Some(id),
    };
    if home.registry.refusal().is_none() {
        seal::seal(home, stop)?;
        // A range that no store gets may have to be dropped later, for a store that knows more than the registry does.
        if home.preservation_stores().iter().any(|store| home.away(store.name()).is_none()) {
            publish(home, &|chain, _| is_wanted(chain), stop)?;
        }
    }
    let mut exported = Vec::new();
    for chain in home.registry.read(rows::chains)?.into_iter().filter(|chain| is_wanted(chain) && chain.published > 0) {
        let mut into: Option<Box<dyn Sink>> = None;
        let mut found: Option<Exported> = None;
        let name = &chain.name;
        let list =
            |after: Option<u64>, limit| home.registry.read(|tx| rows::ranges(tx, name, after.unwrap_or(0), limit));
        for range in paging::rows(AT_ONCE, |range: &RangeRow| range.last, list) {
            let range = range?;
            if since.is_some_and(|since| range.made_at < since) {
                continue;
            }
            let head = head_of(&range)?;
            let into = match &mut into {
                Some(into) => into,
                empty => empty.insert(match form {
                    Form::Lines => Box::new(Folder { path: folder.join(&chain.name), files: 0 }),
                    Form::Tsv => Box::new(tsv::Table::create(home, &folder.join(format!("{}.tsv", chain.name)))?),
                }),
            };
            into.take(home, &range)?;
            let found = found.get_or_insert_with(|| Exported {
                chain: name.clone(),
                first: head.range().first,
                last: 0,
                sha256: String::new(),
                count: 0,
                path: into.path().to_owned(),
            });
            (found.last, found.sha256) = (range.last, head.sha256().to_string());
        }
        let count = into.map_or(Ok(0), Sink::finish)?;
        exported.extend(found.map(|found| Exported { count, ..found }));
    }
    Ok(exported)
}

/// What ranges are written into.
pub(super) trait Sink {
    /// Takes the next range.
    fn take(&mut self, home: &Home, range: &RangeRow) -> Result<(), EngineError>;
    /// Ends it; how many files or rows it has.
    fn finish(self: Box<Self>) -> Result<u64, EngineError>;
    /// Where it is.
    fn path(&self) -> &Path;
}

/// A folder with the files of a chain. Files that are there from an earlier export are those of the same entries.
struct Folder {
    path: PathBuf,
    files: u64,
}

impl Sink for Folder {
    fn take(&mut self, home: &Home, range: &RangeRow) -> Result<(), EngineError> {
        let head = head_of(range)?;
        let place = |folder: &str, name: String| self.path.join(folder).join(name);
        let entries = place(names::ENTRIES, names::entries_name(head.range().first, range.last));
        write(&entries, &mut open_entries(home, range)?)?;
        if let (Some((signature, pem)), Some(fingerprint)) = (&range.signature, head.key()) {
            write(&place(names::KEYS, names::key_name(fingerprint)), &mut pem.as_bytes())?;
            write(&place(names::HEADS, names::signature_name(range.last)), &mut signature.as_slice())?;
        }
        write(&place(names::HEADS, names::head_name(range.last)), &mut range.head.as_bytes())?;
        self.files += 1;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<u64, EngineError> {
        Ok(self.files)
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// Writes a file beside its place, and renames it. One that is there from an earlier export has the same bytes.
fn write(path: &Path, body: &mut dyn Read) -> Result<(), EngineError> {
    if path.exists() {
        let is_same = File::open(path).and_then(|there| have_same_bytes(BufReader::new(there), BufReader::new(body)));
        return match is_same {
            Ok(true) => Ok(()),
            Ok(false) => Err(EngineError::Refused(format!(
                "{} is there and has other bytes than the chain: it is not replaced",
                path.display()
            ))
            .next("find out who changed it, or which other registry it was exported from; export into another folder")),
            Err(source) => Err(unwritten(path, source)),
        };
    }
    let part = path.with_extension("part");
    let written = (|| {
        fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
        let mut file = BufWriter::new(File::create(&part)?);
        io::copy(body, &mut file)?;
        file.flush()?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&part, path)
    })();
    written.map_err(|source| unwritten(path, source))
}

fn have_same_bytes(mut one: impl BufRead, mut other: impl BufRead) -> io::Result<bool> {
    loop {
        let (left, right) = (one.fill_buf()?, other.fill_buf()?);
        let length = left.len().min(right.len());
        if length == 0 {
            return Ok(left.len() == right.len());
        }
        if left.get(..length) != right.get(..length) {
            return Ok(false);
        }
        one.consume(length);
        other.consume(length);
    }
}

pub(super) fn unwritten(path: &Path, source: io::Error) -> EngineError {
    EngineError::Io { act: "write", path: path.display().to_string(), source }
}
