//! Records of OAI-PMH: their exact bytes, and what is wrong with one of them or with the whole page.

use std::io::Read;

use strongroom_download::Supervision;
use strongroom_harvest::{Document, HarvestError, Limits, Notice, OaiClient, OaiOptions, OaiSource};
use strongroom_oai_double::{OaiDouble, OaiFault, OaiRecord, PATH};
use strongroom_web_double::{Behaviour, Reply, WebDouble};

use crate::{Given, connection, given, id, ids, limited, records, sound, text, whole};

/// What is given of records, one of which has this as its title.
fn with_title(title: &[u8]) -> Given {
    let mut all = records(0..15);
    all[4] = all[4].clone().titled(title);
    sound(&whole(&OaiDouble::start(all)))
}

/// A source that answers with these bytes.
fn answering(bytes: impl Into<Vec<u8>>) -> (WebDouble, OaiSource) {
    let web = WebDouble::start();
    web.put(PATH, bytes.into());
    let client = OaiClient::new(connection(&web), &web.url(PATH)).unwrap();
    let source = OaiSource::new(client, OaiOptions::default()).unwrap();
    (web, source)
}

/// An answer of `ListRecords` with these bytes in the element of the verb.
fn list(within: &str) -> String {
    format!(
        "<OAI-PMH xmlns=\"http://www.openarchives.org/OAI/2.0/\" xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'>\
         <responseDate>2024-01-01T00:00:00Z</responseDate><request>x</request><ListRecords>{within}</ListRecords></OAI-PMH>"
    )
}

fn record(id: &str, metadata: &str) -> String {
    format!(
        "<record><header><identifier>{id}</identifier><datestamp>2024-01-01</datestamp></header>\
         <metadata>{metadata}</metadata></record>"
    )
}

fn reason(error: Option<&HarvestError>) -> String {
    text(error.expect("an error"))
}

#[test]
fn a_document_has_the_exact_bytes_and_the_namespaces_in_whose_scope_it_is() {
    let element = "<d:dc  a='1'\n xmlns:e=\"urn:e\"><e:x xsi:type='d:T'>\u{e9} &amp; &#x20ac;<![CDATA[<&]]><!-- c --><?p i?></e:x ></d:dc>";
    let answer = list(&record("a", element))
        .replace("<metadata>", "<metadata xmlns:d=\"urn:d?a=1&amp;b='2'\" xmlns:u='urn:u\"v'> ");
    let (_web, source) = answering(answer);
    let given = sound(&source);
    let expected = "<d:dc xmlns=\"http://www.openarchives.org/OAI/2.0/\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
                    xmlns:d=\"urn:d?a=1&amp;b='2'\" xmlns:u=\"urn:u&quot;v\"  a='1'\n xmlns:e=\"urn:e\">";
    let rest = element.split_once("urn:e\">").unwrap().1;
    assert_eq!(given.document(0), format!("{expected}{rest}"));
}

#[test]
fn declarations_that_an_element_has_itself_or_takes_back_are_not_added() {
    for (element, expected) in [
        ("<x xmlns=\"urn:x\"/>", "<x xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xmlns=\"urn:x\"/>"),
        ("<x xmlns=\"\">a</x>", "<x xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xmlns=\"\">a</x>"),
        (
            "<x xmlns=\"urn:x\" xmlns:xsi=\"urn:y\" xsi:a=\"&lt;\"></x>",
            "<x xmlns=\"urn:x\" xmlns:xsi=\"urn:y\" xsi:a=\"&lt;\"></x>",
        ),
    ] {
        let (_web, source) = answering(list(&record("a", element)));
        assert_eq!(sound(&source).document(0), expected);
    }
    let outer = list(&record("a", "<x/>"))
        .replace("<metadata>", "<metadata xmlns=\"\"  >")
        .replace("</metadata>", "</metadata  >");
    let (_web, source) = answering(outer);
    // The element `metadata` itself is in no namespace then, and so none of the protocol.
    assert_eq!(given(&source).unreadable(), [(Some("a"), "it has no metadata")]);
}

#[test]
fn what_is_said_about_a_record_is_kept_as_well() {
    let about = "<about><p:provenance xmlns:p='urn:p'/></about><about><q/></about>";
    let (_web, source) = answering(list(&record("a", "<x/>").replace("</record>", &format!("{about}</record>"))));
    let given = sound(&source);
    let about: Vec<&Document> = given.records[0].about.iter().collect();
    assert_eq!(about.len(), 2);
    assert!(about[0].bytes.starts_with(b"<p:provenance xmlns="));
}

