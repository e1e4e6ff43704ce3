//! How the stage of an item ends: it goes on at its next stage under the lease that its worker has, without a trip through the
//! queue, or by the queue. One transaction, fenced. Part of [`crate::work`].

use std::collections::BTreeMap;

use strongroom_database::{Asked, Statement, Time, Transaction};
use strongroom_queue::tasks::{self, GoesOn, Locked, Outlook};

use super::claims::{Claimed, ask_claimed, claimed, claimed_row, claimed_values};
use super::endings::{self, Finished};
use crate::model::claim::{Assignment, Claim, Ended, FenceCheck, Room, StageEnd};
use crate::{Position, RegistryError, Subject, Workflows, items, leases, workflow};

/// Writes of a stage that go with its end: the topics that have new work by them. They are given the claim, whose fence the end
/// checks behind them; see [`FenceCheck`].
pub(crate) type EndWrites<'a> = dyn Fn(&mut dyn Transaction, &Claim) -> Result<Vec<String>, RegistryError> + 'a;

/// What goes with the end of a stage.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    /// What is written before the end itself.
    pub writes: Option<&'a EndWrites<'a>>,
    /// The stage that follows, where the worker may begin it at once.
    pub room: Option<&'a Room>,
    /// The tables that the program knows: it begins nothing where they are newer. None where it begins nothing in any case.
    pub known_schema: Option<u32>,
}

/// Ends a stage. Where there is room for the stage that follows, the end is one that leads there, the item is not to be held or cancelled, and
/// the topic of that stage is neither paused nor has others waiting nor is full, the worker goes on with the item at once.
/// Otherwise as [`crate::work::finish`]. Right by rows.
///
/// # Errors
/// [`RegistryError::NewerSchema`] where something is to be begun and the tables are newer than the program.
pub fn end_stage(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    (claim, holder): (&Claim, &str),
    end: &StageEnd,
    next: Next<'_>,
) -> Result<Ended, RegistryError> {
    let topic = next.room.map_or("", |room| room.topic.as_str());
    let (found, outlook, written) = begin_to_end(tx, claim, topic, next.writes)?;
    if let Some(known) = next.known_schema
        && found.schema > u64::from(known)
    {
        return Err(RegistryError::NewerSchema { found: found.schema, known });
    }
    let left = outlook.more_waits.then(|| found.item.topic.clone());
    if let Some(room) = next.room
        && let Some(step) = step(workflows, claim, &found, (end, room, outlook))?
        && has_room(tx, room)?
    {
        let goes_on = go_on(tx, holder, &[(&found, step)])?.pop();
        return Ok(Ended { topics: written, left, goes_on, outcome: None });
    }
    let mut topics = written;
    let (finished, outcome) = endings::finish_found(tx, workflows, (claim, holder), &found.item, end)?;
    topics.extend(finished);
    Ok(Ended { topics, left, goes_on: None, outcome })
}

/// The end of a stage with which nothing else is written.
#[derive(Debug, Clone)]
pub struct BareEnd {
    /// What the worker holds.
    pub claim: Claim,
    /// How its stage ended.
    pub end: StageEnd,
    /// As [`Next::room`].
    pub room: Option<Room>,
    /// As [`Next::known_schema`].
    pub known_schema: Option<u32>,
}

