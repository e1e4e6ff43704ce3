//! Failures in groups: work items that failed at the same stage, by the same problem, of the same host, are requeued together.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use strongroom_registry::failures::{self, Failure};
use strongroom_registry::items::{self, Asker, Request};
use strongroom_registry::{BatchId, ItemId, RegistryError, Scope, Stage, counted};
use url::Url;

use super::authorization::{ITEMS_LIST, ITEMS_STEER};
use super::items::{Ask, check_folder};
use super::views::{FailureGroupView, RequeuedView};
use super::{Authorized, OpContext, PAGE};
use crate::EngineError;
use crate::journal::Target;
use crate::restoration::follow_receipt;

/// Items requeued in one transaction.
const AT_ONCE: usize = 100;

/// Which failures are meant; those that no later deposit made good.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those of this institution.
    pub institution: Option<String>,
    /// Only those of this batch.
    pub batch: Option<BatchId>,
    /// Only those by this code of a problem; an empty text: only those without one.
    pub code: Option<String>,
    /// Only those whose package is of this host; an empty text: only those of no host.
    pub host: Option<String>,
    /// Only those that failed at this stage.
    pub stage: Option<Stage>,
}

impl Filter {
    fn is_met_by(&self, failure: &Failure) -> bool {
        let is_same = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| wanted == found.unwrap_or_default())
        };
        is_same(&self.code, failure.code.as_deref())
            && is_same(&self.host, host(failure).as_deref())
            && self.stage.is_none_or(|stage| stage == failure.stage)
    }
}

/// The host that the package of an item comes from, with its port where it has one of its own.
fn host(failure: &Failure) -> Option<String> {
    let url = Url::parse(failure.source.as_deref()?).ok()?;
    let host = url.host_str()?;
    Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

/// The failures in groups, the largest first.
pub fn groups(context: &OpContext, filter: &Filter) -> Result<Vec<FailureGroupView>, EngineError> {
    let authorized = context.authorize(&ITEMS_LIST)?;
    let scope = authorized.scope_of(filter.institution.as_deref())?;
    let mut groups: BTreeMap<_, FailureGroupView> = BTreeMap::new();
    let mut after = None;
    loop {
        let page = authorized.read(|tx| failures::list(tx, scope, filter.batch, after, PAGE))?;
        let Some(last) = page.last() else { break };
        after = Some(last.item);
        for failure in page.into_iter().filter(|failure| filter.is_met_by(failure)) {
            let host = host(&failure);
            let group =
                groups.entry((failure.code.clone(), host.clone(), failure.stage.to_string())).or_insert_with(|| {
                    FailureGroupView {
                        code: failure.code,
                        host,
                        stage: failure.stage,
                        items: 0,
                        newest: failure.item,
                        note: None,
                    }
                });
            group.items += 1;
            (group.newest, group.note) = (failure.item, failure.note);
        }
    }
    let mut groups: Vec<FailureGroupView> = groups.into_values().collect();
    groups.sort_by_key(|group| Reverse(group.items));
    Ok(groups)
}

/// Requeues the failures that a filter means, for this stage or for the one that each stopped at, in transactions of 100. Those that
/// cannot be requeued are left as they are and counted.
///
/// # Errors
/// Nothing is requeued: [`EngineError::Refused`].
pub fn requeue(context: &OpContext, filter: &Filter, stage: Option<Stage>) -> Result<RequeuedView, EngineError> {
    let authorized = context.authorize(&ITEMS_STEER)?;
    let scope = authorized.scope_of(filter.institution.as_deref())?;
    let (mut total, mut after) = (RequeuedView::default(), None);
    loop {
        let done = requeue_page(&authorized, (scope, filter), stage, after)?;
        total.requeued += done.requeued;
        total.left += done.left;
        match done.last {
            Some(last) => after = Some(last),
            None => break,
        }
    }
    if total.requeued == 0 {
        return Err(nothing_requeued(total.left));
    }
    Ok(total)
}

/// Why nothing was requeued.
fn nothing_requeued(left: u64) -> EngineError {
    if left == 0 {
        return EngineError::Refused("no failed work item is meant".to_owned())
            .next("\"strongroom items failures\" shows what failed");
    }
    let items = counted(left, "work item", "work items");
    EngineError::Refused(format!("none of {items} can be requeued: they failed by their packages and would fail again"))
        .next("correct the packages and deposit them again; \"strongroom items show ITEM\" lists the problems")
}

/// What came of a page of failures.
#[derive(Debug, Default)]
struct Page {
    topics: Vec<String>,
    requeued: u64,
    left: u64,
    /// The last one of the page; none where there are no more.
    last: Option<ItemId>,
}

fn requeue_page(
    authorized: &Authorized<'_>,
    (scope, filter): (Scope, &Filter),
    stage: Option<Stage>,
    after: Option<ItemId>,
) -> Result<Page, EngineError> {
    let registry = &authorized.home().registry;
    let (who, entry) = (authorized.actor().name.clone(), authorized.entry_named(Ask::Requeue(stage).act()));
    let (filter, workflows) = (filter.clone(), registry.workflows());
    let done = registry.write(move |tx| {
        let mut done = Page::default();
        let page = failures::list(tx, scope, filter.batch, after, AT_ONCE)?;
        done.last = page.last().map(|last| last.item);
        for failure in page.iter().filter(|failure| filter.is_met_by(failure)) {
            let item = items::find(tx, scope, failure.item)?;
            check_folder(scope, Ask::Requeue(stage), &item)?;
            let by = Asker::from(who.as_str());
            match items::request(tx, workflows.as_ref(), scope, item.id, Request::Requeue(stage), by) {
                Ok(topics) => done.topics.extend(topics),
                Err(RegistryError::Permanent { .. } | RegistryError::State { .. }) => {
                    done.left += 1;
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
            if let Some(batch) = item.batch {
                done.topics.extend(follow_receipt(tx, workflows.as_ref(), batch)?);
            }
            entry.done(tx, &Target::of(item.institution, format!("item {} of {}", item.id, item.object_identifier)))?;
            done.requeued += 1;
        }
        Ok::<_, EngineError>(done)
    })?;
    registry.wakeups().notify(done.topics.iter().map(String::as_str));
    Ok(done)
}
