//! Failures in groups: work items that failed at the same stage, by the same problem, of the same host, are requeued together.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use strongroom_registry::failures::{self, Failure};
use strongroom_registry::items::{self, Asker, Request};
use strongroom_registry::{BatchId, ItemId, RegistryError, Scope, Stage, Transaction, counted};
use url::Url;

use super::authorization::{ITEMS_LIST, ITEMS_STEER};
use super::items::{Ask, check_folder};
use super::views::{FailureGroupView, FailureGroupsView, RequeuedView};
use super::{Authorized, OpContext, PAGE};
use crate::journal::Target;
use crate::reports::behind_reports;
use crate::restoration::follow_receipt;
use crate::{EngineError, paging};

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

/// Groups that are told.
const MOST_GROUPS: usize = 1_000;

/// What makes failures a group: their code, their host, and their stage.
type Key = (Option<String>, Option<String>, String);

/// The failures in groups, the largest first. A manifest can name a host in each row: of many groups the largest are told, each that has
/// more than one in a thousand of all failures among them, and how many failures the others have.
pub fn groups(context: &OpContext, filter: &Filter) -> Result<FailureGroupsView, EngineError> {
    let authorized = context.authorize(&ITEMS_LIST)?;
    let scope = authorized.scope_of(filter.institution.as_deref())?;
    let each = |act: &mut dyn FnMut(Failure)| -> Result<(), EngineError> {
        let page = |after, limit| authorized.read(|tx| failures::list(tx, scope, filter.batch, after, limit));
        for failure in paging::rows(PAGE, |failure: &Failure| failure.item, page) {
            let failure = failure?;
            if filter.is_met_by(&failure) {
                act(failure);
            }
        }
        Ok(())
    };
    let mut groups = Groups::new(MOST_GROUPS);
    each(&mut |failure| groups.add(failure))?;
    let mut others = 0;
    if groups.has_dropped {
        groups.begin_again();
        each(&mut |failure| others += u64::from(!groups.add_to_known(failure)))?;
    }
    Ok(FailureGroupsView { groups: groups.largest_first(), others })
}

/// Groups of failures, of which at most a number is in memory. Where there are more, each failure of a new one takes one away from every
/// group, and groups that have none left are dropped (Misra and Gries, "Finding repeated elements", 1982): what is left then has the
/// largest among it, and is counted once more.
struct Groups {
    most: usize,
    found: BTreeMap<Key, FailureGroupView>,
    /// Whether any was left out, so that the counts are too low.
    has_dropped: bool,
}

impl Groups {
    fn new(most: usize) -> Self {
        Self { most, found: BTreeMap::new(), has_dropped: false }
    }

    fn add(&mut self, failure: Failure) {
        let key = key_of(&failure);
        if self.found.len() < self.most || self.found.contains_key(&key) {
            let new = FailureGroupView {
                code: key.0.clone(),
                host: key.1.clone(),
                stage: failure.stage,
                items: 0,
                newest: failure.item,
                note: None,
            };
            count(self.found.entry(key).or_insert(new), failure);
            return;
        }
        self.has_dropped = true;
        self.found.retain(|_, group| {
            group.items -= 1;
            group.items > 0
        });
    }

    /// Sets the counts to zero, before all failures are read again.
    fn begin_again(&mut self) {
        self.found.values_mut().for_each(|group| group.items = 0);
    }

    /// Whether the group of a failure is one of those that are known.
    fn add_to_known(&mut self, failure: Failure) -> bool {
        self.found.get_mut(&key_of(&failure)).map(|group| count(group, failure)).is_some()
    }

    fn largest_first(self) -> Vec<FailureGroupView> {
        // What was requeued meanwhile left some empty.
        let mut groups: Vec<_> = self.found.into_values().filter(|group| group.items > 0).collect();
        groups.sort_by_key(|group| Reverse(group.items));
        groups
    }
}

fn key_of(failure: &Failure) -> Key {
    (failure.code.clone(), host(failure), failure.stage.to_string())
}

/// Counts a failure, which is newer than those before it.
fn count(group: &mut FailureGroupView, failure: Failure) {
    group.items += 1;
    (group.newest, group.note) = (failure.item, failure.note);
}

