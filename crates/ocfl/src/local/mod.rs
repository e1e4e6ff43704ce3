//! Reading storage roots and objects of the disk, made by any program: which objects there are, what their versions
//! hold and how these differ, and the contents, compared with their digests while they are read.
//!
//! Names come from others, so no symbolic link below the storage root is followed, and only regular files are opened. Memory
//! does not grow with the number of objects, nor with the number of files of one: what comes in order is read page by page.

mod directory;
mod object;
mod states;
mod walk;

use std::path::{Path, PathBuf};

use crate::spec::declaration_text;
use crate::{Layout, OcflError, SpecVersion};
use directory::Directory;
pub use object::{LocalFile, LocalObject};
pub use states::{Difference, PathStates, VersionChanges};
pub use walk::LocalObjects;

const LAYOUT_FILE: &str = "ocfl_layout.json";
/// Entries of a directory that are inspected for a hint.
const HINT_ENTRIES: usize = 1_000;
/// Directories above one that are inspected for a hint.
const HINT_PARENTS: usize = 32;

/// What OCFL has in a directory.
#[derive(Debug)]
pub enum Local {
    /// A storage root.
    Root(LocalRoot),
    /// An object.
    Object(LocalObject),
}

/// A storage root of the disk.
#[derive(Debug)]
pub struct LocalRoot {
    directory: Directory,
    spec: SpecVersion,
    layout_name: Option<String>,
    layout: Option<Layout>,
}

/// Opens what OCFL has at a path. Links in the path itself are followed: the caller named it.
///
/// # Errors
/// There is neither a storage root nor an object ([`OcflError::NotOcfl`], which says where the next one is).
pub fn open_local(path: &Path) -> Result<Local, OcflError> {
    let directory = Directory::open(path)?;
    let (mut root, mut is_object) = (Vec::new(), false);
    directory.each_name(Path::new(""), &mut |name, _| {
        let name = name.to_string_lossy();
        if name.starts_with("0=ocfl_object_") {
            is_object = true;
        } else if name.starts_with("0=ocfl_") {
            root.push(name.into_owned());
        }
    })?;
    if is_object {
        return Ok(Local::Object(LocalObject::new(directory, PathBuf::new())));
    }
    let known = SpecVersion::ALL.into_iter().rev().find(|spec| root.contains(&spec.root_declaration()));
    match (known, root.first()) {
        (Some(spec), _) => Ok(Local::Root(LocalRoot::open(directory, spec)?)),
        (None, Some(other)) => Err(OcflError::NotOcfl {
            path: path.to_owned(),
            reason: format!("its declaration {other:?} is of a version that is not known; known are 1.0 and 1.1"),
        }),
        (None, None) => Err(OcflError::NotOcfl { path: path.to_owned(), reason: hint(path, &directory) }),
    }
}

/// Where a storage root or an object is, near a directory that is neither.
fn hint(path: &Path, directory: &Directory) -> String {
    let roots = roots_below(path, directory);
    if let [first, rest @ ..] = roots.as_slice() {
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more below it", rest.len()) };
        return format!("there is no declaration in it; a storage root is {}{more}", first.display());
    }
    let full = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let above = full.ancestors().skip(1).take(HINT_PARENTS).find(|above| is_declared_root(above));
    match above {
        Some(above) => format!("there is no declaration in it; it is inside the storage root {}", above.display()),
        None => "there is no declaration (0=ocfl_1.1, 0=ocfl_object_1.1 or of 1.0) in it".to_owned(),
    }
}

/// Storage roots directly below a directory, among its first entries.
fn roots_below(path: &Path, directory: &Directory) -> Vec<PathBuf> {
    let mut below = Vec::new();
    let mut left = HINT_ENTRIES;
    let listed = directory.each_name(Path::new(""), &mut |name, is_directory| {
        left = left.saturating_sub(1);
        if is_directory && left > 0 {
            below.push(path.join(name));
        }
    });
    below.sort();
    below.retain(|below| listed.is_ok() && is_declared_root(below));
    below
}

fn is_declared_root(path: &Path) -> bool {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.take(HINT_ENTRIES).any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("0=ocfl_") && !name.starts_with("0=ocfl_object_")
    })
}

/// Refuses a directory that is no storage root and has storage roots directly below it: one of them is meant.
pub(crate) fn refuse_above_roots(path: &Path) -> Result<(), OcflError> {
    let directory = Directory::open(path)?;
    if roots_below(path, &directory).is_empty() {
        return Ok(());
    }
    Err(OcflError::NotOcfl { path: path.to_owned(), reason: hint(path, &directory) })
}

impl LocalRoot {
    fn open(directory: Directory, spec: SpecVersion) -> Result<Self, OcflError> {
        let name = spec.root_declaration();
        let text = directory.read_small(Path::new(&name))?;
        if text.as_deref() != Some(declaration_text(&name).as_bytes()) {
            let reason = format!("{name} does not say what its name says");
            return Err(OcflError::NotOcfl { path: directory.path().to_owned(), reason });
        }
        // A layout that cannot be read is one that is not known: objects are then looked for.
        let layout_name = directory
            .read_small(Path::new(LAYOUT_FILE))?
            .and_then(|text| serde_json::from_slice::<crate::root::LayoutFile>(&text).ok())
            .map(|file| file.extension);
        let layout = match &layout_name {
            Some(name) if !name.contains('/') && name != ".." => {
                let configuration = Path::new("extensions").join(name).join("config.json");
                Layout::read(name, directory.read_small(&configuration)?.as_deref()).unwrap_or_default()
            }
            _ => None,
        };
        Ok(Self { directory, spec, layout_name, layout })
    }

    /// The version of the specification it declares.
    pub fn spec(&self) -> SpecVersion {
        self.spec
    }

    /// The extension that its `ocfl_layout.json` names, known here or not.
    pub fn layout_name(&self) -> Option<&str> {
        self.layout_name.as_deref()
    }

    /// Every object below it, in byte order of names, directory by directory. What cannot be listed is an error in its place,
    /// and the walk goes on.
    pub fn objects(&self) -> LocalObjects<'_> {
        LocalObjects::new(&self.directory)
    }

    /// The object at a path relative to the storage root, where one is.
    pub fn at(&self, path: &Path) -> Result<Option<LocalObject>, OcflError> {
        let mut is_object = false;
        let listed = self.directory.each_name(path, &mut |name, _| {
            is_object |= name.to_string_lossy().starts_with("0=ocfl_object_");
        });
        match listed {
            Ok(()) if is_object => Ok(Some(LocalObject::new(self.directory.try_clone()?, path.to_owned()))),
            Ok(()) => Ok(None),
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The object with an id: where the layout says, else where a walk finds it. Objects that cannot be read are passed over.
    pub fn find(&self, id: &str) -> Result<Option<LocalObject>, OcflError> {
        if let Some(place) = self.layout.as_ref().and_then(|layout| layout.path(id).ok())
            && let Some(object) = self.at(Path::new(place.as_str()))?
            && object.id().is_ok_and(|found| found == id)
        {
            return Ok(Some(object));
        }
        for object in self.objects() {
            let Ok(object) = object else { continue };
            if object.id().is_ok_and(|found| found == id) {
                return Ok(Some(object));
            }
        }
        Ok(None)
    }
}
