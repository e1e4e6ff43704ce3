//! How a version becomes true in the record, and how it is given up.

use std::time::Duration;

use strongroom_registry::copies::{self, NewCopy};
use strongroom_registry::discarding::{self, Authority};
use strongroom_registry::events::{self, EventCursor, EventRow};
use strongroom_registry::objects::{self, Object};
use strongroom_registry::versions::{self, NewEntry, Version};
use strongroom_registry::work::{Claim, StageEnd};
use strongroom_registry::{
    ContentId, Description, EventId, FileId, Format, GenerationId, ItemId, ObjectId, ObjectState, RegistryError, Scope,
    Stage, Time, VersionState, interim, leases,
};

use super::world::*;

/// What a reader finds out about an object.
fn seen(world: &World<'_>, object: &Object, file: FileId) -> (bool, usize, usize, bool, usize, usize) {
    world.read(|tx| {
        let head = objects::get(tx, Scope::System, object.id)?.map_or(0, |object| object.head);
        Ok((
            objects::find(tx, Scope::System, &object.identifier).is_ok(),
            objects::list(tx, Scope::System, &objects::ObjectFilter::default(), None, 9)?.len(),
            objects::files(tx, object.id, head, "", "", 9)?.len(),
            objects::file(tx, Scope::System, file, None)?.is_some(),
            versions::list(tx, object.id, object.generation, false)?.len(),
            events::of_object(tx, Scope::System, object.id, None, EventCursor::START, 99)?.0.len(),
        ))
    })
}

fn put_event(world: &World<'_>, version: &Version, file: FileId, content: ContentId) -> EventRow {
    let event = super::events::row(world, version, file, content);
    let kept = event.clone();
    world.write(move |tx| events::append(tx, std::slice::from_ref(&kept)));
    event
}

pub(crate) fn readers_see_a_version_when_it_is_published_and_not_before(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("bag");
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let said = Description { title: Some("A map".into()), local_ids: vec!["m-1".into()], ..Description::default() };
    let (held, of) = (claim.clone(), object.clone());
    let version = world.write(move |tx| versions::prepare(tx, &held, &new_version(&of, &said)));
    let (file, content) = world.put(&claim, &version, "deposit/data/a", b"a");
    world.put(&claim, &version, "submission/v1/bagit.txt", b"bagit");
    put_event(&world, &version, file, content);
    let nothing = (false, 0, 0, false, 0, 0);
    assert_eq!(seen(&world, &object, file), nothing);
    assert_eq!(world.read(|tx| copies::unproved(tx, &version, &["primary".to_owned()])), [2]);
    world.copy(&claim, &version, "primary", &[content]);
    assert_eq!(world.read(|tx| copies::unproved(tx, &version, &["primary".to_owned()])), [1]);
    world.commit(&claim, &version);
    assert_eq!(seen(&world, &object, file), nothing);
    world.publish(&claim, &["primary"]);
    assert_eq!(seen(&world, &object, file), (true, 1, 2, true, 1, 10));
    let found = world.read(|tx| objects::find(tx, Scope::System, &object.identifier));
    assert_eq!((found.state, found.head, found.files, found.bytes), (ObjectState::Active, 1, 1, 1));
    assert_eq!((found.description.title.as_deref(), found.description.local_ids.len()), (Some("A map"), 1));
    assert_eq!(world.find(claim.item).version, Some(1));
    world.publish(&claim, &["primary"]);
    world.finish(&claim, &succeeded());

    // A second version: readers keep the first until it is published.
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let version = world.prepare(&claim, &found);
    let content = new_content(b"changed");
    let (held, of) = (claim.clone(), version.clone());
    world.write(move |tx| {
        let id = versions::put_content(tx, &of, &content)?;
        let entry =
            NewEntry { file, path: "deposit/data/a".into(), modified: None, content: id, format: Format::default() };
        versions::put_entries(tx, &held, &of, &[entry])
    });
    let size = || world.read(|tx| objects::file(tx, Scope::System, file, None)).expect("is there").1.size;
    assert_eq!(size(), 1);
    world.commit(&claim, &version);
    assert_eq!(size(), 1);
    world.publish(&claim, &["primary"]);
    assert_eq!(size(), 7);
    let at = |number| world.read(|tx| objects::files(tx, object.id, number, "deposit/", "", 9))[0].size;
    assert_eq!((at(1), at(2)), (1, 7), "every version stays as it was");
}

