//! Which files there are for the tool: those that depositors have sent, object by object, of every version.

use serde::{Deserialize, Serialize};
use strongroom_records::Arrival;
use strongroom_registry::objects::{self, ObjectFilter};
use strongroom_registry::{FileId, ObjectId, ObjectState, RegistryError, Scope, tool_findings};

use super::Running;
use super::record::file_record;
use crate::Home;
use crate::activities::agent::{Finding, Found};
use crate::activities::error::AgentError;

/// Records that are added in one transaction, and objects that are listed at once.
const AT_ONCE: usize = 500;

/// How far the files were listed, as the cursor of the list keeps it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Place {
    /// The object whose files were added last, or are being added.
    object: ObjectId,
    /// Behind which file of a version it goes on within that object; none where all of them were added.
    file: Option<(u64, FileId)>,
}

impl Place {
    fn text(self) -> Option<String> {
        serde_json::to_string(&self).ok()
    }
}

impl Running {
    /// Objects whose files are listed, behind one.
    fn objects(&self, home: &Home, after: Option<ObjectId>) -> Result<Vec<ObjectId>, RegistryError> {
        let scope = Scope::Institution(self.institution);
        if let Some(text) = &self.options.object {
            let one = home.registry.read(|tx| objects::find(tx, scope, text))?;
            return Ok(if after.is_none() { vec![one.id] } else { Vec::new() });
        }
        let collection = self.options.collection.clone();
        let filter = ObjectFilter { state: Some(ObjectState::Active), collection, ..ObjectFilter::default() };
        let found = home.registry.read(|tx| objects::list(tx, scope, &filter, after, AT_ONCE))?;
        Ok(found.into_iter().map(|object| object.id).collect())
    }

    /// Adds the files as records, and completes the list.
    pub(super) fn find_files(&self, finding: &dyn Finding) -> Result<(), AgentError> {
        let mut place: Option<Place> = match finding.cursor() {
            None => None,
            Some(text) => Some(
                serde_json::from_str(&text)
                    .map_err(|error| AgentError::Fatal(format!("the cursor of the list cannot be read: {error}")))?,
            ),
        };
        let home = finding.home();
        let mut page = Vec::new();
        // The object in the middle of which it stopped.
        let mut open: Vec<ObjectId> =
            place.filter(|place| place.file.is_some()).map(|place| place.object).into_iter().collect();
        loop {
            for object in open {
                let mut after = place.filter(|place| place.object == object).and_then(|place| place.file);
                loop {
                    finding.check()?;
                    let from = after.unwrap_or((0, FileId(uuid::Uuid::nil())));
                    let found = home.registry.read(|tx| tool_findings::files(tx, object, from, AT_ONCE))?;
                    let is_last = found.len() < AT_ONCE;
                    after = found.last().copied().filter(|_| !is_last);
                    let record = |(version, file)| Found {
                        id: file_record(file, version),
                        arrival: Arrival::Todo,
                        document: None,
                    };
                    page.extend(found.into_iter().map(record));
                    place = Some(Place { object, file: after });
                    if page.len() >= AT_ONCE {
                        finding.add(std::mem::take(&mut page), place.and_then(Place::text))?;
                    }
                    if is_last {
                        break;
                    }
                }
            }
            open = self.objects(home, place.map(|place| place.object))?;
            if open.is_empty() {
                return finding.complete(page, place.and_then(Place::text), None);
            }
        }
    }
}