#[test]
fn a_record_that_cannot_be_read_is_told_and_the_others_are_given() {
    for (title, reason) in [
        (&b"caf\xe9"[..], "the byte 0xe9 is no UTF-8 there"),
        (b"a\x0bb", "it has the control character U+000B, which XML forbids"),
        (b"a\x00b", "it has the control character U+0000, which XML forbids"),
        (b"a\xef\xbf\xbfb", "it has the character U+FFFF, which XML forbids"),
        (b"a&#11;b", "it has a reference to the character U+000B, which XML forbids"),
        (b"AT&T", "a \"&\" in it begins no reference"),
        (b"a & b", "a \"&\" in it begins no reference"),
        (b"a&nbsp;b", "the entity \"nbsp\" is not known, and none are read"),
        (b"<q:a/>", "the prefix \"q\" has no namespace"),
        (b"<a q:b=\"\"/>", "the prefix \"q\" has no namespace"),
        (b"<a b=\"1\" b=\"2\"/>", "an element in it has the attribute \"b\" twice"),
        (b"<a b=1/>", "an attribute in it is malformed: "),
        (b"<a b=\"x&nbsp;y\"/>", "the attribute \"b\" is malformed: "),
        (b"<a b=\"x<y\"/>", "the attribute \"b\" has a \"<\""),
        (b"<a b=\"1\"c=\"2\"/>", "there is no space between two attributes in it"),
        (b"<?p? i?>", "\"p?\" is no name of a processing instruction"),
        (b"<1a/>", "\"1a\" is no name of an element"),
        (b"a]]>b", "it has \"]]>\" in a text"),
        (b"<!-- a -- b -->", "a comment in it has \"--\""),
        (b"<?xml version=\"1.0\"?>", "there is an XML declaration within an element"),
    ] {
        let given = with_title(title);
        let expected: Vec<String> = ids(0..15).into_iter().filter(|other| *other != id(4)).collect();
        assert_eq!(given.ids(), expected, "{}", String::from_utf8_lossy(title));
        let [(found, told)] = given.unreadable().try_into().unwrap();
        assert_eq!(found, Some(id(4).as_str()));
        assert!(told.starts_with(reason), "{told:?} {reason:?}");
    }
}

#[test]
fn the_place_of_a_fault_is_told_with_its_url_page_and_byte() {
    let mut all = records(0..15);
    all[12] = all[12].clone().titled(b"caf\xe9");
    let provider = OaiDouble::start(all);
    let given = sound(&whole(&provider));
    let [Notice::Unreadable { place, .. }] = given.notices.as_slice() else { panic!("{:?}", given.notices) };
    let mut page = connection_page(&provider, &provider.queries()[1]);
    let byte = page.iter().position(|byte| *byte == 0xe9).unwrap();
    assert_eq!(place.to_string(), format!("{} (ListRecords, page 2), byte {byte}", provider.base_url()));
    page.clear();
}

