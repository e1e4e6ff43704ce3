//! Events: appended once, told apart on reading.

use std::collections::BTreeSet;

use strongroom_digest::Algorithm;
use strongroom_registry::events::{self, Components, Event, EventCursor, EventRow, FORMAT_IDENTIFICATION};
use strongroom_registry::versions::Version;
use strongroom_registry::{ContentId, EventId, FileId, Format, ObjectId, Scope, Stage};
use uuid::Uuid;

use super::world::*;

/// The event of a new payload file with two manifests in two stores.
pub(crate) fn row(world: &World<'_>, version: &Version, file: FileId, content: ContentId) -> EventRow {
    EventRow {
        id: EventId::new(),
        institution: world.ours,
        object: Some(version.object),
        file: Some(file),
        content: Some(content),
        item: version.item,
        version: Some(version.number),
        kind: "ingestion".into(),
        components: Some(Components {
            new: true,
            checked: vec![Algorithm::Md5, Algorithm::Sha256],
            stores: vec!["primary".into(), "oregon".into()],
            format: None,
        }),
        time: version.created_at.0,
        outcome: "success".into(),
        detail: None,
        outcome_detail: None,
        store: None,
        agent: "strongroom".into(),
        actor: None,
    }
}

fn all(world: &World<'_>, object: ObjectId, file: Option<FileId>, rows: usize) -> Vec<Event> {
    let (mut found, mut cursor) = (Vec::new(), Some(EventCursor::START));
    while let Some(after) = cursor {
        let (page, next) = world.read(|tx| events::of_object(tx, Scope::System, object, file, after, rows));
        found.extend(page);
        cursor = next;
    }
    found
}

/// An object with one file, and its event; the version is not published.
fn prepared(world: &World<'_>) -> (strongroom_registry::work::Claim, Version, FileId, EventRow) {
    let object = world.object("bag");
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let version = world.prepare(&claim, &object);
    let (file, content) = world.put(&claim, &version, "deposit/data/a", b"a");
    let event = row(world, &version, file, content);
    let kept = event.clone();
    world.write(move |tx| events::append(tx, std::slice::from_ref(&kept)));
    (claim, version, file, event)
}

pub(crate) fn a_new_payload_file_tells_ten_acts(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, version, file, _) = prepared(&world);
    world.commit(&claim, &version);
    world.publish(&claim, &["primary", "oregon"]);
    let found = all(&world, version.object, Some(file), 100);
    let count = |kind: &str| found.iter().filter(|event| event.kind == kind).count();
    let kinds =
        ["message digest calculation", "fixity check", "identifier assignment", "ingestion", "replication"].map(count);
    assert_eq!(kinds, [4, 2, 2, 1, 1]);
    assert_eq!(found.len(), 10);
    let expected = digests(b"a");
    for (algorithm, digest) in [("md5", expected.md5), ("sha256", expected.sha256)] {
        let told = format!("{algorithm}:{digest}");
        let with = found.iter().filter(|event| event.outcome_detail.as_deref() == Some(&told)).count();
        assert_eq!(with, 2, "calculated and compared: {told}");
    }
    let ids: BTreeSet<EventId> = found.iter().map(|event| event.id).collect();
    assert_eq!(ids.len(), 10, "each act has an identifier of its own");
    assert!(found.iter().all(|event| event.file == Some(file) && event.outcome == "success"));
}

