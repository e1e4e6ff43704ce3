//! Provenance: what activities made, revised and ended the validity of.

use strongroom_registry::activities::{self, Input, NewActivity};
use strongroom_registry::journal::Actor;
use strongroom_registry::provenance::{self, By, Made, Missing};
use strongroom_registry::{ActivityId, InstitutionId, ProvenanceKind, RegistryError};

use super::world::*;

const ALL: [&str; 3] = ["urn:a", "urn:b", "urn:c"];

fn activity(world: &World<'_>, institution: InstitutionId) -> By {
    let new = NewActivity {
        id: ActivityId::new(),
        agent: "harvest".into(),
        options: serde_json::json!({}),
        institution: Some(institution),
        actor: Actor::system(),
        input: Input::Source,
        watermark: None,
        only_changed: false,
        step_of: None,
    };
    let id = new.id;
    world.write(move |tx| activities::create(tx, &new));
    By { activity: id, run: 1, institution: Some(institution) }
}

fn record(world: &World<'_>, by: By, entities: &'static [&'static str]) -> Vec<ProvenanceKind> {
    world.write(move |tx| {
        let made: Vec<Made<'_>> = entities.iter().map(|entity| Made { record: "oai:1", entity }).collect();
        let each: Vec<String> = (0..made.len()).map(|number| format!("oai:{number}")).collect();
        let made: Vec<Made<'_>> = made.iter().zip(&each).map(|(made, record)| Made { record, ..*made }).collect();
        provenance::record(tx, by, &made)
    })
}

fn results(world: &World<'_>, by: By, with_invalidated: bool) -> Vec<(String, ProvenanceKind)> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = world.read(move |tx| provenance::results(tx, by, with_invalidated, after, 2));
        let Some(last) = page.last() else { break };
        after = Some(last.cursor);
        found.extend(page.into_iter().map(|one| (one.entity, one.kind)));
    }
    found.sort();
    found
}

fn invalidate(
    by: By,
    entity: &'static str,
    missing: Missing,
) -> impl FnMut(&mut dyn strongroom_registry::Transaction) -> Result<bool, RegistryError> {
    move |tx| provenance::invalidate(tx, by, Made { record: "oai:deleted", entity }, missing)
}

/// Case 11.
pub(crate) fn the_first_result_of_an_entity_generates_it_and_later_ones_revise_it(subject: &dyn Subject) {
    let world = World::new(subject);
    let (harvest, enrich) = (activity(&world, world.ours), activity(&world, world.ours));
    assert_eq!(record(&world, harvest, &ALL[..2]), [ProvenanceKind::Generated; 2]);
    assert_eq!(
        record(&world, enrich, &ALL),
        [ProvenanceKind::Revised, ProvenanceKind::Revised, ProvenanceKind::Generated]
    );
    let of = |by| results(&world, by, false).into_iter().map(|(_, kind)| kind).collect::<Vec<_>>();
    assert_eq!(of(harvest), [ProvenanceKind::Generated; 2], "it stays what it was (K3)");
    assert_eq!(of(enrich), [ProvenanceKind::Revised, ProvenanceKind::Revised, ProvenanceKind::Generated]);
}

/// A transaction that is repeated, or a record that is delivered twice.
pub(crate) fn recording_again_changes_nothing(subject: &dyn Subject) {
    let world = World::new(subject);
    let harvest = activity(&world, world.ours);
    record(&world, harvest, &ALL);
    let before = results(&world, harvest, true);
    record(&world, harvest, &ALL);
    assert_eq!(results(&world, harvest, true), before);
    let twice = world.write(move |tx| {
        let one = Made { record: "urn:twice", entity: "urn:twice" };
        provenance::record(tx, harvest, &[one, one])
    });
    assert_eq!(twice[0], ProvenanceKind::Generated);
    assert_eq!(results(&world, harvest, true).len(), 4);
    let again = By { run: 2, ..harvest };
    assert_eq!(record(&world, again, &ALL), [ProvenanceKind::Revised; 3], "another run is another act");
}

