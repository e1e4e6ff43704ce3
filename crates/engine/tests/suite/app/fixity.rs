//! Coverage, findings, and checks and repairs by hand.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use strongroom_engine::app::authorization::Role;
use strongroom_engine::app::fixity::{self, Filter, FixityRequest};
use strongroom_engine::app::views::{EventView, FindingView};
use strongroom_engine::app::{Caller, OpContext, events};
use strongroom_engine::{EngineError, Home};
use strongroom_registry::{FindingId, Scope, objects};
use strongroom_storage::FolderStore;

use super::{OTHER, acting_for, all, at_console, is_not_found, journal_of};
use crate::backfill::home_with_third;
use crate::fixture::{INSTITUTION, KEPT_IN, TestHome, home};

fn everything() -> FixityRequest {
    FixityRequest { all: true, ..FixityRequest::default() }
}

/// Changes a byte of `data/a.txt` of the object `letters` in every store that keeps it.
fn damage(home: &TestHome) {
    let object = home.object("letters");
    let files = home.registry.read(|tx| objects::files(tx, object.id, object.head, "deposit/data/", "", 1));
    let content = files.expect("files").first().expect("a file").content;
    for copy in home.registry.read(|tx| objects::copies(tx, content)).expect("copies") {
        let file = home.file(&copy.store, &copy.key);
        let mut bytes = fs::read(&file).expect("reads");
        bytes[0] ^= 1;
        fs::write(&file, bytes).expect("writes");
    }
}

fn problems(context: &OpContext) -> Vec<FindingView> {
    all(|after| fixity::problems(context, &Filter::default(), after))
}

#[test]
fn findings_and_coverage_are_those_of_the_actors_institution() {
    let home = home();
    home.ingest("letters", &[("a.txt", b"dear reader")]);
    damage(&home);
    let summary = fixity::run(&at_console(&home), &everything(), &mut |_| ()).expect("checks");
    assert_eq!((summary.damaged, summary.unrepairable), (2, 2), "{summary:?}");

    let own = acting_for(&home, INSTITUTION, Role::InstitutionUser);
    let found = problems(&own);
    // Which store was read first when the deposit was taken in is chance.
    let stores: BTreeSet<&str> = found.iter().map(|one| one.store.as_str()).collect();
    assert_eq!(stores, BTreeSet::from(KEPT_IN));
    assert!(found.iter().all(|one| one.path.as_deref() == Some("data/a.txt")), "{found:?}");
    let covered = fixity::report(&own, None).expect("reports");
    assert_eq!(covered.iter().map(|one| one.damaged).collect::<Vec<_>>(), [1, 1]);

    let foreign = acting_for(&home, OTHER, Role::InstitutionAdmin);
    assert!(problems(&foreign).is_empty());
    assert!(all(|after| fixity::unrepaired(&foreign, after)).is_empty());
    assert_eq!(fixity::report(&foreign, None).expect("reports").iter().map(|one| one.copies).sum::<u64>(), 0);
    assert!(is_not_found(&fixity::report(&foreign, Some(INSTITUTION)).expect_err("unknown to it")));
}

#[test]
fn events_of_checks_and_repairs_by_hand_name_who_asked() {
    let home = home();
    home.ingest("letters", &[("a.txt", b"dear reader")]);
    fixity::run(&at_console(&home), &everything(), &mut |_| ()).expect("checks");
    damage(&home);
    fixity::run(&at_console(&home), &everything(), &mut |_| ()).expect("checks");
    let finding = problems(&at_console(&home))[0].finding.expect("a finding");
    fixity::repair(&at_console(&home), finding).expect("tries");
    let of_checks = |event: &EventView| match event.r#type.as_str() {
        "quarantine" | "recovery" => true,
        "fixity check" => event.detail.as_deref().is_some_and(|detail| detail.contains("store ")),
        _ => false,
    };
    let events = || {
        all(|after| {
            events::list(&at_console(&home), &format!("{INSTITUTION}/letters"), &events::Filter::default(), after)
        })
    };
    let by_hand: Vec<EventView> = events().into_iter().filter(of_checks).collect();
    let kinds: BTreeSet<&str> = by_hand.iter().map(|event| event.r#type.as_str()).collect();
    assert_eq!(kinds, BTreeSet::from(["fixity check", "quarantine", "recovery"]), "{by_hand:#?}");
    for event in &by_hand {
        assert_eq!(event.actor.as_deref(), Some("tester"), "{event:#?}");
    }

    // What workers check by themselves is on behalf of no person.
    strongroom_engine::fixity::run(&home, &everything(), &mut |_| ()).expect("checks");
    let by_itself: Vec<EventView> = events().into_iter().filter(of_checks).skip(by_hand.len()).collect();
    assert!(!by_itself.is_empty() && by_itself.iter().all(|event| event.actor.is_none()), "{by_itself:#?}");
}

