//! Ends of stages of several workers that are written in one transaction.

use std::sync::Arc;

use strongroom_registry::items::Request;
use strongroom_registry::work::{self, BareEnd, Claim, Ended, StageEnd};
use strongroom_registry::{
    BatchId, BatchState, ItemStatus, RegistryError, Scope, Stage, Transaction, batches, reports,
};

use super::advancing::room;
use super::world::*;

const FETCH: Stage = Stage::named("fetch");
const VALIDATE: Stage = Stage::named("validate");

pub(crate) fn bare(claim: &Claim, end: &StageEnd) -> BareEnd {
    let room = match end {
        StageEnd::Next { next, .. } => Some(room(*next)),
        _ => None,
    };
    BareEnd { claim: claim.clone(), end: end.clone(), room, known_schema: None }
}

pub(crate) fn end_all(world: &World<'_>, ends: &[BareEnd]) -> Vec<Option<Ended>> {
    let ends = ends.to_vec();
    let job = move |tx: &mut dyn Transaction| work::end_stages(tx, &Table, &holder(1).to_string(), &ends);
    world.registry.write_by_rows::<_, RegistryError, _>(job).expect("is written")
}

/// Claims of so many items at `fetch`.
pub(crate) fn fetched(world: &World<'_>, count: usize) -> Vec<Claim> {
    let receive = Stage::named("receive");
    for assignment in world.lease(1, receive, count).assignments {
        world.finish(&assignment.claimed.expect("is a stage").0, &next(FETCH));
    }
    let leased = world.lease(1, FETCH, count).assignments;
    assert_eq!(leased.len(), count);
    leased.into_iter().map(|one| one.claimed.expect("is a stage").0).collect()
}

fn state(world: &World<'_>, batch: BatchId) -> BatchState {
    world.read(move |tx| batches::get(tx, Scope::System, batch)).expect("is there").state
}

pub(crate) fn each_end_of_a_group_is_as_one_by_itself(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, _) = world.batch(5);
    let claims = fetched(&world, 5);
    let [on, done, gone, held, by_queue] = claims.as_slice() else { panic!("there are five") };
    world.ask(held.item, Request::Hold).expect("is asked");
    let lost = Claim { fence: gone.fence - 1, ..gone.clone() };
    let resolve = next(Stage::named("resolve"));
    let ends = [
        bare(on, &next(VALIDATE)),
        bare(done, &succeeded()),
        bare(&lost, &next(VALIDATE)),
        bare(held, &next(VALIDATE)),
        // There is room, but for another stage.
        BareEnd { room: Some(room(VALIDATE)), ..bare(by_queue, &resolve) },
    ];
    let on_record = |claim: &Claim| format!("{:?} {:?}", world.find(claim.item), world.history(claim.item));
    let untouched = [gone, held, by_queue].map(on_record);
    let ended = end_all(&world, &ends);
    assert_eq!(ended.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, false, false, false]);
    assert_eq!([gone, held, by_queue].map(on_record), untouched);

    let (goes_on, item) =
        ended[0].as_ref().and_then(|one| one.goes_on.clone()).and_then(|one| one.claimed).expect("on");
    assert_eq!((goes_on.lease, goes_on.fence, goes_on.spent), (on.lease, on.fence, 1));
    assert_eq!(format!("{item:?}"), format!("{:?}", world.find(on.item)), "what the worker has is what is on record");
    assert_eq!(world.topics(on.item), ["ingest.validate"]);
    let lines: Vec<_> = world.history(on.item).into_iter().map(|line| (line.stage, line.status)).collect();
    assert_eq!(lines[lines.len() - 2..], [(VALIDATE, ItemStatus::Pending), (VALIDATE, ItemStatus::Started)]);
    assert_eq!(world.status(done.item), (FETCH, ItemStatus::Succeeded));
    assert_eq!(world.topics(done.item), [""; 0]);
    let outcome = ended[1].as_ref().and_then(|one| one.outcome.clone()).expect("it ended");
    assert_eq!((outcome.item, outcome.status), (done.item, ItemStatus::Succeeded));
    assert_eq!(state(&world, batch), BatchState::Processing);
    world.finish(held, &next(VALIDATE));
    assert_eq!(world.status(held.item), (VALIDATE, ItemStatus::Held), "what was asked is carried out by itself");
}

pub(crate) fn items_that_succeed_in_one_group_end_each_of_their_batches_once(subject: &dyn Subject) {
    let world = World::new(subject);
    let made = [2, 3, 1].map(|count| world.batch(count).0);
    let single = world.item_named("single");
    let claims = fetched(&world, 7);
    assert!(claims.iter().any(|claim| claim.item == single));
    let ends: Vec<_> = claims.iter().map(|claim| bare(claim, &succeeded())).collect();
    let ended = end_all(&world, &ends);
    assert!(ended.iter().all(|one| one.as_ref().is_some_and(|one| one.outcome.is_some())), "{ended:?}");
    for batch in made {
        assert_eq!(state(&world, batch), BatchState::Completed);
        let found = world.read(move |tx| reports::list(tx, Scope::System, batch, 0, 10));
        assert_eq!(found.len(), 1, "one report");
    }
    assert_eq!(world.find(single).status, ItemStatus::Succeeded);
    assert!(end_all(&world, &ends).iter().all(Option::is_none), "their claims are lost");
}

pub(crate) fn a_group_begins_nothing_that_a_newer_schema_or_a_limit_may_forbid(subject: &dyn Subject) {
    let world = World::new(subject);
    world.item_named("one");
    world.item_named("two");
    let claims = fetched(&world, 2);
    let on = next(VALIDATE);
    let newer = BareEnd { known_schema: Some(0), ..bare(&claims[0], &on) };
    let limited = bare(&claims[1], &on);
    let room = limited.room.clone().map(|room| work::Room { max_total: Some(9), ..room });
    assert!(end_all(&world, &[newer, BareEnd { room, ..limited }]).iter().all(Option::is_none));
}

/// Groups whose items are of the same batches, in other orders, with workers that end stages by themselves at the same time.
pub(crate) fn groups_do_not_wait_for_each_other_for_ever(subject: &dyn Subject) {
    const OF_EACH: usize = 8;
    let world = World::new(subject);
    let made = [(); 3].map(|()| world.batch(OF_EACH).0);
    let claims = fetched(&world, 3 * OF_EACH);
    let write = |ends: Vec<BareEnd>| {
        let registry = world.registry.clone();
        move || {
            let group = Arc::new(ends);
            let job = {
                let group = group.clone();
                move |tx: &mut dyn Transaction| work::end_stages(tx, &Table, &holder(1).to_string(), &group)
            };
            let ended = registry.write_by_rows::<_, RegistryError, _>(job).expect("is written");
            for (end, _) in group.iter().zip(&ended).filter(|(_, ended)| ended.is_none()) {
                let (claim, end) = (end.claim.clone(), end.end.clone());
                let job =
                    move |tx: &mut dyn Transaction| work::finish(tx, &Table, &claim, &holder(1).to_string(), &end);
                registry.write_by_rows::<_, RegistryError, _>(job).expect("ends by itself");
            }
        }
    };
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let mut own: Vec<_> =
                claims.iter().skip(worker).step_by(4).map(|claim| bare(claim, &succeeded())).collect();
            if worker % 2 == 1 {
                own.reverse();
            }
            let groups: Vec<_> = own.chunks(3).map(|group| write(group.to_vec())).collect();
            scope.spawn(move || groups.into_iter().for_each(|group| group()));
        }
    });
    for batch in made {
        assert_eq!(state(&world, batch), BatchState::Completed);
    }
}
