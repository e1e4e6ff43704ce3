//! What declares a storage root is watched and put back like inventories, and a deposit puts it back, too.

use strongroom_storage::Key;

use super::*;

/// The files that declare the storage root of the institution, in a store.
fn declarations(home: &TestHome, store: &str) -> Vec<String> {
    home.keys(store)
        .into_iter()
        .filter(|key| {
            key.ends_with("/0=ocfl_1.1") || key.ends_with("/ocfl_layout.json") || key.contains("/extensions/")
        })
        .collect()
}

#[test]
fn declarations_of_a_storage_root_are_watched_and_put_back() {
    let made = home();
    letters(&made);
    let declared = declarations(&made, "primary");
    assert_eq!(declared.len(), 3, "{declared:?}");
    let original: Vec<Vec<u8>> =
        declared.iter().map(|key| fs::read(made.file("primary", key)).expect("reads")).collect();
    for key in &declared {
        fs::remove_file(made.file("primary", key)).expect("removes");
    }
    let summary = run(&made, &all());
    assert_eq!((summary.damaged, summary.repaired, summary.failed), (1, 1, 0), "{summary:?}");
    let again: Vec<Vec<u8>> = declared.iter().map(|key| fs::read(made.file("primary", key)).expect("reads")).collect();
    assert_eq!(again, original);
    assert!(fixity::problems(&made, None, None, 10).expect("problems").is_empty(), "the finding is closed");

    // Wrong bytes are kept as evidence before they are replaced.
    let layout = declared.iter().find(|key| key.ends_with("ocfl_layout.json")).expect("a layout");
    fs::write(made.file("primary", layout), b"{}").expect("writes");
    let summary = run(&made, &all());
    assert_eq!((summary.damaged, summary.repaired), (1, 1), "{summary:?}");
    let kept = made.keys("quarantine");
    let store = made.store("quarantine").expect("a store");
    let mut bytes = Vec::new();
    let key = Key::new(kept.first().expect("evidence").as_str()).expect("a key");
    std::io::Read::read_to_end(&mut store.open(&key, 0, None).expect("opens"), &mut bytes).expect("reads");
    assert_eq!(bytes, b"{}");
    let summary = run(&made, &all());
    assert_eq!((summary.damaged, summary.passed), (0, summary.checked), "{summary:?}");
}

#[test]
fn a_deposit_puts_a_lost_declaration_of_a_storage_root_back() {
    let made = home();
    letters(&made);
    let declared = declarations(&made, "secondary");
    for key in &declared {
        fs::remove_file(made.file("secondary", key)).expect("removes");
    }
    made.ingest("letters", &[("a.txt", b"dear all")]);
    made.ingest("diaries", &[("b.txt", b"dear diary")]);
    assert_eq!(declarations(&made, "secondary"), declared);
}