/// Ends stages of several workers of one process in one transaction, each as [`end_stage`] does, where the worker goes on with the item at
/// once or the item succeeds. None, with nothing changed, for every other one, which is to be ended by itself: also where its claim is lost, the
/// topic that is next has a limit of all processes together, another transaction has the task or the item (it is not waited for, so
/// that one does not hold up the others), or the tables are newer than the program knows.
pub fn end_stages(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    holder: &str,
    ends: &[BareEnd],
) -> Result<Vec<Option<Ended>>, RegistryError> {
    let topic = |one: &BareEnd| one.room.as_ref().map_or("", |room| room.topic.as_str()).to_owned();
    let topics: Vec<String> = ends.iter().map(topic).collect();
    let held: Vec<_> = ends.iter().zip(&topics).map(|(one, topic)| (one.claim.lease, topic.as_str())).collect();
    let items = Asked {
        statement: Statement("items.claimed_if_free"),
        lists: ends.iter().map(|one| claimed_values(&one.claim)).collect(),
    };
    let (outlooks, answers) = tasks::lock_with_outlooks(tx, &held, Locked::PassBy, vec![items])?;
    let mut rows = answers.into_iter().next().unwrap_or_default().into_iter();
    let mut found = Vec::with_capacity(ends.len());
    for (one, outlook) in ends.iter().zip(outlooks) {
        let (Some(outlook), Some(row)) = (outlook, rows.next().flatten()) else {
            found.push(None);
            continue;
        };
        let of_item = claimed_row(&one.claim, Some(&row))?;
        let is_newer = one.known_schema.is_some_and(|known| of_item.schema > u64::from(known));
        found.push((!is_newer).then_some((of_item, outlook)));
    }
    let mut ended: Vec<Option<Ended>> = vec![None; ends.len()];
    let (mut going, mut places) = (Vec::new(), Vec::new());
    let mut at_rest: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (place, (one, found)) in ends.iter().zip(&found).enumerate() {
        let Some((found, outlook)) = found else { continue };
        let left = outlook.more_waits.then(|| found.item.topic.clone());
        if let StageEnd::Succeeded { .. } = one.end {
            let by = (&one.claim, holder);
            let Finished { rested, topics, outcome } =
                endings::finish_but_conclude(tx, workflows, by, &found.item, &one.end)?;
            at_rest.entry(found.item.batch.map(|batch| batch.0)).or_default().push((place, rested));
            set(&mut ended, place, Ended { topics, left, goes_on: None, outcome });
        } else if let Some(room) = one.room.as_ref().filter(|room| room.max_total.is_none())
            && let Some(step) = step(workflows, &one.claim, found, (&one.end, room, *outlook))?
        {
            going.push((found, step));
            places.push((place, left));
        }
    }
    let assignments = if going.is_empty() { Vec::new() } else { go_on(tx, holder, &going)? };
    for ((place, left), assignment) in places.into_iter().zip(assignments) {
        set(&mut ended, place, Ended { topics: Vec::new(), left, goes_on: Some(assignment), outcome: None });
    }
    // Batches in one order, or two transactions could wait for each other.
    for (batch, at_rest) in at_rest {
        let (places, rested): (Vec<_>, Vec<_>) = at_rest.into_iter().unzip();
        let of_one = if batch.is_some() { rested.len() } else { 1 };
        for (places, rested) in places.chunks(of_one).zip(rested.chunks(of_one)) {
            let topics = endings::conclude(tx, rested)?;
            if let Some(Some(first)) = places.first().and_then(|&place| ended.get_mut(place)) {
                first.topics.extend(topics);
            }
        }
    }
    Ok(ended)
}

fn set(ended: &mut [Option<Ended>], place: usize, one: Ended) {
    if let Some(place) = ended.get_mut(place) {
        *place = Some(one);
    }
}

/// Locks the task and then its item, with what is found of both; what is to be written with the end is written in between, so that
/// the item is found as it is then. Everybody takes the task first and then its item, or two could wait for each other.
///
/// The fence is checked once, behind the writes: where another worker has the item, or a store was replaced since it was claimed,
/// the transaction is undone with them.
pub(super) fn begin_to_end(
    tx: &mut dyn Transaction,
    claim: &Claim,
    next_topic: &str,
    writes: Option<&EndWrites<'_>>,
) -> Result<(Claimed, Outlook, Vec<String>), RegistryError> {
    let lost = |what| RegistryError::FenceLost { what, id: claim.item.to_string() };
    let besides = if writes.is_none() { vec![ask_claimed(claim)] } else { Vec::new() };
    let held = [(claim.lease, next_topic)];
    let (outlooks, answers) = tasks::lock_with_outlooks(tx, &held, Locked::Wait, besides)?;
    let outlook = outlooks.into_iter().next().flatten().ok_or_else(|| lost("task"))?;
    let Some(writes) = writes else {
        let row = answers.into_iter().flatten().next().flatten();
        return Ok((claimed_row(claim, row.as_ref())?, outlook, Vec::new()));
    };
    let topics = writes(tx, &Claim { fence_check: FenceCheck::BY_END, ..claim.clone() })?;
    let found = claimed(tx, claim)?;
    if found.replacements != claim.replacements {
        return Err(lost("work item"));
    }
    Ok((found, outlook, topics))
}

