//! `ocfl ls`, `cat`, `log`, `diff` and `info`: what `strongroom_ocfl` reads of a folder, rendered.

use std::path::Path;

use strongroom_ocfl::{InventorySummary, Local, LocalObject, LocalRoot, OcflError, VersionNumber, open_local};

use super::Which;
use super::names::{find, find_path, name_of};
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{TableOptions, counted, report};
use crate::progress;

report! {
    /// An object of a storage root.
    ObjectLine {
        object: Option<String>,
        name: Option<String>,
        path: String,
        head: Option<String>,
        versions: u64,
        updated_at: Option<String>,
        error: Option<String>,
    }
}

report! {
    /// A file of a version.
    FileLine {
        path: String,
        size: Option<u64>,
        algorithm: String,
        digest: String,
        content_path: Option<String>,
    }
}

report! {
    /// A version.
    VersionLine {
        version: String,
        created_at: String,
        user: Option<String>,
        address: Option<String>,
        message: Option<String>,
        files: u64,
        added: u64,
        changed: u64,
        removed: u64,
    }
}

report! {
    /// A file that differs.
    DifferenceLine {
        change: String,
        path: String,
        before: Option<String>,
        after: Option<String>,
    }
}

report! {
    /// An object.
    ObjectInfo {
        object: String,
        name: Option<String>,
        path: String,
        spec: String,
        digest_algorithm: String,
        content_directory: String,
        head: String,
        versions: u64,
        created_at: Option<String>,
        updated_at: Option<String>,
        files: u64,
        contents: u64,
        content_bytes: u64,
        missing_contents: u64,
    }
}

report! {
    /// A storage root.
    RootInfo {
        path: String,
        spec: String,
        layout: Option<String>,
        objects: u64,
    }
}

/// An object that a command is about: in the storage root, or the folder itself.
fn object_of(dir: &Path, object: Option<&str>) -> Result<LocalObject, Failure> {
    match (open_local(dir)?, object) {
        (Local::Object(found), None) => Ok(found),
        (Local::Object(_), Some(object)) => {
            let message = format!("{} is an object, and no storage root with an object {object:?}", dir.display());
            Err(Failure::usage(message).next("leave the object out"))
        }
        (Local::Root(root), Some(object)) => find(&root, dir, object),
        (Local::Root(_), None) => {
            let message = format!("{} is a storage root; the object is missing", dir.display());
            Err(Failure::usage(message).next(format!("\"strongroom ocfl ls {}\" lists the objects", dir.display())))
        }
    }
}

pub(super) fn list(which: &Which, version: Option<VersionNumber>, options: TableOptions, context: &Context) -> Outcome {
    match (open_local(&which.dir)?, &which.object) {
        (Local::Root(root), None) => {
            if version.is_some() {
                return Err(Failure::usage("--version is for the files of an object").next("name the object, too"));
            }
            list_objects(&root, options, context)
        }
        _ => list_files(&object_of(&which.dir, which.object.as_deref())?, version, options, context),
    }
}

fn list_objects(root: &LocalRoot, options: TableOptions, context: &Context) -> Outcome {
    let mut table = context.output.table(&["head", "updated_at", "name", "object"]).with::<ObjectLine>(options);
    let mut broken = 0_u64;
    for object in root.objects() {
        let line = match object.map(|object| (object.summary(), object)) {
            Ok((Ok(summary), object)) => ObjectLine {
                name: name_of(&object, &summary),
                path: object.path().to_string_lossy().into_owned(),
                head: Some(summary.header.head.to_string()),
                versions: summary.versions.len() as u64,
                updated_at: summary.versions.last().map(|(_, details)| details.created.clone()),
                error: None,
                object: Some(summary.header.id),
            },
            Ok((Err(error), object)) => unreadable(object.path().to_string_lossy().into_owned(), &error),
            Err(error) => unreadable(String::new(), &error),
        };
        if let Some(error) = &line.error {
            broken += 1;
            Failure::new(Exit::No, format!("could not read an object: {error}"))
                .next("\"strongroom ocfl validate\" names all that is wrong")
                .tell(context.output.is_json());
            if !context.output.is_json() {
                continue;
            }
        }
        table.row(&line)?;
    }
    table.end("there are no objects")?;
    Ok(if broken == 0 { Exit::Done } else { Exit::No })
}

