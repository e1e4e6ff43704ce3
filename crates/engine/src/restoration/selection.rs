//! Some files of an object, by paths, folders and patterns: in a tar, or unpacked where the target is a folder. They are
//! files and no bag; their folders are those of the object.

use std::io::{Read, Write};

use globset::{GlobBuilder, GlobMatcher};
use strongroom_registry::objects::{self, DEPOSIT, File, Object};
use tar::{Builder, EntryType, Header};

use super::names::safe_name;
use super::proof::CopyReader;
use super::retrieval::Requested;
use super::target::{Delivery, Target};
use super::{ROWS_AT_ONCE, for_each_page, object_name};
use crate::content_name::in_package;
use crate::workflow::{StageContext, StageError};
use crate::{EngineError, Home};

/// Paths and patterns in one request.
const MOST: usize = 1_000;

/// Files that are named by their paths, by folders that they lie below, or by patterns.
#[derive(Debug, Clone)]
pub(super) struct Selection {
    named: Vec<Named>,
}

#[derive(Debug, Clone)]
struct Named {
    /// As it was given, without slashes at its ends.
    path: String,
    pattern: GlobMatcher,
}

impl Named {
    fn has(&self, path: &str) -> bool {
        let folders = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
        // A path may contain characters that mean something in a pattern.
        folders.chain([path]).any(|path| path == self.path || self.pattern.is_match(path))
    }
}

impl Selection {
    /// Paths and patterns as they were given.
    ///
    /// # Errors
    /// There are none or too many, or one is no pattern.
    pub(super) fn parse(paths: &[String]) -> Result<Self, EngineError> {
        if paths.is_empty() || paths.len() > MOST {
            return Err(EngineError::Usage(format!("{} paths are named; 1 to {MOST} can be", paths.len()))
                .next("name folders or patterns in the place of single files"));
        }
        let named = paths.iter().map(|given| {
            let path = given.trim_start_matches("./").trim_matches('/').to_owned();
            let pattern = GlobBuilder::new(&path).literal_separator(true).build();
            let pattern = pattern.map_err(|error| {
                EngineError::Usage(format!("{given:?} is no pattern: {}", error.kind()))
                    .next("write \\ before a character that is to stand for itself, as in \\[ and \\{")
            })?;
            Ok(Named { path, pattern: pattern.compile_matcher() })
        });
        Ok(Self { named: named.collect::<Result<_, EngineError>>()? })
    }

    /// Whether a file is in it, by its path in the package.
    pub(super) fn has(&self, path: &str) -> bool {
        self.named.iter().any(|named| named.has(path))
    }

    /// How many bytes it has of a version.
    ///
    /// # Errors
    /// A path or pattern names no file.
    pub(super) fn size(&self, home: &Home, object: &Object, version: u64) -> Result<u64, EngineError> {
        let (mut bytes, mut after) = (0_u64, String::new());
        let mut unused: Vec<&Named> = self.named.iter().collect();
        loop {
            let page =
                home.registry.read(|tx| objects::files(tx, object.id, version, DEPOSIT, &after, ROWS_AT_ONCE))?;
            let Some(last) = page.last() else { break };
            after.clone_from(&last.path);
            for file in &page {
                let path = in_package(&file.path);
                unused.retain(|named| !named.has(path));
                if self.has(path) {
                    bytes = bytes.saturating_add(file.size);
                }
            }
        }
        match unused.first() {
            None => Ok(bytes),
            Some(named) => Err(EngineError::NotFound {
                what: "file",
                name: named.path.clone(),
                hint: format!(" in version {version} of {}", object.identifier),
            }),
        }
    }
}

/// Restores the files of a version that are selected.
pub(super) fn give(
    context: &StageContext<'_>,
    target: &Target,
    object: &Object,
    version: u64,
    paths: &[String],
) -> Result<Delivery, StageError> {
    let selection = Selection::parse(paths)?;
    let proof = CopyReader::new(context, object, Requested::Selection(version, selection.clone()));
    proof.until_right(|| {
        target.put(context, &[&context.item.name], None, &mut |out| {
            write(context, &proof, object, version, &selection, out)
        })
    })
}

fn write(
    context: &StageContext<'_>,
    proof: &CopyReader<'_>,
    object: &Object,
    version: u64,
    selection: &Selection,
    out: &mut (dyn Write + Send),
) -> Result<(), StageError> {
    let folder = safe_name(object_name(object));
    // Of the item, not of the clock: an attempt made again gives the same bytes.
    let made = context.item.created_at.timestamp();
    let (mut archive, mut files) = (Builder::new(out), 0_u64);
    for_each_page(context, object, version, DEPOSIT, &mut |page| {
        for file in page.iter().filter(|file| selection.has(in_package(&file.path))) {
            let path = format!("{folder}/{}", in_package(&file.path));
            let mut header = header(file, file.modified.unwrap_or(made));
            proof.read(file, &mut |bytes: &mut dyn Read| {
                let added = archive.append_data(&mut header, &path, bytes);
                added.map_err(|error| match context.task.check() {
                    Err(reason) => reason.into(),
                    Ok(()) => StageError::Transient(format!("could not write {path:?}: {error}")),
                })
            })?;
            files += 1;
        }
        Ok(())
    })?;
    if files == 0 {
        return Err(StageError::fatal(format!(
            "version {version} of {} has none of these files now",
            object.identifier
        )));
    }
    let ended = archive.finish();
    ended.map_err(|error| StageError::Transient(format!("could not end {}: {error}", context.item.name)))
}

/// The header of a file in a tar.
pub(super) fn header(file: &File, modified: jiff::Timestamp) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_size(file.size);
    header.set_mode(0o644);
    header.set_mtime(u64::try_from(modified.as_second()).unwrap_or_default());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(named: &[&str], path: &str) -> bool {
        let named: Vec<String> = named.iter().map(|&path| path.to_owned()).collect();
        Selection::parse(&named).expect("a selection").has(path)
    }

    #[test]
    fn files_are_named_by_path_by_folder_and_by_pattern() {
        for (named, path, expected) in [
            ("data/a.txt", "data/a.txt", true),
            ("./data/a.txt", "data/a.txt", true),
            ("data/a.txt", "data/a.txt.bak", false),
            ("data", "data/b/c.txt", true),
            ("data/b/", "data/b/c.txt", true),
            ("data/b", "data/bc.txt", false),
            ("data/*.txt", "data/a.txt", true),
            ("data/*.txt", "data/b/c.txt", false),
            ("data/**/*.txt", "data/b/c.txt", true),
            ("data/?", "data/b/c.txt", true),
            ("*.txt", "data/a.txt", false),
            ("data/[ab].txt", "data/b.txt", true),
            ("data/[ab].txt", "data/[ab].txt", true),
            ("data/{a,\u{e9}}.txt", "data/\u{e9}.txt", true),
        ] {
            assert_eq!(has(&[named], path), expected, "{named} {path}");
        }
        assert!(has(&["x", "data/a.txt"], "data/a.txt"));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for named in ["data/[a", "data/{a"] {
            assert!(Selection::parse(&[named.to_owned()]).is_err(), "{named}");
        }
        assert!(Selection::parse(&[]).is_err());
    }
}
