//! Catalogues ([decision 67](../../../docs/decisions/0067-manifests-and-catalogue.md)): in each preservation store a table of the
//! objects of each institution that it holds, by which people find an object with a text editor. It follows from the registry, and is
//! written again where it differs from what lies there.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use strongroom_digest::{Algorithm, Digest, MultiHasher, hash_reader};
use strongroom_listing::csv;
use strongroom_ocfl::object_id;
use strongroom_registry::epoch::RegistryEpoch;
use strongroom_registry::manifests::{self as rows, CataloguedObject};
use strongroom_registry::tenants::{self, Institution};
use strongroom_registry::{RegistryError, Scope};
use strongroom_storage::{Head, Key, PutCondition, PutOptions, StorageError, Store};

use crate::error::Failures;
use crate::logs::object_root;
use crate::runtime::Shutdown;
use crate::{EngineError, Home, crash_point, paging, watermark};

/// Where a store has its catalogues, beside its storage roots.
const FOLDER: &str = "_strongroom/catalogue";
/// Objects and institutions that are listed at once.
const AT_ONCE: usize = 500;
/// The columns.
const COLUMNS: [&str; 12] = [
    "identifier",
    "title",
    "path",
    "versions",
    "files",
    "bytes",
    "collection",
    "ark",
    "local_ids",
    "ocfl_id",
    "created_at",
    "updated_at",
];

/// What a run came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ran {
    /// Catalogues that were written.
    pub(crate) written: u64,
    /// Catalogues that were as they should be.
    pub(crate) unchanged: u64,
}

/// Brings the catalogues of every preservation store in use up to date. A store that fails keeps no other from it.
pub(crate) fn run(home: &Home, stop: &Shutdown) -> Result<Ran, EngineError> {
    let (mut ran, mut failures) = (Ran::default(), Failures::default());
    for store in home.preservation_stores() {
        if home.is_retired(store.name())? {
            continue;
        }
        if let Some(reason) = home.away(store.name()) {
            let away = StorageError::Away { store: store.name().to_owned(), reason };
            failures.add(EngineError::from(away));
            continue;
        }
        let mut epoch = None;
        let list = |after: Option<String>, limit| {
            home.registry
                .read(|tx| tenants::institutions(tx, Scope::System, after.as_deref().unwrap_or_default(), limit))
        };
        for institution in paging::rows(AT_ONCE, |one: &Institution| one.identifier.clone(), list) {
            if stop.is_requested() {
                return failures.or(ran);
            }
            match bring(home, store, &institution?, &mut epoch, stop) {
                Ok(Some(true)) => ran.written += 1,
                Ok(Some(false)) => ran.unchanged += 1,
                Ok(None) => {}
                // Nothing else can be done in the store either.
                Err(error) if error.away().is_some() || matches!(error, EngineError::Superseded { .. }) => {
                    failures.add(error);
                    break;
                }
                Err(error) => failures.add(error),
            }
        }
    }
    failures.or(ran)
}

/// Where the catalogue of an institution lies.
fn key_of(institution: &str) -> Result<Key, StorageError> {
    Ok(Key::new(format!("{FOLDER}/{institution}.csv"))?)
}

