//! A request to deposit packages: checked as a whole, then submitted in one transaction that finds the institution and the
//! collection within the scope of the actor.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};
use strongroom_checkm::Checksum;
use strongroom_digest::{Algorithm, Digest};
use strongroom_registry::batches::{self, NewBatch};
use strongroom_registry::items::{self, NewItem};
use strongroom_registry::objects::Object;
use strongroom_registry::tenants::{self, Collection, Institution};
use strongroom_registry::{BatchId, ItemId, Origin, RegistryError, Scope, Transaction, advice};

use super::intake::{PackageSource, bag_part, check_apart};
use super::kind::{self, DepositKind, DepositMode, Misfit, is_container_name, is_manifest_name, recognize};
use super::naming::{self, Identifiers};
use super::rules;
use super::submission::{Package, Submission, submit};
use super::workflow::INGEST;
use crate::arks::find_object;
use crate::journal::{JournalEntry, Target};
use crate::{EngineError, Home, places};

/// What a depositor asks for.
#[derive(Debug, Clone)]
pub struct DepositRequest {
    /// What the actor acts for. An institution outside of it does not exist.
    pub scope: Scope,
    /// The institution's domain name.
    pub institution: String,
    /// The collection's short name.
    pub collection: Option<String>,
    /// What is deposited.
    pub kind: DepositKind,
    /// Where the packages lie, one work item each.
    pub sources: Vec<PackageSource>,
    /// The depositor's own identifiers of the object.
    pub local_ids: Vec<String>,
    /// The object's name, or its ARK, where the package does not say.
    pub primary_id: Option<String>,
    /// What describes the object.
    pub description: GivenDescription,
    /// Where its copies belong, where the package does not say.
    pub placement: Option<String>,
    /// What becomes of files that the object has already; the kind of the package decides where it is not given.
    pub mode: Option<DepositMode>,
    /// Paths that the object does not have any more from the new version on. Only where the mode is to merge.
    pub delete: Vec<String>,
    /// A note to keep with batch and items.
    pub note: Option<String>,
    /// The digest that the package must have as a file, for a single serialized one.
    pub digest: Option<(Algorithm, Digest)>,
    /// The objects must exist already.
    pub update: bool,
    /// The addresses that mails about the batch go to, instead of those of the collection; none: those of the collection.
    pub notify_to: Vec<String>,
    /// Whose act it is.
    pub by: JournalEntry,
}

impl DepositRequest {
    /// A request of the system itself for an institution.
    pub fn of_system(institution: impl Into<String>) -> Self {
        Self {
            scope: Scope::System,
            institution: institution.into(),
            collection: None,
            kind: DepositKind::Auto,
            sources: Vec::new(),
            local_ids: Vec::new(),
            primary_id: None,
            description: GivenDescription::default(),
            placement: None,
            mode: None,
            delete: Vec::new(),
            note: None,
            digest: None,
            update: false,
            notify_to: Vec::new(),
            by: JournalEntry::of_system("deposits.submit"),
        }
    }
}

/// What a depositor says of an object beside its package.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GivenDescription {
    /// What it is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creator: Option<String>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// `consortia`, `institution` or `restricted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    /// ERC and Dublin Core, as [`strongroom_metadata::Record`] is written as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<serde_json::Value>,
}

impl GivenDescription {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What a work item keeps of the request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an answer of its own")]
pub(crate) struct DepositOptions {
    pub(crate) local_ids: Vec<String>,
    pub(crate) digest: Option<(Algorithm, String)>,
    pub(crate) update: bool,
    pub(crate) submitted_by: String,
    pub(crate) note: Option<String>,
    /// What the payload must still be, where it is an upload.
    pub(crate) etag: Option<String>,
    /// What the package is; none: a bag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<DepositKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<DepositMode>,
    #[serde(skip_serializing_if = "GivenDescription::is_empty")]
    pub(crate) description: GivenDescription,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) placement: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) delete: Vec<String>,
    /// The ARK that the object has, in its normal form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ark: Option<String>,
    /// Whether the name of the object was given, rather than made from that of the package.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_named: bool,
    /// Whether the object has to be a new one: nothing but the name of its package says which it is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_own_object: bool,
    /// The name of a single file in the object, where it is not that of its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file_name: Option<String>,
    /// The bytes that a package has that is a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<u64>,
    /// The row of a batch manifest that it is of; none where it was submitted by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) row: Option<u64>,
    /// Whether files that the `fetch.txt` of its bag names are downloaded.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_fetched: bool,
    /// What the package was harvested from; none where it was not harvested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) harvested_from: Option<Origin>,
}

