//! How files and contents are named for people: the object as `<institution>/<name>`, then the path in the package. Keys of
//! stores, which have a digest in the place of the path, come second.

use std::fmt;

use strongroom_registry::objects::{self, ContentPaths, DEPOSIT};
use strongroom_registry::versions::Version;
use strongroom_registry::{ContentId, RegistryError, Transaction};

/// A logical path as it was in the package.
pub(crate) fn in_package(path: &str) -> &str {
    path.strip_prefix(DEPOSIT).unwrap_or(path)
}

/// A content of an object: `<institution>/<name>: <path>`. Several paths of one object may have the content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContentName {
    /// The object, `<institution>/<name>`.
    pub(crate) object: String,
    /// The first path in the package, in byte order; none for what an object has besides contents.
    pub(crate) path: Option<String>,
    /// How many other paths have the content.
    pub(crate) more_paths: u64,
}

impl ContentName {
    /// The name of a content of this object, or of the object where it is about none.
    pub(crate) fn read(
        tx: &mut dyn Transaction,
        object: &str,
        content: Option<ContentId>,
    ) -> Result<Self, RegistryError> {
        let paths = content.map(|content| objects::paths(tx, content)).transpose()?.flatten();
        Ok(Self::of(object, paths))
    }

    /// The name of a content of a version of this object that need not be published.
    pub(crate) fn within(
        tx: &mut dyn Transaction,
        object: &str,
        content: ContentId,
        version: &Version,
    ) -> Result<Self, RegistryError> {
        Ok(Self::of(object, objects::paths_within(tx, content, version)?))
    }

    fn of(object: &str, paths: Option<ContentPaths>) -> Self {
        let (path, more_paths) =
            paths.map_or((None, 0), |paths| (Some(in_package(&paths.first).to_owned()), paths.more));
        Self { object: object.to_owned(), path, more_paths }
    }
}

impl fmt::Display for ContentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&named(&self.object, self.path.as_deref(), self.more_paths))
    }
}

/// The name of a content in words.
pub(crate) fn named(object: &str, path: Option<&str>, more_paths: u64) -> String {
    let path = path.map(|path| format!(": {path}")).unwrap_or_default();
    let more = if more_paths > 0 { format!(" and {more_paths} more") } else { String::new() };
    format!("{object}{path}{more}")
}
