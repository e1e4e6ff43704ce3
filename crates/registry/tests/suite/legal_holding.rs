//! Legal holds, retention, and what else forbids a deletion: which of two that begin at once sees the other.

use std::sync::mpsc;
use std::time::Duration;

use strongroom_database::Isolation;
use strongroom_registry::begun_deletions::{self, Beginning, BegunDeletion};
use strongroom_registry::fixity::{self, NewFinding};
use strongroom_registry::journal::Actor;
use strongroom_registry::legal_holds::{self, LegalHold, Listed, NewLegalHold, On};
use strongroom_registry::objects::{self, Object};
use strongroom_registry::obstacles::{self, Obstacle, ObstacleKind};
use strongroom_registry::tenants::{self, CollectionRules};
use strongroom_registry::tool_findings::{self, Examined, NewToolFinding};
use strongroom_registry::versions::{self, NewEntry};
use strongroom_registry::work::StageEnd;
use strongroom_registry::{
    ActorKind, CollectionId, ContentId, FileId, FindingId, FindingKind, FindingState, Format, InstitutionId, ItemId,
    LegalHoldId, ObjectId, Period, RegistryError, Scope, Stage, Transaction,
};

use super::world::*;

const DAY: Duration = Duration::from_hours(24);

fn ann() -> Actor {
    Actor::new(ActorKind::User, "ann@example.edu")
}

/// An object that is published with two files, whose item has ended.
fn published(world: &World<'_>) -> (Object, [(FileId, ContentId); 2]) {
    let object = world.object("bag");
    let (claim, _) = world.claimed_at(Stage::named("record"));
    let version = world.prepare(&claim, &object);
    let files = ["a", "b"].map(|name| world.put(&claim, &version, &format!("deposit/data/{name}"), name.as_bytes()));
    for content in files.map(|(_, content)| content) {
        world.copy(&claim, &version, "primary", &[content]);
    }
    world.commit(&claim, &version);
    world.publish(&claim, &["primary"]);
    world.finish(&claim, &StageEnd::Succeeded { note: "done".into() });
    (object, files)
}

fn placing(
    institution: InstitutionId,
    on: On,
) -> impl FnMut(&mut dyn Transaction) -> Result<Vec<BegunDeletion>, RegistryError> + Send + 'static {
    let id = LegalHoldId::new();
    move |tx| legal_holds::place(tx, &NewLegalHold { id, on, institution, reason: "Smith v. Jones", actor: &ann() })
}

fn place(world: &World<'_>, on: On) -> LegalHold {
    let before = listed(world, Listed::All);
    world.write(placing(world.ours, on));
    let new = listed(world, Listed::All).into_iter().find(|hold| !before.contains(hold));
    new.expect("is placed")
}

fn listed(world: &World<'_>, listed: Listed) -> Vec<LegalHold> {
    world.read(|tx| legal_holds::list(tx, Scope::System, (listed, true), None, 100))
}

fn release(world: &World<'_>, id: LegalHoldId) {
    world.write(move |tx| legal_holds::release(tx, Scope::System, id, ("settled", &ann())));
}

fn obstacles(world: &World<'_>, object: ObjectId, files: Option<&[FileId]>) -> Vec<Obstacle> {
    world.read(|tx| {
        let now = tx.now()?;
        obstacles::of_deletion(tx, Scope::Institution(world.ours), object, files, now)
    })
}

fn begin(world: &World<'_>, item: ItemId, object: ObjectId) -> Beginning {
    world.write(move |tx| begun_deletions::begin(tx, Scope::System, item, object, None))
}

fn set_retention(world: &World<'_>, retention: Option<&str>) {
    let rules = CollectionRules {
        name: "Maps".into(),
        retention: retention.map(|text| Period::parse(text).expect("is a period")),
        disposal: Period::parse("15y"),
        ..CollectionRules::default()
    };
    let id = world.collection;
    world.write(move |tx| tenants::set_collection(tx, id, (&rules, "a person"), true));
}

