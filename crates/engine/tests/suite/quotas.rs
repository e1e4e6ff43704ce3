//! Storage quotas, the cost of storage, and the weekly storage report.

use std::sync::Arc;
use std::time::Duration;

use strongroom_engine::app::institutions::{self, Changes};
use strongroom_engine::app::items::Ask;
use strongroom_engine::app::statistics::{self, CostBy, Filter, StorageBy};
use strongroom_engine::app::{Caller, OpContext, items as item_acts, outbox};
use strongroom_engine::findings::Counting;
use strongroom_engine::ingest::{DepositRequest, PackageSource, deposit};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::survey::Survey;
use strongroom_engine::{Home, background, status, work_on};
use strongroom_registry::items::Item;
use strongroom_registry::{ItemId, ItemStatus, Scope, items, outbox as messages};

use crate::deletions::world;
use crate::fixture::{self, Engine, INSTITUTION, TestHome, on_both_databases};

const DAY: Duration = Duration::from_hours(24);

fn console(home: &Arc<Home>) -> OpContext {
    OpContext::new(home.clone(), Caller::at_console("tester"))
}

fn run(home: &Home) -> String {
    let task = background::TASKS.iter().find(|task| task.name == "statistics").expect("the task");
    (task.run)(home, &Shutdown::new()).expect("runs")
}

fn set_quota(home: &TestHome, bytes: u64) {
    let changes = Changes { storage_quota: Some(bytes), ..Changes::default() };
    institutions::set(&console(&home.home), INSTITUTION, changes).expect("sets it");
}

fn submit(home: &TestHome, name: &str, bytes: usize) -> ItemId {
    let bag = home.bag(name, &[("a.bin", &name.as_bytes().repeat(bytes / name.len())), ("b.txt", b"small")]);
    let request =
        DepositRequest { sources: vec![PackageSource::LocalPath(bag)], ..DepositRequest::of_system(INSTITUTION) };
    deposit(&home.home, &request).expect("deposits").items[0]
}

fn worked(home: &TestHome, id: ItemId) -> Item {
    work_on(&home.home, &[id], &Shutdown::new()).expect("works");
    home.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item")
}

fn codes(home: &TestHome, item: ItemId) -> Vec<String> {
    let found = home.registry.read(|tx| items::problems(tx, Scope::System, item, 100)).expect("problems");
    found.into_iter().map(|problem| problem.code).collect()
}

fn a_deposit_that_would_pass_the_quota_is_refused_before_it_is_stored(engine: Engine) {
    let Some(home) = fixture::home_on(engine, "") else { return };
    set_quota(&home, 100_000);
    let small = worked(&home, submit(&home, "letters", 50_000));
    assert_eq!(small.status, ItemStatus::Succeeded, "{:?}", small.note);
    let before = home.keys("primary");
    let large = worked(&home, submit(&home, "maps", 60_000));
    assert_eq!((large.status, large.stage.as_str()), (ItemStatus::Failed, "compare"), "{:?}", large.note);
    assert_eq!(codes(&home, large.id), ["deposit.storage_quota"]);
    let note = large.note.as_deref().expect("a note");
    assert!(
        note.contains("a system_admin (institutions.set)") && note.contains(" kB'; then strongroom items"),
        "{note}"
    );
    assert_eq!(home.keys("primary"), before);
    // What adds nothing is not refused, also where there is no room at all.
    set_quota(&home, 1);
    let same = worked(&home, submit(&home, "letters", 50_000));
    assert_eq!(same.status, ItemStatus::Succeeded, "{:?}", same.note);
    // With more room it goes on, and the note warns.
    let (kept, _) = statistics::storage(&console(&home.home), StorageBy::Store, &Filter::default()).expect("reports");
    set_quota(&home, kept[0].bytes.unsigned_abs() + 63_000);
    item_acts::steer(&console(&home.home), &[large.id], Ask::Requeue(None), None).expect("requeues");
    let again = worked(&home, large.id);
    assert_eq!(again.status, ItemStatus::Succeeded, "{:?}", again.note);
    let history = home.registry.read(|tx| items::history(tx, Scope::System, large.id)).expect("its history");
    assert!(
        history.iter().any(|line| line.note.as_deref().is_some_and(|note| note.contains("% of the storage quota")))
    );
    run(&home);
    let survey = Survey::of(home.path(), &home.settings, Some(&home.registry), Counting::Bounded).expect("looks");
    let status = status::collect(home.path(), &home.settings, &home.registry, &survey).expect("status");
    let [quota] = status.storage_quotas.as_slice() else { panic!("{:?}", status.storage_quotas) };
    assert_eq!((quota.institution.as_str(), quota.percent >= 90), (INSTITUTION, true));
}

