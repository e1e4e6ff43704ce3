//! Files of an object, with formats and copies.

use strongroom_registry::objects::{self, DEPOSIT};
use strongroom_registry::{FileId, RegistryError};

use super::authorization::FILES_LIST;
use super::views::FileView;
use super::{OpContext, PAGE, Page};
use crate::EngineError;
use crate::arks::find_object;
use crate::status::stores_of;

/// Which files are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Those of this version; where absent, of the newest.
    pub version: Option<u64>,
    /// Only those below this folder of the package.
    pub below: Option<String>,
}

/// Where a listing of files goes on.
#[derive(Debug, Clone)]
pub struct FileCursor {
    /// The version that is listed: another may be the newest by now.
    version: u64,
    /// Behind this logical path.
    path: String,
}

/// The file that a text names: its identifier, or a part of it that no other file has.
pub fn named(context: &OpContext, text: &str) -> Result<FileId, EngineError> {
    context.authorize(&FILES_LIST)?.named(text)
}

/// Files of an object at one version in byte order of their paths, after `after`.
///
/// # Errors
/// There is no such object, or it has no such version.
pub fn list(
    context: &OpContext,
    object: &str,
    filter: &Filter,
    after: Option<FileCursor>,
) -> Result<Page<FileView, FileCursor>, EngineError> {
    let authorized = context.authorize(&FILES_LIST)?;
    let found = authorized.read(|tx| find_object(tx, authorized.scope(), object))?;
    let version = filter.version.unwrap_or(found.head);
    if version > found.head || (version == 0 && found.head > 0) {
        let error = EngineError::NotFound { what: "version", name: version.to_string(), hint: String::new() };
        return Err(error.next(format!("versions are 1 to {}", found.head)));
    }
    let FileCursor { version, path } = after.unwrap_or(FileCursor { version, path: String::new() });
    let prefix = match filter.below.as_deref().map(|folder| folder.trim_matches('/')) {
        None | Some("") => DEPOSIT.to_owned(),
        Some(folder) => format!("{DEPOSIT}{folder}/"),
    };
    let (page, expected) = authorized.read(|tx| {
        let expected = stores_of(tx, &authorized.home().settings, &found)?.len() as u64;
        let files = objects::files(tx, found.id, version, &prefix, &path, PAGE)?;
        let with_copies = files.into_iter().map(|file| {
            let copies = objects::copies_in_use(tx, file.content)?;
            Ok((file, copies))
        });
        Ok((with_copies.collect::<Result<Vec<_>, RegistryError>>()?, expected))
    })?;
    let next = page.last().map(|(last, _)| FileCursor { version, path: last.path.clone() });
    let items = page.into_iter().map(|(file, copies)| FileView::new(file, found.state, copies, expected)).collect();
    Ok(Page { items, next })
}