fn unreadable(path: String, error: &OcflError) -> ObjectLine {
    let error = Some(strongroom_engine::chain(error));
    ObjectLine { object: None, name: None, path, head: None, versions: 0, updated_at: None, error }
}

fn list_files(
    object: &LocalObject,
    version: Option<VersionNumber>,
    options: TableOptions,
    context: &Context,
) -> Outcome {
    let summary = object.summary()?;
    let version = summary.version(version)?;
    let algorithm = summary.header.algorithm;
    let mut table = context.output.table(&["size", "digest", "path"]).with::<FileLine>(options);
    let mut failure = None;
    let mut missing = 0_u64;
    object
        .pages(&|of| of == version, &mut |page| {
            let digests = page.iter().flat_map(|path| path.states.iter().map(|(_, digest)| *digest));
            let contents = object.content_paths(digests)?;
            for file in page {
                let Some((_, digest)) = file.states.first() else { continue };
                let content_path = contents.get(digest).cloned();
                let size = match &content_path {
                    Some(path) => object.content_size(path)?,
                    None => None,
                };
                missing += u64::from(size.is_none());
                let digest = digest.to_hex();
                let line = FileLine { path: file.path, size, algorithm: algorithm.to_string(), digest, content_path };
                if let Err(error) = table.row(&line) {
                    failure = Some(error);
                    return Err(OcflError::Stopped { reason: "the answer cannot be written".to_owned() });
                }
            }
            Ok(())
        })
        .map_err(|error| failure.take().unwrap_or_else(|| error.into()))?;
    table.end("the version has no files")?;
    if missing > 0 {
        Failure::new(Exit::No, format!("{} missing", contents(missing)))
            .next("\"strongroom ocfl validate\" names all that is wrong")
            .tell(context.output.is_json());
        return Ok(Exit::No);
    }
    Ok(Exit::Done)
}

fn contents(count: u64) -> String {
    counted(count, "content is", "contents are")
}

pub(super) fn cat(dir: &Path, target: &[String], version: Option<VersionNumber>, context: &Context) -> Outcome {
    let (object, path) = match target {
        [object, path] => (object_of(dir, Some(object))?, path),
        [path] => (object_of(dir, None)?, path),
        _ => return Err(Failure::usage("a path is needed").next("\"strongroom ocfl ls\" lists the paths")),
    };
    let path = find_path(&object, version, path)?;
    object.file(version, &path)?.copy(&mut |bytes| context.output.raw(bytes))?;
    Ok(Exit::Done)
}

pub(super) fn log(
    which: &Which,
    is_newest_first: bool,
    limit: Option<usize>,
    options: TableOptions,
    context: &Context,
) -> Outcome {
    let object = object_of(&which.dir, which.object.as_deref())?;
    let (summary, changes) = object.changes()?;
    let mut table = context
        .output
        .table(&["version", "created_at", "files", "added", "changed", "removed", "user", "message"])
        .with::<VersionLine>(options);
    let mut versions = summary.versions;
    if is_newest_first {
        versions.reverse();
    }
    for (version, details) in versions.into_iter().take(limit.unwrap_or(usize::MAX)) {
        let change = changes.get(&version).copied().unwrap_or_default();
        let (user, address) = details.user.map_or((None, None), |user| (Some(user.name), user.address));
        table.row(&VersionLine {
            version: version.to_string(),
            created_at: details.created,
            user,
            address,
            message: details.message,
            files: change.files,
            added: change.added,
            changed: change.changed,
            removed: change.removed,
        })?;
    }
    table.end("there are no versions")?;
    Ok(Exit::Done)
}

