//! How places are listed: in shares, on from where a turn stopped, none kept waiting by another.

use strongroom_registry::InstitutionId;
use strongroom_registry::tenants;

use super::*;
use crate::fixture::home_with;

#[test]
fn what_is_no_bag_is_left_alone_and_listed() {
    let home = home();
    fs::write(place(&home, "notes.txt"), "hello").expect("writes");
    fs::create_dir_all(place(&home, "pictures/2026")).expect("makes folders");
    fs::write(place(&home, "pictures/2026/a.jpg"), "jpeg").expect("writes");
    assert_eq!(settle(&home).submitted, 0);
    assert_eq!(states(&home), [(key("notes.txt"), UploadState::NotABag), (key("pictures/"), UploadState::NotABag)]);
    settle(&home);
    assert_eq!(home.keys("receiving").len(), 2);
    fs::remove_file(place(&home, "notes.txt")).expect("removes");
    look(&home);
    assert_eq!(states(&home), [(key("pictures/"), UploadState::NotABag)], "what came to nothing is forgotten");
}

#[test]
fn a_listing_goes_on_where_the_turn_before_stopped_even_within_a_folder() {
    let home = home_with("[receiving]\nmax_per_run = 3\n");
    let files: Vec<(String, Vec<u8>)> = (0..9).map(|n| (format!("{n}.txt"), vec![b'x'; n])).collect();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    upload_folder(&home, "letters", &files);
    upload(&home, "after", &[("a.txt", b"one")]);
    upload(&home, "zeta", &[("a.txt", b"one")]);
    let keys = home.keys("receiving").len();
    let turns = keys.div_ceil(3);
    let mut submitted = 0;
    for _ in 0..2 * turns + 2 {
        let watched = look(&home);
        assert!(watched.keys <= 3, "{watched:?}");
        submitted += watched.submitted;
        home.clock.advance(SETTLE);
    }
    assert_eq!(submitted, 3, "{:?}", states(&home));
    work(&home);
    assert!(all_items(&home).iter().all(|item| item.status == ItemStatus::Succeeded));
    assert!(home.keys("receiving").is_empty());
}

#[test]
fn a_place_of_many_keys_keeps_no_other_waiting() {
    let home = home_with("[receiving]\nmax_per_run = 2000\n");
    for number in 0..30 {
        let name = format!("small-{number:02}.edu");
        home.registry
            .write(move |tx| tenants::add_institution(tx, InstitutionId::new(), &name, "Small"))
            .expect("adds it");
        let folder = home.file("receiving", &format!("small-{number:02}.edu"));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("x.tar"), "no bag inside").expect("writes");
    }
    let big = home.file("receiving", "a-big.edu");
    fs::create_dir_all(&big).expect("a folder");
    home.registry.write(|tx| tenants::add_institution(tx, InstitutionId::new(), "a-big.edu", "Big")).expect("adds it");
    for number in 0..5_000 {
        fs::write(big.join(format!("{number}.txt")), "x").expect("writes");
    }
    look(&home);
    home.clock.advance(SETTLE);
    let watched = look(&home);
    assert_eq!(watched.submitted, 30, "{watched:?}");
    assert!(watched.keys <= 2_000);
    // The big one is listed whole, too, in as many turns as it takes.
    for _ in 0..6 {
        home.clock.advance(SETTLE);
        look(&home);
    }
    let known = receiving::list(&home, Scope::System, true, None, 10_000).expect("lists");
    assert_eq!(known.iter().filter(|upload| upload.institution == "a-big.edu").count(), 5_000);
}

#[test]
fn an_institution_may_have_a_store_of_its_own() {
    let own = tempfile::TempDir::new().expect("a folder");
    strongroom_storage::FolderStore::create("own", own.path()).expect("a store");
    let home = home_with(&format!(
        "[stores.own]\nkind = \"folder\"\npath = {:?}\n[institutions.\"test.edu\"]\nreceiving = \"own\"\n",
        own.path()
    ));
    let bag = home.bag("letters", &[("a.txt", b"one")]);
    fs::rename(bag, own.path().join("letters.tar")).expect("puts it there");
    assert_eq!(settle(&home).submitted, 1);
    work(&home);
    assert_eq!(home.object("letters").head, 1);
    assert!(home.keys("own").is_empty());
}

#[test]
fn two_processes_that_look_at_once_make_one_item() {
    let home = home();
    for number in 0..20 {
        upload(&home, &format!("bag-{number}"), &[("a.txt", b"one")]);
    }
    look(&home);
    home.clock.advance(SETTLE);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| look(&home));
        }
    });
    assert_eq!(all_items(&home).len(), 20);
    work(&home);
    assert!(all_items(&home).iter().all(|item| item.status == ItemStatus::Succeeded));
    assert!(home.keys("receiving").is_empty());
}
