//! Reading that goes on where it ended: from every cursor that a source gave, stored and read again.

use strongroom_harvest::{
    Cursor, FileOptions, FileRecords, FileSource, HarvestError, Limits, OaiOptions, RecordSource, Window,
};
use strongroom_oai_double::{OaiDouble, OaiFault};

use crate::{given_from, id, ids, of_sets, records, sound, source, whole};

fn stored(cursor: &Cursor) -> Cursor {
    serde_json::from_str(&serde_json::to_string(cursor).unwrap()).unwrap()
}

/// Whether what comes after each cursor is what came after it when it was given.
pub(crate) fn every_cursor_goes_on(source: &dyn RecordSource) {
    let all = sound(source);
    for cursor in &all.cursors {
        let rest = given_from(source, Some(stored(cursor)));
        assert!(rest.error.is_none(), "{:?}", rest.error);
        assert_eq!(rest.ids(), all.ids()[all.ids().len() - rest.records.len()..], "{cursor:?}");
        let at = all.cursors.iter().position(|other| other == cursor).unwrap();
        assert_eq!(rest.cursors.len(), all.cursors.len() - 1 - at, "{cursor:?}");
    }
    assert!(given_from(source, all.cursors.last().cloned()).records.is_empty());
}

#[test]
fn a_harvest_goes_on_from_every_cursor() {
    let provider = OaiDouble::start(records(0..35));
    every_cursor_goes_on(&whole(&provider));
    let all = records(0..30).into_iter().enumerate();
    let provider = OaiDouble::start(all.map(|(number, record)| record.within(["a", "b"][number % 2])).collect());
    provider.set_page(4);
    every_cursor_goes_on(&of_sets(&provider, &["b", "a"]));
    provider.on(OaiFault::SetFails("b".to_owned()));
    every_cursor_goes_on(&of_sets(&provider, &["b", "a"]));
}

#[test]
fn a_stored_token_that_has_expired_begins_the_list_again() {
    let provider = OaiDouble::start(records(0..35));
    let source = whole(&provider);
    let cursor = sound(&source).cursors.remove(1);
    provider.on(OaiFault::ExpiredToken { offset: 20, times: 1 });
    let rest = given_from(&source, Some(cursor));
    assert_eq!((rest.ids(), rest.notices.len()), (ids(0..35).iter().map(String::as_str).collect(), 1));
}

#[test]
fn restarts_are_counted_over_stored_cursors() {
    let provider = OaiDouble::start(records(0..35));
    provider.on(OaiFault::ExpiredToken { offset: 20, times: usize::MAX });
    let source = whole(&provider);
    let mut cursor = None;
    let mut reads = 0;
    // Each reading is ended by its caller after two pages.
    let error = loop {
        reads += 1;
        assert!(reads < 20);
        let mut pages = 0;
        let mut ended = None;
        for event in source.records(cursor.take(), strongroom_download::Supervision::default()).unwrap() {
            match event {
                Ok(strongroom_harvest::Event::Page(place)) => {
                    cursor = Some(stored(&place));
                    pages += 1;
                }
                Ok(_) => {}
                Err(error) => ended = Some(error),
            }
            if pages == 2 {
                break;
            }
        }
        if let Some(error) = ended {
            break error;
        }
    };
    assert!(matches!(error, HarvestError::TokenExpired { .. }), "{error:?}");
}

#[test]
fn a_cursor_of_another_harvest_is_refused() {
    let provider = OaiDouble::start(records(0..35).into_iter().map(|record| record.within("a")).collect());
    let cursor = sound(&of_sets(&provider, &["a"])).cursors.remove(0);
    let folder = tempfile::tempdir().unwrap();
    let files = FileSource::new(FileOptions {
        path: folder.path().to_owned(),
        records: FileRecords::Marc,
        limits: Limits::default(),
    })
    .unwrap();
    let sets = vec!["a".to_owned()];
    let of_a = || OaiOptions { sets: sets.clone(), ..OaiOptions::default() };
    let window = Window { from: Some("2024-01-01T00:00:00Z".parse().unwrap()), until: None };
    let others: [(&dyn RecordSource, &str); 5] = [
        (&whole(&provider), "it is of the set \"a\", which the source does not read"),
        (&of_sets(&provider, &["b"]), "it is of the set \"a\", which the source does not read"),
        (&source(&provider, OaiOptions { prefix: "marc".to_owned(), ..of_a() }), "its metadata prefix is \"oai_dc\""),
        (&source(&provider, OaiOptions { window, ..of_a() }), "its beginning of the window is none"),
        (&files, "it is of another kind of source"),
    ];
    for (other, reason) in others {
        let error = given_from(other, Some(cursor.clone())).error.unwrap();
        assert!(matches!(error, HarvestError::Cursor { .. }));
        assert!(error.to_string().contains(reason), "{error}");
    }
    let rest = given_from(&of_sets(&provider, &["a"]), Some(cursor));
    assert_eq!(rest.ids()[0], id(10));
}
