//! Nothing crosses the border of an institution.

use strongroom_registry::batches::{BatchAct, Step};
use strongroom_registry::events::{self, EventCursor};
use strongroom_registry::fixity::{self, DueCursor, NewFinding};
use strongroom_registry::items::{self, ItemFilter, Request};
use strongroom_registry::{FindingId, FindingKind, RegistryError, Scope, Stage, Time, batches, objects, tenants};

use super::world::*;

pub(crate) fn nothing_of_another_institution_is_seen(subject: &dyn Subject) {
    let world = World::new(subject);
    let (batch, items) = world.batch(1);
    let object = world.object("bag-0");
    let (claim, item) = world.claim(Stage::named("receive"));
    let version = world.prepare(&claim, &object);
    let (file, content) = world.put(&claim, &version, "deposit/data/a", b"a");
    world.copy(&claim, &version, "primary", &[content]);
    let event = super::events::row(&world, &version, file, content);
    world.write(move |tx| events::append(tx, std::slice::from_ref(&event)));
    world.commit(&claim, &version);
    world.publish(&claim, &["primary"]);
    let problem = items::ItemProblem {
        severity: "warning".into(),
        code: "a.code".into(),
        file: None,
        path: None,
        line: None,
        message: "a warning".into(),
    };
    world.write(move |tx| strongroom_registry::work::note_problems(tx, &claim, std::slice::from_ref(&problem)));
    let finding = FindingId::new();
    let new = NewFinding {
        id: finding,
        institution: world.ours,
        object: object.id,
        content: Some(content),
        store: "primary".into(),
        key: "a".into(),
        kind: FindingKind::Missing,
        detail: "gone".into(),
    };
    world.write(move |tx| fixity::open_finding(tx, &new));

    let (ours, collection) = (world.ours, world.collection);
    let seen_by = |scope: Scope| {
        world.read(|tx| {
            let late = Time(i64::MAX);
            Ok([
                ("institution", tenants::institution(tx, scope, "example.edu")?.is_some()),
                ("institution_by_id", tenants::institution_by_id(tx, scope, ours)?.is_some()),
                ("institutions", tenants::institutions(tx, scope, "", 99)?.iter().any(|one| one.id == ours)),
                ("collection", tenants::collection(tx, scope, ours, "maps")?.is_some()),
                ("collections", tenants::collections(tx, scope, false)?.iter().any(|one| one.id == collection)),
                ("item", items::get(tx, scope, item.id)?.is_some()),
                ("find item", items::find(tx, scope, item.id).is_ok()),
                ("items", !items::list(tx, scope, &ItemFilter::default(), None, 99)?.is_empty()),
                ("items of batch", {
                    let filter = ItemFilter { batch: Some(batch), ..ItemFilter::default() };
                    !items::list(tx, scope, &filter, None, 99)?.is_empty()
                }),
                ("counts", !items::counts(tx, scope, None)?.is_empty()),
                ("counts of batch", !items::counts(tx, scope, Some(batch))?.is_empty()),
                ("history", !items::history(tx, scope, item.id)?.is_empty()),
                ("problems", !items::problems(tx, scope, item.id, 9)?.is_empty()),
                ("batch", batches::get(tx, scope, batch)?.is_some()),
                ("batches", !batches::list(tx, scope, &batches::BatchFilter::default(), None, 99)?.is_empty()),
                ("object", objects::get(tx, scope, object.id)?.is_some()),
                ("object by identifier", objects::by_identifier(tx, scope, "example.edu/bag-0")?.is_some()),
                ("find object", objects::find(tx, scope, "example.edu/bag-0").is_ok()),
                ("find object by ends", objects::find(tx, scope, "exam…/bag-0").is_ok()),
                ("find object by id", objects::find(tx, scope, &object.id.to_string()).is_ok()),
                ("objects", !objects::list(tx, scope, &objects::ObjectFilter::default(), None, 99)?.is_empty()),
                ("file", objects::file(tx, scope, file, None)?.is_some()),
                ("events", !events::of_object(tx, scope, object.id, None, EventCursor::START, 99)?.0.is_empty()),
                ("due contents", {
                    !fixity::due_contents(tx, scope, "primary", late, DueCursor::START, 99)?.is_empty()
                }),
                ("due objects", { !fixity::due_objects(tx, scope, "primary", late, DueCursor::START, 99)?.is_empty() }),
                ("report", !fixity::report(tx, scope, Time(0))?.is_empty()),
                ("finding", fixity::finding(tx, scope, finding)?.is_some()),
                (
                    "findings",
                    !fixity::findings(
                        tx,
                        scope,
                        fixity::FindingFilter { repaired_too: true, ..Default::default() },
                        None,
                        99,
                    )?
                    .is_empty(),
                ),
            ])
        })
    };
    for scope in [Scope::System, Scope::Institution(ours)] {
        for (what, seen) in seen_by(scope) {
            assert!(seen, "{what} is seen by {scope:?}");
        }
    }
    for (what, seen) in seen_by(Scope::Institution(world.theirs)) {
        assert!(!seen, "{what} of another institution is seen");
    }
    let theirs = Scope::Institution(world.theirs);
    let refused = world.refused(move |tx| items::request(tx, &Table, theirs, items[0], Request::Hold, "a stranger"));
    assert!(matches!(refused, RegistryError::NotFound { .. }));
    let act = BatchAct { request: Request::Hold, by: "a stranger".into(), step: Step::Begin, takes_new_rules: false };
    let refused = world.refused(move |tx| batches::request(tx, &Table, theirs, batch, act));
    assert!(matches!(refused, RegistryError::NotFound { .. }));
    assert!(!theirs.admits(ours) && theirs.admits(world.theirs) && Scope::System.admits(ours));
}