pub(super) fn diff(
    which: &Which,
    from: Option<VersionNumber>,
    to: Option<VersionNumber>,
    options: TableOptions,
    context: &Context,
) -> Outcome {
    let object = object_of(&which.dir, which.object.as_deref())?;
    let summary = object.summary()?;
    let to = summary.version(to)?;
    let from = match from {
        Some(from) => Some(summary.version(Some(from))?),
        None => before(&summary, to),
    };
    let mut table = context.output.table(&["change", "path"]).with::<DifferenceLine>(options);
    let mut failure = None;
    object
        .differences(from, to, &mut |found| {
            let change = match (&found.before, &found.after) {
                (None, _) => "added",
                (_, None) => "removed",
                _ => "changed",
            };
            let line = DifferenceLine {
                change: change.to_owned(),
                path: found.path,
                before: found.before.map(|digest| digest.to_hex()),
                after: found.after.map(|digest| digest.to_hex()),
            };
            table.row(&line).map_err(|error| {
                failure = Some(error);
                OcflError::Stopped { reason: "the answer cannot be written".to_owned() }
            })
        })
        .map_err(|error| failure.take().unwrap_or_else(|| error.into()))?;
    let from = from.map_or_else(|| "nothing".to_owned(), |from| from.to_string());
    table.end(&format!("{from} and {to} have the same files"))?;
    Ok(Exit::Done)
}

/// The version before another; none before the first.
fn before(summary: &InventorySummary, version: VersionNumber) -> Option<VersionNumber> {
    let versions = summary.versions.iter().map(|(number, _)| *number);
    versions.filter(|number| *number < version).max()
}

pub(super) fn info(which: &Which, context: &Context) -> Outcome {
    match (open_local(&which.dir)?, &which.object) {
        (Local::Root(root), None) => {
            let bar = progress::spinner(context, "counting objects");
            let mut objects = 0;
            for object in root.objects() {
                object?;
                objects += 1;
            }
            bar.finish_and_clear();
            context.output.show(&RootInfo {
                path: which.dir.display().to_string(),
                spec: root.spec().to_string(),
                layout: root.layout_name().map(str::to_owned),
                objects,
            })?;
            Ok(Exit::Done)
        }
        _ => object_info(&object_of(&which.dir, which.object.as_deref())?, context),
    }
}

fn object_info(object: &LocalObject, context: &Context) -> Outcome {
    let (mut contents, mut content_bytes, mut missing_contents) = (0_u64, 0_u64, 0_u64);
    let summary = object.summary()?;
    let head = summary.header.head;
    let mut files = 0;
    object.read(&mut |entry| {
        match entry {
            strongroom_ocfl::InventoryEntry::Manifest { path, .. } => {
                contents += 1;
                match object.content_size(path)? {
                    Some(size) => content_bytes += size,
                    None => missing_contents += 1,
                }
            }
            strongroom_ocfl::InventoryEntry::State { version, .. } => files += u64::from(version == head),
            strongroom_ocfl::InventoryEntry::Fixity { .. } => {}
        }
        Ok(())
    })?;
    let created = |details: Option<&(VersionNumber, strongroom_ocfl::VersionDetails)>| {
        details.map(|(_, details)| details.created.clone())
    };
    context.output.show(&ObjectInfo {
        name: name_of(object, &summary),
        path: object.path().to_string_lossy().into_owned(),
        spec: summary.header.spec.to_string(),
        digest_algorithm: summary.header.algorithm.to_string(),
        content_directory: summary.header.content_directory.clone().unwrap_or_else(|| "content".to_owned()),
        head: head.to_string(),
        versions: summary.versions.len() as u64,
        created_at: created(summary.versions.first()),
        updated_at: created(summary.versions.last()),
        files,
        contents,
        content_bytes,
        missing_contents,
        object: summary.header.id,
    })?;
    Ok(if missing_contents == 0 { Exit::Done } else { Exit::No })
}
