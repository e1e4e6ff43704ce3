//! Objects with their files, events and versions.

use strongroom_engine::app::authorization::Role;
use strongroom_engine::app::{events, files, objects, versions};

use super::{OTHER, acting_for, all, at_console, is_not_found};
use crate::fixture::{INSTITUTION, home};

#[test]
fn an_actor_sees_the_objects_of_its_institution_and_no_others() {
    let home = home();
    let object = home.ingest("letters", &[("a.txt", b"dear reader")]);
    let everything = objects::Filter::default();
    let own = acting_for(&home, INSTITUTION, Role::InstitutionUser);
    let listed = all(|after| objects::list(&own, &everything, after));
    assert_eq!(listed.iter().map(|view| view.object).collect::<Vec<_>>(), [object.id]);
    let foreign = acting_for(&home, OTHER, Role::InstitutionAdmin);
    assert!(all(|after| objects::list(&foreign, &everything, after)).is_empty());
    let of_theirs = objects::Filter { institution: Some(INSTITUTION.to_owned()), ..objects::Filter::default() };
    assert!(is_not_found(&objects::list(&foreign, &of_theirs, None).expect_err("unknown to it")));

    let every_file = files::Filter::default();
    for name in [object.identifier.clone(), object.id.to_string()] {
        assert_eq!(objects::show(&own, &name).expect("its own").object, object.id);
        assert!(!files::list(&own, &name, &every_file, None).expect("its own").items.is_empty());
        assert!(!events::list(&own, &name, &events::Filter::default(), None).expect("its own").items.is_empty());
        assert_eq!(versions::list(&own, &name).expect("its own").len(), 1);
        let mut document = Vec::new();
        objects::premis(&own, &name, &mut document).expect("its own");
        assert!(!document.is_empty());

        document.clear();
        let refused = [
            objects::show(&foreign, &name).expect_err("foreign"),
            files::list(&foreign, &name, &every_file, None).expect_err("foreign"),
            events::list(&foreign, &name, &events::Filter::default(), None).expect_err("foreign"),
            versions::list(&foreign, &name).expect_err("foreign"),
            objects::premis(&foreign, &name, &mut document).expect_err("foreign"),
        ];
        assert!(refused.iter().all(is_not_found), "{refused:?}");
        assert!(document.is_empty());
    }
}

#[test]
fn a_listing_of_files_stays_at_the_version_that_it_began_with() {
    let home = home();
    let object = home.ingest("letters", &[("a.txt", b"dear reader")]);
    let (call, every_file) = (at_console(&home), files::Filter::default());
    let first = files::list(&call, &object.identifier, &every_file, None).expect("lists");
    assert!(first.items.iter().any(|file| file.path == "data/a.txt"), "{first:?}");
    home.ingest("letters", &[("a.txt", b"dear reader"), ("z.txt", b"yours")]);
    // Behind the last path of the first page: only what the first version has there.
    let after = first.next.expect("a cursor");
    let second = files::list(&call, &object.identifier, &every_file, Some(after)).expect("goes on");
    assert!(second.items.is_empty() && second.next.is_none(), "{second:?}");
    let newest = all(|after| files::list(&call, &object.identifier, &every_file, after));
    assert!(newest.iter().any(|file| file.path == "data/z.txt"));
}

#[test]
fn a_version_that_an_object_does_not_have_is_not_found() {
    let home = home();
    let object = home.ingest("letters", &[("a.txt", b"dear reader")]);
    for version in [0, 2] {
        let filter = files::Filter { version: Some(version), below: None };
        let error = files::list(&at_console(&home), &object.identifier, &filter, None).expect_err("no such version");
        assert!(is_not_found(&error), "{error:?}");
    }
}
