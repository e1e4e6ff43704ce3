//! ARKs: each object has exactly one, whatever EZID answers and wherever the process is killed, and EZID has no others.

#[cfg(feature = "failpoints")]
mod crash;
mod elsewhere;
mod updates;

use std::collections::BTreeSet;
use std::time::Duration;

use strongroom_ark::is_check_valid;
use strongroom_engine::app::{Caller, OpContext, objects as shown};
use strongroom_engine::ingest::{DepositKind, DepositRequest, GivenDescription, PackageSource, deposit};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::workflow::Workflows;
use strongroom_engine::{build_runtime, work_on};
use strongroom_ezid_double::{EzidDouble, Fault, PASSWORD, USER};
use strongroom_registry::items::{self, Item, Request};
use strongroom_registry::{ItemId, ItemStatus, Scope, WaitReason};

use crate::fixture::{self, Engine, INSTITUTION, TestHome, home_on, on_both_databases};
use crate::rebuild::all_objects;

on_both_databases! {
    a_new_object_has_an_ark_that_ezid_has_with_what_the_deposit_says
    an_object_is_found_by_its_ark_in_every_form
    without_a_minter_an_object_has_the_ark_that_its_deposit_names_or_none
    the_minter_alone_gives_each_object_a_name_with_a_check_character
    whatever_becomes_of_a_request_each_object_has_one_ark_and_ezid_no_other
    a_deposit_waits_for_ezid_and_says_so
    what_ezid_refuses_for_good_fails_the_deposit_and_is_repeated_with_the_same_name
    two_deposits_of_one_new_object_at_once_make_one_ark_and_two_versions
    a_deposit_that_was_given_up_leaves_its_ark_to_the_next_one_of_the_object
    an_ark_of_a_new_object_can_be_replaced_by_the_one_that_a_deposit_names
    an_ark_of_our_shoulder_that_a_deposit_names_is_registered_and_others_are_not
}

/// Where ARKs lead.
const TARGET: &str = "https://archive.example.edu/objects";

/// Settings with which ARKs are registered with this server.
fn settings(double: &EzidDouble) -> String {
    format!(
        "[identifiers]\nminter = \"ezid\"\nnaan = \"99999\"\nshoulder = \"fk4\"\ntarget = \"{TARGET}\"\n\
         ezid_url = \"{}\"\nezid_user = \"{USER}\"\nezid_password = \"{PASSWORD}\"\n",
        double.url()
    )
}

/// None where the server of the database is absent.
fn with_ezid(engine: Engine) -> Option<(EzidDouble, TestHome)> {
    let double = EzidDouble::start().expect("a server");
    let home = home_on(engine, &settings(&double))?;
    Some((double, home))
}

fn with_noid(engine: Engine) -> Option<TestHome> {
    home_on(engine, "[identifiers]\nminter = \"noid\"\nnaan = \"99999\"\nshoulder = \"fk4\"\n")
}

/// Submits a file as an object of this name; `change` says more of it.
fn submit(home: &TestHome, name: &str, text: &str, change: impl FnOnce(&mut DepositRequest)) -> ItemId {
    let path = home.path().join(name);
    std::fs::write(&path, text).expect("writes");
    let mut request = DepositRequest {
        kind: DepositKind::File,
        sources: vec![PackageSource::LocalPath(path)],
        description: GivenDescription { title: Some(format!("On {name}")), ..GivenDescription::default() },
        ..DepositRequest::of_system(INSTITUTION)
    };
    change(&mut request);
    deposit(home, &request).expect("deposits").items[0]
}

fn item(home: &TestHome, id: ItemId) -> Item {
    home.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item")
}

/// Works on an item until it has ended.
fn ended(home: &TestHome, id: ItemId) -> Item {
    work_on(home, &[id], &Shutdown::new()).expect("works");
    item(home, id)
}

fn succeeds(home: &TestHome, id: ItemId) -> Item {
    let item = ended(home, id);
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?} at {}", item.note, item.stage);
    item
}