pub(crate) fn an_inventory_names_what_its_version_and_those_before_it_brought(subject: &dyn Subject) {
    let world = World::new(subject);
    let (object, another) = (world.object("bag"), world.object("another"));
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let version = world.prepare(&claim, &another);
    world.put(&claim, &version, "c", b"c");
    world.finish(&claim, &next(Stage::named("verify")));
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let version = world.prepare(&claim, &object);
    world.put(&claim, &version, "a", b"a");
    world.commit(&claim, &version);
    world.publish(&claim, &["primary"]);
    world.finish(&claim, &succeeded());
    let found = world.read(|tx| objects::find(tx, Scope::System, &object.identifier));
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let version = world.prepare(&claim, &found);
    world.put(&claim, &version, "b", b"b");

    let named = |generation, number| {
        world.read(|tx| {
            let (mut manifest, mut state) = (Vec::new(), Vec::new());
            versions::manifest(tx, object.id, generation, number, &mut |sha512, place| {
                manifest.push((sha512, place.version));
                Ok(())
            })?;
            versions::state(tx, object.id, generation, number, &mut |sha512, path| {
                state.push((sha512, path.to_owned()));
                Ok(())
            })?;
            Ok((manifest, state))
        })
    };
    let (a, b) = (digests(b"a").sha512, digests(b"b").sha512);
    assert_eq!(named(object.generation, 1), (vec![(a, 1)], vec![(a, "a".to_owned())]));
    let mut manifest = vec![(a, 1), (b, 2)];
    let mut state = vec![(a, "a".to_owned()), (b, "b".to_owned())];
    manifest.sort_by_key(|(sha512, _)| sha512.to_hex());
    state.sort_by_key(|(sha512, _)| sha512.to_hex());
    assert_eq!(named(object.generation, 2), (manifest, state));
    assert_eq!(named(GenerationId::new(), 2), (Vec::new(), Vec::new()));
}

pub(crate) fn a_dropped_version_leaves_no_rows(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("bag");
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let version = world.prepare(&claim, &object);
    let many = versions::ROWS_AT_ONCE + 10;
    let (held, of) = (claim.clone(), version.clone());
    let entries: Vec<(Vec<u8>, FileId)> = (0..many).map(|n| (n.to_string().into_bytes(), FileId::new())).collect();
    let files = entries.clone();
    world.write(move |tx| {
        for (bytes, file) in &files {
            let content = versions::put_content(tx, &of, &new_content(bytes))?;
            let path = format!("deposit/data/{}", String::from_utf8_lossy(bytes));
            versions::put_entries(
                tx,
                &held,
                &of,
                &[NewEntry { file: *file, path, modified: None, content, format: Format::default() }],
            )?;
        }
        Ok(())
    });
    let pending = world.read(|tx| copies::uncopied(tx, &version, "primary", None, many));
    assert_eq!(pending.len(), many);
    let contents: Vec<ContentId> = pending.iter().map(|one| one.content).collect();
    world.copy(&claim, &version, "primary", &contents);
    put_event(&world, &version, entries[0].1, contents[0]);
    discard(&world, &claim, &version);
    let drop_some = {
        let version = version.clone();
        move |world: &World<'_>| {
            let version = version.clone();
            world.write(move |tx| discarding::drop_rows(tx, &version))
        }
    };
    let mut turns = 1;
    while !drop_some(&world) {
        turns += 1;
    }
    assert!(turns > 2, "no transaction drops them all");
    assert!(drop_some(&world), "a repeat finds nothing to do");
    world.read(|tx| {
        assert!(versions::of_item(tx, claim.item)?.is_none());
        assert!(versions::open_of_object(tx, object.id)?.is_none());
        assert_eq!(copies::unproved(tx, &version, &["primary".to_owned()])?, [0], "no contents");
        assert!(copies::uncopied(tx, &version, "primary", None, 9)?.is_empty());
        let mut left = 0;
        events::of_version(tx, object.id, 1, &mut |_| {
            left += 1;
            Ok(())
        })?;
        assert_eq!(left, 0, "no events");
        for content in &contents {
            assert!(objects::content(tx, *content)?.is_none());
            assert!(objects::copies(tx, *content)?.is_empty());
        }
        assert!(objects::current(tx, object.id, "deposit/data/0")?.is_none(), "no files");
        Ok(())
    });
    let (held, of, id) = (claim.clone(), object.clone(), version.id);
    let occupied = world.refused(move |tx| versions::prepare(tx, &held, &new_version(&of, &Description::default())));
    assert!(matches!(occupied, RegistryError::Database(_)), "the number is kept until the bytes are gone: {occupied}");
    assert_eq!(world.read(|tx| discarding::unswept_of_object(tx, object.id)).len(), 1);
    world.write(move |tx| discarding::set_swept(tx, id));
    assert!(world.read(|tx| discarding::unswept_of_object(tx, object.id)).is_empty());
    let again = world.prepare(&claim, &object);
    assert_eq!((again.number, again.id == version.id), (1, false), "the number is free again");
    assert_eq!(world.read(|tx| discarding::swept_since(tx, Time(0), None, 9)).len(), 1);
}

