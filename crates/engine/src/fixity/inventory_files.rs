//! The files that an object has in a store besides contents, as the record has them: what lies there, and putting back
//! what is not as recorded. Only what was seen is replaced, and only by recorded bytes.

use strongroom_digest::{Algorithm, Digest, hash_reader};
use strongroom_ocfl::InventorySeal;
use strongroom_registry::deletions;
use strongroom_registry::versions::{self, Version};
use strongroom_registry::{DeletionId, GenerationId, ObjectId};
use strongroom_storage::{Body, Key, PutCondition, PutOptions, StorageError, Store};

use super::evidence::{self, FoundBytes};
use super::{GoOn, ObjectHold, OperationError, check};
use crate::interruptible::Interruptible;
use crate::logs::object_root;
use crate::{EngineError, Home, deletion};

const INVENTORY: &str = "inventory.json";
const SIDECAR: &str = "inventory.json.sha512";
/// The declaration of an object of OCFL 1.1 (section 3.3): its name, and what it says.
const DECLARATION: (&str, &str) = ("0=ocfl_object_1.1", "ocfl_object_1.1\n");

/// One of the files that are watched together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Declaration,
    Inventory(Place),
    Sidecar(Place),
    /// What a deletion left.
    Tombstone(DeletionId),
    /// The record that an object which was deleted has of it, in an earlier generation of the object.
    LastRecord(DeletionId),
}

/// The object root, or a version's directory; with the number of the version whose inventory belongs there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Root(u64),
    Version(u64),
}

impl Place {
    fn number(self) -> u64 {
        match self {
            Self::Root(number) | Self::Version(number) => number,
        }
    }

    fn file(self, name: &str) -> String {
        match self {
            Self::Root(_) => name.to_owned(),
            Self::Version(number) => format!("v{number}/{name}"),
        }
    }
}

/// A file that is not as recorded.
#[derive(Debug, Clone)]
pub(super) struct FileFault {
    pub(super) part: Part,
    /// The object root.
    root: Key,
    /// Of which generation of the object; none: the present one.
    pub(super) earlier: Option<GenerationId>,
    /// Relative to the object root.
    pub(super) file: String,
    /// What lies there.
    pub(super) found: Option<Lying>,
    /// The digest recorded.
    pub(super) expected: Option<Digest>,
}

/// What lies under a key.
#[derive(Debug, Clone)]
pub(super) struct Lying {
    size: u64,
    /// None where the medium cannot read it.
    digest: Option<Digest>,
    /// Why it cannot.
    unreadable: Option<String>,
    /// The store's etag of it.
    etag: String,
}

impl Lying {
    pub(super) fn bytes(&self) -> Option<FoundBytes<'_>> {
        match (&self.unreadable, self.digest) {
            (Some(reason), _) => Some(FoundBytes::Unreadable(self.size, reason)),
            (None, Some(digest)) => Some(FoundBytes::Read(self.size, digest)),
            (None, None) => None,
        }
    }
}

impl FileFault {
    /// The file as people read of it.
    pub(super) fn name(&self) -> String {
        match self.earlier {
            None => self.file.clone(),
            Some(_) => format!("{}/{} of the object as it was before it was deleted", self.root, self.file),
        }
    }

    pub(super) fn words(&self) -> String {
        let name = self.name();
        match &self.found {
            Some(Lying { unreadable: Some(reason), .. }) => format!("{name} cannot be read by its medium ({reason})"),
            Some(_) => format!("{name} differs"),
            None => format!("{name} is missing"),
        }
    }

    pub(super) fn key(&self) -> Result<Key, OperationError> {
        Ok(self.root.join(&self.file).map_err(StorageError::from)?)
    }

    /// Whether it may be of a time before a deletion: then what was deleted may lie there as well.
    pub(super) fn may_be_older(&self) -> bool {
        matches!(self.part, Part::Inventory(_) | Part::Tombstone(_) | Part::LastRecord(_))
    }