pub(crate) fn each_of_several_holds_on_a_target_forbids_until_it_is_released_by_itself(subject: &dyn Subject) {
    let world = World::new(subject);
    let (object, [(first, _), (second, _)]) = published(&world);
    assert_eq!(obstacles(&world, object.id, None), []);
    let on_file = On::File { object: object.id, file: first };
    let targets = [On::Collection(world.collection), On::Object(object.id), On::Object(object.id), on_file];
    let holds = targets.map(|on| place(&world, on));
    let of_object: Vec<_> = holds.iter().map(|hold| Obstacle::LegalHold { hold: hold.id, on: hold.on }).collect();
    assert_eq!(obstacles(&world, object.id, None), of_object);
    assert_eq!(obstacles(&world, object.id, Some(&[first])), of_object);
    assert_eq!(
        obstacles(&world, object.id, Some(&[second])),
        of_object[..3],
        "the hold of another file forbids nothing"
    );
    for (number, hold) in holds.iter().enumerate() {
        release(&world, hold.id);
        assert_eq!(obstacles(&world, object.id, None), of_object[number + 1..]);
    }
    let file = &listed(&world, Listed::OfObject(object.id))[2];
    assert_eq!((file.path.as_deref(), file.placed_by.name.as_str()), (Some("deposit/data/a"), "ann@example.edu"));
    assert_eq!(file.release.as_ref().map(|release| release.reason.as_str()), Some("settled"));
    assert_eq!(listed(&world, Listed::OfCollection(world.collection)).len(), 1);
    let open = world.read(|tx| legal_holds::list(tx, Scope::System, (Listed::All, false), None, 100));
    assert_eq!(open, []);
    assert_eq!(listed(&world, Listed::All).len(), 4, "those that were released stay");
}

pub(crate) fn a_hold_is_released_once_and_keeps_what_it_says(subject: &dyn Subject) {
    let world = World::new(subject);
    let (object, _) = published(&world);
    let hold = place(&world, On::Object(object.id));
    release(&world, hold.id);
    let again =
        world.refused(move |tx| legal_holds::release(tx, Scope::System, hold.id, ("another reason", &Actor::system())));
    assert!(matches!(again, RegistryError::State { .. }), "{again}");
    let kept = world.read(|tx| legal_holds::get(tx, Scope::System, hold.id)).expect("is there");
    assert_eq!(kept.release.map(|release| (release.by, release.reason)), Some((ann(), "settled".to_owned())));
    let theirs = Scope::Institution(world.theirs);
    assert_eq!(world.read(|tx| legal_holds::get(tx, theirs, hold.id)), None);
    let other = place(&world, On::Object(object.id)).id;
    let theirs = world.refused(move |tx| legal_holds::release(tx, theirs, other, ("no", &ann())));
    assert!(matches!(theirs, RegistryError::NotFound { .. }), "{theirs}");
}

