//! A request: what it names is looked up within the scope of the actor and noted page by page before there is a request. The last transaction
//! makes it, so that a list that was cut short is never one that seems whole. Nothing is made where any name is wrong.

use std::time::Duration;

use strongroom_registry::deletion_requests::{self, NewRequest};
use strongroom_registry::deletion_targets::{self, Conflict, NewTarget};
use strongroom_registry::objects::{DEPOSIT, Object};
use strongroom_registry::{
    DeletionRequestId, InstitutionId, JournalOutcome, ObjectState, RegistryError, Scope, Transaction, counted,
};

use super::{By, mails, obstacles, rules};
use crate::arks::find_object;
use crate::content_name::{in_package, named};
use crate::journal::Target;
use crate::{EngineError, Home};

/// Names that are looked up and noted in one transaction.
const NAMES_AT_ONCE: usize = 200;
/// Rows that are removed in one transaction.
const ROWS_AT_ONCE: usize = 1_000;
/// Names that cannot be deleted and are listed; the rest is counted.
const MOST_REFUSED: usize = 100;
/// Objects that a request names at most.
const MOST_OBJECTS: u64 = 100_000;
/// Files of one object that a request names at most.
const MOST_FILES: u64 = 10_000;
/// Lines of a list at most.
const MOST_NAMES: u64 = 1_000_000;

/// An object, or the path of a file of it as in the package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NameOfTarget {
    /// Its identifier in records, its ARK, or `<institution>/<name>`.
    pub(crate) object: String,
    /// The path of a file; none: all of the object.
    pub(crate) path: Option<String>,
}

/// Requests the deletion of what is named, each once. The names need not fit into memory.
///
/// # Errors
/// The actor is no user who may ask; there is no name, or one cannot be read; something does not exist, was deleted, is named by another open
/// request, or may not be deleted now, which the error says of the first hundred; or the objects belong to several institutions.
pub(crate) fn request(
    home: &Home,
    (by, reason): (&By, &str),
    names: &mut dyn Iterator<Item = Result<NameOfTarget, EngineError>>,
) -> Result<DeletionRequestId, EngineError> {
    by.user()?;
    let id = DeletionRequestId::new();
    home.registry.write(move |tx| deletion_targets::begin_draft(tx, id))?;
    let outcome = note_all(home, by.scope, id, names).and_then(|noted| {
        let found = obstacles::of_request(home, id)?;
        if !found.is_empty() {
            return Err(forbidden("requested", &found));
        }
        create(home, (by, reason), id, noted)
    });
    if outcome.is_err() {
        forget(home, id)?;
    }
    outcome.map(|()| id)
}

/// The error where something stands against a deletion.
pub(super) fn forbidden(act: &str, obstacles: &[String]) -> EngineError {
    EngineError::Refused(format!("nothing is {act}, because of what may not be deleted now: {}", obstacles.join("; ")))
        .next("remove what stands against it, or leave these objects out, and repeat the command")
}

/// What was noted.
#[derive(Debug, Clone, Copy)]
struct Noted {
    institution: InstitutionId,
    rows: u64,
}

fn note_all(
    home: &Home,
    scope: Scope,
    id: DeletionRequestId,
    names: &mut dyn Iterator<Item = Result<NameOfTarget, EngineError>>,
) -> Result<Noted, EngineError> {
    let (mut institution, mut rows, mut read) = (None, 0, 0_u64);
    let (mut refused, mut more) = (Vec::new(), 0_u64);
    loop {
        let page: Vec<NameOfTarget> = (&mut *names).take(NAMES_AT_ONCE).collect::<Result<_, _>>()?;
        if page.is_empty() {
            break;
        }
        read += page.len() as u64;
        if read > MOST_NAMES {
            return Err(too_many(&format!("more than {MOST_NAMES} names")));
        }
        let (looked_up, added) = home.registry.write(move |tx| note_page(tx, scope, id, &page))?;
        rows += added;
        for one in looked_up {
            match one {
                Ok(object) => {
                    let first = *institution.get_or_insert(object.institution);
                    if first != object.institution {
                        return Err(EngineError::Usage(format!(
                            "objects of several institutions are named, such as {}",
                            object.identifier
                        ))
                        .next("make one request for each institution"));
                    }
                }
                Err(reason) if refused.len() < MOST_REFUSED => refused.push(reason),
                Err(_) => more += 1,
            }
        }
    }
    if more > 0 {
        refused.push(format!("and {more} more"));
    }
    if !refused.is_empty() {
        return Err(EngineError::Absent(format!(
            "nothing is requested, because of what is not there: {}",
            refused.join("; ")
        ))
        .next("correct the names; \"strongroom objects list\" shows the objects, \"strongroom objects files OBJECT\" their files"));
    }
    let institution = institution.ok_or_else(|| {
        EngineError::Usage("no object is named".to_owned())
            .next("name an object; in a list one a line, or an object, a tab and the path of a file")
    })?;
    Ok(Noted { institution, rows })
}

