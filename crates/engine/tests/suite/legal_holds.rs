//! Legal holds, retention periods and disposal schedules, as people place, set and list them.

use std::time::Duration;

use strongroom_engine::app::authorization::Role;
use strongroom_engine::app::collections::{self, Rules};
use strongroom_engine::app::legal_holds::{self, Filter, Subject};
use strongroom_engine::app::views::{CollectionView, DueView, LegalHoldView};
use strongroom_engine::app::{self, Caller, OpContext, disposals, objects};
use strongroom_engine::ingest::{DepositRequest, PackageSource, deposit};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::{EngineError, work_on};
use strongroom_registry::journal::Actor;
use strongroom_registry::{ActorKind, Period, RegistryError, Scope, Time, journal, leases, tenants};

use crate::fixture::{Engine, INSTITUTION, KEPT_IN, TestHome, home, home_on, on_both_databases};
use crate::rebuild::{all_events, copy_stores, rebuilt};

const COLLECTION: &str = "maps";
const DAY: Duration = Duration::from_hours(24);

on_both_databases! {
    a_hold_leaves_an_event_a_line_of_the_journal_and_a_log_in_each_store
    a_hold_is_placed_while_a_worker_has_the_object
    holds_on_several_files_are_placed_together_or_not_at_all
    a_retention_period_is_shortened_by_a_system_admin_only
    what_is_due_is_listed_with_what_forbids_its_deletion
}

fn console(home: &TestHome) -> OpContext {
    OpContext::new(home.home.clone(), Caller::at_console("tester"))
}

/// A call of an institution admin.
fn admin(home: &TestHome) -> OpContext {
    let found = home.registry.read(|tx| tenants::institution(tx, Scope::System, INSTITUTION));
    let scope = Scope::Institution(found.expect("reads").expect("is there").id);
    let caller = Caller { scope, roles: vec![Role::InstitutionAdmin], ..Caller::at_console("ann") };
    OpContext::new(home.home.clone(), caller)
}

fn letters(paths: &[&str]) -> Subject {
    let paths = paths.iter().map(|path| (*path).to_owned()).collect();
    Subject::Object { object: format!("{INSTITUTION}/letters"), paths }
}

fn listed(home: &TestHome) -> Vec<LegalHoldView> {
    let wanted = Filter { released_too: true, ..Filter::default() };
    legal_holds::list(&console(home), &wanted, None).expect("lists").items
}

fn logs(home: &TestHome, store: &str) -> Vec<String> {
    home.keys(store).into_iter().filter(|key| key.contains("-legal-hold-")).collect()
}

fn told_by_events(home: &TestHome) -> Vec<(Option<String>, Option<String>)> {
    let object = home.object("letters");
    let events = all_events(home, &object).into_iter().filter(|event| event.kind == "policy assignment");
    events.map(|event| (event.detail, event.outcome_detail)).collect()
}

fn a_hold_leaves_an_event_a_line_of_the_journal_and_a_log_in_each_store(engine: Engine) {
    let Some(home) = home_on(engine, "") else { return };
    home.ingest("letters", &[("a.txt", b"one")]);
    let placed = legal_holds::add(&console(&home), &letters(&["data/a.txt"]), " Smith v. Jones ").expect("is placed");
    let [hold] = placed.as_slice() else { panic!("one hold: {placed:?}") };
    assert_eq!((hold.on, hold.path.as_deref(), hold.reason.as_str()), ("file", Some("data/a.txt"), "Smith v. Jones"));
    assert_eq!(objects::show(&console(&home), &format!("{INSTITUTION}/letters")).expect("shows").legal_holds, 1);
    let id = hold.legal_hold.to_string();
    let released = legal_holds::release(&console(&home), &id, "settled").expect("is released");
    assert_eq!((released.state, released.release_reason.as_deref()), ("released", Some("settled")));
    let again = legal_holds::release(&console(&home), &id, "settled").expect_err("is released");
    assert!(matches!(again, EngineError::Registry(RegistryError::State { .. })), "{again}");
    let about = Some(format!("legal hold {id}"));
    let expected = ["legal hold placed", "legal hold released"].map(|act| (Some(act.to_owned()), about.clone()));
    assert_eq!(told_by_events(&home), expected, "the reason is in no event");
    for store in KEPT_IN {
        assert_eq!(logs(&home, store).len(), 2, "{store}");
    }
    let lines = home.registry.read(|tx| journal::list(tx, Scope::System, &journal::LineFilter::default(), None, 99));
    let told: Vec<_> = lines
        .expect("lists")
        .into_iter()
        .filter(|line| line.act.starts_with("legal_holds."))
        .map(|line| (line.act, line.target, line.detail.unwrap_or_default()))
        .collect();
    let target = format!("{INSTITUTION}/letters: data/a.txt");
    let line = |act: &str, reason: &str| (act.to_owned(), target.clone(), format!("legal hold {id}: {reason}"));
    assert_eq!(told, [line("legal_holds.add", "Smith v. Jones"), line("legal_holds.release", "settled")]);
}