/// Brings one catalogue up to date; whether it was written. None where there is nothing to write, another process was faster, or
/// the work is to end.
fn bring(
    home: &Home,
    store: &dyn Store,
    institution: &Institution,
    epoch: &mut Option<RegistryEpoch>,
    stop: &Shutdown,
) -> Result<Option<bool>, EngineError> {
    let key = key_of(&institution.identifier)?;
    // Asked before the registry is: what another process writes meanwhile is newer, and is not replaced.
    let head = match store.head(&key) {
        Ok(head) => Some(head),
        Err(error) if error.is_absent() => None,
        Err(error) => return Err(error.into()),
    };
    let Some(mut catalogue) = Catalogue::compose(home, store, institution, stop)? else { return Ok(None) };
    match &head {
        None if catalogue.objects == 0 => return Ok(None),
        Some(head) if catalogue.is_at(store, &key, head)? => return Ok(Some(false)),
        _ => {}
    }
    crash_point("catalogue.composed");
    let announced = match *epoch {
        Some(announced) => announced,
        None => watermark::announce(home)?,
    };
    *epoch = Some(announced);
    watermark::advance(home, store, &announced)?;
    let condition = match head {
        _ if !store.capabilities().conditional_put => PutCondition::Always,
        Some(head) => PutCondition::IfMatch(head.etag),
        None => PutCondition::IfAbsent,
    };
    let digest = Some((Algorithm::Sha256, catalogue.sha256));
    let options = PutOptions { digest, size: Some(catalogue.size), condition, ..PutOptions::default() };
    let put = match store.put(&key, &mut catalogue.reader()?, &options) {
        Ok(head) => head,
        Err(StorageError::Condition { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    crash_point("catalogue.put");
    watermark::confirm(home, &[store], &announced)?;
    if !catalogue.is_at(store, &key, &put)? && store.head(&key).is_ok_and(|now| now.etag == put.etag) {
        let reason = format!("{key} does not read back as it was written");
        return Err(StorageError::Unusable { store: store.name().to_owned(), reason }.into());
    }
    Ok(Some(true))
}

/// A catalogue as it should be, in a file without a name.
struct Catalogue {
    file: File,
    size: u64,
    sha256: Digest,
    objects: u64,
}

impl Catalogue {
    /// None where the work is to end.
    fn compose(
        home: &Home,
        store: &dyn Store,
        institution: &Institution,
        stop: &Shutdown,
    ) -> Result<Option<Self>, EngineError> {
        let mut out = BufWriter::new(tempfile::tempfile().map_err(uncomposed)?);
        let mut hasher = MultiHasher::new(&[Algorithm::Sha256]);
        let (mut size, mut objects) = (0, 0);
        let mut write = |mut line: Vec<u8>| {
            line.push(b'\n');
            hasher.update(&line);
            size += line.len() as u64;
            out.write_all(&line).map_err(uncomposed)
        };
        write(csv::line(COLUMNS))?;
        let name = store.name();
        let list = |after: Option<String>, limit| {
            let after = after.unwrap_or_default();
            home.registry.read(|tx| rows::objects_in_store(tx, name, institution.id, &after, limit))
        };
        for object in paging::rows(AT_ONCE, |object: &CataloguedObject| object.identifier.clone(), list) {
            if stop.is_requested() {
                return Ok(None);
            }
            write(line(&institution.identifier, &object.map_err(|error: RegistryError| error)?)?)?;
            objects += 1;
        }
        let file = out.into_inner().map_err(|error| uncomposed(error.into_error()))?;
        let Some(sha256) = hasher.finish().get(Algorithm::Sha256) else {
            return Err(uncomposed(io::Error::other("there is no digest")));
        };
        Ok(Some(Self { file, size, sha256, objects }))
    }

    fn reader(&mut self) -> Result<impl Read + '_, EngineError> {
        self.file.seek(SeekFrom::Start(0)).map_err(uncomposed)?;
        Ok(&mut self.file)
    }

    /// Whether it is what lies in a store. What has another length, or cannot be read now, is not read.
    fn is_at(&self, store: &dyn Store, key: &Key, head: &Head) -> Result<bool, EngineError> {
        if head.size != self.size {
            return Ok(false);
        }
        if let Some((Algorithm::Sha256, digest)) = &head.checksum
            && store.capabilities().strong_checksum
        {
            return Ok(*digest == self.sha256);
        }
        if !head.readable {
            return Ok(false);
        }
        let body = match store.open(key, 0, Some(self.size)) {
            Ok(body) => body,
            Err(error) if error.is_absent() => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let unread =
            |source| StorageError::Io { store: store.name().to_owned(), act: "read", key: key.clone(), source };
        let (_, digests) = hash_reader(body, &[Algorithm::Sha256]).map_err(unread)?;
        Ok(digests.get(Algorithm::Sha256) == Some(self.sha256))
    }
}

/// The line of an object.
fn line(institution: &str, object: &CataloguedObject) -> Result<Vec<u8>, EngineError> {
    let text = |text: &Option<String>| on_one_line(text.as_deref().unwrap_or_default());
    Ok(csv::line([
        on_one_line(&object.identifier),
        text(&object.title),
        object_root(institution, object.generation)?.to_string(),
        object.versions.to_string(),
        object.files.to_string(),
        object.bytes.to_string(),
        text(&object.collection),
        text(&object.ark),
        on_one_line(&object.local_ids.join("; ")),
        object_id(&object.generation.to_string())?,
        object.created_at.to_string(),
        object.updated_at.to_string(),
    ]))
}

/// A text for a line of a text editor: control characters, of which line ends are some, the separators of lines and paragraphs, and what turns
/// the direction of the text are blanks.
fn on_one_line(text: &str) -> String {
    let is_blank = |character: char| {
        character.is_control() || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|character| if is_blank(character) { ' ' } else { character }).collect()
}

fn uncomposed(source: io::Error) -> EngineError {
    EngineError::Io { act: "compose a catalogue in", path: "a temporary file".to_owned(), source }
}
