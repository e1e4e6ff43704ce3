//! What people ask of identification anew: say what is behind, leave it to the workers, or do it here and now.

use serde::Serialize;
use strongroom_digest::Progress;
use strongroom_registry::identification::{self as record, ObjectBehind};

use super::Identifying;
use super::handler::TOPIC;
use super::renewal::Renewal;
use crate::arks::find_object;
use crate::hold::OperationError;
use crate::interruptible::Attended;
use crate::runtime::Shutdown;
use crate::{EngineError, Home, paging, work};

/// Objects listed, and tasks enqueued in one transaction.
const OBJECTS_AT_ONCE: usize = 500;

/// Whose files are asked about: those that were not identified with the signature files in use.
#[derive(Debug, Clone, Default)]
pub struct ReidentifyRequest {
    /// Only those of the institution with this domain name.
    pub institution: Option<String>,
    /// Only those of this object, by identifier or `<institution>/<name>`.
    pub object: Option<String>,
    /// Asks to stop early: what was done is kept.
    pub stop: Shutdown,
    /// Counts the bytes that are read.
    pub progress: Progress,
}

/// How much is behind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Behind {
    /// The signature files in use.
    pub signatures: String,
    /// Objects with files that were not identified with them.
    pub objects: u64,
    /// Those files, of all versions.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What identifying anew came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ReidentifySummary {
    /// Objects inspected to the end.
    pub objects: u64,
    /// Files that are something else now, or found in another way.
    pub changed: u64,
    /// Files that are what they were.
    pub unchanged: u64,
    /// Files whose copies cannot be read before they are retrieved.
    pub cold: u64,
    /// Objects that another process works on: left to the workers.
    pub postponed: u64,
    /// Files that could not be read.
    pub failed: u64,
    /// Why: the first few reasons.
    pub errors: Vec<String>,
}

/// Says how much was not identified with the signature files in use. Reads no file.
pub fn behind(home: &Home, request: &ReidentifyRequest) -> Result<Behind, EngineError> {
    let with = Identifying::of(home)?;
    let mut sum = Behind { signatures: with.signatures().to_owned(), ..Behind::default() };
    each_page(home, request, &with, &mut |page| {
        for one in page {
            let (files, bytes) = home.registry.read(|tx| record::amount_behind(tx, one.object, with.signatures()))?;
            sum.objects += u64::from(files > 0);
            sum.files += files;
            sum.bytes += bytes;
        }
        Ok(true)
    })?;
    Ok(sum)
}

/// Enqueues a task for each object with files that were not identified with the signature files in use; how many. What
/// waits already is not enqueued twice.
pub fn enqueue(home: &Home, request: &ReidentifyRequest) -> Result<u64, EngineError> {
    let with = Identifying::of(home)?;
    let mut made = 0;
    each_page(home, request, &with, &mut |page| {
        made += page.len() as u64;
        put_tasks(home, page)?;
        Ok(true)
    })?;
    Ok(made)
}

/// Identifies anew here and now, through the same steps as the workers; `progress` hears of each object that is done. What
/// another process works on is left to the workers.
pub fn run(
    home: &Home,
    request: &ReidentifyRequest,
    progress: &mut dyn FnMut(&ReidentifySummary),
) -> Result<ReidentifySummary, EngineError> {
    let with = Identifying::of(home)?;
    let mut summary = ReidentifySummary::default();
    let go_on = Attended { stop: &request.stop, progress: &request.progress };
    each_page(home, request, &with, &mut |page| {
        for one in page {
            let renewal = Renewal { home, object: one.object, with: &with, go_on: &go_on };
            match renewal.renew(&mut summary) {
                Ok(()) => {}
                Err(OperationError::Busy(_)) => {
                    summary.postponed += 1;
                    put_tasks(home, std::slice::from_ref(one))?;
                }
                // Asked to stop: what was done is on record.
                Err(OperationError::Interrupted(_)) => return Ok(false),
                Err(OperationError::Engine(error)) => return Err(error),
            }
            progress(&summary);
        }
        Ok(true)
    })?;
    Ok(summary)
}

fn put_tasks(home: &Home, objects: &[ObjectBehind]) -> Result<(), EngineError> {
    work::put_tasks(home, TOPIC, objects.iter().map(|one| (one.object.to_string(), one.institution_identifier.clone())))
}

/// Hands over the objects that are behind, page by page, until there are no more or `take` says to stop.
fn each_page(
    home: &Home,
    request: &ReidentifyRequest,
    with: &Identifying,
    take: &mut dyn FnMut(&[ObjectBehind]) -> Result<bool, EngineError>,
) -> Result<(), EngineError> {
    let scope = home.scope_of(request.institution.as_deref())?;
    if let Some(name) = &request.object {
        let object = home.registry.read(|tx| find_object(tx, scope, name))?;
        let (files, _) = home.registry.read(|tx| record::amount_behind(tx, object.id, with.signatures()))?;
        if files > 0 {
            let institution_identifier = object.institution_identifier;
            take(&[ObjectBehind { object: object.id, institution_identifier }])?;
        }
        return Ok(());
    }
    let list =
        |after, limit| home.registry.read(|tx| record::objects_behind(tx, scope, with.signatures(), after, limit));
    for page in paging::pages(OBJECTS_AT_ONCE, |object: &ObjectBehind| object.object, list) {
        if request.stop.is_requested() || !take(&page?)? {
            break;
        }
    }
    Ok(())
}