/// Requeues the failures that a filter means, for this stage or for the one that each stopped at, in transactions of 100. Those that
/// cannot be requeued are left as they are and counted.
///
/// # Errors
/// Nothing is requeued: [`EngineError::Refused`].
pub fn requeue(context: &OpContext, filter: &Filter, stage: Option<Stage>) -> Result<RequeuedView, EngineError> {
    let authorized = context.authorize(&ITEMS_STEER)?;
    let scope = authorized.scope_of(filter.institution.as_deref())?;
    let (mut total, mut after, mut refusal) = (RequeuedView::default(), None, None);
    loop {
        let done = requeue_page(&authorized, (scope, filter), stage, after)?;
        total.requeued += done.requeued;
        total.left += done.left;
        refusal = refusal.or(done.refusal);
        match done.last {
            Some(last) => after = Some(last),
            None => break,
        }
    }
    if total.requeued == 0 {
        return Err(nothing_requeued(total.left, refusal));
    }
    Ok(total)
}

/// Why nothing was requeued. `refusal` is why the first was refused that would not fail by its package again.
fn nothing_requeued(left: u64, refusal: Option<String>) -> EngineError {
    if left == 0 {
        return EngineError::Refused("no failed work item is meant".to_owned())
            .next("\"strongroom items failures\" shows what failed");
    }
    let items = counted(left, "work item", "work items");
    if let Some(refusal) = refusal {
        return EngineError::Refused(format!("none of {items} can be requeued; the first: {refusal}"))
            .next("\"strongroom items show ITEM\" shows where each is");
    }
    EngineError::Refused(format!("none of {items} can be requeued: they failed by their packages and would fail again"))
        .next("correct the packages and deposit them again; \"strongroom items show ITEM\" lists the problems")
}

/// What came of a page of failures.
#[derive(Debug, Default)]
struct Page {
    topics: Vec<String>,
    requeued: u64,
    left: u64,
    /// Why the first was refused whose package would not fail again.
    refusal: Option<String>,
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
    let (who, entry) = (authorized.actor().to_string(), authorized.entry_named(Ask::Requeue(stage).act()));
    let (filter, workflows) = (filter.clone(), registry.workflows());
    let act = move |tx: &mut dyn Transaction| {
        let mut done = Page::default();
        let page = failures::list(tx, scope, filter.batch, after, AT_ONCE)?;
        done.last = page.last().map(|last| last.item);
        for failure in page.iter().filter(|failure| filter.is_met_by(failure)) {
            let item = items::find(tx, scope, failure.item)?;
            check_folder(scope, Ask::Requeue(stage), &item)?;
            let by = Asker::from(who.as_str());
            match items::request(tx, workflows.as_ref(), scope, item.id, Request::Requeue(stage), by) {
                Ok(topics) => done.topics.extend(topics),
                Err(RegistryError::Permanent { .. }) => {
                    done.left += 1;
                    continue;
                }
                Err(error @ RegistryError::State { .. }) => {
                    done.left += 1;
                    done.refusal.get_or_insert_with(|| error.to_string());
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
            if let Some(batch) = item.batch {
                done.topics.extend(follow_receipt(tx, workflows.as_ref(), batch)?);
            }
            entry.done(
                tx,
                &Target::of(item.institution, format!("item {} of {}", item.id, item.object_identifier))
                    .about(&item.object_identifier),
            )?;
            done.requeued += 1;
        }
        Ok::<_, EngineError>(done)
    };
    let done = behind_reports(authorized.home(), || registry.write(act.clone()))?;
    registry.wakeups().notify(done.topics.iter().map(String::as_str));
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use strongroom_registry::InstitutionId;

    fn failure(host: &str) -> Failure {
        Failure {
            item: ItemId::new(),
            institution: InstitutionId::new(),
            stage: Stage::named("fetch"),
            source: Some(format!("https://{host}/a")),
            note: None,
            code: None,
        }
    }

    #[test]
    fn of_more_groups_than_are_kept_the_largest_are_counted_and_the_rest_is_a_number() {
        // Two large groups among a hundred of one item each, each of which comes when the memory is full.
        let hosts: Vec<String> = (0..100)
            .flat_map(|number| [format!("{number}.example.org"), "a.example.edu".into(), "b.example.edu".into()])
            .chain(["b.example.edu".into()])
            .collect();
        let mut groups = Groups::new(3);
        for host in &hosts {
            groups.add(failure(host));
            assert!(groups.found.len() <= 3);
        }
        assert!(groups.has_dropped);
        groups.begin_again();
        let others = hosts.iter().filter(|host| !groups.add_to_known(failure(host))).count();
        let found: Vec<_> =
            groups.largest_first().into_iter().map(|group| (group.host.unwrap(), group.items)).collect();
        assert_eq!(found[..2], [("b.example.edu".to_owned(), 101), ("a.example.edu".to_owned(), 100)]);
        assert_eq!(others as u64 + found.iter().map(|(_, items)| items).sum::<u64>(), hosts.len() as u64);
    }
}
