//! Duplication policies: versions that stay, of which the newest applies, and an approval by a second person.

use std::sync::Barrier;

use strongroom_registry::duplication_policies::{self as policies, NewPolicy, PolicyVersion, Setting};
use strongroom_registry::journal::{Actor, ShownActor};
use strongroom_registry::{ActorKind, InstitutionId, RegistryError, UserId};

use super::world::*;

fn actor(name: &str) -> Actor {
    Actor::new(ActorKind::User, name)
}

fn new(world: &World<'_>, based_on: Option<u64>, document: &str) -> NewPolicy {
    NewPolicy {
        institution: world.ours,
        based_on,
        document: document.to_owned(),
        deletes: true,
        reason: "a NUL \0 in it".to_owned(),
        actor: actor("ann@example.edu").at_console("root"),
        user: Some(UserId::new()),
    }
}

fn set(world: &World<'_>, new: NewPolicy) -> Setting {
    world.write(move |tx| policies::set(tx, &new))
}

fn newest(world: &World<'_>, of: InstitutionId) -> Option<PolicyVersion> {
    world.read(|tx| policies::newest(tx, of))
}

pub(crate) fn a_version_of_a_policy_stays_and_the_newest_applies(subject: &dyn Subject) {
    let world = World::new(subject);
    assert_eq!(newest(&world, world.ours), None);
    let Setting::Set(first) = set(&world, new(&world, None, "{}")) else { panic!("is set") };
    assert_eq!((first.version, first.deletes, first.may_delete(), &first.approved), (1, true, false, &None));
    assert_eq!(first.reason, "a NUL \u{fffd} in it");
    assert_eq!(ShownActor::parse(&first.set_by).account.as_deref(), Some("root"));
    assert_eq!(set(&world, new(&world, Some(1), "{}")), Setting::Unchanged(first.clone()));
    let second = NewPolicy { deletes: false, ..new(&world, Some(1), r#"{"default":"none"}"#) };
    let Setting::Set(second) = set(&world, second) else { panic!("is set") };
    assert_eq!(newest(&world, world.ours).as_ref(), Some(&second));
    assert_eq!(world.read(|tx| policies::list(tx, world.ours, 0, 10)), [first.clone(), second.clone()]);
    assert_eq!(world.read(|tx| policies::list(tx, world.ours, 1, 10)), [second]);
    assert_eq!(world.read(|tx| policies::document(tx, world.ours, 1)), "{}");
    // The other institution has none of it.
    assert_eq!(newest(&world, world.theirs), None);
    for version in [0, 3, u64::MAX] {
        let missing = world.registry.read(|tx| policies::get(tx, world.ours, version));
        assert!(matches!(missing, Err(RegistryError::NotFound { .. })), "{version}");
    }
}

pub(crate) fn a_policy_that_was_made_from_an_older_version_is_not_set(subject: &dyn Subject) {
    let world = World::new(subject);
    assert_eq!(set(&world, new(&world, Some(1), "{}")), Setting::Newer(None));
    set(&world, new(&world, None, "1"));
    set(&world, new(&world, Some(1), "2"));
    for based_on in [None, Some(1), Some(3), Some(u64::MAX)] {
        let Setting::Newer(Some(newer)) = set(&world, new(&world, based_on, "3")) else { panic!("{based_on:?}") };
        assert_eq!(newer.version, 2);
    }
}

pub(crate) fn of_two_policies_that_are_set_at_once_one_is_set(subject: &dyn Subject) {
    let world = World::new(subject);
    set(&world, new(&world, None, "0"));
    let barrier = Barrier::new(4);
    let outcomes: Vec<Setting> = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..=4)
            .map(|number| {
                let (registry, barrier) = (world.registry.clone(), &barrier);
                let new = new(&world, Some(1), &number.to_string());
                scope.spawn(move || {
                    barrier.wait();
                    registry.write(move |tx| policies::set(tx, &new)).expect("is written")
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("ends")).collect()
    });
    assert_eq!(outcomes.iter().filter(|outcome| matches!(outcome, Setting::Set(_))).count(), 1);
    assert_eq!(outcomes.iter().filter(|outcome| matches!(outcome, Setting::Newer(Some(_)))).count(), 3);
    assert_eq!(newest(&world, world.ours).map(|newest| newest.version), Some(2));
}

pub(crate) fn the_newest_version_that_deletes_is_approved_once(subject: &dyn Subject) {
    let world = World::new(subject);
    let ours = world.ours;
    let approve =
        |version| world.registry.write(move |tx| policies::approve(tx, ours, version, &actor("bob@example.edu")));
    let state = |version| match approve(version) {
        Err(RegistryError::State { state, .. }) => state,
        other => panic!("{other:?}"),
    };
    assert!(matches!(approve(1), Err(RegistryError::NotFound { .. })));
    set(&world, new(&world, None, "1"));
    set(&world, new(&world, Some(1), "2"));
    assert_eq!(state(1), "replaced by version 2");
    let approved = approve(2).expect("is approved");
    assert!(approved.may_delete());
    assert_eq!(approved.approved.map(|(by, _)| by).as_deref(), Some("bob@example.edu"));
    assert_eq!(state(2), "approved by bob@example.edu already");
    // A further version is not approved by that.
    set(&world, new(&world, Some(2), "3"));
    assert!(newest(&world, world.ours).is_some_and(|newest| !newest.may_delete()));
    set(&world, NewPolicy { deletes: false, ..new(&world, Some(3), "4") });
    assert_eq!(state(4), "without rules that delete, and needs no approval");
}