pub(crate) fn a_version_of_the_same_number_keeps_its_events_when_a_later_one_is_dropped(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("bag");
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let version = world.prepare(&claim, &object);
    let (file, content) = world.put(&claim, &version, "deposit/data/a", b"a");
    put_event(&world, &version, file, content);
    world.commit(&claim, &version);
    world.publish(&claim, &[]);
    world.finish(&claim, &succeeded());
    // Deposited again after deletion: a new generation begins at 1.
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let reborn = Object { generation: GenerationId::new(), head: 0, ..object.clone() };
    let later = world.prepare(&claim, &reborn);
    assert_eq!(later.number, version.number);
    let (file, content) = world.put(&claim, &later, "deposit/data/b", b"b");
    put_event(&world, &later, file, content);
    let dropped = later.clone();
    discard(&world, &claim, &later);
    while !world.write({
        let dropped = dropped.clone();
        move |tx| discarding::drop_rows(tx, &dropped)
    }) {}
    let found = world.read(|tx| events::of_object(tx, Scope::System, object.id, None, EventCursor::START, 99)).0;
    assert_eq!(found.len(), 10);
    assert_eq!(world.read(|tx| objects::files(tx, object.id, 1, "", "", 9)).len(), 1);
}

pub(crate) fn putting_rows_again_changes_nothing(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("bag");
    let (claim, item) = world.claimed_at(Stage::named("write"));
    let version = world.prepare(&claim, &object);
    assert_eq!(world.prepare(&claim, &object).id, version.id);
    let (file, content) = world.put(&claim, &version, "deposit/data/a", b"a");
    let (_, same) = world.put(&claim, &version, "deposit/data/copy", b"a");
    assert_eq!(same, content, "equal bytes are kept once");
    let event = EventRow { id: EventId::new(), ..super::events::row(&world, &version, file, content) };
    for _ in 0..2 {
        let (claim, version, event, institution) = (claim.clone(), version.clone(), event.clone(), world.ours);
        world.write(move |tx| {
            let entry =
                NewEntry { file, path: "deposit/data/a".into(), modified: None, content, format: Format::default() };
            versions::put_entries(tx, &claim, &version, &[entry])?;
            let copy = NewCopy { content, key: "key".into(), class: None };
            copies::put_copies(tx, &claim, institution, &version, "primary", &[copy])?;
            copies::set_verified(tx, &claim, &version, "primary", &[content])?;
            versions::put_events(tx, &claim, &version, std::slice::from_ref(&event))
        });
    }
    assert_eq!(world.read(|tx| objects::copies(tx, content)).len(), 1);
    let found = world.read(|tx| versions::of_item(tx, item.id)).expect("a version");
    assert_eq!(found.state, VersionState::Preparing);
    world.commit(&claim, &version);
    world.commit(&claim, &version);
    world.publish(&claim, &["primary"]);
    let stores = vec!["primary".to_owned()];
    let (held, institution) = (claim.clone(), world.ours);
    world.write(move |tx| versions::publish(tx, &held, institution, None, &stores));
    assert_eq!(world.read(|tx| objects::files(tx, object.id, 1, "", "", 9)).len(), 2);
    let kept = world.read(|tx| versions::list(tx, object.id, object.generation, true));
    assert_eq!((kept.len(), kept[0].files, kept[0].bytes), (1, 2, 2));
}

pub(crate) fn discard(world: &World<'_>, claim: &Claim, version: &Version) {
    let (authority, version) = (Authority::Worker(claim.clone()), version.clone());
    world.write(move |tx| discarding::discard(tx, &authority, &version));
}