#[test]
fn checks_and_repairs_by_hand_are_for_those_who_run_the_installation() {
    let home = home();
    home.ingest("letters", &[("a.txt", b"dear reader")]);
    damage(&home);
    let admin = acting_for(&home, INSTITUTION, Role::InstitutionAdmin);
    let refused = [
        fixity::run(&admin, &everything(), &mut |_| ()).err(),
        fixity::enqueue(&admin, &everything()).err(),
        fixity::repair(&admin, FindingId::new()).err(),
    ];
    assert!(refused.iter().all(|error| matches!(error, Some(EngineError::NotAllowed { .. }))), "{refused:?}");
    let journal = journal_of(&admin);
    assert_eq!(journal, ["fixity.run : refused", "fixity.enqueue : refused", "fixity.repair : refused"]);
    assert!(problems(&at_console(&home)).is_empty(), "nothing was checked");
}

#[test]
fn the_journal_tells_of_checks_and_repairs_and_of_none_that_named_nothing() {
    let home = home();
    let object = home.ingest("letters", &[("a.txt", b"dear reader")]);
    let call = at_console(&home);
    let unknown = [
        FixityRequest { object: Some("test.edu/absent".to_owned()), ..everything() },
        FixityRequest { institution: Some("absent.edu".to_owned()), ..everything() },
        FixityRequest { store: Some("absent".to_owned()), ..everything() },
    ];
    for request in &unknown {
        assert!(is_not_found(&fixity::run(&call, request, &mut |_| ()).expect_err("absent")));
        assert!(is_not_found(&fixity::enqueue(&call, request).expect_err("absent")));
    }
    assert!(is_not_found(&fixity::repair(&call, FindingId::new()).expect_err("absent")));
    assert!(journal_of(&call).is_empty(), "{:?}", journal_of(&call));

    damage(&home);
    let only = FixityRequest { object: Some(object.id.to_string()), store: Some("primary".to_owned()), ..everything() };
    fixity::run(&call, &only, &mut |_| ()).expect("checks");
    let finding = all(|after| fixity::unrepaired(&call, after)).into_iter().next().expect("a finding");
    assert!(fixity::repair(&call, finding).expect("tries").outcome.is_unsolved());
    let told = [
        format!("fixity.run {} in store primary: begun", object.identifier),
        format!("fixity.run {} in store primary: done", object.identifier),
        format!("fixity.repair finding {finding} of {}: begun", object.identifier),
        // There is no other copy to repair it from.
        format!("fixity.repair finding {finding} of {}: failed", object.identifier),
    ];
    assert_eq!(journal_of(&call), told);
    // Whose objects these are sees it too.
    assert_eq!(journal_of(&acting_for(&home, INSTITUTION, Role::Auditor)), told);
    assert!(journal_of(&acting_for(&home, OTHER, Role::Auditor)).is_empty());
}

#[test]
fn what_stores_lack_and_refused_stores_are_listed_behind_the_findings() {
    let made = home_with_third();
    damage(&made);
    fixity::run(&at_console(&made), &everything(), &mut |_| ()).expect("checks");
    let own = acting_for(&made, INSTITUTION, Role::InstitutionAdmin);
    let kinds = |found: &[FindingView]| found.iter().map(|one| one.kind.clone()).collect::<Vec<_>>();
    let found = problems(&own);
    assert_eq!(kinds(&found), ["damaged", "damaged", "lacking", "lacking"]);
    assert!(found[2..].iter().all(|one| one.finding.is_none() && one.store == "third"), "{found:?}");
    assert!(problems(&acting_for(&made, OTHER, Role::InstitutionAdmin)).is_empty());

    // Another store lies where one was. That is the installation's: an institution is not told of it.
    let folder = made.path().join("stores/secondary");
    fs::rename(&folder, made.path().join("secondary.away")).expect("takes the store away");
    FolderStore::create("secondary", &folder).expect("makes another store");
    let home = Home::with_registry(made.path(), made.settings.clone(), made.registry.clone()).expect("opens");
    let home = Arc::new(home);
    let found = problems(&OpContext::new(home.clone(), Caller::at_console("tester")));
    assert_eq!(kinds(&found), ["damaged", "damaged", "lacking", "lacking", "refused"]);
    let refused = found.last().expect("the store");
    assert_eq!((refused.store.as_str(), refused.state.as_str()), ("secondary", "open"));
    assert!(refused.detail.contains("strongroom store replace secondary"), "{refused:?}");
    let scope = Scope::Institution(made.object("letters").institution);
    let caller = Caller { scope, ..Caller::at_console("tester") };
    assert_eq!(problems(&OpContext::new(home, caller)).len(), 4);
}