impl DepositOptions {
    /// Those of a work item.
    pub(crate) fn of(item: &strongroom_registry::items::Item) -> Result<Self, serde_json::Error> {
        serde_json::from_str(&item.options)
    }

    /// What the package is. [`DepositKind::Auto`] until `receive` has recognized it.
    pub(crate) fn kind(&self) -> DepositKind {
        self.kind.unwrap_or(DepositKind::Bag)
    }

    /// Keeps the digest that a manifest states of the package.
    pub(crate) fn state_checksum(&mut self, checksum: Checksum) {
        self.digest = Some((checksum.algorithm(), checksum.value().to_hex()));
    }

    /// What becomes of the files that the object has already.
    pub(crate) fn mode(&self) -> DepositMode {
        self.mode.unwrap_or_else(|| self.kind().default_mode())
    }
}

/// The paths of a delete list, one a line. A byte order mark and the ends of lines of other systems are no part of a path.
pub fn delete_paths(text: &str) -> Vec<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// What a request made.
#[derive(Debug, Clone)]
pub struct Deposited {
    /// The batch.
    pub batch: BatchId,
    /// Its items, in the order of the sources.
    pub items: Vec<ItemId>,
}

/// Makes a batch and its work items. Nothing is made when anything of the request is wrong.
///
/// # Errors
/// Something that the request names does not exist within its scope or cannot be deposited; or a request for one institution
/// names a path of the server.
pub fn deposit(home: &Home, request: &DepositRequest) -> Result<Deposited, EngineError> {
    let packages = packages(request)?;
    for package in &packages {
        if let PackageSource::LocalPath(path) = &package.source
            && path.is_dir()
        {
            check_apart(home, path)?;
        }
    }
    let batch = BatchId::new();
    let items = packages.iter().map(|package| package.item).collect();
    let identifiers = Identifiers::of(request)?;
    let options = DepositOptions {
        local_ids: identifiers.local_ids.clone(),
        digest: request.digest.map(|(algorithm, digest)| (algorithm, digest.to_hex())),
        update: request.update,
        submitted_by: request.by.actor.name.clone(),
        note: request.note.clone(),
        mode: request.mode,
        description: request.description.clone(),
        placement: request.placement.clone(),
        delete: request.delete.clone(),
        ark: identifiers.ark.clone(),
        is_named: identifiers.name.is_some(),
        ..DepositOptions::default()
    };
    let (request, workflows) = (request.clone(), home.registry.workflows());
    home.registry.write_and_wake(move |tx| {
        let institution = open_institution(tx, &request)?;
        let collection = open_collection(tx, &institution, &request)?;
        let refused =
            |collection: &Collection| packages.iter().find_map(|package| rules::refused_type(collection, package.kind));
        if let Some(text) = collection.as_ref().and_then(refused) {
            let (said, next) = advice::split(&text);
            return Err(EngineError::Usage(said.to_owned()).next(next.unwrap_or_default()));
        }
        let submission = Submission {
            batch,
            institution: institution.id,
            institution_identifier: &institution.identifier,
            collection: collection.as_ref(),
            packages: &packages,
            options: &options,
            notify_to: &request.notify_to,
            note: request.note.as_deref().unwrap_or("deposited"),
            by: &request.by,
            target: format!("batch {batch}"),
        };
        submit(tx, workflows.as_ref(), &submission)
    })?;
    Ok(Deposited { batch, items })
}

/// The institution of a request, which may deposit.
fn open_institution(tx: &mut dyn Transaction, request: &DepositRequest) -> Result<Institution, EngineError> {
    let Some(institution) = tenants::institution(tx, request.scope, &request.institution)? else {
        let known = tenants::institutions(tx, request.scope, "", 5)?;
        let known: Vec<String> = known.into_iter().map(|institution| institution.identifier).collect();
        return Err(EngineError::NotFound {
            what: "institution",
            name: request.institution.clone(),
            hint: format!(": known are {}", known.join(", ")),
        }
        .next("name one of them, or add it with \"strongroom institution add\""));
    };
    if institution.active {
        return Ok(institution);
    }
    Err(EngineError::Usage(format!("the institution {} is deactivated and cannot deposit", request.institution))
        .next(format!("\"strongroom institution set {} --active true\" activates it", request.institution)))
}