/// Notes a page of names; of each its object, or why it cannot be deleted. With how many were not noted before.
fn note_page(
    tx: &mut dyn Transaction,
    scope: Scope,
    id: DeletionRequestId,
    names: &[NameOfTarget],
) -> Result<(Vec<Result<Object, String>>, u64), RegistryError> {
    let mut looked_up = Vec::with_capacity(names.len());
    let mut targets = Vec::with_capacity(names.len());
    for name in names {
        let found = look_up(tx, scope, name)?;
        looked_up.push(found.map(|(object, target)| {
            targets.push(target);
            object
        }));
    }
    let added = deletion_targets::put(tx, id, &targets)?;
    Ok((looked_up, added))
}

fn look_up(
    tx: &mut dyn Transaction,
    scope: Scope,
    name: &NameOfTarget,
) -> Result<Result<(Object, NewTarget), String>, RegistryError> {
    let object = match find_object(tx, scope, &name.object) {
        Ok(object) if object.state == ObjectState::Deleted => {
            return Ok(Err(format!("{}: it was deleted before", object.identifier)));
        }
        Ok(object) if object.head == 0 => return Ok(Err(format!("{}: it has no version yet", object.identifier))),
        Ok(object) => object,
        Err(RegistryError::NotFound { .. }) => {
            return Ok(Err(format!("{}: there is no such object", shown(&name.object))));
        }
        Err(RegistryError::Ambiguous { candidates, .. }) => {
            return Ok(Err(format!("{}: it may be one of {candidates}", shown(&name.object))));
        }
        Err(error) => return Err(error),
    };
    let Some(path) = &name.path else {
        let target = NewTarget { object: object.id, file: None };
        return Ok(Ok((object, target)));
    };
    let at = format!("{DEPOSIT}{}", path.trim_start_matches("./"));
    let Some(file) = deletion_targets::file_at(tx, object.id, &at)? else {
        return Ok(Err(format!("{}: {}: no version of it has such a file", object.identifier, shown(path))));
    };
    let target = NewTarget { object: object.id, file: Some((file, at)) };
    Ok(Ok((object, target)))
}

/// A name from outside, as an error may show it.
fn shown(name: &str) -> String {
    let text: String = name.chars().take(200).collect();
    format!("{text:?}")
}

fn too_many(what: &str) -> EngineError {
    EngineError::Usage(format!("the request has {what}")).next("make several requests")
}

