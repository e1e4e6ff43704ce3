//! A claim that is no longer current changes nothing, whatever is tried with it.

use strongroom_registry::copies::{self, NewCopy};
use strongroom_registry::items::{self, ItemProblem, Request};
use strongroom_registry::versions::{self, NewEntry, Version};
use strongroom_registry::work::{self, Claim, Next, StageEnd};
use strongroom_registry::{
    ContentId, Decision, Description, FileId, Format, InstitutionId, ItemStatus, ObjectId, RegistryError, Scope, Stage,
    Time, Transaction, discarding, interim, leases, objects, stores,
};

use super::world::*;

type Write = fn(&mut dyn Transaction, &Claim, &Version) -> Result<(), RegistryError>;

/// Everything a worker writes with its claim.
const WRITES: &[(&str, Write)] = &[
    ("check_fence", |tx, claim, _| work::check_fence(tx, claim)),
    ("note_problems", |tx, claim, _| work::note_problems(tx, claim, &[])),
    ("set_note", |tx, claim, _| work::set_note(tx, claim, "late")),
    ("set_source", |tx, claim, _| work::set_source(tx, claim, "late", Some(1), Some("late"))),
    ("set_object", |tx, claim, _| work::set_object(tx, claim, ObjectId::new())),
    ("put_files", |tx, claim, _| interim::put_files(tx, claim, &[interim_file("late", b"late")])),
    ("set_formats of files", |tx, claim, _| {
        interim::set_formats(tx, claim, &mut [("data/a", &Format::default())].into_iter())
    }),
    ("set_decisions", |tx, claim, _| {
        let mut file = interim_file("data/a", b"a");
        file.decision = Some(Decision::Changed);
        interim::set_decisions(tx, claim, &[file])
    }),
    ("match_kept", |tx, claim, version| {
        let object = objects::get(tx, Scope::System, version.object)?.expect("the object");
        interim::match_kept(tx, claim, &[interim_file("data/a", b"a")], &object)
    }),
    ("hold_for_item", |tx, claim, version| leases::hold_for_item(tx, claim, version.object, Time(0)).map(|_| ())),
    ("set_fact", |tx, claim, _| interim::set_fact(tx, claim, "kept", "late")),
    ("reserve", |tx, claim, _| interim::reserve(tx, claim, 77, 1_000).map(|_| ())),
    ("give_back", |tx, claim, _| interim::give_back(tx, claim, interim::Needed { free: 77, refused: 77 }, None)),
    ("prepare", |tx, claim, version| {
        let description = Description::default();
        let new = versions::NewVersion {
            object: version.object,
            generation: version.generation,
            number: 9,
            message: "late",
            user: "late",
            harvested_from: None,
            description: &description,
        };
        versions::prepare(tx, claim, &new).map(|_| ())
    }),
    ("put_entries", |tx, claim, version| {
        let entry = NewEntry {
            file: FileId::new(),
            path: "late".into(),
            modified: None,
            content: ContentId::new(),
            format: Format::default(),
        };
        versions::put_entries(tx, claim, version, &[entry])
    }),
    ("put_copies", |tx, claim, version| {
        let copy = NewCopy { content: ContentId::new(), key: "late".into(), class: None };
        copies::put_copies(tx, claim, InstitutionId::new(), version, "late", &[copy])
    }),
    ("put_events", |tx, claim, version| versions::put_events(tx, claim, version, &[])),
    ("set_verified", |tx, claim, version| copies::set_verified(tx, claim, version, "late", &[ContentId::new()])),
    ("set_attested", |tx, claim, version| copies::set_attested(tx, claim, version, "late", &[ContentId::new()])),
    ("forget_copies", |tx, claim, version| copies::forget_copies(tx, claim, version, "late", &[ContentId::new()])),
    ("put_copies_in", |tx, claim, version| copies::put_copies_in(tx, claim, InstitutionId::new(), version, &[])),
    ("note_seen", |tx, claim, version| copies::note_seen(tx, claim, version, &[])),
    ("put_rows", |tx, claim, version| {
        versions::put_rows(tx, claim, version, &versions::NewRows::default()).map(|_| ())
    }),
    ("put_copy_of_kept", |tx, claim, version| {
        let copy = NewCopy { content: ContentId::new(), key: "late".into(), class: None };
        copies::put_copy_of_kept(tx, claim, InstitutionId::new(), version.object, "late", &copy)
    }),
    ("set_kept_attested", |tx, claim, version| {
        copies::set_kept_attested(tx, claim, version.object, "late", ContentId::new())
    }),
    ("note_stores", |tx, claim, version| discarding::note_stores(tx, claim, version, &["late".into()])),
    ("freeze_record", |tx, claim, version| versions::freeze_record(tx, claim, version, "late").map(|_| ())),
    ("commit", |tx, claim, version| versions::commit(tx, claim, version, digests(b"late").sha512)),
    ("publish", |tx, claim, _| versions::publish(tx, claim, InstitutionId::new(), None, &[])),
    ("finish", |tx, claim, _| work::finish(tx, &Table, claim, "late", &next(Stage::named("cleanup"))).map(|_| ())),
];