/// The collection of a request, which takes deposits.
fn open_collection(
    tx: &mut dyn Transaction,
    institution: &Institution,
    request: &DepositRequest,
) -> Result<Option<Collection>, EngineError> {
    let Some(name) = &request.collection else { return Ok(None) };
    match tenants::collection(tx, request.scope, institution.id, name)? {
        Some(collection) if collection.active => Ok(Some(collection)),
        Some(removed) => {
            let text = takes_no_deposits(&removed.identifier, &request.institution);
            let (said, next) = advice::split(&text);
            Err(EngineError::Usage(said.to_owned()).next(next.unwrap_or_default()))
        }
        None => Err(EngineError::NotFound {
            what: "collection",
            name: name.clone(),
            hint: format!(" of {}", request.institution),
        }),
    }
}

/// The packages of a request, as far as they can be checked without the registry.
fn packages(request: &DepositRequest) -> Result<Vec<Package>, EngineError> {
    if request.sources.is_empty() {
        return Err(EngineError::Usage("nothing to deposit".into()).next("name at least one path or URL"));
    }
    let is_single = request.primary_id.is_some() || request.digest.is_some() || !request.local_ids.is_empty();
    if request.sources.len() > 1 && is_single {
        let text = "a primary id, a local id or a digest can only be given for a single deposit";
        return Err(EngineError::Usage(text.into())
            .next("deposit each by itself, or list them in a manifest with their identifiers"));
    }
    for source in &request.sources {
        check_source(source, request)?;
    }
    let identifiers = Identifiers::of(request)?;
    let packages: Vec<Package> =
        request.sources.iter().map(|source| package(source, request, &identifiers)).collect::<Result<_, _>>()?;
    for package in &packages {
        check_options(package, request)?;
    }
    naming::check_distinct(&packages)?;
    Ok(packages)
}

/// Whether what was asked for goes with what a package is.
fn check_options(package: &Package, request: &DepositRequest) -> Result<(), EngineError> {
    let kind = package.kind;
    let mode = request.mode.unwrap_or_else(|| kind.default_mode());
    if !request.delete.is_empty() && mode != DepositMode::Merge {
        return Err(EngineError::Usage(format!(
            "a delete list says what a version does not keep of the one before, and the deposit of {} replaces all of it",
            package.file_name
        ))
        .next("add --mode merge, or leave the delete list out"));
    }
    if kind == DepositKind::Folder && request.digest.is_some() {
        return Err(EngineError::Usage(format!("{} is a folder, and a digest is that of a file", package.file_name))
            .next("leave --digest out, or deposit an archive"));
    }
    let names_object = request.primary_id.is_some() || !request.local_ids.is_empty() || !request.delete.is_empty();
    if package.is_list() && names_object {
        return Err(EngineError::Usage(format!(
            "{} may make an object of each row: identifiers and delete lists belong to one object",
            package.file_name
        ))
        .next("name the identifiers in the columns of the manifest, or add --type manifest where it is that of one object"));
    }
    Ok(())
}

/// Whether the actor may name a source, and for what.
fn check_source(source: &PackageSource, request: &DepositRequest) -> Result<(), EngineError> {
    match (source, request.scope) {
        // An actor who may name a path could have any file of the server deposited and restored.
        (PackageSource::LocalPath(path), scope @ Scope::Institution(_)) => {
            let next = "give a URL, or put the package into the institution's place in the receiving store";
            places::check_may_name(scope, path.display(), next)?;
        }
        // A work item would keep it as something that is read as a path.
        (PackageSource::Url(url), _) if !matches!(url.scheme(), "http" | "https") => {
            return Err(
                EngineError::Usage(format!("{url} is no URL of a web server")).next("give one with http or https")
            );
        }
        // It would be kept with the work item, in its history and in the journal.
        (PackageSource::Url(url), _) if !url.username().is_empty() || url.password().is_some() => {
            return Err(EngineError::Usage(format!(
                "the URL {} has a user name or a password, which would be kept with the deposit",
                strongroom_download::shown_url(url.as_str())
            ))
            .next("give a URL without them: one that is signed, or of a server that allows this machine"));
        }
        _ => {}
    }
    Ok(())
}

