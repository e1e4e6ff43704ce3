//! A storage root: its declaration and layout, the way from an id to an object, and the walk over all objects.

use std::io::Read;

use serde::{Deserialize, Serialize};
use strongroom_storage::{Key, Listed, PutCondition, PutOptions, StorageError, Store};

use crate::spec::declaration_text;
use crate::{Layout, Object, OcflError, SpecVersion};

const LAYOUT_FILE: &str = "ocfl_layout.json";
/// No layout or configuration file is near this long; more is not read.
const SMALL_FILE_LIMIT: u64 = 64 * 1024;

/// An OCFL storage root below a prefix of a store.
#[derive(Clone)]
pub struct StorageRoot<'s> {
    store: &'s dyn Store,
    prefix: Key,
    spec: SpecVersion,
    layout: Option<Layout>,
}

/// A file that declares a storage root and is not as this program writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootFault {
    /// Its name below the storage root.
    pub name: String,
    /// What lies there instead, at most 64 KiB of it; none where nothing does.
    pub found: Option<Vec<u8>>,
}

/// What `ocfl_layout.json` says.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LayoutFile {
    pub(crate) extension: String,
    pub(crate) description: String,
}

impl<'s> StorageRoot<'s> {
    /// Makes a storage root of our layout below `prefix`, or opens the one that is there. Repeating it after it was cut
    /// short completes it. Anything else that lies there already is refused.
    pub fn init(store: &'s dyn Store, prefix: &Key) -> Result<Self, OcflError> {
        let ours = Layout::ours();
        let declaration = SpecVersion::V1_1.root_declaration();
        if read_small(store, &prefix.join(&declaration)?)?.is_some() {
            let root = Self::open(store, prefix)?;
            if root.layout.as_ref() != Some(&ours) {
                return Err(fault(store, prefix, "its layout is not the one this program writes".to_owned()));
            }
            return Ok(root);
        }
        let files = declarations()?;
        for listed in store.list(prefix)?.take(files.len() + 1) {
            let key = listed?.key;
            if !files.iter().any(|(name, _)| key.below(prefix) == Some(name)) {
                return Err(fault(store, prefix, format!("{key} already exists where a storage root was to be made")));
            }
        }
        for (name, text) in &files {
            let options = PutOptions { size: Some(text.len() as u64), ..PutOptions::default() };
            store.put(&prefix.join(name)?, &mut text.as_bytes(), &options)?;
        }
        Ok(Self { store, prefix: prefix.clone(), spec: SpecVersion::V1_1, layout: Some(ours) })
    }

    /// What declares a storage root of our layout and is not as [`StorageRoot::init`] makes it: the layout's configuration,
    /// the layout file and the declaration, in this order.
    pub fn faults(store: &dyn Store, prefix: &Key) -> Result<Vec<RootFault>, OcflError> {
        let mut faults = Vec::new();
        for (name, text) in declarations()? {
            let found = read_small(store, &prefix.join(&name)?)?;
            if found.as_deref() != Some(text.as_bytes()) {
                faults.push(RootFault { name, found });
            }
        }
        Ok(faults)
    }