fn ask(home: &TestHome, id: ItemId, request: Request) {
    home.registry
        .write(move |tx| items::request(tx, &Workflows::standard(), Scope::System, id, request, "a person"))
        .expect("is done");
}

fn ark_of(home: &TestHome, name: &str) -> String {
    home.object(name).ark.expect("an ARK")
}

/// EZID has the ARKs of the objects and no others, and no two objects have the same.
fn assert_none_leaked(double: &EzidDouble, home: &TestHome) {
    let arks: Vec<String> = all_objects(home).into_iter().map(|object| object.ark.expect("an ARK")).collect();
    let distinct: BTreeSet<String> = arks.iter().cloned().collect();
    assert_eq!(distinct.len(), arks.len());
    assert_eq!(double.identifiers().into_keys().collect::<BTreeSet<_>>(), distinct);
}

fn at_console(home: &TestHome) -> OpContext {
    OpContext::new(home.home.clone(), Caller::at_console("tester"))
}

fn a_new_object_has_an_ark_that_ezid_has_with_what_the_deposit_says(engine: Engine) {
    let Some((double, home)) = with_ezid(engine) else { return };
    let id = submit(&home, "letter.txt", "dear reader", |request| {
        request.description.creator = Some("Lovelace, Ada".into());
    });
    succeeds(&home, id);
    let ark = ark_of(&home, "letter.txt");
    assert!(ark.starts_with("ark:/99999/fk4") && is_check_valid(&ark.parse().expect("an ARK")), "{ark}");
    assert_none_leaked(&double, &home);
    let known = &double.identifiers()[&ark];
    assert_eq!(known.status(), "public");
    assert_eq!(known.elements["_target"], format!("{TARGET}/{ark}"));
    assert_eq!(known.elements["erc"], "who: Lovelace, Ada\nwhat: On letter.txt\nwhen: (:unas)");
    let creating = &double.requests()[0];
    assert_eq!((creating.method.as_str(), creating.query.as_str()), ("PUT", "update_if_exists=yes"));

    // It is in what is kept.
    let object = home.object("letter.txt");
    let read = |path: &str| {
        let file = home.registry.read(|tx| strongroom_registry::objects::file_at(tx, object.id, 1, path));
        let content = file.expect("reads").expect("a file").content;
        let copies = home.registry.read(|tx| strongroom_registry::objects::copies(tx, content)).expect("copies");
        std::fs::read_to_string(home.file(&copies[0].store, &copies[0].key)).expect("reads")
    };
    assert!(read("metadata/v1/erc.txt").contains(&format!("where: {ark}")));
    assert!(read("metadata/v1/record.jsonl").contains(&ark));
}

fn an_object_is_found_by_its_ark_in_every_form(engine: Engine) {
    let Some(home) = with_noid(engine) else { return };
    home.ingest("letters", &[("a.txt", b"dear reader")]);
    home.ingest("diaries", &[("a.txt", b"dear diary")]);
    let ark = ark_of(&home, "letters");
    let call = at_console(&home);
    let name = ark.strip_prefix("ark:/99999/").expect("a name");
    for form in [ark.clone(), format!("ark:99999/{name}"), format!("ARK:/99999/fk4-{}", &name[3..])] {
        assert_eq!(shown::show(&call, &form).expect("shows").identifier, format!("{INSTITUTION}/letters"), "{form}");
        let filter = shown::SearchFilter { words: Some(form), ..shown::SearchFilter::default() };
        let search = shown::Search { filter, ..shown::Search::default() };
        let found = shown::search(&call, &search, None).expect("finds").items;
        assert_eq!(
            found.iter().map(|found| &found.identifier).collect::<Vec<_>>(),
            [&format!("{INSTITUTION}/letters")]
        );
    }
    assert!(shown::show(&call, "ark:/99999/fk4none").is_err());
    let view = serde_json::to_value(shown::show(&call, &ark).expect("shows")).expect("JSON");
    assert_eq!(view["ark"], ark);
}