fn package(
    source: &PackageSource,
    request: &DepositRequest,
    identifiers: &Identifiers,
) -> Result<Package, EngineError> {
    let (source, file_name) = located(source)?;
    check_fits(&source, request.kind)?;
    let kind = match (request.kind, &source) {
        (DepositKind::Auto, PackageSource::LocalPath(path)) => match recognize(path) {
            // The workers may be allowed to read what the person who submits it may not.
            Err(EngineError::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => DepositKind::Auto,
            recognized => recognized?,
        },
        // What an archive or a manifest holds is seen when it is read.
        (DepositKind::Auto, PackageSource::Url(_)) if is_container_name(&file_name) || is_manifest_name(&file_name) => {
            DepositKind::Auto
        }
        (DepositKind::Auto, PackageSource::Url(_) | PackageSource::Document(_)) => DepositKind::File,
        (DepositKind::Auto, PackageSource::ReceivingKey(_)) => DepositKind::Bag,
        (kind, _) => kind,
    };
    let of_package = naming::name_of_package(kind, &file_name);
    let object_name = identifiers.object_name(kind, &of_package);
    if let Some(fault) = object_name_fault(&object_name) {
        return Err(EngineError::Usage(format!("the object name {object_name:?} {fault}"))
            .next("rename the package, or give a name with --primary-id"));
    }
    let part = match kind {
        DepositKind::Bag | DepositKind::Auto => bag_part(&file_name).map_err(|fault| {
            EngineError::Usage(format!("the name {file_name:?} cannot be that of a part: {fault}"))
                .next("rename the package")
        })?,
        _ => None,
    };
    Ok(Package { item: ItemId::new(), source, file_name, object_name, kind, part, size: None })
}

/// Refuses what is no package of the type that was stated.
fn check_fits(source: &PackageSource, kind: DepositKind) -> Result<(), EngineError> {
    let misfit = match source {
        PackageSource::LocalPath(path) => match kind::misfit(path, kind) {
            // The workers may be allowed to read what the person who submits it may not.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => None,
            found => {
                found.map_err(|source| EngineError::Io { act: "inspect", path: path.display().to_string(), source })?
            }
        },
        PackageSource::Url(url) if kind == DepositKind::Folder => Some(Misfit::of_folder_url(url)),
        PackageSource::Url(_) | PackageSource::ReceivingKey(_) | PackageSource::Document(_) => None,
    };
    misfit.map_or(Ok(()), |Misfit { code, message }| {
        Err(EngineError::Usage(format!("{message} ({code})"))
            .next("name a file or a folder, with the --type that it is or without one"))
    })
}

/// Why a deposit into a removed collection is refused.
pub(crate) fn takes_no_deposits(collection: &str, institution: &str) -> String {
    format!(
        "the collection {collection} of {institution} was removed and takes no deposits; next: name another collection, \
         of those that \"strongroom collection list\" shows, or none"
    )
}

/// A path as an absolute one, which must exist; other sources as they are. With the name of the file.
fn located(source: &PackageSource) -> Result<(PackageSource, String), EngineError> {
    let shown = source.to_string();
    let nameless = || {
        EngineError::Usage(format!("{shown:?} has no file name to name the object by"))
            .next("name the object with --primary-id, or give a path or URL that ends in a file name")
    };
    let PackageSource::LocalPath(path) = source else {
        return Ok((source.clone(), source.file_name().ok_or_else(nameless)?));
    };
    let absolute = path.canonicalize().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            EngineError::NotFound { what: "file or folder", name: shown.clone(), hint: String::new() }
        }
        _ => EngineError::Io { act: "inspect", path: shown.clone(), source: error },
    })?;
    if absolute.to_str().is_none() {
        return Err(EngineError::Usage(format!("{shown:?} is not UTF-8")).next("give the deposit a path that is"));
    }
    // The name as the depositor wrote it, not what a link points to.
    let name = path.file_name().or_else(|| Path::new(&absolute).file_name()).ok_or_else(nameless)?;
    let name = name.to_string_lossy().into_owned();
    Ok((PackageSource::LocalPath(absolute), name))
}

/// What is wrong with an object's name, which stands in identifiers and file names that people type.
pub(crate) fn object_name_fault(name: &str) -> Option<&'static str> {
    if name.is_empty() || name == "." || name == ".." {
        "is empty or dots"
    } else if name.len() > 200 {
        "is longer than 200 bytes"
    } else if name.contains('/') {
        "contains a slash"
    } else if name.chars().any(char::is_control) {
        "contains a control character"
    } else {
        return None;
    }
    .into()
}

