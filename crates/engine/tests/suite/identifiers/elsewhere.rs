//! ARKs of objects that were there before a minter was set, and in a registry that is made from the stores.

use std::sync::Arc;

use strongroom_engine::Home;
use strongroom_engine::rebuild;
use strongroom_engine::settings::Settings;

use super::*;
use crate::rebuild::{copy_stores, rebuilt};

on_both_databases! {
    a_registry_that_is_made_from_the_stores_has_the_arks
    an_object_without_an_ark_gets_one_with_the_next_deposit_even_where_nothing_else_changes
}

/// A fresh home with the same settings, made from the stores of another.
fn rebuilt_from(engine: Engine, home: &TestHome, double: &EzidDouble) -> TestHome {
    let fresh = home_on(engine, &settings(double)).expect("the server answered before");
    copy_stores(home, &fresh);
    rebuilt(&fresh, fixture::KEPT_IN[0]);
    rebuild::adopt(&fresh, &rebuild::AdoptRequest::default(), &mut |_| {}).expect("adopts");
    fresh
}

fn a_registry_that_is_made_from_the_stores_has_the_arks(engine: Engine) {
    let Some((double, home)) = with_ezid(engine) else { return };
    succeeds(&home, submit(&home, "a.txt", "one", |_| ()));
    home.ingest("letters", &[("a.txt", b"dear reader")]);
    let fresh = rebuilt_from(engine, &home, &double);
    for name in ["a.txt", "letters"] {
        assert_eq!(ark_of(&fresh, name), ark_of(&home, name));
        let shown = shown::show(&at_console(&fresh), &ark_of(&home, name)).expect("is found by its ARK");
        assert_eq!(shown.identifier, format!("{INSTITUTION}/{name}"));
    }
    // What is deposited there gets no other ARK, and no ARK of an object is given to another one.
    fresh.ingest("letters", &[("a.txt", b"dear all")]);
    assert_none_leaked(&double, &fresh);
    let ark = ark_of(&home, "a.txt");
    let path = fresh.path().join("other.txt");
    std::fs::write(&path, "text").expect("writes");
    let request = DepositRequest {
        kind: DepositKind::File,
        sources: vec![PackageSource::LocalPath(path)],
        primary_id: Some(ark),
        ..DepositRequest::of_system(INSTITUTION)
    };
    let made = deposit(&fresh, &request).expect("deposits");
    succeeds(&fresh, made.items[0]);
    assert_eq!((all_objects(&fresh).len(), fresh.object("a.txt").head), (2, 2), "it is a version of the same object");
}

fn an_object_without_an_ark_gets_one_with_the_next_deposit_even_where_nothing_else_changes(engine: Engine) {
    let Some(home) = home_on(engine, "") else { return };
    home.ingest("letters", &[("a.txt", b"dear reader")]);
    assert_eq!(home.object("letters").ark, None);
    let double = EzidDouble::start().expect("a server");
    let text = std::fs::read_to_string(home.path().join("strongroom.toml")).expect("settings");
    let with_minter = Settings::from_toml(&(text + &settings(&double))).expect("settings");
    let changed = Home::with_registry(home.path(), with_minter, home.registry.clone()).expect("opens");
    let changed = Arc::new(changed);
    let bag = home.bag("letters", &[("a.txt", b"dear reader")]);
    let request =
        DepositRequest { sources: vec![PackageSource::LocalPath(bag)], ..DepositRequest::of_system(INSTITUTION) };
    for _ in 0..2 {
        let made = deposit(&changed, &request).expect("deposits");
        work_on(&changed, &made.items, &Shutdown::new()).expect("works");
        let object = home.object("letters");
        assert_eq!((object.head, object.ark.is_some()), (2, true), "once a version with the ARK, then none");
    }
    assert_none_leaked(&double, &home);
    let fresh = rebuilt_from(engine, &home, &double);
    assert_eq!(ark_of(&fresh, "letters"), ark_of(&home, "letters"));
}