fn a_hold_is_placed_while_a_worker_has_the_object(engine: Engine) {
    let Some(home) = home_on(engine, "") else { return };
    let object = home.ingest("letters", &[("a.txt", b"one")]).id;
    let owner = uuid::Uuid::now_v7();
    let taken = home.registry.write(move |tx| {
        let until = tx.now()?.plus(600_000_000);
        leases::hold(tx, object, owner, until)
    });
    taken.expect("is taken");
    legal_holds::add(&console(&home), &letters(&[]), "audit").expect("is placed");
    assert_eq!((listed(&home).len(), logs(&home, KEPT_IN[0]).len()), (1, 0));
    home.registry.write(move |tx| leases::release_owner(tx, owner)).expect("is let go");
    app::background::run(&console(&home), "logs", &Shutdown::new()).expect("runs");
    for store in KEPT_IN {
        assert_eq!(logs(&home, store).len(), 1, "{store}");
    }
}

#[test]
fn a_registry_that_is_made_from_a_store_knows_the_holds_on_objects_and_files() {
    let used = home();
    used.ingest("letters", &[("a.txt", b"one"), ("b.txt", b"two")]);
    let call = console(&used);
    // A user at the console is an actor of more than a name.
    let ann = Actor::new(ActorKind::User, "ann@test.edu").at_console("tester");
    let of_ann = OpContext::new(used.home.clone(), Caller { actor: ann, ..Caller::at_console("tester") });
    legal_holds::add(&of_ann, &letters(&[]), "a case of Ann").expect("is placed");
    legal_holds::add(&call, &letters(&[]), "first case").expect("is placed");
    let of_files = legal_holds::add(&call, &letters(&["data/a.txt", "data/b.txt"]), "second case").expect("are placed");
    legal_holds::release(&call, &of_files[0].legal_hold.to_string(), "settled").expect("is released");
    let fresh = home();
    copy_stores(&used, &fresh);
    rebuilt(&fresh, KEPT_IN[0]);
    let shown = |home: &TestHome| format!("{:#?}", listed(home));
    assert_eq!(shown(&fresh), shown(&used));
    assert_eq!(told_by_events(&fresh).len(), 5);
}

fn holds_on_several_files_are_placed_together_or_not_at_all(engine: Engine) {
    let Some(home) = home_on(engine, "") else { return };
    home.ingest("letters", &[("a.txt", b"one"), ("b.txt", b"two")]);
    let missing =
        legal_holds::add(&console(&home), &letters(&["data/a.txt", "data/c.txt"]), "audit").expect_err("c.txt");
    assert!(missing.to_string().contains("c.txt"), "{missing}");
    assert_eq!((listed(&home).len(), told_by_events(&home).len()), (0, 0));
    for reason in ["", " \n", "a\0b", &"a".repeat(2_001)] {
        let refused = legal_holds::add(&console(&home), &letters(&[]), reason).expect_err("no reason");
        assert!(refused.to_string().contains("a reason has"), "{refused}");
    }
    legal_holds::add(&console(&home), &letters(&[]), &"ä".repeat(2_000)).expect("is placed");
    assert_eq!(listed(&home).len(), 1);
}

fn set(call: &OpContext, rules: Rules) -> Result<CollectionView, EngineError> {
    collections::set(call, INSTITUTION, COLLECTION, rules)
}

fn retention(text: Option<&str>) -> Rules {
    Rules { retention: Some(text.map(|text| Period::parse(text).expect("is a period"))), ..Rules::default() }
}