    /// The digest of what lies there; none where nothing does, or where it cannot be read.
    pub(super) fn digest(&self) -> Option<Digest> {
        self.found.as_ref().and_then(|found| found.digest)
    }

    /// The digest of the inventory that lies in the root in the place of the recorded one.
    pub(super) fn other_root(&self) -> Option<Digest> {
        match self.part {
            Part::Inventory(Place::Root(_)) => self.found.as_ref().and_then(|found| found.digest),
            _ => None,
        }
    }
}

/// Which earlier generations are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Those of which a deletion has left something in the store.
    OfStore,
    /// All: nothing is looked up in the store.
    All,
}

/// The object's files in one store, as the record has them.
pub(super) struct Files<'a> {
    home: &'a Home,
    pub(super) store: &'a dyn Store,
    /// The folder of the present generation, then those of earlier ones.
    folders: Vec<Folder>,
}

/// The folder of a generation of an object.
struct Folder {
    root: Key,
    /// Which generation, and its deletion; none: the present one.
    earlier: Option<(GenerationId, DeletionId)>,
    /// What belongs where: the head's inventory twice.
    places: Vec<(Place, Digest)>,
    /// What deletions left there.
    left: Vec<(Part, String)>,
}

impl Folder {
    fn new(root: Key, versions: &[Version]) -> Self {
        let recorded = |version: &Version| version.inventory.map(|digest| (version.number, digest));
        let head = versions.last().and_then(recorded).map(|(number, digest)| (Place::Root(number), digest));
        let each = versions.iter().filter_map(recorded).map(|(number, digest)| (Place::Version(number), digest));
        let places = head.into_iter().chain(each).collect();
        Self { root, earlier: None, places, left: Vec::new() }
    }

    /// Adds the inventories that a deletion of all of the object left to versions which the registry does not know, as one that was made from
    /// the stores.
    fn add_emptied(&mut self, emptied: Vec<(u64, Digest)>) {
        for (number, digest) in emptied {
            if self.places.iter().all(|(place, _)| *place != Place::Version(number)) {
                self.places.push((Place::Version(number), digest));
            }
        }
    }

    /// A fault of a file in it, before it is known what lies there.
    fn fault(&self, part: Part, file: String, expected: Option<Digest>) -> FileFault {
        FileFault {
            part,
            root: self.root.clone(),
            earlier: self.earlier.map(|(of, _)| of),
            file,
            found: None,
            expected,
        }
    }
}

/// The tombstones that belong into the folder of a generation.
fn tombstones(home: &Home, of: (ObjectId, GenerationId), store: &str) -> Result<Vec<(Part, String)>, EngineError> {
    let found = home.registry.read(|tx| deletions::tombstones_in(tx, of, store))?;
    Ok(found.into_iter().map(|(id, name)| (Part::Tombstone(id), format!("logs/{name}"))).collect())
}

impl<'a> Files<'a> {
    pub(super) fn new(home: &'a Home, store: &str, root: Key, versions: &[Version]) -> Result<Self, EngineError> {
        Ok(Self { home, store: home.store(store)?.as_ref(), folders: vec![Folder::new(root, versions)] })
    }

    /// The same with what deletions left there.
    pub(super) fn with_tombstones(mut self, of: (ObjectId, GenerationId)) -> Result<Self, EngineError> {
        let whole = self.home.registry.read(|tx| deletions::whole_of_generation(tx, of))?;
        for folder in self.folders.iter_mut().take(1) {
            folder.left = tombstones(self.home, of, self.store.name())?;
            if let Some(whole) = &whole {
                folder.add_emptied(deletion::emptied(whole)?);
            }
        }
        Ok(self)
    }