pub(crate) fn a_hold_that_a_store_knows_is_taken_over_with_its_release(subject: &dyn Subject) {
    let world = World::new(subject);
    let (object, [(file, _), _]) = published(&world);
    let (ours, id) = (world.ours, object.id);
    let on_file = On::File { object: id, file };
    let (placed, other) = (place(&world, On::Object(id)), place(&world, on_file));
    release(&world, other.id);
    let other = world.read(|tx| legal_holds::get(tx, Scope::System, other.id)).expect("is there");
    // As a registry that knows neither would have them: under other identifiers.
    let (mut of_object, mut of_file) = (placed.recorded(), other.recorded());
    (of_object.id, of_file.id) = (LegalHoldId::new(), LegalHoldId::new());
    let released = legal_holds::RecordedHold { release: of_file.release.clone(), ..of_object.clone() };
    let foreign = legal_holds::RecordedHold { file: Some(FileId::new()), id: LegalHoldId::new(), ..of_object.clone() };
    let endless = legal_holds::RecordedHold { reason: "a".repeat(2_001), id: LegalHoldId::new(), ..of_object.clone() };
    let import = |recorded: legal_holds::RecordedHold| {
        world.write(move |tx| {
            legal_holds::import(tx, (ours, id), &recorded)?;
            legal_holds::import(tx, (ours, id), &recorded)
        });
    };
    for recorded in [of_object.clone(), of_file.clone(), foreign.clone(), endless.clone()] {
        import(recorded);
    }
    let get = |id: LegalHoldId| world.read(|tx| legal_holds::get(tx, Scope::System, id));
    assert_eq!(get(of_object.id), Some(LegalHold { id: of_object.id, ..placed }));
    assert_eq!(get(of_file.id), Some(LegalHold { id: of_file.id, ..other.clone() }));
    assert_eq!((get(foreign.id), get(endless.id)), (None, None));
    import(released);
    import(of_object.clone());
    assert_eq!(get(of_object.id).expect("is there").release, other.release, "a release stays");
}

pub(crate) fn a_hold_is_placed_once_and_only_on_what_is_there(subject: &dyn Subject) {
    let world = World::new(subject);
    let (object, [(file, _), _]) = published(&world);
    let (new, ours, theirs) = (world.object("new"), world.ours, world.theirs);
    let nowhere = [
        (ours, On::Object(ObjectId::new())),
        (ours, On::Object(new.id)),
        (ours, On::File { object: object.id, file: FileId::new() }),
        (ours, On::File { object: new.id, file }),
        (ours, On::Collection(CollectionId::new())),
        (theirs, On::Object(object.id)),
        (theirs, On::Collection(world.collection)),
    ];
    for (institution, on) in nowhere {
        let refused = world.refused(placing(institution, on));
        assert!(matches!(refused, RegistryError::NotFound { .. }), "{on:?}: {refused}");
    }
    let mut twice = placing(ours, On::Object(object.id));
    world.write(move |tx| {
        twice(tx)?;
        twice(tx)
    });
    assert_eq!(listed(&world, Listed::All).len(), 1);
}

pub(crate) fn what_forbids_a_deletion_is_named_by_kinds_and_bounded(subject: &dyn Subject) {
    let world = World::new(subject);
    let (object, [(file, content), (other, _)]) = published(&world);
    let (ours, id) = (world.ours, object.id);
    let item = world.item_named("bag");
    let finding = FindingId::new();
    world.write(move |tx| {
        let new = NewFinding {
            id: finding,
            institution: ours,
            object: id,
            content: Some(content),
            store: "primary".into(),
            key: "a".into(),
            kind: FindingKind::Missing,
            detail: "gone".into(),
        };
        fixity::open_finding(tx, &new)
    });
    let examined = Examined::File { object: id, file, content };
    let tool_finding = examined.finding_id("clamav");
    let now = world.now();
    world.write(move |tx| {
        tool_findings::open(
            tx,
            &NewToolFinding {
                institution: ours,
                examined: examined.clone(),
                tool: "clamav".into(),
                detail: "Eicar".into(),
                activity: None,
                found_at: now,
            },
        )
    });
    let action = world.find(item).action;
    let expected = [
        Obstacle::WorkItem { item, action },
        Obstacle::Finding { finding, state: FindingState::Open },
        Obstacle::ToolFinding { finding: tool_finding, file },
    ];
    assert_eq!(obstacles(&world, id, None), expected);
    assert_eq!(obstacles(&world, id, Some(&[other])), expected[..2]);
    for _ in 0..=obstacles::MOST {
        world.write(placing(ours, On::Object(id)));
    }
    let found = obstacles(&world, id, None);
    assert_eq!(found.len(), obstacles::MOST + 1 + expected.len());
    assert_eq!(found[obstacles::MOST], Obstacle::More(ObstacleKind::LegalHold));
    let theirs = world.theirs;
    let unseen = world.refused(move |tx| {
        let now = tx.now()?;
        obstacles::of_deletion(tx, Scope::Institution(theirs), id, None, now)
    });
    assert!(matches!(unseen, RegistryError::NotFound { .. }), "{unseen}");
}

