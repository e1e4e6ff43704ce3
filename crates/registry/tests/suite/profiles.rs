//! Profiles: a version stays as it was added, one that is removed is used by nothing new, and a number is given once.

use std::sync::Arc;

use strongroom_database::testing::Scratch;
use strongroom_database::{
    Database, Migration, Placeholders, Postgres, PostgresSettings, Sqlite, Statement, Statements, SystemClock,
};
use strongroom_registry::profiles::{self, Addition, NewProfile, ProfileVersion};
use strongroom_registry::tenants::{self, CollectionRules};
use strongroom_registry::{CollectionId, InstitutionId, ProfileOrigin, Registry, RegistryError, Scope};

use super::world::*;

const NAME: &str = "maps";

fn new(document: &str) -> NewProfile {
    let digests = digests(document.as_bytes());
    NewProfile {
        name: NAME.to_owned(),
        origin: ProfileOrigin::File,
        source: "maps.json".to_owned(),
        identifier: "https://example.org/maps".to_owned(),
        stated_version: "1.0".to_owned(),
        description: "a NUL \0 in it".to_owned(),
        document: document.as_bytes().to_vec(),
        sha256: digests.sha256,
        sha512: digests.sha512,
        actor: None,
    }
}

fn add(world: &World<'_>, document: &'static str) -> Addition {
    world.write(move |tx| match profiles::restore(tx, &new(document))? {
        Some(addition) => Ok(addition),
        None => profiles::append(tx, &new(document)),
    })
}

fn remove(world: &World<'_>, version: Option<u64>) -> Result<Vec<u64>, RegistryError> {
    let removed = world.registry.write(move |tx| profiles::remove(tx, NAME, version));
    Ok(removed?.into_iter().map(|one| one.version).collect())
}