/// An item that a worker has, with something of everything.
fn at_work(world: &World<'_>) -> (Claim, Version) {
    let object = world.object("bag");
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let held = claim.clone();
    world.write(move |tx| {
        interim::put_files(tx, &held, &[interim_file("data/a", b"a")])?;
        interim::set_fact(tx, &held, "kept", "by the first")?;
        interim::reserve(tx, &held, 10, 1_000)
    });
    let version = world.prepare(&claim, &object);
    (claim, version)
}

/// Ends the stage with something written.
fn end_with(world: &World<'_>, claim: &Claim, version: &Version, write: Write) -> Result<(), RegistryError> {
    let (claim, version) = (claim.clone(), version.clone());
    world.registry.write_by_rows(move |tx| {
        let writes =
            |tx: &mut dyn Transaction, claim: &Claim| write(tx, claim, &version).map(|()| Vec::<String>::new());
        let next_stage = Next { writes: Some(&writes), room: None, known_schema: None };
        work::end_stage(tx, &Table, (&claim, "late"), &next(Stage::named("verify")), next_stage).map(|_| ())
    })
}

fn refuses_all(world: &World<'_>, claim: &Claim, version: &Version) {
    let before = world.find(claim.item);
    for (name, write) in WRITES {
        let (claim, version) = (claim.clone(), version.clone());
        let refused = world.refused(move |tx| write(tx, &claim, &version));
        assert!(matches!(refused, RegistryError::FenceLost { .. }), "{name}: {refused}");
    }
    for (name, write) in WRITES.iter().filter(|(name, _)| *name != "finish") {
        assert!(end_with(world, claim, version, *write).is_err(), "{name} with the end of the stage");
    }
    let after = world.find(claim.item);
    assert_eq!((after.note, after.updated_at, after.priority), (before.note, before.updated_at, before.priority));
    assert_eq!((after.etag, after.object, after.version), (before.etag, before.object, before.version));
    let item = claim.item;
    world.read(|tx| {
        assert_eq!(interim::totals(tx, item)?.files, 1);
        assert_eq!(interim::fact(tx, item, "kept")?.as_deref(), Some("by the first"));
        let version = versions::of_item(tx, item)?.expect("a version");
        assert_eq!((version.number, version.state.as_str()), (1, "preparing"));
        Ok(())
    });
}

pub(crate) fn every_write_of_a_worker_is_refused_once_the_item_is_lost(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, version) = at_work(&world);
    world.crash();
    refuses_all(&world, &claim, &version);
    let (taken, _) = world.claim_as(2, Stage::named("write"));
    refuses_all(&world, &claim, &version);
    world.write(move |tx| work::check_fence(tx, &taken));
}

