//! Whether a package can be deposited at all, as far as that is seen before its files are read: a folder that overlaps what
//! the installation writes, and what is no bag.

use std::path::Path;

use strongroom_bagit::{BagError, Source};
use strongroom_registry::items::ItemProblem;
use strongroom_storage::{FolderLocation, Overlap};

use super::package::{PackageSource, bag_trouble, unreadable};
use crate::ingest::kind::has_tag_files;
use crate::workflow::StageError;
use crate::{EngineError, Home, places};

/// Refuses a folder that overlaps the data directory or a folder store: it would change while it is read, or is not meant to
/// be deposited, such as the registry. Costs an inspection of the folders above each, however much they hold.
pub(crate) fn check_apart(home: &Home, folder: &Path) -> Result<(), EngineError> {
    let deposited = FolderLocation::of(folder);
    let refuse = |how: String| {
        let text = format!("{} cannot be deposited: {how}", folder.display());
        Err(EngineError::Usage(text).next("deposit a folder that is apart from the data directory and the stores"))
    };
    let directory = FolderLocation::of(&home.directory);
    let overlap = deposited.overlap(&directory);
    match overlap {
        Some(Overlap::Same) => return refuse("it is the data directory".to_owned()),
        Some(Overlap::Around) => {
            return refuse(format!("it contains the data directory {}", directory.path().display()));
        }
        Some(Overlap::Within) | None => {}
    }
    if let Some((name, place, overlap)) = places::overlapping(&home.settings, &home.directory, &deposited).next() {
        return refuse(match overlap {
            Overlap::Same => format!("it is the folder of store {name}"),
            Overlap::Within => format!("it is within store {name}"),
            Overlap::Around => format!("it contains the folder of store {name}, {}", place.path().display()),
        });
    }
    if overlap == Some(Overlap::Within) {
        return refuse(format!("it is within the data directory {}", directory.path().display()));
    }
    Ok(())
}

/// Refuses a path of the server that is no bag: a file that is no archive, and a folder with neither `bagit.txt` nor a
/// manifest. The verdict is that of `bag validate`.
pub(crate) fn check_is_bag(source: &PackageSource) -> Result<(), StageError> {
    let PackageSource::LocalPath(path) = source else { return Ok(()) };
    if path.is_dir() {
        return if has_tag_files(path).map_err(|error| unreadable(path, &error))? {
            Ok(())
        } else {
            Err(no_bag(Some("bagit.txt"), "there is no bagit.txt"))
        };
    }
    match Source::open(path) {
        Err(BagError::UnknownSerialization { path }) => {
            let message = format!("{} is neither a folder nor a tar, tar.gz, tar.bz2 or zip archive", path.display());
            Err(no_bag(None, &message))
        }
        // What cannot be read now is reported by the stage when it locates the package.
        Ok(_) | Err(BagError::NotFound { .. }) => Ok(()),
        Err(error) => Err(bag_trouble(error)),
    }
}

fn no_bag(file: Option<&str>, message: &str) -> StageError {
    let code = "bagit.declaration";
    let problem = ItemProblem {
        severity: "error".to_owned(),
        code: code.to_owned(),
        file: file.map(str::to_owned),
        path: None,
        line: None,
        message: message.to_owned(),
    };
    StageError::Invalid { note: format!("the package is not a bag: {code}: {message}"), problems: vec![problem] }
}
