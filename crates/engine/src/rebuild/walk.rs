//! The walk over a preservation store: one listing, in which each institution's storage root is inspected once and each
//! object root is found by its declaration.

use strongroom_ocfl::StorageRoot;
use strongroom_registry::tenants::is_institution_identifier;
use strongroom_storage::{Key, Listed, StorageError, Store};

use crate::EngineError;
use crate::error::chain;

/// What the walk came upon.
pub(super) enum Visited {
    /// An object root below an institution's storage root.
    Object {
        /// The institution's domain name.
        institution: String,
        /// The object root.
        root: Key,
    },
    /// Something that cannot be walked.
    Problem {
        /// Where.
        path: String,
        /// Why not.
        reason: String,
    },
}

/// The walk.
pub(super) struct Walk<'s> {
    store: &'s dyn Store,
    listing: Box<dyn Iterator<Item = Result<Listed, StorageError>> + 's>,
    /// The top folder of the walk now, and whether it is a storage root.
    top: Option<(String, bool)>,
    /// The object root of the walk now.
    object: Option<Key>,
}

impl<'s> Walk<'s> {
    pub(super) fn new(store: &'s dyn Store) -> Result<Self, EngineError> {
        Ok(Self { store, listing: store.list(&Key::ROOT)?, top: None, object: None })
    }

    /// Enters a top folder; what is wrong with it, if it is an institution's and no storage root.
    fn enter(&mut self, top: &str) -> Option<Visited> {
        let is_institution = is_institution_identifier(top);
        let opened = Key::new(top)
            .map_err(|error| error.to_string())
            .and_then(|prefix| StorageRoot::open(self.store, &prefix).map(drop).map_err(|error| chain(&error)));
        self.top = Some((top.to_owned(), is_institution && opened.is_ok()));
        match opened {
            Err(reason) if is_institution => Some(Visited::Problem { path: top.to_owned(), reason }),
            _ => None,
        }
    }
}

/// The object root that a key declares.
pub(crate) fn declared(key: &Key) -> Option<Key> {
    let (directory, name) = key.as_str().rsplit_once('/')?;
    let (_, below_top) = directory.split_once('/')?;
    let is_declaration = name.starts_with("0=ocfl_object_") && !below_top.starts_with("extensions/");
    if is_declaration { Key::new(directory).ok() } else { None }
}

impl Iterator for Walk<'_> {
    type Item = Result<Visited, EngineError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let key = match self.listing.next()? {
                Ok(listed) => listed.key,
                Err(error @ (StorageError::Key(_) | StorageError::Unusable { .. })) => {
                    return Some(Ok(Visited::Problem { path: String::new(), reason: chain(&error) }));
                }
                Err(error) => return Some(Err(error.into())),
            };
            if self.object.as_ref().is_some_and(|object| key.below(object).is_some()) {
                continue;
            }
            let Some((top, _)) = key.as_str().split_once('/') else { continue };
            if self.top.as_ref().is_none_or(|(now, _)| now != top)
                && let Some(problem) = self.enter(top)
            {
                return Some(Ok(problem));
            }
            let Some((institution, true)) = self.top.clone() else { continue };
            if let Some(root) = declared(&key) {
                self.object = Some(root.clone());
                return Some(Ok(Visited::Object { institution, root }));
            }
        }
    }
}
