//! The agent harvest over providers of OAI-PMH that are overloaded or wrong.

use strongroom_engine::app::activities::{self, ActivityState};
use strongroom_oai_double::{OaiDouble, OaiFault, OaiRecord, PATH};
use strongroom_records::RecordState;
use strongroom_registry::documents;
use strongroom_web_double::Behaviour;

use super::harvesting::some_records;
use super::{begin, call, check_counts, home_for, ids, records, show, work};
use crate::fixture::{Engine, on_both_databases};

on_both_databases! {
    case_7_a_provider_that_asks_to_wait_is_waited_for
    case_7_a_page_that_is_cut_off_is_asked_for_again
    a_page_that_stays_cut_off_fails_the_activity_and_a_restart_goes_on_at_that_page
    records_in_another_encoding_than_is_declared_fail_and_the_others_are_kept
    case_6_records_that_come_twice_are_one_record_of_the_list
    case_7_a_record_that_changes_while_it_is_harvested_is_kept_in_its_later_state
}

fn case_7_a_provider_that_asks_to_wait_is_waited_for(engine: Engine) {
    let provider = OaiDouble::start(some_records(15));
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    provider.web().on(PATH, Behaviour::RetryAfter { times: 1, value: "1".to_owned() });
    let id = begin(&home, "harvest", &[("url", &provider.base_url())]);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.processed, view.failed), (ActivityState::Finished, Some(15), Some(0)));
    assert_eq!(provider.queries().len(), 3, "two pages, and one that was asked for again");
}

fn case_7_a_page_that_is_cut_off_is_asked_for_again(engine: Engine) {
    let provider = OaiDouble::start(some_records(25));
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    provider.on(OaiFault::CutXml { offset: 10, times: 1 });
    let id = begin(&home, "harvest", &[("url", &provider.base_url())]);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.processed, view.populated), (ActivityState::Finished, Some(25), Some(25)));
    assert_eq!(provider.queries().len(), 4);
}

fn a_page_that_stays_cut_off_fails_the_activity_and_a_restart_goes_on_at_that_page(engine: Engine) {
    let provider = OaiDouble::start(some_records(35));
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    provider.on(OaiFault::CutXml { offset: 20, times: usize::MAX });
    let id = begin(&home, "harvest", &[("url", &provider.base_url())]);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.processed), (ActivityState::Failed, Some(20)), "{view:?}");
    assert!(view.error.is_some_and(|error| error.contains("page 3")));
    provider.mend();
    let before = provider.queries().len();
    activities::restart(&call(&home), id).expect("restarts");
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.processed), (ActivityState::Finished, Some(35)));
    assert_eq!(provider.queries().len() - before, 2, "the pages before were not asked for again");
}

fn records_in_another_encoding_than_is_declared_fail_and_the_others_are_kept(engine: Engine) {
    let mut given = some_records(12);
    // ISO 8859-1 in an answer that says UTF-8.
    given[4] = given[4].clone().titled(b"Caf\xe9");
    let provider = OaiDouble::start(given);
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let id = begin(&home, "harvest", &[("url", &provider.base_url())]);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.processed, view.failed), (ActivityState::FinishedWithErrors, Some(11), Some(1)));
    let failed = records(&home, id, RecordState::Failed);
    assert_eq!(failed[0].record, "oai:x:04");
    assert!(failed[0].error.as_deref().is_some_and(|error| error.contains("UTF-8")), "{failed:?}");
    // An answer that says another encoding is not guessed at.
    provider.change(|records| records[4] = records[4].clone().titled(b"Mended"));
    provider.on(OaiFault::DeclaresEncoding("UTF-16".to_owned()));
    let id = begin(&home, "harvest", &[("url", &provider.base_url())]);
    work(&home);
    let view = show(&home, id);
    assert_eq!(view.state, ActivityState::Failed, "{view:?}");
    assert!(view.error.is_some_and(|error| error.contains("UTF-16")));
}

fn case_6_records_that_come_twice_are_one_record_of_the_list(engine: Engine) {
    let provider = OaiDouble::start(some_records(25));
    provider.on(OaiFault::RepeatsRecords);
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let id = begin(&home, "harvest", &[("url", &provider.base_url())]);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.processed, view.populated), (ActivityState::Finished, Some(25), Some(25)));
    assert_eq!(ids(&home, id, RecordState::Processed).len(), 25);
}

fn case_7_a_record_that_changes_while_it_is_harvested_is_kept_in_its_later_state(engine: Engine) {
    let given = some_records(25);
    let provider = OaiDouble::start(given.clone());
    // It comes again at the end of the list.
    let later = OaiRecord { datestamp: "2025-01-01T00:00:00Z".to_owned(), ..given[3].clone().titled(b"Later") };
    provider.on(OaiFault::Changes { offset: 10, records: vec![later] });
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let id = begin(&home, "harvest", &[("url", &provider.base_url())]);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.failed), (ActivityState::Finished, Some(0)), "{view:?}");
    let all = records(&home, id, RecordState::Processed);
    let of_it: Vec<_> = all.iter().filter(|record| record.record == "oai:x:03").collect();
    assert_eq!(of_it.len(), 1);
    let document = documents::of_entity(of_it[0].result.as_deref().expect("a result")).expect("a document");
    let kept = home.registry.read(|tx| documents::get(tx, document)).expect("reads").expect("it is kept");
    let text = String::from_utf8(kept.bytes).expect("UTF-8");
    assert!(text.contains("<dc:title>Later</dc:title>"), "{text}");
}
