//! The contents that a version brings, and what is known of their copies before it is published.

use strongroom_digest::Digest;
use strongroom_registry::copies::{self, NewCopy, PendingCopy};
use strongroom_registry::interim::InterimFile;
use strongroom_registry::objects::{self, ContentPaths, Copy, Object};
use strongroom_registry::versions::Version;
use strongroom_registry::work::Claim;
use strongroom_registry::{ContentId, GenerationId, Scope, Stage, interim};

use super::world::*;

/// A content that is still to be put: its id, SHA-512, size, and where it is staged.
type Told = (ContentId, Digest, u64, Option<(String, u64)>);

/// A second version of an object, being prepared, that brings two contents; the first brought one.
struct Brought {
    /// Of another item.
    other: Claim,
    claim: Claim,
    object: Object,
    first: Version,
    version: Version,
    earlier: ContentId,
    contents: [ContentId; 2],
}

fn brought(world: &World<'_>) -> Brought {
    let (other, _) = world.claimed_at(Stage::named("write"));
    let object = world.object("bag");
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let first = world.prepare(&claim, &object);
    let (_, earlier) = world.put(&claim, &first, "deposit/data/earlier", b"earlier");
    put(world, &claim, &first, "primary", &[earlier]);
    world.commit(&claim, &first);
    world.publish(&claim, &[]);
    world.finish(&claim, &succeeded());
    let object = world.read(|tx| objects::get(tx, Scope::System, object.id)).expect("it is there");
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let version = world.prepare(&claim, &object);
    let contents = [
        world.put(&claim, &version, "deposit/data/a", b"a").1,
        world.put(&claim, &version, "deposit/data/long", b"longer").1,
    ];
    Brought { other, claim, object, first, version, earlier, contents }
}

/// Records copies that are not proved.
fn put(world: &World<'_>, claim: &Claim, version: &Version, store: &'static str, contents: &[ContentId]) {
    let (claim, version, institution) = (claim.clone(), version.clone(), world.ours);
    let copies: Vec<NewCopy> = contents
        .iter()
        .map(|content| NewCopy { content: *content, key: format!("key/{content}"), class: None })
        .collect();
    world.write(move |tx| copies::put_copies(tx, &claim, institution, &version, store, &copies));
}

fn copy_of(world: &World<'_>, content: ContentId, store: &str) -> Copy {
    let copies = world.read(|tx| objects::copies(tx, content));
    copies.into_iter().find(|copy| copy.store == store).expect("there is a copy")
}

pub(crate) fn what_a_version_brings_is_told_in_pages_with_where_it_is_staged(subject: &dyn Subject) {
    let world = World::new(subject);
    let Brought { other, claim, first, version, earlier, contents, .. } = brought(&world);
    let stage = |claim: &Claim, path: &str, staging_offset| {
        let (claim, long) = (claim.clone(), Some(contents[1]));
        let file = InterimFile { staging_offset, content: long, ..interim_file(path, b"longer") };
        world.write(move |tx| {
            interim::put_files(tx, &claim, std::slice::from_ref(&file))?;
            interim::set_decisions(tx, &claim, std::slice::from_ref(&file))
        });
    };
    stage(&other, "data/elsewhere", 1);
    stage(&other, "data/long", 2);
    stage(&claim, "data/long", 7);
    let page = |of: &Version, after: Option<Digest>, limit| world.read(|tx| copies::brought(tx, of, after, limit));
    let told = |copies: &[PendingCopy]| -> Vec<Told> {
        copies.iter().map(|copy| (copy.content, copy.sha512, copy.size, copy.staged.clone())).collect()
    };
    let mut expected = vec![
        (contents[0], digests(b"a").sha512, 1, None),
        (contents[1], digests(b"longer").sha512, 6, Some(("staging/data/long".to_owned(), 7))),
    ];
    expected.sort_by_key(|(_, sha512, ..)| sha512.as_bytes().to_vec());
    assert_eq!(told(&page(&version, None, 9)), expected);
    assert_eq!(told(&page(&version, None, 1)), expected[..1]);
    assert_eq!(told(&page(&version, Some(expected[0].1), 9)), expected[1..]);
    assert!(page(&version, Some(expected[1].1), 9).is_empty());
    assert_eq!(told(&page(&first, None, 9)), [(earlier, digests(b"earlier").sha512, 7, None)]);
}