fn connection_page(provider: &OaiDouble, query: &str) -> Vec<u8> {
    let client = strongroom_download::Client::new(crate::policy(provider.web())).unwrap();
    let url = format!("{}?{query}", provider.base_url());
    let mut bytes = Vec::new();
    let request = strongroom_download::PageRequest::new(&url);
    client.page(&request, &Supervision::default()).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn headers_that_cannot_be_read_are_told() {
    for (answer, found, reason) in [
        (record("", "<x/>"), None, "it has no identifier"),
        (record("a", ""), Some("a"), "it has no metadata"),
        (record("a", "<x/><y/>"), Some("a"), "there is a second element where one must be"),
        (record("a", "text"), Some("a"), "there is text where an element must be"),
        (record("a&#9;b", "<x/>"), Some("a\tb"), "its identifier has a control character"),
        ("<record/>".to_owned(), None, "it has no identifier"),
        (record("a<b/>", "<x/>"), Some("a"), "it has an element \"b\" where there is only text"),
    ] {
        let (_web, source) = answering(list(&format!("{answer}{}", record("good", "<x/>"))));
        let given = sound(&source);
        assert_eq!(given.unreadable(), [(found, reason)]);
        assert_eq!(given.ids(), ["good"]);
    }
    let (_web, source) = answering(
        [
            list("").split("</ListRecords>").next().unwrap().as_bytes(),
            b"<record><header><identifier>\xff</identifier></header></record></ListRecords></OAI-PMH>",
        ]
        .concat(),
    );
    assert_eq!(sound(&source).unreadable(), [(None, "the byte 0xff is no UTF-8 there")]);
}

#[test]
fn bounds_hold_for_identifiers_sets_records_and_depth() {
    let limits = || Limits { id_bytes: 50, sets: 3, record_bytes: 2000, depth: 20, ..Limits::default() };
    let mut all = records(0..6);
    all[1] = OaiRecord::new(&"x".repeat(60), "2024-01-01T00:01:00Z");
    all[2] = ["a", "b", "c", "d"].iter().fold(all[2].clone(), |record, set| record.within(set));
    // Many small texts, each within the bound.
    all[3] = all[3].clone().titled("<i>0123456789</i>".repeat(200).as_bytes());
    let provider = OaiDouble::start(all);
    let given = given(&limited(&provider, limits()));
    assert_eq!(given.ids(), [id(0), id(4), id(5)]);
    let reasons: Vec<_> = given.unreadable().into_iter().map(|(_, reason)| reason).collect();
    assert_eq!(
        reasons,
        ["its identifier has more than 50 bytes", "it is in more than 3 sets", "it has more than 2000 bytes"]
    );

    for (title, reason) in [
        ("<i>".repeat(30), "more than 20 elements are in each other"),
        ("x".repeat(200_000), "a text or tag in it has more than 2000 bytes"),
    ] {
        let mut all = records(0..6);
        all[3] = all[3].clone().titled(title.as_bytes());
        let provider = OaiDouble::start(all);
        let given = crate::given(&limited(&provider, limits()));
        assert_eq!(given.ids(), ids(0..3));
        assert!(self::reason(given.error.as_ref()).contains(reason), "{:?}", given.error);
    }
    let provider = OaiDouble::start(records(0..12));
    let given = crate::given(&limited(&provider, Limits { token_bytes: 8, ..Limits::default() }));
    assert!(self::reason(given.error.as_ref()).contains("a text in it has more than 8 bytes"), "{:?}", given.error);
    let given = crate::given(&limited(&provider, Limits { page_bytes: 900, ..Limits::default() }));
    assert!(self::reason(given.error.as_ref()).contains("has more than 900 bytes"), "{:?}", given.error);
}

#[test]
fn a_page_that_is_cut_off_is_asked_for_again_and_its_records_are_given_once() {
    let provider = OaiDouble::start(records(0..25));
    provider.on(OaiFault::CutXml { offset: 10, times: 2 });
    let given = sound(&whole(&provider));
    assert_eq!(given.ids(), ids(0..25));
    assert_eq!(provider.queries().len(), 5);
}

#[test]
fn a_page_that_is_always_cut_off_gives_its_good_records_and_an_error() {
    let provider = OaiDouble::start(records(0..25));
    provider.on(OaiFault::CutXml { offset: 10, times: usize::MAX });
    let given = given(&whole(&provider));
    assert_eq!(given.ids(), ids(0..19));
    let error = given.error.unwrap();
    assert!(error.is_transient());
    assert!(text(&error).contains(&format!("{} (ListRecords, page 2), byte ", provider.base_url())), "{error}");
    assert_eq!(provider.queries().len(), 4);
}

#[test]
fn malformed_xml_gives_the_records_before_it_and_an_error() {
    let good = record("good", "<x/>");
    for (bad, reason) in [
        (record("b", "<x></y>"), "ill-formed"),
        ("</ListRecords><ListRecords>".to_owned() + "</a>", "ill-formed"),
        ("&nbsp;".to_owned() + &record("b", "<x/>"), "the entity \"nbsp\" is not known"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]>".to_owned(), "a document type declaration after the root element has begun"),
    ] {
        let (_web, source) = answering(list(&format!("{good}{bad}")));
        let given = given(&source);
        assert_eq!(given.ids(), ["good"], "{bad}");
        assert!(self::reason(given.error.as_ref()).contains(reason), "{bad} {:?}", given.error);
    }
}

#[test]
fn answers_that_are_none_of_the_protocol_are_told() {
    let expansion = "<!DOCTYPE a [<!ENTITY b \"cccccccc\"><!ENTITY d \"&b;&b;&b;\">]>".to_owned()
        + &list(&record("a", "<x>&d;</x>"));
    let utf16: Vec<u8> = list("").encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (answer, reason) in [
        (b"<html><body>maintenance".to_vec(), "its root element is \"html\""),
        (b"".to_vec(), "there is no element in it"),
        (b"Service is down".to_vec(), "there is text outside of the root element"),
        (expansion.into_bytes(), "a document type declaration with entities or other content is not read"),
        ([b"\xff\xfe".to_vec(), utf16].concat(), "outside of the root element"),
        (b" <?xml version='1.0'?><a/>".to_vec(), "there is something before the XML declaration"),
        (list("").replace("ListRecords", "ListSets").into_bytes(), "it has neither what was asked for nor an error"),
        ((list(&record("a", "<x/>")) + "<again/>").into_bytes(), "there is a second root element"),
        (list("").replace("/2.0/", "/1.1/").into_bytes(), "it is no answer of OAI-PMH 2.0"),
    ] {
        let shown = String::from_utf8_lossy(&answer).into_owned();
        let (_web, source) = answering(answer);
        let given = given(&source);
        assert!(self::reason(given.error.as_ref()).contains(reason), "{shown} {:?}", given.error);
    }
    let provider = OaiDouble::start(records(0..3));
    provider.on(OaiFault::Html);
    assert!(given(&whole(&provider)).error.is_some());
}

#[test]
fn a_document_type_without_content_and_a_byte_order_mark_change_nothing() {
    for before in [
        "\u{feff}<?xml version='1.0' encoding='utf-8'?>",
        "<!DOCTYPE OAI-PMH SYSTEM 'http://x.example/y.dtd'>",
        "<!-- a -->\n",
    ] {
        let (_web, source) = answering(before.to_owned() + &list(&record("a", "<x/>")));
        assert_eq!(sound(&source).ids(), ["a"]);
    }
}

#[test]
fn an_encoding_other_than_utf_8_is_an_error_unless_it_is_to_be_ignored() {
    let mut all = records(0..3);
    all[0] = all[0].clone().titled("\u{e9}".as_bytes());
    all[1] = all[1].clone().titled(b"\xe9");
    let provider = OaiDouble::start(all);
    provider.on(OaiFault::DeclaresEncoding("ISO-8859-1".to_owned()));
    let failed = given(&whole(&provider));
    let expected = "it declares the encoding \"ISO-8859-1\", and UTF-8 is read";
    assert!(reason(failed.error.as_ref()).ends_with(expected), "{:?}", failed.error);
    let client = crate::client(&provider).ignore_declared_encoding();
    let given = sound(&OaiSource::new(client, OaiOptions::default()).unwrap());
    assert_eq!(given.ids(), [id(0), id(2)]);
    assert_eq!(given.unreadable(), [(Some(id(1).as_str()), "the byte 0xe9 is no UTF-8 there")]);
    provider.mend();
    provider.on(OaiFault::NoDeclaration);
    assert_eq!(sound(&whole(&provider)).ids(), [id(0), id(2)]);
}

#[test]
fn a_page_without_end_is_left_at_its_bound() {
    let provider = OaiDouble::start(records(0..3));
    provider.web().on(PATH, Behaviour::Endless);
    let given = given(&limited(&provider, Limits { page_bytes: 1 << 20, ..Limits::default() }));
    assert!(reason(given.error.as_ref()).contains("has more than 1048576 bytes"), "{:?}", given.error);
}

#[test]
fn a_large_page_is_read_record_by_record() {
    let all: Vec<OaiRecord> = records(0..300).into_iter().map(|record| record.titled(&vec![b'x'; 20_000])).collect();
    let provider = OaiDouble::start(all);
    provider.set_page(300);
    assert_eq!(sound(&whole(&provider)).ids(), ids(0..300));
    let given = sound(&limited(&provider, Limits { record_bytes: 30_000, ..Limits::default() }));
    assert_eq!(given.records.len(), 300);
}

#[test]
fn a_refusal_of_http_is_told_with_its_status() {
    let web = WebDouble::start();
    web.answer(PATH, |_| Reply { status: 403, ..Reply::ok(b"<html>forbidden</html>".to_vec()) });
    let client = OaiClient::new(connection(&web), &web.url(PATH)).unwrap();
    let error = client.identify(&Supervision::default()).unwrap_err();
    assert_eq!(error.to_string(), format!("{} (Identify) was answered with status 403", web.url(PATH)));
}

#[test]
fn notices_are_written_for_people() {
    let mut all = records(0..5);
    all[1] = all[1].clone().titled(b"caf\xe9");
    let provider = OaiDouble::start(all.into_iter().map(|record| record.within("a")).collect());
    provider.on(OaiFault::SetFails("b".to_owned()));
    let given = sound(&crate::of_sets(&provider, &["a", "b"]));
    let texts: Vec<String> = given.notices.iter().map(ToString::to_string).collect();
    let url = provider.base_url();
    let unreadable = format!("could not read the record \"oai:test:001\" at {url} (ListRecords, set a, page 1), byte ");
    assert!(texts[0].starts_with(&unreadable) && texts[0].ends_with(": the byte 0xe9 is no UTF-8 there"), "{texts:?}");
    let failed = format!(
        "could not read the set \"b\" to its end: {url} (ListRecords, set b, page 1) was answered with badArgument "
    );
    assert!(texts[1].starts_with(&failed), "{texts:?}");
}
