//! The handlers of the topics of duplication. What is done is decided when it is done: by the policy that applies then, and by what both
//! stores have then.

use std::collections::BTreeSet;
use std::sync::Arc;

use strongroom_duplication::Rule;
use strongroom_queue::Outcome;
use strongroom_registry::content_acts::ActTask;
use strongroom_registry::duplication_routes::{self as routes, Route};
use strongroom_registry::work::Assignment;
use strongroom_registry::{InstitutionId, RegistryError, RouteId};
use strongroom_spaces::SpaceName;
use strongroom_storage::Key;

use super::events::policies;
use super::item::ItemTask;
use super::tasks::{HIGH, LOW, Payload};
use super::{CurrentPolicy, current, space};
use crate::hold::OperationError;
use crate::runtime::{Handler, TaskContext, TaskEnd};
use crate::task_kinds::TaskKind;
use crate::{EngineError, Home};

/// Tasks that events make.
pub(crate) const HIGH_TASK: TaskKind = TaskKind {
    topic: HIGH,
    goes_after: &[],
    is_before_stages: false,
    handler: |home| Arc::new(DuplicationHandler { home: home.clone(), topic: HIGH }),
};

/// Tasks that sweeps make.
pub(crate) const LOW_TASK: TaskKind = TaskKind {
    topic: LOW,
    goes_after: &[HIGH],
    is_before_stages: false,
    handler: |home| Arc::new(DuplicationHandler { home: home.clone(), topic: LOW }),
};

struct DuplicationHandler {
    home: Arc<Home>,
    topic: &'static str,
}

/// A rule that applies to a route now.
pub(super) struct Applied {
    /// The version of the policy.
    pub(super) version: u64,
    /// Whether it deletes now.
    pub(super) deletes: bool,
    /// Whether rules copy the space back, from the destination to the source, directly or by way of other stores.
    pub(super) is_cyclic: bool,
    /// Whether such rules delete now.
    pub(super) way_back_deletes: bool,
}

impl Handler for DuplicationHandler {
    fn topic(&self) -> &str {
        self.topic
    }

    fn run(&self, assignment: &Assignment, context: &TaskContext) -> TaskEnd {
        self.end(assignment, context).unwrap_or_else(|error| task_end(error, &self.home, assignment, context))
    }
}

impl DuplicationHandler {
    fn end(&self, assignment: &Assignment, context: &TaskContext) -> Result<TaskEnd, OperationError> {
        let route = assignment.task.key.split_once('/').and_then(|(route, _)| route.parse::<RouteId>().ok());
        let payload = serde_json::from_slice::<Payload>(&assignment.task.payload);
        let (Some(route), Ok(payload)) = (route, payload) else {
            return Ok(dead("the task does not say which route and content item it is about"));
        };
        let Some(route) = self.home.registry.read(|tx| routes::get(tx, route))? else {
            return Ok(dead("the registry has no such route"));
        };
        let Ok(space) = SpaceName::new(route.space.as_str()) else { return Ok(dead("the route has no space")) };
        let Some(applied) = applied(&self.home, &route)? else {
            // The policy was changed since.
            return Ok(Outcome::Done.into());
        };
        let leased = &assignment.task;
        let task = ActTask {
            id: leased.lease.task.0,
            topic: leased.topic.clone(),
            attempt: leased.lease.attempt.into(),
            policy_version: applied.version,
        };
        if payload.key.is_empty() {
            return space::run(&self.home, &route, &space, &applied, &task);
        }
        let Ok(key) = Key::new(payload.key.as_str()) else { return Ok(dead("the task has no key of a content item")) };
        let home = self.home.as_ref();
        let is_kept = payload.is_kept;
        ItemTask { home, route: &route, space: &space, key: &key, applied, is_kept, task: &task, context }
            .run(payload.is_read_whole)
    }
}

/// What the newest policy says of a route; none where no rule has it any more.
pub(super) fn applied(home: &Home, route: &Route) -> Result<Option<Applied>, EngineError> {
    let Some(policy) = current(home, route.institution)? else { return Ok(None) };
    let rules = policy.lookup().rules_for(&route.space).rules();
    let of_route = |rule: &&Rule| rule.source == route.source && rule.destination == route.destination;
    let Some(rule) = rules.iter().find(of_route) else { return Ok(None) };
    let deleting: Vec<&Rule> = rules.iter().filter(|rule| policy.deletes(rule)).collect();
    let all: Vec<&Rule> = rules.iter().collect();
    Ok(Some(Applied {
        version: policy.version,
        deletes: policy.deletes(rule),
        is_cyclic: is_way(&all, &route.destination, &route.source),
        way_back_deletes: is_way(&deleting, &route.destination, &route.source),
    }))
}

/// Whether what was deleted in the source of a route is deleted in its destination: the rule deletes now, and no rule of another institution
/// between the same stores keeps it.
pub(super) fn may_delete(home: &Home, route: &Route, applied: &Applied) -> Result<bool, EngineError> {
    let keeps = |(institution, policy): &(InstitutionId, CurrentPolicy)| {
        *institution != route.institution
            && policy
                .lookup()
                .rules_from(&route.source, &route.space)
                .any(|rule| rule.destination == route.destination && !policy.deletes(rule))
    };
    Ok(applied.deletes && !policies(home)?.iter().any(keeps))
}

/// Whether rules lead from one store to another one.
fn is_way(rules: &[&Rule], from: &str, to: &str) -> bool {
    let (mut reached, mut next) = (BTreeSet::from([from]), vec![from]);
    while let Some(store) = next.pop() {
        if store == to {
            return true;
        }
        for rule in rules.iter().filter(|rule| rule.source == store) {
            if reached.insert(&rule.destination) {
                next.push(&rule.destination);
            }
        }
    }
    false
}

/// How a task ends that stops for this reason. What changed meanwhile is decided anew at once; a plain store that is away costs no attempt.
fn task_end(error: OperationError, home: &Home, assignment: &Assignment, context: &TaskContext) -> TaskEnd {
    if let OperationError::Engine(EngineError::Registry(RegistryError::FenceLost { .. })) = error {
        return Outcome::Release.into();
    }
    error.task_end(home, assignment, context)
}

fn dead(reason: &str) -> TaskEnd {
    Outcome::Dead { reason: reason.to_owned() }.into()
}