pub(crate) fn every_write_of_a_worker_is_refused_after_its_stage_ended(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, version) = at_work(&world);
    world.finish(&claim, &StageEnd::Held { note: "the last word".into() });
    refuses_all(&world, &claim, &version);
    let item = world.find(claim.item);
    assert_eq!((item.status, item.note.as_deref()), (ItemStatus::Held, Some("the last word")));
}

/// The fence of the item alone refuses it, also while the lease of the task lasts.
pub(crate) fn i04_every_write_with_an_earlier_fence_is_refused_though_its_task_is_current(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, version) = at_work(&world);
    let earlier = Claim { fence: claim.fence - 1, ..claim.clone() };
    refuses_all(&world, &earlier, &version);
    world.finish(&claim, &next(Stage::named("verify")));
    assert_eq!(world.status(claim.item), (Stage::named("verify"), ItemStatus::Pending));
}

/// What was seen of a store is not recorded of the one that has its name since, also where it is written with the end of a stage.
pub(crate) fn what_is_written_with_an_end_is_refused_once_a_store_was_replaced(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, version) = at_work(&world);
    let write: Write = |tx, claim, _| interim::set_fact(tx, claim, "kept", "late");
    world.write(|tx| stores::begin_replacing(tx, "primary", uuid::Uuid::now_v7()));
    let refused = end_with(&world, &claim, &version, write);
    assert!(matches!(refused, Err(RegistryError::FenceLost { .. })), "{refused:?}");
    assert_eq!(world.status(claim.item), (Stage::named("write"), ItemStatus::Started));
    assert_eq!(world.read(|tx| interim::fact(tx, claim.item, "kept")).as_deref(), Some("by the first"));
    world.finish(&claim, &StageEnd::Released { note: "what it wrote with its end was refused".into() });
    let (again, _) = world.claim_as(2, Stage::named("write"));
    end_with(&world, &again, &version, write).expect("it was claimed since");
    assert_eq!(world.read(|tx| interim::fact(tx, again.item, "kept")).as_deref(), Some("late"));
}

fn problem(message: &str) -> ItemProblem {
    ItemProblem {
        severity: "warning".into(),
        code: "bag.something".into(),
        file: None,
        path: None,
        line: None,
        message: message.to_owned(),
    }
}

/// Both items have the same fence: only their ids tell them apart.
pub(crate) fn a_claim_writes_to_its_own_item_and_no_other(subject: &dyn Subject) {
    let world = World::new(subject);
    world.item_named("one");
    let (first, _) = world.claim(Stage::named("receive"));
    world.item_named("two");
    let (second, _) = world.claim(Stage::named("receive"));
    assert_eq!(first.fence, second.fence);
    let before = format!("{:?}", world.find(second.item));
    for (claim, message) in [(&second, "of the second"), (&first, "of the first")] {
        let claim = claim.clone();
        world.write(move |tx| work::note_problems(tx, &claim, &[problem(message)]));
    }
    let object = world.object("bag");
    world.prepare(&first, &object);
    world.write({
        let claim = first.clone();
        move |tx| {
            work::set_object(tx, &claim, object.id)?;
            work::set_note(tx, &claim, "noted")?;
            work::set_source(tx, &claim, "etag", Some(1), Some("renamed"))
        }
    });
    let own = world.find(first.item);
    assert_eq!((own.note.as_deref(), own.etag.as_deref()), (Some("noted"), Some("etag")));
    assert_eq!((own.object, own.version), (Some(object.id), Some(1)));
    world.ask(first.item, Request::Hold).expect("is asked");
    assert_eq!(format!("{:?}", world.find(second.item)), before);
    world.finish(&first, &StageEnd::Held { note: "waits for a person".into() });
    assert_eq!(format!("{:?}", world.find(second.item)), before);
    let problems = |id| world.read(|tx| items::problems(tx, Scope::System, id, 9));
    assert_eq!(problems(first.item), [problem("of the first")]);
    assert_eq!(problems(second.item), [problem("of the second")]);
}