fn without_a_minter_an_object_has_the_ark_that_its_deposit_names_or_none(engine: Engine) {
    let Some(home) = home_on(engine, "") else { return };
    assert_eq!(home.ingest("letters", &[("a.txt", b"one")]).ark, None);
    let id = submit(&home, "b.txt", "two", |request| request.primary_id = Some("ark:/12345/x9-b".into()));
    succeeds(&home, id);
    let named = all_objects(&home).into_iter().find_map(|object| object.ark);
    assert_eq!(named.as_deref(), Some("ark:/12345/x9b"));
}

fn the_minter_alone_gives_each_object_a_name_with_a_check_character(engine: Engine) {
    let Some(home) = with_noid(engine) else { return };
    for name in ["a", "b", "c"] {
        home.ingest(name, &[("a.txt", name.as_bytes())]);
    }
    let arks: BTreeSet<String> = ["a", "b", "c"].map(|name| ark_of(&home, name)).into();
    assert_eq!(arks.len(), 3);
    assert!(arks.iter().all(|ark| is_check_valid(&ark.parse().expect("an ARK"))), "{arks:?}");
    let first = ark_of(&home, "a");
    home.ingest("a", &[("a.txt", b"changed")]);
    assert_eq!(ark_of(&home, "a"), first, "a further version changes no ARK");
}

fn whatever_becomes_of_a_request_each_object_has_one_ark_and_ezid_no_other(engine: Engine) {
    let Some((double, home)) = with_ezid(engine) else { return };
    let faults = [
        Fault::LoseReply,
        Fault::LoseRequest,
        Fault::CutReply,
        Fault::Answer(503, "error: busy".into()),
        Fault::Answer(429, "error: too many requests".into()),
        Fault::Garbage(b"<html>welcome</html>".to_vec()),
        Fault::Slow(Duration::from_millis(20)),
    ];
    for (number, fault) in faults.iter().enumerate() {
        double.plan(fault, 1);
        let id = submit(&home, &format!("{number}.txt"), "text", |_| ());
        succeeds(&home, id);
        assert_none_leaked(&double, &home);
    }
    assert_eq!(double.identifiers().len(), faults.len());
}

fn a_deposit_waits_for_ezid_and_says_so(engine: Engine) {
    let Some((double, home)) = with_ezid(engine) else { return };
    double.plan(&Fault::Answer(503, "error: down for maintenance".into()), 1_000);
    let (first, second) = (submit(&home, "a.txt", "one", |_| ()), submit(&home, "b.txt", "two", |_| ()));
    let runtime = build_runtime(&home, None).expect("a runtime").build();
    runtime.run_until(&Shutdown::new(), &|| {
        [first, second].iter().all(|id| item(&home, *id).wait_reason == Some(WaitReason::IdentifierService))
    });
    for id in [first, second] {
        let item = item(&home, id);
        let note = item.note.expect("a note");
        assert_eq!((item.status, item.retry_count), (ItemStatus::Pending, 0));
        assert!(note.contains("waits for EZID") && note.contains("down for maintenance"), "{note}");
    }
    assert!(all_objects(&home).is_empty() && double.identifiers().is_empty());
    double.clear_faults();
    home.clock.advance(Duration::from_mins(20));
    succeeds(&home, first);
    succeeds(&home, second);
    assert_none_leaked(&double, &home);
}

fn what_ezid_refuses_for_good_fails_the_deposit_and_is_repeated_with_the_same_name(engine: Engine) {
    let Some((double, home)) = with_ezid(engine) else { return };
    let cases = [
        (401, "error: unauthorized", "identifiers.ezid_password"),
        (403, "error: forbidden", "identifiers.shoulder"),
        (400, "error: bad request - no", "correct what EZID refuses"),
    ];
    for (status, text, advice) in cases {
        double.plan(&Fault::Answer(status, text.into()), 1);
        let id = submit(&home, &format!("{status}.txt"), "text", |_| ());
        let failed = ended(&home, id);
        let note = failed.note.expect("a note");
        assert_eq!(failed.status, ItemStatus::Failed, "{note}");
        assert!(note.contains("; next: ") && note.contains(advice), "{note}");
        assert!(note.contains(&format!("strongroom items requeue {id}")), "{note}");
        ask(&home, id, Request::Requeue(None));
        succeeds(&home, id);
        let puts: BTreeSet<String> = double.requests().into_iter().map(|request| request.path).collect();
        assert_eq!(puts.len(), double.identifiers().len(), "the name that was recorded first");
        assert_none_leaked(&double, &home);
    }
}