pub(crate) fn retention_counts_from_the_last_deposit_and_follows_the_rules_of_now(subject: &dyn Subject) {
    let world = World::new(subject);
    let (object, [(first, _), (second, _)]) = published(&world);
    let deposited = world.now();
    set_retention(&world, Some("30d"));
    let until = Period::parse("30d").expect("is one").end(deposited);
    let of_object = Obstacle::Retention { until, rules_version: 2, file: None };
    assert_eq!(obstacles(&world, object.id, None), [of_object.clone()]);
    world.subject.advance(DAY * 20);
    // A further version replaces one of the files: that one, and the object, are kept anew.
    let (claim, _) = world.claimed_at(Stage::named("record"));
    let head = world.read(|tx| objects::get(tx, Scope::System, object.id)).expect("is there");
    let version = world.prepare(&claim, &head);
    let content = new_content(b"b2");
    let (of_claim, of_version) = (claim.clone(), version.clone());
    let content = world.write(move |tx| {
        let id = versions::put_content(tx, &of_version, &content)?;
        let entry = NewEntry {
            file: second,
            path: "deposit/data/b".into(),
            modified: None,
            content: id,
            format: Format::default(),
        };
        versions::put_entries(tx, &of_claim, &of_version, &[entry])?;
        Ok(id)
    });
    world.copy(&claim, &version, "primary", &[content]);
    world.commit(&claim, &version);
    world.publish(&claim, &["primary"]);
    world.finish(&claim, &StageEnd::Succeeded { note: "done".into() });
    let later = Period::parse("30d").expect("is one").end(world.now());
    world.subject.advance(DAY * 11);
    let anew = |file| Obstacle::Retention { until: later, rules_version: 2, file };
    assert_eq!(obstacles(&world, object.id, None), [anew(None)]);
    assert_eq!(obstacles(&world, object.id, Some(&[first, second])), [anew(Some(second))], "the other one is free");
    world.subject.set_back(DAY * 5);
    assert_eq!(obstacles(&world, object.id, Some(&[first])).len(), 1, "by a clock that is turned back it is not");
    world.subject.advance(DAY * 24);
    assert_eq!(obstacles(&world, object.id, None), []);
    set_retention(&world, Some("2m"));
    assert_eq!(obstacles(&world, object.id, None).len(), 1);
    set_retention(&world, None);
    assert_eq!(obstacles(&world, object.id, None), []);
}

pub(crate) fn a_deletion_begins_where_nothing_forbids_it_and_is_not_asked_again(subject: &dyn Subject) {
    let world = World::new(subject);
    let (object, [(file, _), _]) = published(&world);
    let hold = place(&world, On::Object(object.id));
    let item = ItemId::new();
    let forbidden = begin(&world, item, object.id);
    assert_eq!(forbidden, Beginning::Forbidden(vec![Obstacle::LegalHold { hold: hold.id, on: hold.on }]));
    assert_eq!(world.write(placing(world.ours, On::Object(object.id))), [], "it has not begun");
    for hold in listed(&world, Listed::All) {
        release(&world, hold.id);
    }
    assert_eq!(begin(&world, item, object.id), Beginning::Begun);
    let on_file = On::File { object: object.id, file };
    for on in [On::Object(object.id), on_file, On::Collection(world.collection)] {
        let begun = world.write(placing(world.ours, on));
        let told: Vec<_> = begun.iter().map(|one| (one.item, one.object_identifier.as_str(), one.files)).collect();
        assert_eq!(told, [(item, "example.edu/bag", None)], "{on:?}");
    }
    assert_eq!(begin(&world, item, object.id), Beginning::Begun, "a worker that repeats it completes it");
    assert!(matches!(begin(&world, ItemId::new(), object.id), Beginning::Forbidden(_)), "another one meets the holds");
    world.write(move |tx| begun_deletions::end(tx, item));
    assert_eq!(world.write(placing(world.ours, On::Object(object.id))), []);
}

