//! What EZID has of an ARK follows the versions of its object, through the outbox.

use strongroom_engine::app::outbox as messages;
use strongroom_engine::outbox::{Delivered, deliver};

use super::*;

on_both_databases! {
    each_version_is_reported_to_ezid_and_only_the_latest_is_sent
    an_update_keeps_the_status_that_people_gave_at_ezid
    an_update_that_ezid_can_not_take_now_is_sent_later_under_growing_waits
    an_update_that_ezid_refuses_for_good_is_left_to_people
    an_update_whose_account_is_gone_from_the_settings_is_left_to_people
}

fn run(home: &TestHome) -> Delivered {
    deliver(home, &Shutdown::new()).expect("runs")
}

/// A second version of an object, called otherwise.
fn renamed(home: &TestHome, text: &str, title: &str) {
    let id = submit(home, "a.txt", text, |request| request.description.title = Some(title.to_owned()));
    succeeds(home, id);
}

fn each_version_is_reported_to_ezid_and_only_the_latest_is_sent(engine: Engine) {
    let Some((double, home)) = with_ezid(engine) else { return };
    succeeds(&home, submit(&home, "a.txt", "one", |_| ()));
    let ark = ark_of(&home, "a.txt");
    assert_eq!(run(&home), Delivered { delivered: 1, ..Delivered::default() });
    renamed(&home, "two", "Second");
    renamed(&home, "three", "Third");
    let before = double.requests().len();
    assert_eq!(run(&home), Delivered { delivered: 1, obsolete: 1, ..Delivered::default() });
    assert_eq!(double.requests().len(), before + 1);
    let known = &double.identifiers()[&ark];
    assert!(known.elements["erc"].contains("what: Third"), "{known:?}");
    assert_eq!(run(&home), Delivered::default(), "once is enough");
    assert_none_leaked(&double, &home);
}

fn an_update_keeps_the_status_that_people_gave_at_ezid(engine: Engine) {
    let Some((double, home)) = with_ezid(engine) else { return };
    succeeds(&home, submit(&home, "a.txt", "one", |_| ()));
    let ark = ark_of(&home, "a.txt");
    let options = home.settings.identifiers.ezid().expect("an account");
    let client = strongroom_ark::EzidClient::new(&options).expect("a client");
    let withdrawn = strongroom_ark::Status::Unavailable { reason: Some("withdrawn by its author".into()) };
    let elements = strongroom_ark::Elements::new().status(&withdrawn);
    client.update(&ark.parse().expect("an ARK"), &elements).expect("is withdrawn");
    renamed(&home, "two", "Second");
    assert_eq!(run(&home).delivered, 1);
    assert_eq!(double.identifiers()[&ark].status(), "unavailable");
}

fn an_update_that_ezid_can_not_take_now_is_sent_later_under_growing_waits(engine: Engine) {
    let Some((double, home)) = with_ezid(engine) else { return };
    succeeds(&home, submit(&home, "a.txt", "one", |_| ()));
    for fault in [Fault::Answer(503, "error: busy".into()), Fault::LoseReply, Fault::Garbage(b"<html>".to_vec())] {
        double.plan(&fault, 1);
        assert_eq!(run(&home).failed, 1, "{fault:?}");
        assert_eq!(run(&home).waiting, 1, "it is too early");
        home.clock.advance(Duration::from_mins(10));
    }
    assert_eq!(run(&home).delivered, 1);
    assert_none_leaked(&double, &home);
}

fn an_update_that_ezid_refuses_for_good_is_left_to_people(engine: Engine) {
    let Some((double, home)) = with_ezid(engine) else { return };
    succeeds(&home, submit(&home, "a.txt", "one", |_| ()));
    let call = at_console(&home);
    for (status, text) in [(403, "error: forbidden"), (401, "error: unauthorized"), (400, "error: bad request - no")] {
        double.plan(&Fault::Answer(status, text.into()), 1);
        assert_eq!(run(&home), Delivered { undeliverable: 1, ..Delivered::default() });
        let listed = messages::list(&call, None).expect("lists").items;
        let [message] = listed.as_slice() else { panic!("one message: {listed:?}") };
        let shown = serde_json::to_value(message).expect("JSON").to_string();
        assert!(shown.contains("; next: ") && shown.contains("strongroom outbox send"), "{shown}");
        assert_eq!(run(&home), Delivered::default(), "it is not attempted by itself");
        let page = home.registry.read(|tx| strongroom_registry::outbox::undeliverable(tx, 0, 10)).expect("reads");
        messages::send(&call, page[0].id).expect("is sent again");
    }
    assert_eq!(run(&home).delivered, 1);
    assert_none_leaked(&double, &home);
}

fn an_update_whose_account_is_gone_from_the_settings_is_left_to_people(engine: Engine) {
    let Some((_double, home)) = with_ezid(engine) else { return };
    succeeds(&home, submit(&home, "a.txt", "one", |_| ()));
    let text = std::fs::read_to_string(home.path().join("strongroom.toml")).expect("settings");
    let without = text.replace("minter = \"ezid\"", "minter = \"noid\"");
    let settings = strongroom_engine::settings::Settings::from_toml(&without).expect("settings");
    let other = strongroom_engine::Home::with_registry(home.path(), settings, home.registry.clone()).expect("opens");
    let done = deliver(&other, &Shutdown::new()).expect("runs");
    assert_eq!(done, Delivered { undeliverable: 1, ..Delivered::default() });
}