/// An object that is described anew, and what is said of it.
#[derive(Debug, Clone)]
pub struct NewDescription {
    /// The object: `<institution>/<name>`, its ARK, or its identifier.
    pub object: String,
    /// The fields that are given anew, as JSON.
    pub metadata: serde_json::Value,
}

/// Most objects that are described anew by one request.
const MOST_DESCRIBED: usize = 10_000;

/// Makes a batch of which each work item makes a version of an object that only describes it anew.
///
/// # Errors
/// An object does not exist within the scope, is there twice, or belongs to another institution than the others: all that is wrong.
pub fn describe(
    home: &Home,
    scope: Scope,
    described: &[NewDescription],
    by: &JournalEntry,
) -> Result<Deposited, EngineError> {
    if described.is_empty() {
        return Err(EngineError::Usage("there is no object to describe".into())
            .next("name an object and a file that describes it"));
    }
    if described.len() > MOST_DESCRIBED {
        return Err(EngineError::Usage(format!(
            "the table has {} rows, and at most {MOST_DESCRIBED} are taken",
            described.len()
        ))
        .next("split it into several tables"));
    }
    let batch = BatchId::new();
    let (described, by, workflows) = (described.to_vec(), by.clone(), home.registry.workflows());
    let new: Vec<ItemId> = described.iter().map(|_| ItemId::new()).collect();
    let ids = new.clone();
    home.registry.write_and_wake(move |tx| {
        let found = find_described(tx, scope, &described)?;
        let first = found.first().ok_or_else(|| EngineError::Usage("there is no object to describe".into()))?;
        let institution = first.institution;
        by.done(tx, &Target::of(institution, format!("batch {batch}")))?;
        let kind = DepositKind::Metadata.as_str();
        let new_batch = NewBatch {
            id: batch,
            institution,
            collection: None,
            kind,
            submitted_by: &by.actor.name,
            note: None,
            row_count: Some(found.len() as u64),
            notify_to: &[],
        };
        batches::create(tx, &new_batch)?;
        let mut made = Vec::with_capacity(found.len());
        for ((object, new), id) in found.iter().zip(&described).zip(&new) {
            let options = DepositOptions {
                kind: Some(DepositKind::Metadata),
                submitted_by: by.actor.name.clone(),
                note: Some("described anew".to_owned()),
                description: GivenDescription { metadata: Some(new.metadata.clone()), ..GivenDescription::default() },
                ..DepositOptions::default()
            };
            let options = serde_json::to_string(&options)
                .map_err(|error| RegistryError::Corrupt { wanted: "options of a deposit", found: error.to_string() })?;
            let name = object.identifier.split_once('/').map_or("", |(_, name)| name).to_owned();
            made.push(NewItem {
                id: *id,
                batch: Some(batch),
                name,
                size: Some(0),
                options,
                note: "described anew".to_owned(),
                actor: Some(by.actor.id),
                ..NewItem::new(INGEST, institution, object.identifier.clone())
            });
        }
        Ok::<_, EngineError>(items::create_all(tx, workflows.as_ref(), &mut made.into_iter())?)
    })?;
    Ok(Deposited { batch, items: ids })
}

/// The objects that are described anew, in their order.
fn find_described(
    tx: &mut dyn Transaction,
    scope: Scope,
    described: &[NewDescription],
) -> Result<Vec<Object>, EngineError> {
    let (mut found, mut wrong): (Vec<Object>, Vec<String>) = (Vec::new(), Vec::new());
    let mut known = BTreeSet::new();
    for one in described {
        match find_object(tx, scope, &one.object) {
            Ok(object) if !known.insert(object.id) => wrong.push(format!("{} is there twice", one.object)),
            Ok(object) if found.first().is_some_and(|first| first.institution != object.institution) => {
                wrong.push(format!("{} is of another institution than the first", one.object));
            }
            Ok(object) => found.push(object),
            Err(RegistryError::NotFound { .. }) => wrong.push(format!("there is no object {}", one.object)),
            Err(error) => return Err(error.into()),
        }
    }
    let count = wrong.len();
    if count == 0 {
        return Ok(found);
    }
    wrong.truncate(MOST_WRONG);
    Err(EngineError::Absent(format!("nothing is described anew: {} ({count} in all)", wrong.join("; ")))
        .next("correct the list; \"strongroom objects list\" shows the objects that there are"))
}

/// What is wrong with a list of objects that is told.
const MOST_WRONG: usize = 20;