fn usable(world: &World<'_>, version: Option<u64>) -> Option<u64> {
    match world.registry.read(|tx| profiles::usable(tx, NAME, version, "use it")) {
        Ok(found) => Some(found.version),
        Err(RegistryError::NotFound { .. } | RegistryError::State { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

fn document(world: &World<'_>, version: u64) -> Option<String> {
    let found = world.read(|tx| profiles::document(tx, NAME, version));
    found.map(|bytes| String::from_utf8(bytes).expect("text"))
}

fn all(world: &World<'_>) -> Vec<ProfileVersion> {
    world.read(profiles::list)
}

pub(crate) fn a_version_of_a_profile_stays_as_it_was_added(subject: &dyn Subject) {
    let world = World::new(subject);
    assert_eq!(usable(&world, None), None);
    assert_eq!(add(&world, "one"), Addition::Added(1));
    assert_eq!(add(&world, "one"), Addition::Unchanged(1));
    assert_eq!(add(&world, "two"), Addition::Added(2));
    assert_eq!(add(&world, "one"), Addition::Added(3), "what is newest is what was added last");
    assert_eq!((usable(&world, None), usable(&world, Some(2))), (Some(3), Some(2)));
    assert_eq!(document(&world, 2).as_deref(), Some("two"));
    let second = world.read(|tx| profiles::find(tx, NAME, Some(2)));
    assert_eq!(second.sha256, Some(digests(b"two").sha256));
    assert_eq!(second.sha512, digests(b"two").sha512);
    assert_eq!(second.identifier.as_deref(), Some("https://example.org/maps"));
    let found = world.read(|tx| profiles::of_identifier(tx, "https://example.org/maps"));
    assert_eq!(found, Some((NAME.to_owned(), 3)));
    assert_eq!(world.read(|tx| profiles::of_identifier(tx, "https://example.org/other")), None);
}

pub(crate) fn a_removed_version_is_used_by_nothing_new_and_stays(subject: &dyn Subject) {
    let world = World::new(subject);
    assert!(matches!(remove(&world, None), Err(RegistryError::NotFound { .. })));
    add(&world, "one");
    add(&world, "two");
    assert_eq!(remove(&world, Some(2)).expect("removes"), [2]);
    assert!(matches!(remove(&world, Some(2)), Err(RegistryError::State { .. })));
    assert!(matches!(remove(&world, Some(7)), Err(RegistryError::NotFound { .. })));
    assert_eq!((usable(&world, None), usable(&world, Some(2))), (Some(1), None));
    assert_eq!(document(&world, 2).as_deref(), Some("two"));
    assert_eq!(add(&world, "two"), Addition::Restored(2));
    assert_eq!(usable(&world, None), Some(2));
    assert_eq!(remove(&world, None).expect("removes"), [1, 2]);
    assert_eq!(usable(&world, None), None);
    assert_eq!(world.read(|tx| profiles::of_identifier(tx, "https://example.org/maps")), None);
    assert_eq!(add(&world, "three"), Addition::Added(3), "no number is given again");
    assert_eq!(all(&world).len(), 3);
}

pub(crate) fn a_profile_is_not_removed_while_a_collection_names_it(subject: &dyn Subject) {
    let world = World::new(subject);
    add(&world, "one");
    add(&world, "two");
    let (collection, ours) = (CollectionId::new(), world.ours);
    let rules = |profile_version| CollectionRules {
        name: "Sheets".into(),
        profile: Some(NAME.to_owned()),
        profile_version,
        ..CollectionRules::default()
    };
    let newest = rules(None);
    world.write(move |tx| tenants::add_collection(tx, collection, ours, "sheets", (&newest, "test")));
    let refused = remove(&world, None).expect_err("a collection names it");
    assert_eq!(
        refused.to_string(),
        "profile maps is named by the collection example.edu/sheets: cannot remove it",
        "{refused:?}"
    );
    assert_eq!(remove(&world, Some(2)).expect("another version is left"), [2]);
    assert!(matches!(remove(&world, Some(1)), Err(RegistryError::Named { .. })), "the last that is left");
    add(&world, "two");

    let first = rules(Some(1));
    world.write(move |tx| tenants::set_collection(tx, collection, (&first, "test"), true));
    assert!(matches!(remove(&world, Some(1)), Err(RegistryError::Named { .. })));
    assert_eq!(remove(&world, Some(2)).expect("nothing names it"), [2]);
    let first = rules(Some(1));
    world.write(move |tx| tenants::set_collection(tx, collection, (&first, "test"), false));
    assert_eq!(remove(&world, Some(1)).expect("the collection is put away"), [1]);
}

pub(crate) fn a_version_that_only_a_record_names_keeps_its_number_for_its_document(subject: &dyn Subject) {
    let world = World::new(subject);
    let lost = digests(b"two").sha512;
    world.write(move |tx| profiles::note(tx, NAME, 2, lost));
    world.write(move |tx| profiles::note(tx, NAME, 2, digests(b"another").sha512));
    for name in ["", "Maps", "../maps", "a\0b"] {
        world.write(move |tx| profiles::note(tx, name, 1, lost));
    }
    world.write(move |tx| profiles::note(tx, NAME, u64::MAX, lost));
    assert_eq!(all(&world).len(), 1);
    assert_eq!((usable(&world, None), document(&world, 2)), (None, None));
    assert_eq!(add(&world, "three"), Addition::Added(3));
    assert_eq!(add(&world, "two"), Addition::Restored(2));
    assert_eq!((usable(&world, None), usable(&world, Some(2))), (Some(3), Some(2)));
    assert_eq!(document(&world, 2).as_deref(), Some("two"));
    world.write(move |tx| profiles::note(tx, NAME, 2, lost));
    assert_eq!(document(&world, 2).as_deref(), Some("two"));
}

pub(crate) fn a_numbered_version_is_put_once_and_removed_with_those_before_it(subject: &dyn Subject) {
    let world = World::new(subject);
    let put = |document: &'static str, version| {
        world.write(move |tx| {
            let new = NewProfile { origin: ProfileOrigin::BuiltIn, ..new(document) };
            profiles::put_numbered(tx, &new, version)
        })
    };
    // A record in a store may name the number with whatever digest: the program's document is what it means.
    world.write(|tx| profiles::note(tx, NAME, 1, digests(b"forged").sha512));
    assert!(put("one", 1));
    assert!(!put("another", 1));
    assert_eq!(document(&world, 1).as_deref(), Some("one"));
    assert!(put("two", 2));
    assert_eq!(usable(&world, None), Some(2));
    remove(&world, None).expect("removes");
    assert!(put("three", 3));
    assert_eq!(usable(&world, None), None, "a newer one of a profile that was removed is removed, too");
}

pub(crate) fn documents_that_are_added_at_once_become_versions_of_their_own(subject: &dyn Subject) {
    const DOCUMENTS: [&str; 4] = ["one", "two", "three", "four"];
    let world = World::new(subject);
    let added: Vec<Addition> = std::thread::scope(|scope| {
        let world = &world;
        let threads = DOCUMENTS.map(|document| {
            let registry = world.registry.clone();
            scope.spawn(move || {
                registry.write(move |tx| match profiles::restore(tx, &new(document))? {
                    Some(addition) => Ok::<_, RegistryError>(addition),
                    None => profiles::append(tx, &new(document)),
                })
            })
        });
        threads.into_iter().map(|thread| thread.join().expect("ends").expect("adds")).collect()
    });
    for (added, said) in added.iter().zip(DOCUMENTS) {
        assert!(matches!(added, Addition::Added(_)), "{added:?}");
        assert_eq!(document(&world, added.version()).as_deref(), Some(said));
    }
    let mut numbers: Vec<u64> = added.into_iter().map(Addition::version).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3, 4]);
}

pub(crate) fn one_document_that_is_added_twice_at_once_is_one_version(subject: &dyn Subject) {
    let world = World::new(subject);
    let added: Vec<Addition> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    world.registry.write(|tx| match profiles::restore(tx, &new("one"))? {
                        Some(addition) => Ok::<_, RegistryError>(addition),
                        None => profiles::append(tx, &new("one")),
                    })
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("ends").expect("adds")).collect()
    });
    assert_eq!(added.iter().filter(|one| **one == Addition::Added(1)).count(), 1, "{added:?}");
    assert_eq!(added.iter().filter(|one| **one == Addition::Unchanged(1)).count(), 3, "{added:?}");
    assert_eq!(all(&world).len(), 1);
}

