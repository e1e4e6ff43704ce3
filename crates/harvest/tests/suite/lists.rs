//! Lists of several pages and sets: tokens, windows, sets that fail, lists that have no end.

use strongroom_download::Supervision;
use strongroom_harvest::{Cursor, Event, HarvestError, Notice, OaiOptions, RecordSource, Window};
use strongroom_oai_double::{OaiDouble, OaiFault, OaiRecord};

use crate::{given, id, ids, of_sets, records, sound, source, text, whole};

#[test]
fn pages_are_asked_for_as_they_are_consumed() {
    let provider = OaiDouble::start(records(0..35));
    let source = whole(&provider);
    let mut events = source.records(None, Supervision::default()).unwrap();
    assert_eq!(provider.queries().len(), 0);
    for number in 0..10 {
        let event = events.next().unwrap().unwrap();
        assert!(matches!(event, Event::Record(record) if record.id == id(number)));
        assert_eq!(provider.queries().len(), 1);
    }
    assert!(matches!(events.next(), Some(Ok(Event::Page(_)))));
    assert_eq!(provider.queries().len(), 1);
    assert!(matches!(events.next(), Some(Ok(Event::Record(record))) if record.id == id(10)));
    assert_eq!(provider.queries().len(), 2);
    let rest = events.map(Result::unwrap).filter(|event| matches!(event, Event::Record(_))).count();
    assert_eq!((rest, provider.queries().len()), (24, 4));
}

#[test]
fn a_token_is_the_only_argument_besides_the_verb() {
    let provider = OaiDouble::start(records(0..12));
    assert_eq!(sound(&whole(&provider)).ids(), ids(0..12));
    let queries = provider.queries();
    assert_eq!(queries[0], "verb=ListRecords&metadataPrefix=oai_dc");
    assert!(queries[1].starts_with("verb=ListRecords&resumptionToken=10%26ListRecords%20%2B%20"), "{}", queries[1]);
    assert!(!queries[1].contains("&metadataPrefix="));
}

#[test]
fn the_end_of_a_list_is_an_absent_token_or_an_empty_one_also_after_an_empty_page() {
    for faults in [vec![], vec![OaiFault::EmptyLastPage]] {
        let provider = OaiDouble::start(records(0..20));
        for fault in faults {
            provider.on(fault);
        }
        assert_eq!(sound(&whole(&provider)).ids(), ids(0..20));
    }
    let provider = OaiDouble::start(records(0..3));
    assert_eq!(sound(&whole(&provider)).ids(), ids(0..3));
}

#[test]
fn an_empty_list_is_no_error() {
    let provider = OaiDouble::start(Vec::new());
    let given = sound(&whole(&provider));
    assert!(given.records.is_empty() && given.notices.is_empty());
}

#[test]
fn a_window_is_asked_for_in_the_granularity_of_the_provider() {
    let provider = OaiDouble::start(records(0..30));
    let window = Window {
        from: Some("2024-01-01T00:05:00.7Z".parse().unwrap()),
        until: Some("2024-01-01T00:08:00Z".parse().unwrap()),
    };
    let options = OaiOptions { window, ..OaiOptions::default() };
    assert_eq!(sound(&source(&provider, options.clone())).ids(), ids(5..9));
    let expected =
        "verb=ListRecords&metadataPrefix=oai_dc&from=2024-01-01T00%3A05%3A00Z&until=2024-01-01T00%3A08%3A00Z";
    assert_eq!(provider.queries()[1], expected);
    provider.use_days();
    assert_eq!(sound(&source(&provider, options)).ids(), ids(0..30));
    assert!(provider.queries()[3].ends_with("&from=2024-01-01&until=2024-01-01"));
    let window = Window { from: Some("2030-01-01T00:00:00Z".parse().unwrap()), until: None };
    assert!(sound(&source(&provider, OaiOptions { window, ..OaiOptions::default() })).records.is_empty());
}

#[test]
fn the_clock_of_the_provider_is_kept_for_the_next_harvest() {
    let provider = OaiDouble::start(records(0..12));
    let given = sound(&whole(&provider));
    for cursor in &given.cursors {
        let Cursor::Oai(cursor) = cursor else { panic!() };
        assert_eq!(cursor.began(), Some("2024-12-31T12:00:00Z"));
    }
}

fn in_sets() -> Vec<OaiRecord> {
    records(0..30).into_iter().enumerate().map(|(number, record)| record.within(["a", "b", "c"][number % 3])).collect()
}

#[test]
fn sets_are_read_one_after_the_other_and_one_that_fails_is_told() {
    let provider = OaiDouble::start(in_sets());
    provider.set_page(4);
    provider.on(OaiFault::SetFails("b".to_owned()));
    let given = sound(&of_sets(&provider, &["c", "b", "a"]));
    let expected = (0..30).filter(|number| number % 3 == 2).chain((0..30).filter(|number| number % 3 == 0));
    assert_eq!(given.ids(), expected.map(id).collect::<Vec<_>>());
    let [Notice::SetFailed { set, error }] = given.notices.as_slice() else { panic!("{:?}", given.notices) };
    assert_eq!(set, "b");
    assert_eq!(
        error.to_string(),
        format!(
            "{} (ListRecords, set b, page 1) was answered with badArgument (the set is broken)",
            provider.base_url()
        )
    );
    let Some(Cursor::Oai(cursor)) = given.cursors.last() else { panic!() };
    assert_eq!(cursor.failed_sets(), ["b"]);
}