pub(crate) fn a_file_that_was_identified_tells_as_what_and_how(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, version, file, event) = prepared(&world);
    let text = |text: &str| Some(text.to_owned());
    let identified = Format {
        puid: text("fmt/1"),
        others: text("fmt/2 fmt/3"),
        method: text("signature"),
        basis: text("signature 7 at 0 (4 bytes)"),
        signatures: text("DROID_SignatureFile_V1"),
        warning: text("3 formats fit equally well"),
        ..Format::default()
    };
    let unknown = Format { signatures: text("DROID_SignatureFile_V1"), ..Format::default() };
    for format in [identified, unknown] {
        let components = event.components.clone().map(|parts| Components { format: Some(format), ..parts });
        let row = EventRow { id: EventId::new(), components, ..event.clone() };
        world.write(move |tx| events::append(tx, std::slice::from_ref(&row)));
    }
    world.commit(&claim, &version);
    world.publish(&claim, &["primary", "oregon"]);
    let mut found = all(&world, version.object, Some(file), 100);
    found.retain(|event| event.kind == FORMAT_IDENTIFICATION);
    let mut told: Vec<_> = found
        .iter()
        .map(|event| (event.outcome.as_str(), event.outcome_detail.as_deref(), event.detail.as_deref()))
        .collect();
    told.sort_unstable();
    let how = "by signature; signature 7 at 0 (4 bytes); 3 formats fit equally well; DROID_SignatureFile_V1";
    assert_eq!(
        told,
        [
            ("success", Some("fmt/1 fmt/2 fmt/3"), Some(how)),
            ("warning", Some("unknown"), Some("DROID_SignatureFile_V1"))
        ]
    );
}

pub(crate) fn the_parts_of_an_event_keep_their_identifiers(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, version, _, event) = prepared(&world);
    world.commit(&claim, &version);
    world.publish(&claim, &["primary", "oregon"]);
    let before = all(&world, version.object, None, 100);
    let changed = EventRow { detail: Some("another".into()), agent: "another".into(), ..event };
    world.write(move |tx| events::append(tx, std::slice::from_ref(&changed)));
    assert_eq!(all(&world, version.object, None, 100), before, "an event never changes");
    // Stored documents hold these identifiers: the derivation must stay as it is.
    let known = events::derived_id(Uuid::from_u128(1), "digest md5");
    // The first 16 bytes of SHA-256 over identifier and label, marked as version 8 (RFC 9562 section 5.8).
    assert_eq!(known.to_string(), "6faf98d4-ee4a-8ff3-810f-c855f81a4474");
    assert_ne!(known, events::derived_id(Uuid::from_u128(1), "digest sha1"));
    assert_ne!(known, events::derived_id(Uuid::from_u128(2), "digest md5"));
}

pub(crate) fn events_of_a_version_are_seen_with_it(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, version, _, event) = prepared(&world);
    let later =
        EventRow { id: EventId::new(), version: None, components: None, kind: "deletion".into(), ..event.clone() };
    world.write(move |tx| events::append(tx, std::slice::from_ref(&later)));
    let kinds = |world: &World<'_>| {
        all(world, version.object, None, 9).into_iter().map(|event| event.kind).collect::<BTreeSet<_>>()
    };
    assert_eq!(kinds(&world), BTreeSet::from(["deletion".to_owned()]));
    world.commit(&claim, &version);
    assert_eq!(kinds(&world).len(), 1);
    world.publish(&claim, &["primary"]);
    assert!(kinds(&world).contains("ingestion"));
    let mut rows = Vec::new();
    world.read(|tx| {
        events::of_version(tx, version.object, version.number, &mut |row| {
            rows.push(row);
            Ok(())
        })
    });
    assert_eq!(rows, [event], "as it was appended");
}

pub(crate) fn every_event_is_on_exactly_one_page(subject: &dyn Subject) {
    let world = World::new(subject);
    let (_, version, _, event) = prepared(&world);
    let times = [5, 1, 3, 3, 3, 2];
    let rows: Vec<EventRow> = times
        .iter()
        .map(|time| EventRow {
            id: EventId::new(),
            version: None,
            components: None,
            time: *time,
            kind: "fixity check".into(),
            ..event.clone()
        })
        .collect();
    let kept = rows.clone();
    world.write(move |tx| events::append(tx, &kept));
    let mut expected: Vec<(i64, EventId)> = rows.iter().map(|row| (row.time, row.id)).collect();
    expected.sort_unstable();
    for size in 1..=7 {
        let found: Vec<_> =
            all(&world, version.object, None, size).iter().map(|event| (event.time.0, event.id)).collect();
        assert_eq!(found, expected, "pages of {size}");
    }
}