pub(crate) fn copies_of_a_version_are_to_be_proved_until_they_are(subject: &dyn Subject) {
    let world = World::new(subject);
    let Brought { claim, first, version, earlier, contents, .. } = brought(&world);
    put(&world, &claim, &version, "primary", &contents);
    put(&world, &claim, &version, "secondary", &contents[..1]);
    let unverified = |of: &Version, store: &str, after: Option<ContentId>, limit| -> Vec<ContentId> {
        let found = world.read(|tx| copies::unverified(tx, of, store, after, limit));
        found.into_iter().map(|copy| copy.content).collect()
    };
    let mut ids = contents.to_vec();
    ids.sort_by_key(|id| *id.0.as_bytes());
    assert_eq!(unverified(&version, "primary", None, 9), ids);
    assert_eq!(unverified(&version, "primary", None, 1), ids[..1]);
    assert_eq!(unverified(&version, "primary", Some(ids[0]), 9), ids[1..]);
    assert_eq!(unverified(&version, "secondary", None, 9), contents[..1]);
    assert_eq!(unverified(&first, "primary", None, 9), [earlier]);
    let found = world.read(|tx| copies::unverified(tx, &version, "secondary", None, 9)).remove(0);
    let of = digests(b"a");
    assert_eq!((found.sha512, found.sha256, found.size, found.staged), (of.sha512, Some(of.sha256), 1, None));

    let (held, of, proved) = (claim.clone(), version.clone(), contents[0]);
    world.write(move |tx| copies::set_verified(tx, &held, &of, "primary", &[proved]));
    assert_eq!(unverified(&version, "primary", None, 9), contents[1..]);
    assert_eq!(unverified(&version, "secondary", None, 9), contents[..1], "each copy is proved by itself");
    assert!(copy_of(&world, contents[0], "primary").last_fixity_at.is_some());
}

pub(crate) fn an_attested_copy_is_proved_and_has_passed_no_check(subject: &dyn Subject) {
    let world = World::new(subject);
    let Brought { claim, object, version, earlier, contents, .. } = brought(&world);
    put(&world, &claim, &version, "primary", &contents);
    put(&world, &claim, &version, "secondary", &contents);
    let times = |content, store| {
        let copy = copy_of(&world, content, store);
        (copy.verified_at.is_some(), copy.last_fixity_at.is_some())
    };
    let unproved = |store: &str| world.read(|tx| copies::unproved(tx, &version, &[store.to_owned()]))[0];
    assert_eq!(unproved("primary"), 2);
    let (held, of, attested) = (claim.clone(), version.clone(), contents[0]);
    world.write(move |tx| copies::set_attested(tx, &held, &of, "primary", &[attested]));
    assert_eq!((unproved("primary"), unproved("secondary")), (1, 2));
    assert_eq!(times(contents[0], "primary"), (true, false));
    assert_eq!(times(contents[0], "secondary"), (false, false));
    assert_eq!(times(contents[1], "primary"), (false, false));

    let (owner, until) = (claim.item.0, world.later(LEASE));
    world.write(move |tx| {
        strongroom_registry::leases::hold(tx, object.id, owner, until)?;
        copies::set_kept_attested(tx, &claim, object.id, "primary", earlier)
    });
    assert_eq!(times(earlier, "primary"), (true, false));
    assert_eq!(times(contents[1], "primary"), (false, false));
}

pub(crate) fn the_paths_of_a_content_are_those_of_published_versions(subject: &dyn Subject) {
    let world = World::new(subject);
    let Brought { claim, object, version, earlier, contents, .. } = brought(&world);
    let paths = |content| world.read(|tx| objects::paths(tx, content));
    let told = |first: &str, more| Some(ContentPaths { first: format!("deposit/data/{first}"), more });
    world.put(&claim, &version, "deposit/data/Zebra", b"earlier");
    world.put(&claim, &version, "deposit/data/again", b"earlier");
    assert_eq!((paths(earlier), paths(contents[0])), (told("earlier", 0), None));
    world.commit(&claim, &version);
    world.publish(&claim, &[]);
    assert_eq!((paths(earlier), paths(contents[0])), (told("Zebra", 2), told("a", 0)));
    assert_eq!(paths(ContentId::new()), None);
    // Deposited again after deletion: what is prepared in the next generation has no paths, either.
    world.finish(&claim, &succeeded());
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let reborn = Object { generation: GenerationId::new(), head: 0, ..object };
    let version = world.prepare(&claim, &reborn);
    world.put(&claim, &version, "deposit/data/b", b"a");
    assert_eq!(paths(contents[0]), told("a", 0));
}

pub(crate) fn what_a_version_brings_is_not_what_one_of_its_number_in_another_generation_brings(subject: &dyn Subject) {
    let world = World::new(subject);
    let object = world.object("bag");
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let first = world.prepare(&claim, &object);
    let (_, earlier) = world.put(&claim, &first, "deposit/data/earlier", b"earlier");
    put(&world, &claim, &first, "primary", &[earlier]);
    world.commit(&claim, &first);
    world.publish(&claim, &[]);
    world.finish(&claim, &succeeded());
    // Deposited again after deletion: a new generation of the same object begins at 1.
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let reborn = Object { generation: GenerationId::new(), head: 0, ..object.clone() };
    let second = world.prepare(&claim, &reborn);
    assert_eq!((second.object, second.number), (first.object, first.number));
    let (_, later) = world.put(&claim, &second, "deposit/data/later", b"later");
    put(&world, &claim, &second, "primary", &[later]);

    for (version, content) in [(&first, earlier), (&second, later)] {
        let brought = world.read(|tx| copies::brought(tx, version, None, 9));
        assert_eq!(brought.iter().map(|copy| copy.content).collect::<Vec<_>>(), [content]);
        let unverified = world.read(|tx| copies::unverified(tx, version, "primary", None, 9));
        assert_eq!(unverified.iter().map(|copy| copy.content).collect::<Vec<_>>(), [content]);
    }
}