/// Makes the request of what is noted.
fn create(home: &Home, (by, reason): (&By, &str), id: DeletionRequestId, noted: Noted) -> Result<(), EngineError> {
    let (by, reason, user) = (by.clone(), reason.to_owned(), by.user()?);
    let lifetime = i64::try_from(home.settings.deletion.request_lifetime.as_micros()).unwrap_or(i64::MAX);
    let mail = home.settings.mail.clone();
    home.registry.write(move |tx| {
        rules::requester(tx, user, noted.institution)?;
        let (objects, files) = deletion_targets::count(tx, id)?;
        if objects > MOST_OBJECTS {
            return Err(too_many(&format!("{objects} objects, and it may have {MOST_OBJECTS}")));
        }
        if let Some((object, files)) = deletion_targets::most_files(tx, id, MOST_FILES)? {
            return Err(too_many(&format!("{files} files of {object}, and it may have {MOST_FILES} of one object")));
        }
        let conflicts = deletion_targets::conflicts(tx, id, MOST_REFUSED)?;
        if !conflicts.is_empty() {
            return Err(in_conflict(&conflicts));
        }
        let found = obstacles::of_first(tx, id)?;
        if !found.is_empty() {
            return Err(forbidden("requested", &found));
        }
        let new = NewRequest {
            id,
            institution: noted.institution,
            name: name_of(tx, id, (objects, files))?,
            reason: reason.clone(),
            by: by.doer.clone(),
            expires_at: tx.now()?.plus(lifetime),
        };
        // A list that took longer than drafts are kept lost its beginning.
        if deletion_targets::count_rows(tx, id)? != noted.rows || !deletion_requests::create(tx, &new, user)? {
            return Err(EngineError::Refused(
                "the list was not read to its end in time, and nothing is requested".into(),
            )
            .next("repeat the command with a file, or with several lists"));
        }
        let request = deletion_requests::find(tx, Scope::System, id)?;
        let of = target(tx, &request)?;
        by.entry.append(tx, &of, JournalOutcome::Done, Some(&reason))?;
        mails::tell(tx, &mail, &request, mails::Act::Requested)
    })
}

/// A request as the journal names it. The journal is listed by the object, where it names one only.
pub(super) fn target(tx: &mut dyn Transaction, request: &deletion_requests::Request) -> Result<Target, RegistryError> {
    let target = Target::of(request.institution, format!("request for deletion {}: {}", request.id, request.name));
    if request.objects != 1 {
        return Ok(target);
    }
    let named = deletion_targets::list(tx, request.id, None, 1)?.pop();
    Ok(named.map_or_else(|| target.clone(), |named| target.clone().about(named.object_identifier)))
}

fn in_conflict(conflicts: &[Conflict]) -> EngineError {
    let shown: Vec<String> = conflicts
        .iter()
        .map(|conflict| {
            let what = named(&conflict.object_identifier, conflict.path.as_deref().map(in_package), 0);
            format!("{what} by request {}", conflict.request)
        })
        .collect();
    EngineError::Refused(format!(
        "nothing is requested, because of what another open request names: {}",
        shown.join("; ")
    ))
    .next("\"strongroom delete show ID\" shows a request; leave out what it names, or have it denied or cancelled")
}

/// What a request names, for people.
fn name_of(
    tx: &mut dyn Transaction,
    id: DeletionRequestId,
    (objects, files): (u64, u64),
) -> Result<String, RegistryError> {
    let first = deletion_targets::list(tx, id, None, 1)?.pop();
    let missing = || RegistryError::NotFound { what: "request for deletion", id: id.to_string() };
    let first = first.ok_or_else(missing)?;
    let object = &first.object_identifier;
    Ok(match (objects, files) {
        (1, 0) => object.clone(),
        (1, 1) if first.path.is_some() => named(object, first.path.as_deref().map(in_package), 0),
        (1, files) if first.path.is_some() => format!("{object}: {}", counted(files, "file", "files")),
        (1, _) => object.clone(),
        _ => {
            let institution = object.split_once('/').map_or(object.as_str(), |(institution, _)| institution);
            let of_files = match files {
                0 => String::new(),
                files => format!(", with {} by themselves", counted(files, "file", "files")),
            };
            format!("{institution}: {}{of_files}", counted(objects, "object", "objects"))
        }
    })
}

/// Forgets what was noted of a request that is not made.
pub(super) fn forget(home: &Home, id: DeletionRequestId) -> Result<(), EngineError> {
    while home.registry.write(move |tx| deletion_targets::drop_draft(tx, id, ROWS_AT_ONCE))? {}
    Ok(())
}

/// How long a draft may be in the making before it counts as cut short.
pub(super) const UNUSED_AFTER: Duration = Duration::from_hours(24);