    /// Puts a file back that declares the storage root. Where the store honours conditions, only if there is still what the
    /// fault names; one that was put back meanwhile stays.
    pub fn restore(store: &dyn Store, prefix: &Key, fault: &RootFault) -> Result<(), OcflError> {
        let Some((name, text)) = declarations()?.into_iter().find(|(name, _)| *name == fault.name) else {
            return Err(self::fault(store, prefix, format!("{} does not declare a storage root", fault.name)));
        };
        let key = prefix.join(&name)?;
        let condition = match store.head(&key) {
            _ if !store.capabilities().conditional_put => PutCondition::Always,
            Ok(head) => PutCondition::IfMatch(head.etag),
            Err(error) if error.is_not_found() => PutCondition::IfAbsent,
            Err(error) => return Err(error.into()),
        };
        // Between the look and the fault it may have been put back, which is as good.
        if read_small(store, &key)? != fault.found {
            return Ok(());
        }
        let options = PutOptions { size: Some(text.len() as u64), condition, ..PutOptions::default() };
        match store.put(&key, &mut text.as_bytes(), &options) {
            Ok(_) | Err(StorageError::Condition { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a storage root that exists, also one made by others. One whose layout is not known here can be walked and
    /// validated, but finds no object by its id.
    pub fn open(store: &'s dyn Store, prefix: &Key) -> Result<Self, OcflError> {
        let mut declared = None;
        for spec in SpecVersion::ALL {
            let name = spec.root_declaration();
            if let Some(text) = read_small(store, &prefix.join(&name)?)? {
                if text != declaration_text(&name).as_bytes() {
                    return Err(fault(store, prefix, format!("{name} does not say what it should")));
                }
                declared = Some(spec);
            }
        }
        let Some(spec) = declared else {
            return Err(fault(store, prefix, "it has no declaration of OCFL 1.0 or 1.1".to_owned()));
        };
        let layout = Self::read_layout(store, prefix)?;
        Ok(Self { store, prefix: prefix.clone(), spec, layout })
    }

    fn read_layout(store: &dyn Store, prefix: &Key) -> Result<Option<Layout>, OcflError> {
        let Some(text) = read_small(store, &prefix.join(LAYOUT_FILE)?)? else { return Ok(None) };
        let file: LayoutFile = serde_json::from_slice(&text)
            .map_err(|error| fault(store, prefix, format!("{LAYOUT_FILE} cannot be read: {error}")))?;
        let Ok(configuration_key) = prefix.join(&format!("extensions/{}/config.json", file.extension)) else {
            return Ok(None);
        };
        let configuration = read_small(store, &configuration_key)?;
        Layout::read(&file.extension, configuration.as_deref()).map_err(|reason| fault(store, prefix, reason))
    }

    /// The store it lies in.
    pub fn store(&self) -> &'s dyn Store {
        self.store
    }

    /// Where it lies in the store.
    pub fn prefix(&self) -> &Key {
        &self.prefix
    }

    /// The version of the specification it declares.
    pub fn spec(&self) -> SpecVersion {
        self.spec
    }

    /// Its layout, where it is known here.
    pub fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }

    /// The object root that belongs to an id, whether or not anything lies there.
    pub fn object_root(&self, id: &str) -> Result<Key, OcflError> {
        let layout = self.layout.as_ref().ok_or_else(|| {
            fault(self.store, &self.prefix, "its layout is not known, so no object can be found by its id".to_owned())
        })?;
        Ok(self.prefix.join(layout.path(id)?.as_str())?)
    }

    /// The object of an id, whether or not anything lies there.
    pub fn object(&self, id: &str) -> Result<Object<'s>, OcflError> {
        Ok(Object::new(self.store, self.object_root(id)?))
    }

    /// Every object root below this storage root, in byte order of its key, with constant memory. An object is what has
    /// an object declaration, so one that was never completed is yielded too and has no root inventory.
    pub fn objects(&self) -> Result<Objects<'s>, OcflError> {
        let store = self.store;
        Ok(Objects { store, prefix: self.prefix.clone(), listing: store.list(&self.prefix)?, current: None })
    }
}

/// The walk over the objects of a storage root.
pub struct Objects<'s> {
    store: &'s dyn Store,
    prefix: Key,
    listing: Box<dyn Iterator<Item = Result<Listed, StorageError>> + 's>,
    current: Option<Key>,
}

impl<'s> Iterator for Objects<'s> {
    type Item = Result<Object<'s>, OcflError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let key = match self.listing.next()? {
                Ok(listed) => listed.key,
                Err(error) => return Some(Err(error.into())),
            };
            if self.current.as_ref().is_some_and(|root| key.below(root).is_some()) {
                continue;
            }
            let Some((directory, name)) = key.as_str().rsplit_once('/') else { continue };
            let Ok(root) = Key::new(directory) else { continue };
            let inside = root.below(&self.prefix).is_some_and(|path| !path.is_empty() && !is_extension(path));
            if name.starts_with("0=ocfl_object_") && inside {
                self.current = Some(root.clone());
                return Some(Ok(Object::new(self.store, root)));
            }
        }
    }
}

/// The files that declare a storage root of our layout, in the order in which they are written.
fn declarations() -> Result<[(String, String); 3], OcflError> {
    let ours = Layout::ours();
    let declaration = SpecVersion::V1_1.root_declaration();
    let layout_file = LayoutFile { extension: ours.extension().to_owned(), description: ours.description() };
    let layout_text = serde_json::to_string_pretty(&layout_file)
        .map_err(|error| OcflError::Io { act: "write a storage layout", source: error.into() })?
        + "\n";
    let text = declaration_text(&declaration);
    Ok([
        (format!("extensions/{}/config.json", ours.extension()), ours.configuration().unwrap_or_default()),
        (LAYOUT_FILE.to_owned(), layout_text),
        (declaration, text),
    ])
}

/// Whether a path below a storage root belongs to its extensions.
pub(crate) fn is_extension(path: &str) -> bool {
    path == "extensions" || path.starts_with("extensions/")
}

/// Reads a small file whole; `None` when nothing lies there.
pub(crate) fn read_small(store: &dyn Store, key: &Key) -> Result<Option<Vec<u8>>, OcflError> {
    let mut body = match store.open(key, 0, Some(SMALL_FILE_LIMIT)) {
        Ok(body) => body,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut bytes = Vec::new();
    body.read_to_end(&mut bytes).map_err(|source| {
        let store = store.name().to_owned();
        OcflError::Storage(StorageError::Io { store, act: "read", key: key.clone(), source })
    })?;
    Ok(Some(bytes))
}

fn fault(store: &dyn Store, prefix: &Key, reason: String) -> OcflError {
    OcflError::Root { store: store.name().to_owned(), key: prefix.clone(), reason }
}
