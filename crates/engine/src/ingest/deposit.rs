//! A request to deposit packages: checked as a whole, then submitted in one transaction that finds the institution and the
//! collection within the scope of the actor.

use std::path::Path;

use serde::{Deserialize, Serialize};
use strongroom_digest::{Algorithm, Digest};
use strongroom_registry::tenants::{self, Collection, Institution};
use strongroom_registry::{BatchId, ItemId, Scope, Transaction};

use super::intake::{PackageSource, bag_name, bag_part, check_apart};
use super::submission::{Package, Submission, submit};
use crate::journal::JournalEntry;
use crate::{EngineError, Home};

/// What is deposited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DepositKind {
    /// Recognised from the package: today everything is a bag.
    #[default]
    Auto,
    /// BagIt bags.
    Bag,
}

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
    /// The object's name, where it is not the bag's.
    pub primary_id: Option<String>,
    /// A note to keep with batch and items.
    pub note: Option<String>,
    /// The digest that the package must have as a file, for a single serialized one.
    pub digest: Option<(Algorithm, Digest)>,
    /// The objects must exist already.
    pub update: bool,
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
            note: None,
            digest: None,
            update: false,
            by: JournalEntry::of_system("deposits.submit"),
        }
    }
}

/// What a work item keeps of the request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct DepositOptions {
    pub(crate) local_ids: Vec<String>,
    pub(crate) digest: Option<(Algorithm, String)>,
    pub(crate) update: bool,
    pub(crate) submitted_by: String,
    pub(crate) note: Option<String>,
    /// What the payload must still be, where it is an upload.
    pub(crate) etag: Option<String>,
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
    let options = DepositOptions {
        local_ids: request.local_ids.clone(),
        digest: request.digest.map(|(algorithm, digest)| (algorithm, digest.to_hex())),
        update: request.update,
        submitted_by: request.by.actor.name.clone(),
        note: request.note.clone(),
        etag: None,
    };
    let (request, workflows) = (request.clone(), home.registry.workflows());
    home.registry.write_and_wake(move |tx| {
        let institution = open_institution(tx, &request)?;
        let collection = open_collection(tx, &institution, &request)?;
        let submission = Submission {
            batch,
            institution: institution.id,
            institution_identifier: &institution.identifier,
            collection: collection.as_ref(),
            packages: &packages,
            options: &options,
            note: request.note.as_deref().unwrap_or("deposited"),
            by: &request.by,
            target: format!("batch {batch}"),
        };
        Ok::<_, EngineError>(submit(tx, workflows.as_ref(), &submission)?)
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
    Err(EngineError::Usage(format!("the institution {} is deactivated and cannot deposit", request.institution)))
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
        Some(removed) => Err(EngineError::Usage(takes_no_deposits(&removed.identifier, &request.institution))),
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
        return Err(EngineError::Usage("nothing to deposit: name at least one path or URL".into()));
    }
    if request.sources.len() > 1 && (request.primary_id.is_some() || request.digest.is_some()) {
        return Err(EngineError::Usage("a primary id or a digest can only be given for a single deposit".into()));
    }
    for source in &request.sources {
        check_source(source, request)?;
    }
    request.sources.iter().map(|source| package(source, request)).collect()
}

/// Whether the actor may name a source, and for what.
fn check_source(source: &PackageSource, request: &DepositRequest) -> Result<(), EngineError> {
    match (source, request.scope) {
        // An actor who may name a path could have any file of the server deposited and restored.
        (PackageSource::LocalPath(path), Scope::Institution(_)) => {
            return Err(EngineError::Refused(format!(
                "{} is a path of the server, and the actor acts for one institution",
                path.display()
            ))
            .next("give a URL, or put the package into the institution's place in the receiving store"));
        }
        // A work item would keep it as something that is read as a path.
        (PackageSource::Url(url), _) if !matches!(url.scheme(), "http" | "https") => {
            return Err(EngineError::Usage(format!("{url} is no URL of a web server: give one with http or https")));
        }
        _ => {}
    }
    if request.digest.is_some() && !matches!(source, PackageSource::LocalPath(_)) {
        let advice = "a digest can only be declared for a file of this machine: fetch the package first";
        return Err(EngineError::Usage(advice.into()));
    }
    Ok(())
}

fn package(source: &PackageSource, request: &DepositRequest) -> Result<Package, EngineError> {
    let (source, file_name) = located(source)?;
    let object_name = request.primary_id.clone().unwrap_or_else(|| bag_name(&file_name));
    if let Some(fault) = object_name_fault(&object_name) {
        return Err(EngineError::Usage(format!(
            "the object name {object_name:?} {fault}; rename the bag or give a primary id"
        )));
    }
    let part = bag_part(&file_name)
        .map_err(|fault| EngineError::Usage(format!("the name {file_name:?} cannot be that of a part: {fault}")))?;
    Ok(Package { item: ItemId::new(), source, file_name, object_name, part, size: None })
}

/// Why a deposit into a removed collection is refused.
pub(crate) fn takes_no_deposits(collection: &str, institution: &str) -> String {
    format!(
        "the collection {collection} of {institution} was removed and takes no deposits; name another collection \
         (`collection list` shows those there are) or none"
    )
}

/// A path as an absolute one, which must exist; other sources as they are. With the name of the file.
fn located(source: &PackageSource) -> Result<(PackageSource, String), EngineError> {
    let shown = source.to_string();
    let nameless = || EngineError::Usage(format!("{shown:?} has no file name to name the object by"));
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
        return Err(EngineError::Usage(format!("{shown:?} is not UTF-8; give the deposit a path that is")));
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