/// Cases 5 and 11: it stays, with the activity and the time, and is listed where it is asked for.
pub(crate) fn invalidation_is_soft_and_is_refused_where_there_is_nothing_to_invalidate(subject: &dyn Subject) {
    let world = World::new(subject);
    let ours = Some(world.ours);
    let (harvest, later) = (activity(&world, world.ours), activity(&world, world.ours));
    record(&world, harvest, &ALL);
    subject.advance(LEASE);
    assert!(world.write(invalidate(later, ALL[1], Missing::Refuse)));
    let entity = world.read(move |tx| provenance::get(tx, ours, ALL[1])).expect("it stays");
    assert_eq!(entity.invalidated, Some((world.now(), later.activity)));
    let refused = world.refused(invalidate(later, ALL[1], Missing::Refuse));
    assert!(matches!(refused, RegistryError::State { .. }), "{refused}");
    let refused = world.refused(invalidate(later, "urn:missing", Missing::Refuse));
    assert!(matches!(refused, RegistryError::NotFound { .. }), "{refused}");
    for entity in [ALL[1], "urn:missing"] {
        assert!(!world.write(invalidate(later, entity, Missing::Ignore)));
    }
    let names = |with| results(&world, harvest, with).into_iter().map(|(entity, _)| entity).collect::<Vec<_>>();
    assert_eq!(names(false), [ALL[0], ALL[2]]);
    assert_eq!(names(true), ALL);
    // What only passes it on does not make it valid again.
    subject.advance(LEASE);
    world.write(move |tx| provenance::record(tx, later, &[Made { record: ALL[1], entity: ALL[1] }]));
    assert_eq!(names(false), [ALL[0], ALL[2]]);
    // A record that comes back is valid again, and what was done stays known.
    subject.advance(LEASE);
    assert_eq!(record(&world, By { run: 2, ..harvest }, &ALL), [ProvenanceKind::Revised; 3]);
    assert_eq!(names(false), ALL);
    let history = world.read(move |tx| provenance::history(tx, &entity, None, 10));
    assert_eq!(
        history.iter().map(|act| act.kind).collect::<Vec<_>>(),
        [ProvenanceKind::Generated, ProvenanceKind::Invalidated, ProvenanceKind::Revised, ProvenanceKind::Revised]
    );
    assert_eq!(history[0].record, "oai:1");
}

/// A run that has it from two records, and ends the validity of what it made of them, in one transaction.
pub(crate) fn what_was_done_to_an_entity_at_one_time_is_listed_once_each(subject: &dyn Subject) {
    let world = World::new(subject);
    let by = activity(&world, world.ours);
    world.write(move |tx| {
        provenance::record(tx, by, &["oai:1", "oai:2", "oai:3"].map(|record| Made { record, entity: "urn:a" }))?;
        provenance::invalidate(tx, by, Made { record: "oai:1", entity: "urn:a" }, Missing::Refuse)
    });
    let entity = world.read(move |tx| provenance::get(tx, by.institution, "urn:a")).expect("there");
    let all = world.read(|tx| provenance::history(tx, &entity, None, 10));
    assert_eq!(all.len(), 4);
    let (mut one_by_one, mut after) = (Vec::new(), None);
    while let Some(act) = world.read(|tx| provenance::history(tx, &entity, after.as_ref(), 1)).pop() {
        after = Some(act.clone());
        one_by_one.push(act);
    }
    assert_eq!(one_by_one, all);
}

/// For those that a source has deleted.
pub(crate) fn what_runs_made_of_records_and_is_valid_is_found(subject: &dyn Subject) {
    let world = World::new(subject);
    let (first, second) = (activity(&world, world.ours), activity(&world, world.ours));
    let runs = [first, By { run: 2, ..first }, second];
    record(&world, first, &ALL);
    record(&world, second, &["urn:d", "urn:b"]);
    let found = |records: &[&str]| {
        let records: Vec<String> = records.iter().map(|record| (*record).to_owned()).collect();
        world.read(move |tx| provenance::made_of(tx, &runs, &records))
    };
    assert_eq!(found(&["oai:0"]), ["urn:a", "urn:d"]);
    assert_eq!(found(&["oai:1", "oai:2", "oai:3"]), ["urn:b", "urn:c"], "each entity once");
    world.write(invalidate(second, "urn:d", Missing::Refuse));
    assert_eq!(found(&["oai:0"]), ["urn:a"]);
    assert_eq!(found(&[]), [""; 0]);
    let theirs = activity(&world, world.theirs);
    assert_eq!(world.read(move |tx| provenance::made_of(tx, &[theirs], &["oai:0".to_owned()])), [""; 0]);
}

/// The same name is another entity in another institution.
pub(crate) fn entities_of_institutions_are_apart(subject: &dyn Subject) {
    let world = World::new(subject);
    let (ours, theirs) = (activity(&world, world.ours), activity(&world, world.theirs));
    record(&world, ours, &ALL);
    assert_eq!(record(&world, theirs, &ALL), [ProvenanceKind::Generated; 3]);
    world.write(invalidate(theirs, ALL[0], Missing::Refuse));
    let ours = Some(world.ours);
    assert_eq!(world.read(move |tx| provenance::get(tx, ours, ALL[0])).expect("is there").invalidated, None);
    assert_eq!(world.read(|tx| provenance::get(tx, None, ALL[0])), None);
}
