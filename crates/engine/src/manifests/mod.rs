//! Manifests ([decision 67](../../../../docs/decisions/0067-manifests-and-catalogue.md)): every file that is kept of a collection, an
//! institution or a store, with its digests, written page by page.
//!
//! One read transaction lists the objects with their newest versions, in a sorter that uses the disk. Their files are read afterwards, some
//! objects in a transaction: a version that was published does not change, so that what is read later is true of that moment, but for
//! what was deleted since.

mod forms;

use std::io::{self, Write};

use strongroom_listing::{Record, Sorted, Sorter};
use strongroom_registry::manifests::{
    self as rows, FileCursor, KeptCopy, KeptFile, KeptObject, StoredContent, Versions,
};
use strongroom_registry::{CollectionId, GenerationId, ObjectId, RegistryError, Scope, Transaction};
use uuid::Uuid;

pub(crate) use forms::{Form, FullRow};
use forms::{Lines, Row};

use crate::{EngineError, Home, paging};

/// Bytes of the list of objects that are held in memory.
const HELD: usize = 4 << 20;
/// Objects that are listed at once.
const LISTED: usize = 1_000;
/// Objects that are held while their files are read.
const OBJECTS: usize = 100;
/// Files that one transaction reads, about.
const FILES: usize = 500;

/// What a manifest is of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'w> {
    /// Whose objects.
    pub(crate) scope: Scope,
    /// Only those of this collection.
    pub(crate) collection: Option<CollectionId>,
    /// Only what this store holds, in every version.
    pub(crate) store: Option<&'w str>,
    /// Every content that a path has had, or only that of the newest version.
    pub(crate) versions: Versions,
    /// How it is written.
    pub(crate) form: Form,
}

/// Writes a manifest; how many rows it has.
pub(crate) fn write(home: &Home, wanted: &Wanted<'_>, out: &mut dyn Write) -> Result<u64, EngineError> {
    let objects = listed(home, wanted)?;
    let mut lines = Lines::begin(wanted.form, out)?;
    let is_full = matches!(wanted.form, Form::Csv | Form::JsonLines);
    match wanted.store {
        None if !is_full => each_row(
            home,
            &objects,
            |tx, object, after: &FileCursor| {
                let page = rows::files(tx, object, wanted.versions, after, FILES)?;
                Ok((behind(&page, page.len(), |file: &KeptFile| cursor_of(file)), page))
            },
            |object, file| lines.row(&Row::File { object, file: &file, versions: wanted.versions }),
        )?,
        Some(store) if !is_full => each_row(
            home,
            &objects,
            |tx, object, after: &Vec<u8>| {
                let page = rows::contents(tx, object, store, after, FILES)?;
                let last = |content: &StoredContent| content.digests.sha512.as_bytes().to_vec();
                Ok((behind(&page, page.len(), last), page))
            },
            |object, content| lines.row(&Row::Content { object, content: &content }),
        )?,
        store => each_row(
            home,
            &objects,
            |tx, object, after: &FileCursor| {
                let page = rows::copies(tx, object, (wanted.versions, store), after, FILES)?;
                let mut files = page.iter().map(|row| cursor_of(&row.file)).collect::<Vec<_>>();
                files.dedup();
                Ok((behind(&page, files.len(), |row: &KeptCopy| cursor_of(&row.file)), page))
            },
            |object, copy| match (&copy.copy, store) {
                // Not in this store.
                (None, Some(_)) => Ok(()),
                _ => lines.row(&Row::Full(&FullRow::of(object, copy)?)),
            },
        )?,
    }
    lines.end()
}

fn cursor_of(file: &KeptFile) -> FileCursor {
    FileCursor { path: file.path.clone(), version: file.version }
}

/// Where the rows of an object go on behind a page of so many; none where it was not full.
fn behind<R, C>(page: &[R], count: usize, last: impl Fn(&R) -> C) -> Option<C> {
    if count < FILES { None } else { page.last().map(last) }
}

/// The objects of a manifest as they are at one moment, in the order of institutions and names.
fn listed(home: &Home, wanted: &Wanted<'_>) -> Result<Sorted, EngineError> {
    home.registry.read(|tx| {
        // The transaction may be run again.
        let mut sorter = Sorter::new(HELD, None);
        let list = |after, limit| rows::objects(tx, wanted.scope, wanted.collection, after, limit);
        for object in paging::rows(LISTED, |object: &KeptObject| object.id, list) {
            let object: KeptObject = object?;
            let (key, value) = record(&object);
            sorter.push(&key, &value).map_err(unlisted)?;
        }
        sorter.finish().map_err(unlisted)
    })
}

fn unlisted(source: io::Error) -> EngineError {
    EngineError::Io { act: "list the objects of a manifest in", path: "a temporary file".to_owned(), source }
}

/// An object as a record of the sorter: its names, then what else is known of it.
fn record(object: &KeptObject) -> (Vec<u8>, Vec<u8>) {
    let key = [object.institution.as_bytes(), b"\0", object.identifier.as_bytes()].concat();
    let collection = object.collection.as_deref().map_or_else(Vec::new, |name| [b"/", name.as_bytes()].concat());
    let value =
        [object.id.0.as_bytes().as_slice(), object.generation.0.as_bytes(), &object.head.to_be_bytes(), &collection];
    (key, value.concat())
}

fn object((key, value): &Record) -> Option<KeptObject> {
    let (institution, identifier) = str::from_utf8(key).ok()?.split_once('\0')?;
    let (id, value) = value.split_at_checked(16)?;
    let (generation, value) = value.split_at_checked(16)?;
    let (head, collection) = value.split_at_checked(8)?;
    Some(KeptObject {
        id: ObjectId(Uuid::from_slice(id).ok()?),
        identifier: identifier.to_owned(),
        institution: institution.to_owned(),
        collection: str::from_utf8(collection).ok()?.strip_prefix('/').map(str::to_owned),
        generation: GenerationId(Uuid::from_slice(generation).ok()?),
        head: u64::from_be_bytes(head.try_into().ok()?),
    })
}

/// Reads the rows of objects: `read` returns a page of one object, with where its rows go on, and `each` takes one row.
fn each_row<R, C: Default + Clone>(
    home: &Home,
    objects: &Sorted,
    read: impl Fn(&mut dyn Transaction, &KeptObject, &C) -> Result<(Option<C>, Vec<R>), RegistryError>,
    mut each: impl FnMut(&KeptObject, R) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    let mut objects = objects.iter().map_err(unlisted)?.map(|record| {
        object(&record.map_err(unlisted)?).ok_or_else(|| unlisted(io::Error::other("a record cannot be read")))
    });
    loop {
        let some: Vec<KeptObject> = objects.by_ref().take(OBJECTS).collect::<Result<_, _>>()?;
        if some.is_empty() {
            return Ok(());
        }
        let mut from = (0, C::default());
        while from.0 < some.len() {
            let (rows, next) = home.registry.read(|tx| {
                let (mut at, mut cursor) = from.clone();
                let mut rows = Vec::new();
                while let Some(object) = some.get(at).filter(|_| rows.len() < FILES) {
                    let (next, page) = read(tx, object, &cursor)?;
                    rows.extend(page.into_iter().map(|row| (at, row)));
                    at += usize::from(next.is_none());
                    cursor = next.unwrap_or_default();
                }
                Ok::<_, RegistryError>((rows, (at, cursor)))
            })?;
            for (at, row) in rows {
                some.get(at).map_or(Ok(()), |object| each(object, row))?;
            }
            from = next;
        }
    }
}