fn two_deposits_of_one_new_object_at_once_make_one_ark_and_two_versions(engine: Engine) {
    let Some((double, home)) = with_ezid(engine) else { return };
    double.plan(&Fault::LoseReply, 1);
    let of_one = |request: &mut DepositRequest| request.local_ids = vec!["box 7".into()];
    let (first, second) = (submit(&home, "a.txt", "one", of_one), submit(&home, "b.txt", "two", of_one));
    work_on(&home, &[first, second], &Shutdown::new()).expect("works");
    let object = all_objects(&home).pop().expect("an object");
    assert_eq!((all_objects(&home).len(), object.head), (1, 2));
    assert_none_leaked(&double, &home);
}

fn a_deposit_that_was_given_up_leaves_its_ark_to_the_next_one_of_the_object(engine: Engine) {
    let Some((double, home)) = with_ezid(engine) else { return };
    let topics = fixture::topics_before(strongroom_registry::Stage::named("compare"));
    let id = submit(&home, "a.txt", "one", |_| ());
    let runtime = build_runtime(&home, Some(&topics)).expect("a runtime").build();
    runtime.run_until(&Shutdown::new(), &|| {
        fixture::has_reached(&item(&home, id), strongroom_registry::Stage::named("compare"))
    });
    ask(&home, id, Request::Cancel);
    assert_eq!((double.identifiers().len(), all_objects(&home).len()), (1, 0));
    succeeds(&home, submit(&home, "a.txt", "two", |_| ()));
    assert_none_leaked(&double, &home);
    // Another object does not get it.
    succeeds(&home, submit(&home, "b.txt", "three", |_| ()));
    assert_none_leaked(&double, &home);
}

fn an_ark_of_a_new_object_can_be_replaced_by_the_one_that_a_deposit_names(engine: Engine) {
    let Some(home) = with_noid(engine) else { return };
    let topics = fixture::topics_before(strongroom_registry::Stage::named("compare"));
    let id = submit(&home, "a.txt", "one", |_| ());
    let runtime = build_runtime(&home, Some(&topics)).expect("a runtime").build();
    runtime.run_until(&Shutdown::new(), &|| {
        fixture::has_reached(&item(&home, id), strongroom_registry::Stage::named("compare"))
    });
    ask(&home, id, Request::Cancel);
    let named = |request: &mut DepositRequest| {
        request.primary_id = Some("ark:/12345/x9b".into());
        request.local_ids = vec!["a.txt".into()];
    };
    succeeds(&home, submit(&home, "a.txt", "one", named));
    assert_eq!(ark_of(&home, "a.txt"), "ark:/12345/x9b");
}

fn an_ark_of_our_shoulder_that_a_deposit_names_is_registered_and_others_are_not(engine: Engine) {
    let Some((double, home)) = with_ezid(engine) else { return };
    let naming = |ark: &'static str| move |request: &mut DepositRequest| request.primary_id = Some(ark.into());
    succeeds(&home, submit(&home, "a.txt", "one", naming("ark:/99999/fk4own")));
    succeeds(&home, submit(&home, "b.txt", "two", naming("ark:/12345/x9b")));
    let known = double.identifiers();
    assert_eq!(known.keys().collect::<Vec<_>>(), ["ark:/99999/fk4own"]);
    assert_eq!(known["ark:/99999/fk4own"].elements["_target"], format!("{TARGET}/ark:/99999/fk4own"));
}
