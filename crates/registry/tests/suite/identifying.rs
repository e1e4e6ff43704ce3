//! ARKs: an ARK is recorded for one object of all institutions, and leads to it.

use strongroom_registry::object_ids::{self, IdKind, Named, Naming};
use strongroom_registry::objects;
use strongroom_registry::{ItemId, Scope};

use super::world::*;

const ONE: &str = "ark:/99999/fk4one";
const TWO: &str = "ark:/99999/fk4two";

pub(crate) fn a_name_that_is_recorded_already_is_not_chosen(subject: &dyn Subject) {
    let world = World::new(subject);
    let (ours, theirs) = (world.ours, world.theirs);
    let candidates = [ONE.to_owned(), TWO.to_owned()];
    let first = world.write({
        let candidates = candidates.clone();
        move |tx| object_ids::choose_ark(tx, theirs, "other.edu/a", &candidates)
    });
    assert_eq!(first.as_deref(), Some(ONE));
    let second = world.write({
        let candidates = candidates.clone();
        move |tx| object_ids::choose_ark(tx, ours, "example.edu/a", &candidates)
    });
    assert_eq!(second.as_deref(), Some(TWO), "an ARK of another institution is taken too");
    let none = world.write(move |tx| object_ids::choose_ark(tx, ours, "example.edu/b", &candidates));
    assert_eq!(none, None);
    assert_eq!(world.read(|tx| object_ids::arks_of(tx, ours, "example.edu/a")), [TWO]);
    assert!(world.read(|tx| object_ids::arks_of(tx, ours, "example.edu/b")).is_empty());
}

pub(crate) fn an_ark_of_an_object_without_versions_can_move_to_another_and_leaves_it_there_alone(
    subject: &dyn Subject,
) {
    let world = World::new(subject);
    let (ours, object) = (world.ours, world.object("a"));
    world.write(move |tx| {
        object_ids::choose_ark(tx, ours, "example.edu/a", &[ONE.to_owned()])?;
        object_ids::set_ark(tx, object.id, ONE)
    });
    let found = |scope| world.read(|tx| object_ids::by_ark(tx, scope, ONE)).map(|object| object.identifier);
    assert_eq!(found(Scope::System).as_deref(), Some("example.edu/a"));
    assert_eq!(found(Scope::Institution(world.theirs)), None);
    let other = world.object("b");
    let item = ItemId::new();
    let named = world.write(move |tx| {
        let ids = [(IdKind::Ark, ONE.to_owned())];
        let naming = Naming { institution: ours, item, ids: &ids, identifier: "example.edu/b", is_given: true };
        object_ids::name(tx, &naming)
    });
    assert_eq!(named, Named::Object("example.edu/b".into()));
    assert_eq!(world.write(move |tx| object_ids::set_ark(tx, other.id, ONE)).as_deref(), Some(ONE));
    assert_eq!(world.read(|tx| objects::get(tx, Scope::System, object.id)).and_then(|object| object.ark), None);
    assert_eq!(found(Scope::System).as_deref(), Some("example.edu/b"));
}