pub(crate) fn a_version_is_discarded_by_its_worker_or_behind_its_ended_item(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("bag");
    let (claim, item) = world.claimed_at(Stage::named("write"));
    let version = world.prepare(&claim, &object);
    let lost = |authority: Authority| {
        let version = version.clone();
        let refused = world.refused(move |tx| discarding::discard(tx, &authority, &version));
        assert!(matches!(refused, RegistryError::FenceLost { .. }), "{refused}");
    };
    lost(Authority::Ended(item.id));
    lost(Authority::Worker(Claim { fence: claim.fence - 1, ..claim.clone() }));
    let (other, _) = world.claimed_at(Stage::named("compare"));
    lost(Authority::Worker(other.clone()));
    let (object_id, owner, until) = (object.id, other.item.0, world.later(Duration::from_mins(1)));
    world.write(move |tx| leases::hold(tx, object_id, owner, until));
    discard(&world, &other, &version);
    assert!(world.read(|tx| versions::of_item(tx, item.id)).is_none());
}

pub(crate) fn an_item_that_is_cancelled_discards_what_it_was_preparing(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("bag");
    let (claim, item) = world.claimed_at(Stage::named("write"));
    let version = world.prepare(&claim, &object);
    let held = claim.clone();
    world.write(move |tx| interim::set_fact(tx, &held, "fetched", "1"));
    world.finish(&claim, &StageEnd::Cancelled { note: "withdrawn".into() });
    let unswept = world.read(|tx| discarding::unswept_of_item(tx, item.id));
    assert_eq!(
        unswept.iter().map(|found| (found.id, found.state)).collect::<Vec<_>>(),
        [(version.id, VersionState::Dropping)]
    );
}

pub(crate) fn refused_state<T: Send + 'static>(
    world: &World<'_>,
    job: impl FnMut(&mut dyn strongroom_registry::Transaction) -> Result<T, RegistryError> + Send + 'static,
) {
    let refused = world.refused(job);
    assert!(matches!(refused, RegistryError::State { what: "version", .. }), "{refused}");
}

pub(crate) fn a_dropped_version_takes_no_more_rows(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("bag");
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let version = world.prepare(&claim, &object);
    discard(&world, &claim, &version);
    assert!(world.read(|tx| versions::of_item(tx, claim.item)).is_none(), "it is not resumed");
    let dropped = version.clone();
    assert!(world.write(move |tx| discarding::drop_rows(tx, &dropped)));
    let of = version.clone();
    refused_state(&world, move |tx| versions::put_content(tx, &of, &new_content(b"late")));
    let (held, of) = (claim.clone(), version.clone());
    refused_state(&world, move |tx| {
        let entry = NewEntry {
            file: FileId::new(),
            path: "deposit/a".into(),
            modified: None,
            content: ContentId::new(),
            format: Format::default(),
        };
        versions::put_entries(tx, &held, &of, &[entry])
    });
    refused_state(&world, move |tx| versions::commit(tx, &claim, &version, digests(b"late").sha512));
}

