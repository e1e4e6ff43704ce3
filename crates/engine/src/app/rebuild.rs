//! The registry made again out of the stores, or brought up to what they know.

use super::authorization::{REGISTRY_ADOPT, REGISTRY_COMPARE, REGISTRY_REBUILD};
use super::installation::{AuthorizedInstallation, Installation};
use super::views::RebuildView;
use crate::journal::Target;
use crate::rebuild::{self, AdoptRequest, Summary};
use crate::{EngineError, Home};
use strongroom_registry::counted;

/// How far the reading of the stores is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// A registry is made from a store.
    Rebuilding {
        /// Objects read so far.
        objects: u64,
        /// Versions of them.
        versions: u64,
        /// Files of these.
        files: u64,
    },
    /// What the stores know besides is imported.
    Adopting {
        /// Objects inspected so far.
        objects: u64,
        /// Objects among them with something new.
        taken: u64,
    },
}

/// Makes the registry from this store alone, or from the first store of the default placement and from what others know
/// besides; `progress` is called after each object. What was begun and cut short goes on where it stopped.
///
/// # Errors
/// The registry is in use; there is no such store, or it cannot be listed. An object that cannot be read is no error.
pub fn run(
    installation: &Installation,
    store: Option<&str>,
    progress: &mut dyn FnMut(Progress),
) -> Result<RebuildView, EngineError> {
    let authorized = installation.authorize(&REGISTRY_REBUILD)?;
    check_store(&authorized, store)?;
    let settings = authorized.settings();
    let first = settings.placement(&settings.ingest.default_placement).and_then(<[String]>::first);
    let Some(name) = store.map(str::to_owned).or_else(|| first.cloned()) else {
        return Err(EngineError::Usage("there is no store to read".to_owned())
            .next("name it with --store; \"strongroom store list\" shows the stores"));
    };
    let context = authorized.open_to_adopt()?;
    let target = Target::of_system(format!("the registry, from store {name}"));
    let read = |home: &Home| {
        let mut tell = |so_far: &Summary| {
            let Summary { objects, versions, files, .. } = *so_far;
            progress(Progress::Rebuilding { objects, versions, files });
        };
        let mut summary =
            rebuild::run(home, &name, &mut tell).map_err(|error| error.while_trying("rebuild the registry"))?;
        // One store was read because none was named; what others know besides belongs to the registry, too.
        if store.is_none() && !summary.pending.is_empty() && summary.is_complete() {
            let request = AdoptRequest { stores: summary.pending.clone(), dry_run: false };
            let rest = import(home, &request, progress)?;
            summary.pending.clone_from(&rest.pending);
            summary.add(rest);
        }
        Ok(summary)
    };
    let summary = context.authorize(&REGISTRY_REBUILD)?.around_unless(&target, read, incomplete)?;
    Ok(RebuildView::new(Some(name), false, summary))
}

/// Takes up what this store knows, or all preservation stores, and the registry does not; `progress` is called after each
/// object.
///
/// # Errors
/// There is no registry, or no such store; another adoption is under way. What cannot be imported of an object is no error.
pub fn adopt(
    installation: &Installation,
    store: Option<&str>,
    progress: &mut dyn FnMut(Progress),
) -> Result<RebuildView, EngineError> {
    let authorized = installation.authorize(&REGISTRY_ADOPT)?;
    check_store(&authorized, store)?;
    authorized.require_registry()?;
    let context = authorized.open_to_adopt()?;
    let target = Target::of_system(match store {
        Some(store) => format!("the registry, from store {store}"),
        None => "the registry, from all stores".to_owned(),
    });
    let request = AdoptRequest { stores: store.map(str::to_owned).into_iter().collect(), dry_run: false };
    let summary = context.authorize(&REGISTRY_ADOPT)?.around_unless(
        &target,
        |home| import(home, &request, progress),
        incomplete,
    )?;
    Ok(RebuildView::new(store.map(str::to_owned), false, summary))
}

/// Counts what [`adopt`] would import. Nothing is changed.
pub fn compare(
    installation: &Installation,
    store: Option<&str>,
    progress: &mut dyn FnMut(Progress),
) -> Result<RebuildView, EngineError> {
    let authorized = installation.authorize(&REGISTRY_COMPARE)?;
    check_store(&authorized, store)?;
    authorized.require_registry()?;
    let context = authorized.open_to_adopt()?;
    let request = AdoptRequest { stores: store.map(str::to_owned).into_iter().collect(), dry_run: true };
    let summary = import(context.authorize(&REGISTRY_COMPARE)?.home(), &request, progress)?;
    Ok(RebuildView::new(store.map(str::to_owned), true, summary))
}

/// Why not all is known that the stores know.
fn incomplete(summary: &Summary) -> Option<String> {
    (!summary.is_complete()).then(|| {
        let objects = counted(summary.failed, "object", "objects");
        format!("{objects} could not be imported, {}", counted(summary.problem_count, "problem", "problems"))
    })
}

fn check_store(authorized: &AuthorizedInstallation<'_>, store: Option<&str>) -> Result<(), EngineError> {
    match store {
        Some(store) if !authorized.settings().stores.contains_key(store) => {
            let error = EngineError::NotFound { what: "store", name: store.to_owned(), hint: String::new() };
            Err(error.next("\"strongroom store list\" shows those there are"))
        }
        _ => Ok(()),
    }
}

fn import(home: &Home, request: &AdoptRequest, progress: &mut dyn FnMut(Progress)) -> Result<Summary, EngineError> {
    let mut tell = |so_far: &Summary| progress(Progress::Adopting { objects: so_far.objects, taken: so_far.taken });
    rebuild::adopt(home, request, &mut tell).map_err(|error| error.while_trying("import what the stores have"))
}