/// Of a hold and a deletion that begin at the same time the second one sees the first, whichever that is, on whatever the hold is, and
/// however their transactions are isolated.
pub(crate) fn a_hold_and_a_deletion_at_once_do_not_miss_each_other(subject: &dyn Subject) {
    use Isolation::{ReadCommitted, Serial};
    let world = World::new(subject);
    let (object, [(file, _), _]) = published(&world);
    for isolations in
        [(Serial, Serial), (Serial, ReadCommitted), (ReadCommitted, Serial), (ReadCommitted, ReadCommitted)]
    {
        for is_hold_first in [true, false] {
            check_at_once(&world, (object.id, file), is_hold_first, isolations);
        }
    }
}

/// What one of two does: whether it has seen what the other one did.
type Act = Box<dyn FnMut(&mut dyn Transaction) -> Result<bool, RegistryError> + Send>;

fn check_at_once(
    world: &World<'_>,
    (object, file): (ObjectId, FileId),
    is_hold_first: bool,
    (of_hold, of_deletion): (Isolation, Isolation),
) {
    let institution = world.ours;
    for on in [On::Collection(world.collection), On::Object(object), On::File { object, file }] {
        let item = ItemId::new();
        let mut place = placing(institution, on);
        let hold: Act = Box::new(move |tx| Ok(!place(tx)?.is_empty()));
        let delete: Act = Box::new(move |tx| {
            let beginning = begun_deletions::begin(tx, Scope::System, item, object, None)?;
            Ok(matches!(beginning, Beginning::Forbidden(_)))
        });
        let acts = if is_hold_first {
            [(of_hold, hold), (of_deletion, delete)]
        } else {
            [(of_deletion, delete), (of_hold, hold)]
        };
        let seen = both(world, object, acts);
        assert_eq!(seen, [false, true], "{on:?}, hold first: {is_hold_first}, {of_hold:?}, {of_deletion:?}");
        world.write(move |tx| begun_deletions::end(tx, item));
        for hold in world.read(|tx| legal_holds::list(tx, Scope::System, (Listed::All, false), None, 100)) {
            release(world, hold.id);
        }
    }
}

/// Runs two transactions: the second one has read what is there before the first one ends, where they do not run one after the other.
fn both(world: &World<'_>, object: ObjectId, [first, second]: [(Isolation, Act); 2]) -> [bool; 2] {
    let (acted, has_acted) = mpsc::channel();
    let (read, has_read) = mpsc::channel();
    let (of_first, of_second) = (world.registry.clone(), world.registry.clone());
    std::thread::scope(|scope| {
        let (isolation, mut act) = first;
        let mut has_waited = false;
        let first = scope.spawn(move || {
            of_first.write_as(isolation, move |tx| {
                let seen = act(tx)?;
                if !has_waited {
                    has_waited = true;
                    acted.send(()).expect("is waited for");
                    if !tx.runs_alone() {
                        has_read.recv().expect("the other one reads");
                    }
                }
                Ok::<_, RegistryError>(seen)
            })
        });
        let (isolation, mut act) = second;
        let second = scope.spawn(move || {
            has_acted.recv().expect("the first one acts");
            of_second.write_as(isolation, move |tx| {
                legal_holds::list(tx, Scope::System, (Listed::All, true), None, 100)?;
                begun_deletions::of_object(tx, object)?;
                // The first one waits for it once, and need not any more where this runs again.
                let _ = read.send(());
                act(tx)
            })
        });
        [first, second].map(|one| one.join().expect("ends").expect("is done"))
    })
}