/// What a part writes that slept while another part took the object over, gave up its version and began one of the same
/// number: the fence of its own item still holds.
pub(crate) fn a_worker_whose_version_was_given_up_changes_nothing_of_the_next(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("bag");
    let (stale, _) = world.claimed_at(Stage::named("write"));
    let given_up = world.prepare(&stale, &object);
    world.put(&stale, &given_up, "deposit/data/a", b"a");
    discard(&world, &stale, &given_up);
    while !world.write({
        let given_up = given_up.clone();
        move |tx| discarding::drop_rows(tx, &given_up)
    }) {}
    let id = given_up.id;
    world.write(move |tx| discarding::set_swept(tx, id));
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let version = world.prepare(&claim, &object);
    assert_eq!((version.number, version.id == given_up.id), (1, false));
    let (file, content) = world.put(&claim, &version, "deposit/data/a", b"a");
    world.copy(&claim, &version, "primary", &[content]);
    let before = world.read(|tx| objects::copies(tx, content));
    world.write({
        let stale = stale.clone();
        move |tx| strongroom_registry::work::check_fence(tx, &stale)
    });
    let (held, of, institution) = (stale.clone(), given_up.clone(), world.ours);
    refused_state(&world, move |tx| {
        let copy = NewCopy { content, key: "late".into(), class: None };
        copies::put_copies(tx, &held, institution, &of, "secondary", &[copy])
    });
    let (held, of) = (stale.clone(), given_up.clone());
    refused_state(&world, move |tx| copies::set_verified(tx, &held, &of, "primary", &[content]));
    let (held, of) = (stale.clone(), given_up.clone());
    refused_state(&world, move |tx| copies::set_attested(tx, &held, &of, "primary", &[content]));
    let (held, of) = (stale.clone(), given_up.clone());
    refused_state(&world, move |tx| copies::forget_copies(tx, &held, &of, "primary", &[content]));
    let (held, of) = (stale.clone(), given_up.clone());
    refused_state(&world, move |tx| discarding::note_stores(tx, &held, &of, &["late".to_owned()]));
    let (held, of, event) = (stale.clone(), given_up.clone(), super::events::row(&world, &version, file, content));
    refused_state(&world, move |tx| versions::put_events(tx, &held, &of, std::slice::from_ref(&event)));
    let (held, institution, object_id) = (stale.clone(), world.ours, object.id);
    let lost = world.refused(move |tx| {
        let copy = NewCopy { content, key: "late".into(), class: None };
        copies::put_copy_of_kept(tx, &held, institution, object_id, "secondary", &copy)
    });
    assert!(matches!(lost, RegistryError::FenceLost { what: "object", .. }), "{lost}");
    let lost = world.refused(move |tx| copies::set_kept_attested(tx, &stale, object_id, "primary", content));
    assert!(matches!(lost, RegistryError::FenceLost { what: "object", .. }), "{lost}");
    let after = world.read(|tx| objects::copies(tx, content));
    assert_eq!((after.len(), &after[0].key, after[0].verified_at), (1, &before[0].key, before[0].verified_at));
    let mut told = 0;
    world.read(|tx| {
        told = 0;
        events::of_version(tx, object.id, 1, &mut |_| {
            told += 1;
            Ok(())
        })
    });
    assert_eq!(told, 0, "no event of the one that was given up is told of the next");
}

/// A registry that knows a version as given up finds another of its number, and drops the rows of its own alone.
pub(crate) fn dropping_goes_by_the_identifier_and_not_by_the_number(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("bag");
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let version = world.prepare(&claim, &object);
    let (_, content) = world.put(&claim, &version, "deposit/data/a", b"a");
    world.copy(&claim, &version, "primary", &[content]);
    world.commit(&claim, &version);
    world.publish(&claim, &["primary"]);
    world.finish(&claim, &succeeded());
    // As a registry of before may know one that was given up: of the same number, and swept so far that the number was free.
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let next = Object { head: 1, ..object.clone() };
    let other = world.prepare(&claim, &next);
    discard(&world, &claim, &other);
    let given_up = Version { number: version.number, ..other };
    while !world.write({
        let given_up = given_up.clone();
        move |tx| discarding::drop_rows(tx, &given_up)
    }) {}
    assert_eq!(world.read(|tx| objects::copies(tx, content)).len(), 1);
    assert_eq!(world.read(|tx| objects::files(tx, object.id, 1, "", "", 9)).len(), 1);
}

pub(crate) fn the_stores_of_a_version_are_known_until_it_is_published(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("bag");
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let version = world.prepare(&claim, &object);
    for stores in [["primary", "secondary"], ["primary", "third"]] {
        let (held, of, stores) = (claim.clone(), version.clone(), stores.map(str::to_owned));
        world.write(move |tx| discarding::note_stores(tx, &held, &of, &stores));
    }
    let noted = || world.read(|tx| discarding::noted_stores(tx, version.id));
    assert_eq!(noted(), ["primary", "secondary", "third"]);
    world.commit(&claim, &version);
    assert_eq!(noted().len(), 3);
    world.publish(&claim, &[]);
    assert_eq!(noted(), Vec::<String>::new());
}

pub(crate) fn a_swept_version_is_swept_again_when_its_worker_wakes(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("bag");
    let (claim, item) = world.claimed_at(Stage::named("write"));
    let version = world.prepare(&claim, &object);
    let (id, item) = (version.id, item.id);
    assert_eq!(world.write(move |tx| discarding::sweep_again_of_item(tx, item)), 0, "it is not given up");
    discard(&world, &claim, &version);
    assert!(world.write(move |tx| discarding::drop_rows(tx, &version)));
    assert!(!world.write(move |tx| discarding::sweep_again(tx, id)), "its first sweep is to come");
    world.write(move |tx| discarding::set_swept(tx, id));
    subject.advance(Duration::from_hours(24 * 30));
    let since = world.now();
    let swept = || world.read(|tx| discarding::swept_since(tx, since, None, 9)).len();
    assert_eq!(swept(), 0);
    assert_eq!(world.write(move |tx| discarding::sweep_again_of_item(tx, item)), 1);
    assert_eq!(swept(), 1);
}

