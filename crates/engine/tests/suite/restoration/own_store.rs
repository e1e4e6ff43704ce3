//! A restoration store of an institution's own: results go there in the place of the common store, and from there they go
//! when their time has run out.

use std::time::Duration;

use strongroom_engine::restoration::{Expired, expire};
use strongroom_engine::settings::Settings;
use strongroom_registry::InstitutionId;
use strongroom_registry::restored;
use strongroom_registry::tenants;
use strongroom_storage::FolderStore;

use super::*;
use crate::installation;

/// A home in which the institution has the restoration store `own`.
fn home_with_own_store(folder: &TempDir) -> TestHome {
    FolderStore::create("own", folder.path()).expect("makes a store");
    fixture::home_with(&format!(
        "[stores.own]\nkind = \"folder\"\npath = \"{}\"\n[institutions.\"{INSTITUTION}\"]\nrestoration = \"own\"\n",
        folder.path().display()
    ))
}

#[test]
fn results_go_to_the_own_store_and_expire_there_like_those_of_others_in_the_common_one() {
    let place = TempDir::new().expect("a folder");
    let home = home_with_own_store(&place);
    let letters = home.ingest("letters", &[("a.txt", b"one")]);
    let item = restored(&home, &RestoreRequest::of_system(letters.identifier.clone()));
    assert!(item.note.as_ref().is_some_and(|note| note.contains("in store own")), "{:?}", item.note);
    let wanted = file(&home, &letters, "data/a.txt").id.to_string();
    let id = request_file(&home, &RestoreFileRequest::of_system(wanted)).expect("asks");
    assert_eq!(worked(&home, id).status, ItemStatus::Succeeded);
    assert_eq!(home.keys("own"), ["test.edu/letters.tar", "test.edu/letters/data/a.txt"]);
    assert!(home.keys("restoration").is_empty());
    let kept = home.registry.read(|tx| restored::of_item(tx, item.id)).expect("results");
    assert_eq!(kept[0].place.store, "own");

    home.clock.advance(Duration::from_hours(24 * 31));
    assert_eq!(expire(&home, &Shutdown::new()).expect("expires"), Expired { removed: 2, changed: 0 });
    assert!(home.keys("own").is_empty());
}

#[test]
fn institutions_without_a_store_of_their_own_use_the_common_one() {
    let place = TempDir::new().expect("a folder");
    let home = home_with_own_store(&place);
    let other = InstitutionId::new();
    home.registry.write(move |tx| tenants::add_institution(tx, other, "other.edu", "other.edu")).expect("adds");
    assert_eq!(home.restoration_store(INSTITUTION).expect("a store").name(), "own");
    assert_eq!(home.restoration_store("other.edu").expect("a store").name(), "restoration");
}

#[test]
fn only_a_store_without_another_use_can_be_a_restoration_store() {
    let refused = |stores: &str, named: &str| {
        let text = format!(
            "{}[stores.own]\npath = \"stores/own\"\n{stores}[institutions.\"{INSTITUTION}\"]\n{named}\n",
            installation::settings()
        );
        Settings::from_toml(&text).expect_err("is refused").to_string()
    };
    for (store, why) in [
        ("staging", "roles.staging and no restoration store"),
        ("receiving", "roles.receiving and no restoration store"),
        ("quarantine", "roles.quarantine and no restoration store"),
        ("primary", "preserves for placement"),
        ("onw", "the nearest is own"),
    ] {
        let error = refused("", &format!("restoration = \"{store}\""));
        assert!(error.contains("institutions.\"test.edu\".restoration") && error.contains(why), "{error}");
    }
    let error = refused("", "receiving = \"own\"\nrestoration = \"own\"");
    assert!(error.contains("is the receiving store of test.edu and no restoration store"), "{error}");
    let error = refused("[institutions.\"other.edu\"]\nrestoration = \"own\"\n", "restoration = \"own\"");
    assert!(error.contains("is the restoration store of other.edu already"), "{error}");
}