fn disposal(text: &str) -> Rules {
    Rules { disposal: Some(Some(Period::parse(text).expect("is a period"))), ..Rules::default() }
}

fn a_retention_period_is_shortened_by_a_system_admin_only(engine: Engine) {
    let Some(home) = home_on(engine, "") else { return };
    collections::add(&console(&home), INSTITUTION, COLLECTION, Rules::default()).expect("is added");
    let (system, of_institution) = (console(&home), admin(&home));
    set(&of_institution, retention(Some("5y"))).expect("is set");
    let longer = set(&of_institution, retention(Some("10y"))).expect("is lengthened");
    assert_eq!((longer.retention.as_deref(), longer.rules_version), (Some("10y"), 3));
    for shorter in [Some("9y"), Some("3650d"), None] {
        let refused = set(&of_institution, retention(shorter)).expect_err("is shorter");
        assert!(matches!(refused, EngineError::NotAllowed { .. }), "{shorter:?}: {refused}");
    }
    let name = set(&of_institution, Rules { name: Some("Maps".into()), ..Rules::default() }).expect("is set");
    assert_eq!(name.retention.as_deref(), Some("10y"), "what is not said stays");
    set(&system, disposal("9y")).expect_err("is due before its retention is over");
    set(&system, disposal("10y")).expect("is set");
    set(&system, retention(Some("20y"))).expect_err("it would be due before");
    let shortened = set(&system, retention(Some("9y"))).expect("is shortened");
    assert_eq!((shortened.retention.as_deref(), shortened.disposal.as_deref()), (Some("9y"), Some("10y")));
    let removed = collections::remove(&of_institution, INSTITUTION, COLLECTION, true).expect("is removed");
    assert_eq!(removed.retention.as_deref(), Some("9y"));
}

fn due(home: &TestHome, until: Option<Time>) -> Vec<DueView> {
    let mut found = Vec::new();
    let page = |after| disposals::due(&admin(home), (INSTITUTION, COLLECTION), until, after);
    let taken: Result<(), EngineError> = app::each(page, |due| {
        found.push(due);
        Ok(())
    });
    taken.expect("lists");
    found
}

fn what_is_due_is_listed_with_what_forbids_its_deletion(engine: Engine) {
    let Some(home) = home_on(engine, "") else { return };
    collections::add(&console(&home), INSTITUTION, COLLECTION, Rules::default()).expect("is added");
    for name in ["letters", "notes"] {
        let request = DepositRequest {
            sources: vec![PackageSource::LocalPath(home.bag(name, &[("a.txt", name.as_bytes())]))],
            collection: Some(COLLECTION.to_owned()),
            ..DepositRequest::of_system(INSTITUTION)
        };
        let made = deposit(&home.home, &request).expect("deposits");
        work_on(&home.home, &made.items, &Shutdown::new()).expect("works");
    }
    assert_eq!(due(&home, Some(Time(i64::MAX))).len(), 0, "without a rule nothing is ever due");
    set(&console(&home), Rules { disposal: disposal("30d").disposal, ..retention(Some("20d")) }).expect("is set");
    assert_eq!(due(&home, None).len(), 0);
    let ahead = home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?)).expect("reads").plus(31 * 86_400_000_000);
    let found = due(&home, Some(ahead));
    let kinds = |found: &[DueView]| -> Vec<Vec<&'static str>> {
        found.iter().map(|one| one.obstacles.iter().map(|obstacle| obstacle.kind).collect()).collect()
    };
    assert_eq!(kinds(&found), [["retention"], ["retention"]]);
    assert!(found.iter().all(|one| one.due_since > one.deposited_at && one.rules_version == 2));
    home.clock.advance(DAY * 31);
    legal_holds::add(&console(&home), &letters(&[]), "audit").expect("is placed");
    let found = due(&home, None);
    let mut told: Vec<_> = found.iter().map(|one| (one.identifier.as_str(), one.obstacles.len())).collect();
    told.sort_unstable();
    assert_eq!(told, [("test.edu/letters", 1), ("test.edu/notes", 0)]);
    home.clock.set_back(DAY * 2);
    assert_eq!(due(&home, None).len(), 0, "by a clock that is turned back nothing is due");
}