    /// The same with what is left of earlier generations of the object, which were deleted.
    pub(super) fn with_earlier(
        mut self,
        (object, generation): (ObjectId, GenerationId),
        institution: &str,
        wanted: Wanted,
    ) -> Result<Self, OperationError> {
        let (home, store) = (self.home, self.store.name());
        for earlier in home.registry.read(|tx| deletions::of_earlier(tx, (object, generation), store))? {
            let (id, of) = (earlier.deletion, earlier.generation);
            let root = object_root(institution, of)?;
            let is_expected = match wanted {
                Wanted::All => true,
                Wanted::OfStore if !earlier.is_of_store => false,
                Wanted::OfStore if earlier.is_left => true,
                Wanted::OfStore => self.store.list(&root)?.next().is_some(),
            };
            if !is_expected {
                continue;
            }
            let Some(whole) = home.registry.read(|tx| deletions::get(tx, id))? else { continue };
            let versions = home.registry.read(|tx| versions::list(tx, object, of, false))?;
            let mut folder = Folder::new(root.clone(), &versions);
            folder.earlier = Some((of, id));
            folder.left = tombstones(home, (object, of), store)?;
            // Also where the deletion is still to be carried out: it waits for the inventories to be put right.
            let tombstone = (Part::Tombstone(id), format!("logs/{}", whole.name));
            if !folder.left.contains(&tombstone) {
                folder.left.push(tombstone);
            }
            folder.add_emptied(deletion::emptied(&whole)?);
            let record = deletion::last_record(&whole, &root)?;
            folder.left.extend(record.map(|(file, _)| (Part::LastRecord(id), file)));
            self.folders.push(folder);
        }
        Ok(self)
    }

    /// Each earlier generation by itself, with its deletion.
    pub(super) fn earlier(self) -> Vec<(DeletionId, Self)> {
        let (home, store) = (self.home, self.store);
        let alone = |folder: Folder| Some((folder.earlier?.1, Self { home, store, folders: vec![folder] }));
        self.folders.into_iter().filter_map(alone).collect()
    }

    /// The object root of the present generation.
    pub(super) fn root(&self) -> Key {
        self.folders.first().map_or(Key::ROOT, |folder| folder.root.clone())
    }

    /// What a deletion left in a file.
    fn left(&self, part: Part, root: &Key) -> Result<String, OperationError> {
        let (Part::Tombstone(id) | Part::LastRecord(id)) = part else { return Ok(String::new()) };
        let Some(deletion) = self.home.registry.read(|tx| deletions::get(tx, id))? else { return Ok(String::new()) };
        if let Part::LastRecord(_) = part {
            return Ok(deletion::last_record(&deletion, root)?.map(|(_, text)| text).unwrap_or_default());
        }
        Ok(deletion.tombstone)
    }

    /// Everything that differs from the record.
    pub(super) fn faults(&self, go_on: &GoOn<'_>) -> Result<Vec<FileFault>, OperationError> {
        let mut faults = Vec::new();
        for folder in &self.folders {
            self.compare_text(folder, (Part::Declaration, DECLARATION.0), DECLARATION.1, &mut faults)?;
            for (place, expected) in &folder.places {
                go_on.check()?;
                let mut fault = folder.fault(Part::Inventory(*place), place.file(INVENTORY), Some(*expected));
                fault.found = lying(self.store, &fault.key()?, go_on)?;
                if fault.found.as_ref().and_then(|found| found.digest) != Some(*expected) {
                    faults.push(fault);
                }
                let text = sidecar_text(expected);
                self.compare_text(folder, (Part::Sidecar(*place), &place.file(SIDECAR)), &text, &mut faults)?;
            }
            for (part, file) in &folder.left {
                go_on.check()?;
                self.compare_text(folder, (*part, file), &self.left(*part, &folder.root)?, &mut faults)?;
            }
        }
        Ok(faults)
    }

    fn compare_text(
        &self,
        folder: &Folder,
        (part, file): (Part, &str),
        expected: &str,
        faults: &mut Vec<FileFault>,
    ) -> Result<(), OperationError> {
        let digest = digest_of(expected.as_bytes());
        let mut fault = folder.fault(part, file.to_owned(), digest);
        fault.found = lying(self.store, &fault.key()?, &|| Ok(()))?;
        if digest.is_none() || fault.found.as_ref().and_then(|found| found.digest) != digest {
            faults.push(fault);
        }
        Ok(())
    }

