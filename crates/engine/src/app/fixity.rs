//! Watching the copies: how well, what was found wrong, and checks and repairs by hand.

use strongroom_registry::fixity::{self as record, FindingFilter};
use strongroom_registry::{FindingId, ObjectId, RegistryError, Scope, backfill};

use super::authorization::{FIXITY_ENQUEUE, FIXITY_PROBLEMS, FIXITY_REPAIR, FIXITY_REPORT, FIXITY_RUN};
use super::views::{AffectedTasksView, CoverageView, FindingView, RepairView};
use super::{Authorized, OpContext, PAGE, Page, target_among};
use crate::content_name::ContentName;
pub use crate::fixity::FixityRequest;
use crate::fixity::{self, FixitySummary, RepairOutcome};
use crate::journal::Target;
use crate::{Availability, EngineError, Home};

/// Which findings are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those of this institution.
    pub institution: Option<String>,
    /// Also those that were repaired.
    pub repaired_too: bool,
}

/// Where a listing of findings goes on.
#[derive(Debug, Clone)]
pub struct FindingCursor(Place);

/// The findings that have rows come first, then what stores lack of their placements, then the stores that are refused.
#[derive(Debug, Clone)]
enum Place {
    Recorded(Option<FindingId>),
    Lacking {
        /// Which of the stores of all placements.
        index: usize,
        after: Option<ObjectId>,
    },
    Refused,
}

/// Findings and where their listing goes on.
type FindingsPage = Result<(Vec<FindingView>, Place), EngineError>;

/// Checks copies that are due, here and now, and repairs what is damaged; `progress` is called after each object in a store.
pub fn run(
    context: &OpContext,
    request: &FixityRequest,
    progress: &mut dyn FnMut(&FixitySummary),
) -> Result<FixitySummary, EngineError> {
    let authorized = context.authorize(&FIXITY_RUN)?;
    let target = target_of(&authorized, request)?;
    let was_stopped = |_: &FixitySummary| request.stop.is_requested().then(|| "stopped before its end".to_owned());
    let request = &FixityRequest { actor: Some(authorized.actor().clone()), ..request.clone() };
    authorized.around_unless(&target, |home| fixity::run(home, request, progress), was_stopped)
}

/// Leaves the checks of copies that are due to the workers.
pub fn enqueue(context: &OpContext, request: &FixityRequest) -> Result<AffectedTasksView, EngineError> {
    let authorized = context.authorize(&FIXITY_ENQUEUE)?;
    let target = target_of(&authorized, request)?;
    let tasks = authorized.around(&target, |home| fixity::enqueue_due(home, request))?;
    Ok(AffectedTasksView { topic: fixity::TOPIC.to_owned(), tasks })
}

/// The finding that a text names: its identifier, or a part of it that no other finding has.
pub fn named(context: &OpContext, text: &str) -> Result<FindingId, EngineError> {
    context.authorize(&FIXITY_PROBLEMS)?.named(text)
}

/// Tries to repair what a finding is about, in this process.
pub fn repair(context: &OpContext, finding: FindingId) -> Result<RepairView, EngineError> {
    let authorized = context.authorize(&FIXITY_REPAIR)?;
    let found = fixity::finding(authorized.home(), authorized.scope(), finding)?;
    let target = Target::of(found.institution, format!("finding {finding} of {}", found.object_identifier))
        .about(&found.object_identifier);
    let unsolved = |outcome: &RepairOutcome| outcome.is_unsolved().then(|| format!("{outcome:?}").to_lowercase());
    let actor = Some(authorized.actor());
    let name = authorized.read(|tx| ContentName::read(tx, &found.object_identifier, found.content))?;
    let outcome = authorized.around_unless(&target, |home| fixity::repair(home, finding, actor), unsolved)?;
    Ok(RepairView::new(found, name, outcome))
}

/// How well the copies of an institution, or all, are watched, store by store.
pub fn report(context: &OpContext, institution: Option<&str>) -> Result<Vec<CoverageView>, EngineError> {
    let authorized = context.authorize(&FIXITY_REPORT)?;
    let found = fixity::report(authorized.home(), authorized.scope_of(institution)?)?;
    Ok(found.into_iter().map(CoverageView::from).collect())
}

