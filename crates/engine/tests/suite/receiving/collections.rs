//! Uploads obey the rules of the collection that they are put into.

use strongroom_engine::app::{self, Caller, OpContext};
use strongroom_registry::CollectionId;
use strongroom_registry::tenants::{self, CollectionRules};

use super::*;
use crate::fixture::home_with;

pub(super) fn set_collection(home: &TestHome, name: &str, rules: CollectionRules, active: bool) {
    let name = name.to_owned();
    let written = home.registry.write(move |tx| {
        let institution = tenants::institution(tx, Scope::System, INSTITUTION)?.expect("the institution").id;
        let id = if let Some(known) = tenants::collection(tx, Scope::System, institution, &name)? {
            known.id
        } else {
            let id = CollectionId::new();
            tenants::add_collection(tx, id, institution, &name, (&rules, "test"))?;
            id
        };
        tenants::set_collection(tx, id, (&rules, "test"), active)
    });
    written.expect("sets the collection");
}

fn rules() -> CollectionRules {
    CollectionRules { name: "Papers".into(), ..CollectionRules::default() }
}

#[test]
fn an_upload_in_the_folder_of_a_collection_obeys_its_rules() {
    let home = home();
    set_collection(&home, "papers", CollectionRules { placement: Some("Wasabi-OR".into()), ..rules() }, true);
    let call = OpContext::new(home.home.clone(), Caller::at_console("tester"));
    app::collections::hold(&call, INSTITUTION, "papers", Some("rights")).expect("holds");
    fs::create_dir_all(place(&home, "papers")).expect("makes the folder");
    plain_bag(&place(&home, "papers/letters.tar"), Serialization::Tar, &[("a.txt", b"one")]);
    plain_bag(&place(&home, "papers/loose"), Serialization::Directory, &[("a.txt", b"one")]);
    plain_bag(&place(&home, "other.tar"), Serialization::Tar, &[("a.txt", b"one")]);
    assert_eq!(settle(&home).submitted, 3);
    assert_eq!(
        states(&home).into_iter().map(|(key, _)| key).collect::<Vec<_>>(),
        [key("other.tar"), key("papers/letters.tar"), key("papers/loose/")]
    );
    for item in all_items(&home) {
        let (status, collection) = (item.status, item.collection_identifier.as_deref());
        let wanted = match item.name.as_str() {
            "other.tar" => (ItemStatus::Pending, None),
            _ => (ItemStatus::Held, Some("papers")),
        };
        assert_eq!((status, collection), wanted, "{}", item.name);
    }
    app::collections::release(&call, INSTITUTION, "papers").expect("releases");
    work(&home);
    for (name, collection, placement) in
        [("letters", Some("papers"), "Wasabi-OR"), ("loose", Some("papers"), "Wasabi-OR"), ("other", None, "Standard")]
    {
        let object = home.object(name);
        assert_eq!(object.collection_identifier.as_deref(), collection, "{name}");
        assert_eq!(object.description.placement.as_deref(), Some(placement), "{name}");
    }
    assert!(home.keys("receiving").is_empty());
}

#[test]
fn a_removed_collection_takes_no_uploads_until_it_is_back() {
    let home = home();
    set_collection(&home, "papers", rules(), false);
    fs::create_dir_all(place(&home, "papers")).expect("makes the folder");
    plain_bag(&place(&home, "papers/letters.tar"), Serialization::Tar, &[("a.txt", b"one")]);
    assert_eq!(settle(&home).submitted, 0);
    assert_eq!(state(&home, &key("papers/letters.tar")), UploadState::Refused);
    let note = uploads(&home)[0].note.clone().expect("a note");
    assert!(note.contains("papers") && note.contains("removed"), "{note}");
    home.clock.advance(Duration::from_hours(24 * 60));
    assert_eq!(look(&home).submitted, 0);
    assert!(place(&home, "papers/letters.tar").exists());
    set_collection(&home, "papers", rules(), true);
    assert_eq!(look(&home).submitted, 1);
    work(&home);
    assert_eq!(home.object("letters").collection_identifier.as_deref(), Some("papers"));
}

#[test]
fn a_bag_that_is_named_as_a_collection_is_a_bag() {
    let home = home();
    set_collection(&home, "papers", rules(), true);
    upload_folder(&home, "papers", &[("a.txt", b"one")]);
    assert_eq!(settle(&home).submitted, 1);
    assert_eq!(states(&home), [(key("papers/"), UploadState::Submitted)]);
}

#[test]
fn uploads_that_name_no_collection_belong_to_that_of_the_settings() {
    let home = home_with("\n[institutions.\"test.edu\"]\ncollection = \"papers\"\n");
    upload(&home, "letters", &[("a.txt", b"one")]);
    settle(&home);
    assert_eq!(state(&home, &key("letters.tar")), UploadState::Refused, "there is no such collection");
    set_collection(&home, "papers", rules(), true);
    assert_eq!(look(&home).submitted, 1);
    work(&home);
    assert_eq!(home.object("letters").collection_identifier.as_deref(), Some("papers"));
}