    /// The recorded bytes of an inventory, wherever they lie among `all` stores.
    fn recorded(
        &self,
        fault: &FileFault,
        place: Place,
        all: &[Files<'a>],
        go_on: &GoOn<'_>,
    ) -> Result<Option<(InventorySeal, &'a dyn Store, Key)>, OperationError> {
        let Some(expected) = fault.expected else { return Ok(None) };
        let mut silent = None;
        for files in std::iter::once(self).chain(all) {
            let folder = files.folders.iter().find(|folder| folder.root == fault.root);
            for (other, digest) in folder.into_iter().flat_map(|folder| &folder.places) {
                if other.number() != place.number() || *digest != expected {
                    continue;
                }
                let Ok(key) = fault.root.join(&other.file(INVENTORY)) else { continue };
                match lying(files.store, &key, go_on) {
                    Ok(Some(found)) if found.digest == Some(expected) => {
                        return Ok(Some((InventorySeal { digest: expected, size: found.size }, files.store, key)));
                    }
                    Ok(_) => {}
                    Err(halt) => silent = silent.or(Some(halt)),
                }
            }
        }
        // A store that does not answer may have them: nothing is given up because of it.
        silent.map_or(Ok(None), Err)
    }

    /// The digest of the inventory that belongs into the place of a fault.
    fn recorded_digest(&self, fault: &FileFault) -> Option<Digest> {
        let (Part::Sidecar(place) | Part::Inventory(place)) = fault.part else { return None };
        let folder = self.folders.iter().find(|folder| folder.root == fault.root)?;
        folder.places.iter().find(|(other, _)| *other == place).map(|(_, digest)| *digest)
    }
}

/// Puts files of an object where they belong, under the object's lease.
pub(super) struct Writer<'a> {
    pub(super) hold: &'a ObjectHold<'a>,
    pub(super) files: &'a Files<'a>,
    pub(super) go_on: &'a GoOn<'a>,
}