pub(crate) fn a_version_that_is_committing_is_not_dropped(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, stale) = world.committing();
    assert_eq!(stale.state, VersionState::Preparing, "whoever drops it may have read it before");
    let (version, held) = (stale.clone(), Authority::Worker(claim.clone()));
    refused_state(&world, move |tx| discarding::discard(tx, &held, &version));
    let version = stale.clone();
    refused_state(&world, move |tx| discarding::drop_rows(tx, &version));
    let of = stale.clone();
    refused_state(&world, move |tx| versions::put_content(tx, &of, &new_content(b"late")));
    world.publish(&claim, &[]);
    refused_state(&world, move |tx| discarding::drop_rows(tx, &stale));
}

pub(crate) fn a_commit_fixes_the_inventory(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, version) = world.committing();
    let (held, of) = (claim.clone(), version.clone());
    refused_state(&world, move |tx| versions::commit(tx, &held, &of, digests(b"another").sha512));
    world.commit(&claim, &version);
    let kept = world.read(|tx| versions::of_item(tx, claim.item)).expect("a version");
    assert_eq!((kept.state, kept.inventory), (VersionState::Committing, Some(digests(b"inventory").sha512)));
}

pub(crate) fn a_version_is_not_published_before_it_is_committed(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("bag");
    let (claim, _) = world.claimed_at(Stage::named("write"));
    world.prepare(&claim, &object);
    let institution = world.ours;
    refused_state(&world, move |tx| versions::publish(tx, &claim, institution, None, &[]));
    let kept = world.read(|tx| objects::get(tx, Scope::System, object.id)).expect("is there");
    assert_eq!((kept.state, kept.head), (ObjectState::New, 0));
}

pub(crate) fn an_object_is_made_once(subject: &dyn Subject) {
    let world = World::new(subject);
    let first = world.object("bag");
    assert_eq!(world.object("bag").id, first.id, "by its name");
    let (institution, identifier) = (world.ours, first.identifier.clone());
    let again =
        world.write(move |tx| objects::find_or_make(tx, institution, None, &identifier, first.id, first.generation));
    assert_eq!((again.id, again.generation), (first.id, first.generation));
    let unknown = ItemId::new();
    assert!(world.read(|tx| versions::of_item(tx, unknown)).is_none());
    assert!(world.read(|tx| objects::get(tx, Scope::System, ObjectId::new())).is_none());
}

/// Each is one of two that are alike in all but their ids.
pub(crate) fn what_happens_to_one_version_happens_to_no_other(subject: &dyn Subject) {
    let world = World::new(subject);
    let [bag, another] = ["bag", "another"].map(|name| world.object(name));
    let (second, other_item) = world.claimed_at(Stage::named("write"));
    let other = world.prepare(&second, &another);
    let (first, _) = world.claimed_at(Stage::named("write"));
    let dropped = world.prepare(&first, &bag);
    let is_untouched = |state| {
        let found = world.read(|tx| versions::of_item(tx, other_item.id)).expect("it is there");
        assert_eq!((found.id, found.state), (other.id, state));
        assert_eq!(world.read(|tx| objects::get(tx, Scope::System, another.id)).expect("an object").head, 0);
    };
    discard(&world, &first, &dropped);
    is_untouched(VersionState::Preparing);
    let (third, _) = world.claimed_at(Stage::named("record"));
    let good = world.object("good");
    let version = world.prepare(&third, &good);
    world.put(&third, &version, "deposit/data/a", b"a");
    world.commit(&third, &version);
    is_untouched(VersionState::Preparing);
    world.publish(&third, &[]);
    is_untouched(VersionState::Preparing);
    assert_eq!(world.read(|tx| objects::get(tx, Scope::System, good.id)).expect("an object").head, 1);

    discard(&world, &second, &other);
    assert!(world.write(move |tx| discarding::drop_rows(tx, &dropped)));
    let waiting = world.read(|tx| discarding::unswept_of_item(tx, other_item.id));
    assert_eq!(waiting.iter().map(|found| found.state).collect::<Vec<_>>(), [VersionState::Dropping]);
}