const EARLIER: &str = "-- name: test.institution
INSERT INTO institutions (id, identifier, name, state, created_at, updated_at) VALUES (?1, 'a', 'a', 'active', 0, 0)
-- name: test.collection
INSERT INTO collections (id, institution_id, identifier, name, profile, held, state, created_at, updated_at)
VALUES (?1, ?2, ?3, ?3, ?3, ?4, 'active', 0, 0)
";

/// What collections named before versions of profiles were records, and what they name since.
fn spellings_become_names(open: impl Fn(Statements, &[Migration]) -> Arc<dyn Database>, dialect: &str) {
    let schema = || strongroom_registry::schema(dialect);
    let placeholders = if dialect == "postgres" { Placeholders::Dollars } else { Placeholders::QuestionMarks };
    let before = schema().migrations.iter().take_while(|migration| migration.name != "profiles").count();
    let earlier = open(schema().statements.with_shared(placeholders, EARLIER), &schema().migrations[..before]);
    let institution = InstitutionId::new();
    earlier
        .write::<_, RegistryError, _>(move |tx| {
            tx.execute(Statement("test.institution"), &[institution.into()])?;
            for spelling in ["APTrust", "aptrust-2.2", "BTR", "Btr-1.0"] {
                let id = CollectionId::new();
                let values = [id.into(), institution.into(), spelling.into(), false.into()];
                tx.execute(Statement("test.collection"), &values)?;
            }
            Ok(())
        })
        .expect("is written");
    drop(earlier);
    let later = Registry::within(open(schema().statements, &schema().migrations));
    let found = later.read(|tx| tenants::collections(tx, Scope::System, false)).expect("collections");
    let mut names: Vec<String> = found.into_iter().filter_map(|one| one.rules.profile).collect();
    names.sort();
    assert_eq!(names, ["aptrust-2.2", "aptrust-2.3", "btr-1.0", "btr-1.0"]);
}

#[test]
fn spellings_of_profiles_become_names_in_a_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("registry.db");
    let open = |statements, migrations: &[Migration]| {
        Arc::new(Sqlite::open(&path, statements, migrations, Arc::new(SystemClock)).expect("opens"))
            as Arc<dyn Database>
    };
    spellings_become_names(open, "sqlite");
}

#[test]
fn spellings_of_profiles_become_names_in_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    let open = |statements, migrations: &[Migration]| {
        let settings = PostgresSettings::default();
        Arc::new(Postgres::open(&scratch.url(), settings, statements, migrations).expect("opens")) as Arc<dyn Database>
    };
    spellings_become_names(open, "postgres");
}