impl Writer<'_> {
    /// Puts every file that is not as recorded, from `others`. Returns what could not be put, and what is not as recorded afterwards.
    pub(super) fn put_all(&self, others: &[Files<'_>]) -> Result<Vec<String>, OperationError> {
        if let Some(missing) = self.put(self.files.faults(self.go_on)?, others)? {
            return Ok(vec![missing]);
        }
        Ok(self.files.faults(self.go_on)?.iter().map(FileFault::words).collect())
    }

    /// Whether every inventory that is not as recorded can be put from some store.
    pub(super) fn can_put(&self, faults: &[FileFault], others: &[Files<'_>]) -> Result<bool, OperationError> {
        for fault in faults {
            if let Part::Inventory(place) = fault.part
                && self.files.recorded(fault, place, others, self.go_on)?.is_none()
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Puts files back, the root inventory last, so that it never names what is not there. The first that no store has, where there is one: then
    /// the rest is not put.
    pub(super) fn put(
        &self,
        mut faults: Vec<FileFault>,
        others: &[Files<'_>],
    ) -> Result<Option<String>, OperationError> {
        faults.sort_by_key(|fault| match fault.part {
            Part::Declaration => 0,
            Part::Inventory(Place::Version(_)) => 1,
            Part::Sidecar(Place::Version(_)) | Part::Tombstone(_) | Part::LastRecord(_) => 2,
            Part::Sidecar(Place::Root(_)) => 3,
            Part::Inventory(Place::Root(_)) => 4,
        });
        for fault in &faults {
            self.go_on.check()?;
            let is_put = match (fault.part, self.files.recorded_digest(fault)) {
                // Beside the root inventory that is put behind it.
                (Part::Sidecar(Place::Root(_)), Some(digest)) => {
                    self.put_text(fault, &sidecar_text(&digest))?;
                    true
                }
                _ => self.put_back(fault, others)?,
            };
            if !is_put {
                return Ok(Some(format!("no store has the recorded {}", fault.name())));
            }
        }
        Ok(None)
    }

    /// Puts one file back; false when its recorded bytes are nowhere. Only what was seen is replaced, so that a worker that
    /// lost the object's lease meanwhile changes nothing.
    pub(super) fn put_back(&self, fault: &FileFault, others: &[Files<'_>]) -> Result<bool, OperationError> {
        let place = match fault.part {
            Part::Declaration => {
                self.put_text(fault, DECLARATION.1)?;
                return Ok(true);
            }
            Part::Sidecar(place) => {
                // Its inventory is right, or there is nothing to put beside it.
                let recorded = self.files.recorded_digest(fault);
                let key = fault.root.join(&place.file(INVENTORY)).map_err(StorageError::from)?;
                let inventory = lying(self.files.store, &key, self.go_on)?;
                let digest = inventory.and_then(|found| found.digest).filter(|digest| Some(*digest) == recorded);
                let Some(digest) = digest else { return Ok(false) };
                self.put_text(fault, &sidecar_text(&digest))?;
                return Ok(true);
            }
            Part::Tombstone(_) | Part::LastRecord(_) => {
                self.put_text(fault, &self.files.left(fault.part, &fault.root)?)?;
                return Ok(true);
            }
            Part::Inventory(place) => place,
        };
        let Some((seal, from, key)) = self.files.recorded(fault, place, others, self.go_on)? else {
            return Ok(false);
        };
        self.put_inventory(fault, &seal, from.open(&key, 0, None)?)?;
        Ok(true)
    }

    /// Puts the bytes of an inventory in place of what was seen.
    pub(super) fn put_inventory(
        &self,
        fault: &FileFault,
        seal: &InventorySeal,
        body: Body,
    ) -> Result<(), OperationError> {
        self.hold.keep()?;
        let mut body = self.hold.keeping(Interruptible::new(body, self.go_on));
        let options = PutOptions {
            digest: Some((Algorithm::Sha512, seal.digest)),
            size: Some(seal.size),
            condition: self.replacing(fault),
            ..PutOptions::default()
        };
        self.files.store.put(&fault.key()?, &mut body, &options)?;
        Ok(())
    }

    fn put_text(&self, fault: &FileFault, text: &str) -> Result<(), OperationError> {
        self.hold.keep()?;
        let condition = self.replacing(fault);
        let options = PutOptions { size: Some(text.len() as u64), condition, ..PutOptions::default() };
        self.files.store.put(&fault.key()?, &mut text.as_bytes(), &options)?;
        Ok(())
    }

    fn replacing(&self, fault: &FileFault) -> PutCondition {
        evidence::replacing(self.files.store, fault.found.as_ref().map(|found| found.etag.as_str()))
    }
}

fn sidecar_text(digest: &Digest) -> String {
    format!("{digest} {INVENTORY}\n")
}

/// What lies under a key; none where nothing does.
fn lying(store: &dyn Store, key: &Key, go_on: &GoOn<'_>) -> Result<Option<Lying>, OperationError> {
    let head = match store.head(key) {
        Ok(head) => head,
        Err(error) if error.is_absent() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    match check::read(store, key, go_on) {
        Ok((size, digest)) => Ok(Some(Lying { size, digest: Some(digest), unreadable: None, etag: head.etag })),
        Err(OperationError::Engine(EngineError::Storage(error))) if error.is_absent() => Ok(None),
        Err(OperationError::Engine(EngineError::Storage(error))) if check::is_unreadable(&error) => {
            let unreadable = Some(check::medium_says(&error));
            Ok(Some(Lying { size: head.size, digest: None, unreadable, etag: head.etag }))
        }
        Err(halt) => Err(halt),
    }
}

fn digest_of(bytes: &[u8]) -> Option<Digest> {
    hash_reader(bytes, &[Algorithm::Sha512]).ok().and_then(|(_, digests)| digests.get(Algorithm::Sha512))
}