fn two_deposits_at_once_do_not_both_get_the_same_room(engine: Engine) {
    let Some(home) = fixture::home_on(engine, "") else { return };
    set_quota(&home, 100_000);
    let ids = [submit(&home, "letters", 60_000), submit(&home, "maps", 60_000)];
    work_on(&home.home, &ids, &Shutdown::new()).expect("works");
    let items = ids.map(|id| home.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item"));
    let mut states = items.map(|item| item.status.as_str());
    states.sort_unstable();
    assert_eq!(states, ["failed", "succeeded"]);
}

on_both_databases! {
    a_deposit_that_would_pass_the_quota_is_refused_before_it_is_stored
    two_deposits_at_once_do_not_both_get_the_same_room
}

#[test]
fn cost_is_bytes_by_price_and_month() {
    let settings = "[statistics]\ncurrency = \"CHF\"\nprices = [\"primary=1000000\"]\n";
    let home = fixture::home_with(settings);
    let id = submit(&home, "letters", 3_000_000);
    assert_eq!(worked(&home, id).status, ItemStatus::Succeeded);
    run(&home);
    home.clock.advance(DAY * 62);
    let costs = statistics::cost(&console(&home.home), CostBy::Store, &Filter::default()).expect("reports");
    let months: Vec<_> = costs.iter().filter(|row| row.store.as_deref() == Some("primary")).collect();
    assert!(months.len() >= 3, "{costs:?}");
    // A whole month: 3 MB and a little, of 1000000 for 1 TB.
    let (cost, bytes) = (months[1].cost.parse::<f64>().expect("a number"), months[1].bytes);
    assert!((3.0..3.1).contains(&cost) && bytes >= 3_000_000, "{costs:?}");
    assert_eq!((months[1].currency.as_str(), months[1].without_price), ("CHF", 0));
    assert!(costs.iter().any(|row| row.store.as_deref() == Some("secondary") && row.without_price > 0));
}

/// What was kept while the clock was ahead is kept today, and costs from today on.
#[test]
fn what_came_while_the_clock_was_ahead_costs_from_today_on() {
    let home = fixture::home_with("[statistics]\nprices = [\"primary=1000000\"]\n");
    let id = submit(&home, "letters", 3_000_000);
    assert_eq!(worked(&home, id).status, ItemStatus::Succeeded);
    home.clock.advance(DAY * 400);
    let id = submit(&home, "maps", 3_000_000);
    assert_eq!(worked(&home, id).status, ItemStatus::Succeeded);
    run(&home);
    home.clock.set_back(DAY * 400);
    let of = |by: &[i64]| by.iter().sum::<i64>();
    let costs = statistics::cost(&console(&home.home), CostBy::Store, &Filter::default()).expect("reports");
    let costs: Vec<i64> =
        costs.iter().filter(|row| row.store.as_deref() == Some("primary")).map(|row| row.bytes).collect();
    let (kept, _) = statistics::storage(&console(&home.home), StorageBy::Store, &Filter::default()).expect("reports");
    let kept: Vec<i64> =
        kept.iter().filter(|row| row.store.as_deref() == Some("primary")).map(|row| row.bytes).collect();
    // One day of a month of 28 to 31.
    assert!((of(&kept) / 31..=of(&kept) / 28).contains(&of(&costs)), "{costs:?} {kept:?}");
}

#[test]
fn a_storage_report_is_mailed_once_a_week() {
    let mail = "[mail]\nhost = \"localhost\"\nport = 1\ntls = \"none\"\nfrom = \"strongroom@example.edu\"\n";
    let Some(home) = world(Engine::Sqlite, mail) else { return };
    let mails = || {
        let listed = outbox::waiting(&console(&home.home), None).expect("lists").items;
        listed.into_iter().filter(|one| one.subject.as_deref().is_some_and(|text| text.starts_with("Storage report")))
    };
    assert!(!run(&home).contains("mailed"));
    assert_eq!(mails().count(), 0, "nothing is reported of the week before the first run");
    home.clock.advance(DAY * 7);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| run(&home));
        }
    });
    run(&home);
    assert_eq!(mails().count(), 1);
    let mail = mails().next().expect("a mail");
    assert_eq!(mail.to.len(), 2, "the admins of the institution");
    let sent = home.registry.read(|tx| messages::get(tx, mail.message)).expect("reads").expect("the mail");
    let payload: serde_json::Value = serde_json::from_str(&sent.payload).expect("JSON");
    let text = payload["text"].as_str().expect("a text");
    for part in [&format!("Storage report of {INSTITUTION}, 20"), " KiB (", "include the records that Strongroom keeps"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    home.clock.advance(DAY * 7);
    run(&home);
    assert_eq!(mails().count(), 2);
}