#[test]
fn a_set_has_the_records_of_those_below_it() {
    let provider = OaiDouble::start(vec![records(0..1).remove(0).within("a:b"), records(1..2).remove(0).within("ab")]);
    let given = sound(&of_sets(&provider, &["a"]));
    assert_eq!(given.ids(), ids(0..1));
    assert_eq!(given.records[0].sets, ["a:b"]);
}

#[test]
fn without_sets_an_error_of_the_list_is_an_error() {
    let provider = OaiDouble::start(records(0..3));
    let options = OaiOptions { prefix: "marc".to_owned(), ..OaiOptions::default() };
    let given = given(&source(&provider, options));
    assert!(matches!(given.error, Some(HarvestError::Oai { .. })), "{:?}", given.error);
}

#[test]
fn an_expired_token_begins_the_list_again_and_no_record_is_lost() {
    for (ordered, unordered_provider) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut all = records(0..35);
        if unordered_provider {
            all.swap(3, 30);
        }
        let provider = OaiDouble::start(all);
        if unordered_provider {
            provider.on(OaiFault::Unordered);
        }
        provider.on(OaiFault::ExpiredToken { offset: 20, times: 1 });
        let given = sound(&source(&provider, OaiOptions { is_ordered: ordered, ..OaiOptions::default() }));
        assert_eq!(given.distinct(), ids(0..35));
        let [Notice::Restarted { set: None, from }] = given.notices.as_slice() else { panic!("{:?}", given.notices) };
        // An order that was broken before is not trusted, whatever the options say.
        let is_at_latest = ordered && !unordered_provider;
        assert_eq!(from.as_deref(), is_at_latest.then_some("2024-01-01T00:19:00Z"));
        assert_eq!(given.records.len(), if is_at_latest { 36 } else { 55 });
    }
}

#[test]
fn a_list_whose_token_always_expires_ends_with_an_error_that_says_so() {
    let provider = OaiDouble::start(records(0..35));
    provider.on(OaiFault::ExpiredToken { offset: 20, times: usize::MAX });
    let given = given(&whole(&provider));
    assert_eq!(given.distinct(), ids(0..20));
    assert!(matches!(given.error, Some(HarvestError::TokenExpired { restarts: 3, .. })), "{:?}", given.error);
    assert!(text(&given.error.unwrap()).contains("(ListRecords, page 3) has expired"));
}

#[test]
fn an_ordered_list_whose_tokens_expire_soon_comes_to_its_end() {
    // A token of two pages later is never taken.
    let provider = OaiDouble::start(records(0..100));
    provider.on(OaiFault::ExpiredToken { offset: 20, times: usize::MAX });
    let given = sound(&source(&provider, OaiOptions { is_ordered: true, ..OaiOptions::default() }));
    assert_eq!(given.distinct(), ids(0..100));
}

#[test]
fn a_list_without_end_is_found() {
    for fault in [OaiFault::SameToken, OaiFault::TokensInCircle(20), OaiFault::TokensInCircle(35)] {
        let provider = OaiDouble::start(records(0..40));
        provider.on(fault);
        let given = given(&whole(&provider));
        let Some(HarvestError::Loop { .. }) = &given.error else { panic!("{:?}", given.error) };
        assert!(text(&given.error.unwrap()).contains("its list has no end"));
        assert!(provider.queries().len() < 20);
    }
}

#[test]
fn records_that_come_twice_are_given_twice() {
    let provider = OaiDouble::start(records(0..25));
    provider.on(OaiFault::RepeatsRecords);
    let given = sound(&whole(&provider));
    assert_eq!((given.records.len(), given.distinct()), (27, ids(0..25)));
}

#[test]
fn records_that_change_between_pages_are_given_as_they_are_then() {
    let provider = OaiDouble::start(records(0..25));
    let later = OaiRecord::new(&id(3), "2024-06-01T00:00:00Z").titled(b"later");
    let gone = OaiRecord::new(&id(22), "2024-06-02T00:00:00Z").deleted();
    provider.on(OaiFault::Changes { offset: 10, records: vec![later, gone] });
    let given = sound(&whole(&provider));
    let of = |wanted: &str| given.records.iter().filter(|record| record.id == wanted).collect::<Vec<_>>();
    assert_eq!(of(&id(3)).len(), 2);
    assert!(of(&id(22)).iter().all(|record| record.is_deleted));
    assert_eq!(given.records.iter().filter(|record| record.is_deleted).count(), 1);
}

#[test]
fn deleted_records_are_told() {
    let provider = OaiDouble::start(vec![records(0..1).remove(0), records(1..2).remove(0).deleted()]);
    let given = sound(&whole(&provider));
    assert_eq!(given.records.iter().map(|record| record.is_deleted).collect::<Vec<_>>(), [false, true]);
    assert_eq!(given.records[1].datestamp.as_deref(), Some("2024-01-01T00:01:00Z"));
}

#[test]
fn options_that_cannot_be_are_refused() {
    let provider = OaiDouble::start(Vec::new());
    let time = |text: &str| Some(text.parse().unwrap());
    let window = Window { from: time("2024-01-02T00:00:00Z"), until: time("2024-01-01T00:00:00Z") };
    let options = OaiOptions::default;
    for options in [
        OaiOptions { prefix: String::new(), ..options() },
        OaiOptions { prefix: "oai dc".to_owned(), ..options() },
        OaiOptions { sets: vec!["a".to_owned(), "a".to_owned()], ..options() },
        OaiOptions { sets: vec![String::new()], ..options() },
        OaiOptions { window, ..options() },
    ] {
        let error = strongroom_harvest::OaiSource::new(crate::client(&provider), options).unwrap_err();
        assert!(matches!(error, HarvestError::Setting { .. }), "{error:?}");
    }
}