/// A step to the next stage that a worker may take with its item at once, if there is room.
struct Step<'a> {
    claim: &'a Claim,
    room: &'a Room,
    position: Position,
    note: &'a str,
    outlook: Outlook,
    fair_key: String,
}

impl Step<'_> {
    fn goes_on(&self, found: &Claimed) -> GoesOn<'_> {
        GoesOn {
            lease: self.claim.lease,
            topic: &self.room.topic,
            priority: items::task_priority(found.item.priority, found.item.size),
            fair_key: &self.fair_key,
            duration: self.room.duration,
            passes: self.room.passes,
        }
    }
}

/// None where the item goes by the queue.
fn step<'a>(
    workflows: &dyn Workflows,
    claim: &'a Claim,
    found: &Claimed,
    (end, room, outlook): (&'a StageEnd, &'a Room, Outlook),
) -> Result<Option<Step<'a>>, RegistryError> {
    let StageEnd::Next { next, note } = end else { return Ok(None) };
    let position = workflow::position(workflows, Subject::from(&found.item), *next)?;
    if position.topic != room.topic || endings::request_to_carry_out(&found.item).is_some() {
        return Ok(None);
    }
    let step = Step { claim, room, position, note, outlook, fair_key: found.item.institution.to_string() };
    Ok(step.goes_on(found).may_go_on(&outlook).then_some(step))
}

/// Whether the topic is to have no more of all workers together. Others that ask the same wait until the transaction ends.
fn has_room(tx: &mut dyn Transaction, room: &Room) -> Result<bool, RegistryError> {
    Ok(match room.max_total {
        Some(most) => tasks::room(tx, &room.topic, most)? > 0,
        None => true,
    })
}

/// What the workers hold from then on, instead of their claims.
fn go_on(
    tx: &mut dyn Transaction,
    holder: &str,
    going: &[(&Claimed, Step<'_>)],
) -> Result<Vec<Assignment>, RegistryError> {
    let now = tx.now()?;
    let written = |leased_until: &[Time]| {
        let (mut moved, mut lines, mut leased) = (Vec::new(), Vec::new(), Vec::new());
        for ((found, step), &lease_until) in going.iter().zip(leased_until) {
            let (id, fence, stage) = (found.item.id, step.claim.fence, step.position.stage.as_str());
            moved.push(vec![
                id.into(),
                fence.into(),
                stage.into(),
                (&step.position.topic).into(),
                step.position.wait_key.as_ref().map(|key| key.0.as_str()).into(),
                step.note.into(),
                lease_until.into(),
                now.into(),
            ]);
            lines.push(vec![id.into(), now.into(), stage.into(), step.note.into(), holder.into(), fence.into()]);
            if found.holds_object {
                leased.push(leases::ask_to_extend(id.0, lease_until));
            }
        }
        let mut written = vec![
            Asked { statement: Statement("items.go_on"), lists: moved },
            Asked { statement: Statement("items.history_go_on"), lists: lines },
        ];
        written.extend(leased);
        written
    };
    let wanted: Vec<_> = going.iter().map(|(found, step)| (step.goes_on(found), step.outlook)).collect();
    let tasks = tasks::go_on(tx, &wanted, written)?;
    let assignments = going.iter().zip(tasks).map(|((found, step), task)| {
        let mut item = found.item.clone();
        (item.stage, item.topic) = (step.position.stage, step.position.topic.clone());
        item.wait_key.clone_from(&step.position.wait_key);
        item.note = Some(step.note.to_owned());
        (item.retry_count, item.needs_review) = (0, false);
        (item.cancel_requested, item.requested_by, item.request_reason) = (None, None, None);
        (item.lease_until, item.updated_at) = (Some(task.lease_until), now);
        let claim = Claim { replacements: found.replacements, spent: task.spent, ..step.claim.clone() };
        Assignment { task, claimed: Some((claim, Box::new(item))) }
    });
    Ok(assignments.collect())
}
