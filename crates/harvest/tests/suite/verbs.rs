//! The six verbs, and the errors of the protocol.

use strongroom_download::Supervision;
use strongroom_harvest::{Granularity, HarvestError, OaiCode, OaiOptions, RecordSource};
use strongroom_oai_double::{OaiDouble, OaiFault, OaiRecord};

use crate::{client, id, ids, records, sound, source, whole};

fn code(error: &HarvestError) -> OaiCode {
    match error {
        HarvestError::Oai { errors, .. } => errors[0].code.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_provider_says_what_it_is() {
    let provider = OaiDouble::start(records(3..5));
    let identify = client(&provider).identify(&Supervision::default()).unwrap();
    assert_eq!(identify.repository_name, "Test provider");
    assert_eq!(identify.base_url, provider.base_url());
    assert_eq!(identify.protocol_version, "2.0");
    assert_eq!(identify.admin_emails, ["admin@example.org"]);
    assert_eq!(identify.earliest_datestamp, "2024-01-01T00:03:00Z");
    assert_eq!((identify.deleted_record.as_str(), identify.granularity), ("persistent", Granularity::Second));
    let description = whole(&provider).describe(&Supervision::default()).unwrap();
    assert_eq!((description.name.as_str(), description.kind.as_str()), ("Test provider", "OAI-PMH 2.0"));
    assert_eq!(description.deleted_records.as_deref(), Some("persistent"));
    provider.use_days();
    assert_eq!(client(&provider).identify(&Supervision::default()).unwrap().granularity, Granularity::Day);
}

#[test]
fn formats_are_those_of_the_provider_or_of_a_record() {
    let provider = OaiDouble::start(vec![records(0..1).remove(0), records(1..2).remove(0).deleted()]);
    let client = client(&provider);
    for id in [None, Some(id(0))] {
        let formats = client.formats(id.as_deref(), &Supervision::default()).unwrap();
        assert_eq!(formats[0].prefix, "oai_dc");
        assert_eq!(formats[0].namespace, "http://www.openarchives.org/OAI/2.0/oai_dc/");
        assert!(formats[0].schema.ends_with("oai_dc.xsd"));
    }
    let refused = |id: &str| code(&client.formats(Some(id), &Supervision::default()).unwrap_err());
    assert_eq!(refused(&id(1)), OaiCode::NoMetadataFormats);
    assert_eq!(refused("oai:test:none"), OaiCode::IdDoesNotExist);
}

#[test]
fn sets_are_listed_page_by_page_as_they_are_consumed() {
    let provider = OaiDouble::start(
        (0..5).map(|number| records(number..number + 1).remove(0).within(&format!("s{number}:t"))).collect(),
    );
    provider.set_page(3);
    let client = client(&provider);
    let mut sets = client.sets(Supervision::default());
    for _ in 0..3 {
        sets.next().unwrap().unwrap();
    }
    assert_eq!(provider.queries().len(), 1);
    let rest: Vec<String> = sets.map(|set| set.unwrap().spec).collect();
    assert_eq!(rest, ["s1:t", "s2", "s2:t", "s3", "s3:t", "s4", "s4:t"]);
    assert_eq!(provider.queries().len(), 4);
}

#[test]
fn a_provider_without_sets_says_so() {
    let provider = OaiDouble::start(records(0..2));
    let client = client(&provider);
    let all: Vec<_> = client.sets(Supervision::default()).collect();
    assert_eq!(all.len(), 1);
    assert_eq!(code(all[0].as_ref().unwrap_err()), OaiCode::NoSetHierarchy);
}

#[test]
fn one_record_is_had_by_its_identifier() {
    let odd = "oai:test:a b+c&d/\u{e9}%20";
    let provider =
        OaiDouble::start(vec![OaiRecord::new(odd, "2024-01-01T00:00:00Z"), records(1..2).remove(0).deleted()]);
    let client = client(&provider);
    let get = |id: &str, prefix: &str| client.record(id, prefix, &Supervision::default());
    let record = get(odd, "oai_dc").unwrap().unwrap();
    assert_eq!((record.id.as_str(), record.is_deleted), (odd, false));
    assert!(record.document.is_some());
    let deleted = get(&id(1), "oai_dc").unwrap().unwrap();
    assert!(deleted.is_deleted && deleted.document.is_none());
    assert_eq!(get("oai:test:none", "oai_dc").unwrap(), None);
    assert_eq!(code(&get(odd, "marc").unwrap_err()), OaiCode::CannotDisseminateFormat);
    assert!(provider.queries()[0].contains("a%20b%2Bc%26d%2F%C3%A9%2520"), "{:?}", provider.queries()[0]);
}

#[test]
fn headers_are_listed_without_documents() {
    let provider = OaiDouble::start(records(0..25));
    provider.change(|records| records[7] = records[7].clone().deleted());
    let given = sound(&source(&provider, OaiOptions { headers_only: true, ..OaiOptions::default() }));
    assert_eq!(given.ids(), ids(0..25));
    assert!(given.records.iter().all(|record| record.document.is_none()));
    let deleted: Vec<_> = given.records.iter().filter(|record| record.is_deleted).map(|record| &record.id).collect();
    assert_eq!(deleted, [&id(7)]);
    assert!(provider.queries().iter().all(|query| query.starts_with("verb=ListIdentifiers&")));
}

#[test]
fn errors_of_the_protocol_are_told_also_with_a_status_of_http() {
    for with_status in [false, true] {
        let provider = OaiDouble::start(records(0..2));
        if with_status {
            provider.on(OaiFault::ErrorStatus);
        }
        let client = client(&provider);
        let error = client.record(&id(0), "marc", &Supervision::default()).unwrap_err();
        assert_eq!(code(&error), OaiCode::CannotDisseminateFormat);
        let expected = format!(
            "{} (GetRecord) was answered with cannotDisseminateFormat (only oai_dc is here)",
            provider.base_url()
        );
        assert_eq!(error.to_string(), expected);
        assert!(!error.is_transient());
    }
}

#[test]
fn every_code_of_the_protocol_is_known() {
    for word in [
        "badArgument",
        "badResumptionToken",
        "badVerb",
        "cannotDisseminateFormat",
        "idDoesNotExist",
        "noRecordsMatch",
        "noMetadataFormats",
        "noSetHierarchy",
    ] {
        let code = OaiCode::parse(word);
        assert!(!matches!(code, OaiCode::Other(_)), "{word}");
        assert_eq!(code.as_str(), word);
    }
    assert_eq!(OaiCode::parse("bad\nword"), OaiCode::Other("bad\\nword".to_owned()));
}