/// The findings with identifiers that are not repaired, oldest first, after `after`.
pub fn unrepaired(context: &OpContext, after: Option<FindingId>) -> Result<Page<FindingId, FindingId>, EngineError> {
    let authorized = context.authorize(&FIXITY_PROBLEMS)?;
    let found =
        authorized.read(|tx| record::findings(tx, authorized.scope(), FindingFilter::default(), after, PAGE))?;
    let items: Vec<FindingId> = found.into_iter().map(|finding| finding.id).collect();
    let next = items.last().copied();
    Ok(Page { items, next })
}

/// What is wrong, after `after`: findings oldest first, then what stores lack of their placements, then the stores that are
/// refused.
pub fn problems(
    context: &OpContext,
    filter: &Filter,
    after: Option<FindingCursor>,
) -> Result<Page<FindingView, FindingCursor>, EngineError> {
    let authorized = context.authorize(&FIXITY_PROBLEMS)?;
    let scope = authorized.scope_of(filter.institution.as_deref())?;
    let mut place = after.map_or(Place::Recorded(None), |FindingCursor(place)| place);
    loop {
        let (items, next) = match place {
            Place::Recorded(after) => recorded(&authorized, scope, filter.repaired_too, after)?,
            Place::Lacking { index, after } => lacking(&authorized, scope, index, after)?,
            Place::Refused => return Ok(Page { items: refused(&authorized)?, next: None }),
        };
        if !items.is_empty() {
            return Ok(Page { items, next: Some(FindingCursor(next)) });
        }
        place = next;
    }
}

fn recorded(authorized: &Authorized<'_>, scope: Scope, repaired_too: bool, after: Option<FindingId>) -> FindingsPage {
    let (items, last) = authorized.read(|tx| {
        let found = record::findings(tx, scope, FindingFilter { repaired_too, store: None }, after, PAGE)?;
        let last = found.last().map(|finding| finding.id);
        let mut items = Vec::with_capacity(found.len());
        for finding in found {
            let name = ContentName::read(tx, &finding.object_identifier, finding.content)?;
            items.push(FindingView::new(finding, name));
        }
        Ok::<_, RegistryError>((items, last))
    })?;
    let next = last.map_or(Place::Lacking { index: 0, after: None }, |last| Place::Recorded(Some(last)));
    Ok((items, next))
}

/// What one store of a placement lacks; derived each time from the copies that there are.
fn lacking(authorized: &Authorized<'_>, scope: Scope, index: usize, after: Option<ObjectId>) -> FindingsPage {
    let placements = &authorized.home().settings.placements;
    let mut stores = placements.iter().flat_map(|(name, stores)| stores.iter().map(move |store| (name, store)));
    let Some((placement, store)) = stores.nth(index) else { return Ok((Vec::new(), Place::Refused)) };
    let found = authorized.read(|tx| {
        // A store that is out of use lacks nothing.
        match backfill::retired_at(tx, store)? {
            Some(_) => Ok(Vec::new()),
            None => backfill::lacking_objects(tx, scope, (placement, store), after, PAGE),
        }
    })?;
    let next = match found.last() {
        Some(last) => Place::Lacking { index, after: Some(last.object) },
        None => Place::Lacking { index: index + 1, after: None },
    };
    Ok((found.into_iter().map(|object| FindingView::of_lacking(placement, store, object)).collect(), next))
}

/// The preservation stores in use that are not those that they should be. They are the installation's: who acts for one
/// institution is not shown them.
fn refused(authorized: &Authorized<'_>) -> Result<Vec<FindingView>, EngineError> {
    if authorized.scope() != Scope::System {
        return Ok(Vec::new());
    }
    let home: &Home = authorized.home();
    let names = home.settings.preservation_stores();
    let mut found = Vec::new();
    for state in home.store_states() {
        let is_refused = state.availability == Availability::Refused && names.contains(&state.store.as_str());
        if is_refused && !home.is_retired(&state.store)? {
            found.push(FindingView::of_refused(state));
        }
    }
    Ok(found)
}

/// What a request for checks is about. Names that do not exist are refused before the journal records that checks begin.
fn target_of(authorized: &Authorized<'_>, request: &FixityRequest) -> Result<Target, EngineError> {
    let about = target_among(authorized, request.institution.as_deref(), request.object.as_deref())?;
    let Some(store) = &request.store else { return Ok(about) };
    let home = authorized.home();
    home.store(store)?;
    if home.settings.has_other_role(store) {
        return Err(EngineError::Usage(format!("store {store} keeps no copies that fixity checks"))
            .next("\"strongroom store list\" shows which stores preserve"));
    }
    Ok(Target { name: format!("{} in store {store}", about.name), ..about })
}
