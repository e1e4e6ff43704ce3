//! Files that are too large, or no descriptions at all.

use proptest::prelude::*;
use strongroom_metadata::{
    Element, Field, Limits, MetadataError, Record, read_csv, read_datacite, read_dublin_core, read_erc, read_json,
    read_table,
};

use crate::dc;

type Reader = fn(&[u8], &Limits) -> Result<Record, MetadataError>;

const READERS: [Reader; 5] = [
    |bytes, limits| read_erc(bytes, limits).map(|reading| reading.record),
    |bytes, limits| read_dublin_core(bytes, limits).map(|reading| reading.record),
    |bytes, limits| read_datacite(bytes, limits).map(|reading| reading.record),
    read_json,
    read_csv,
];

/// A file of each format with a title or a what of `value`, `times` times.
fn files(value: &str, times: usize) -> [String; 5] {
    [
        format!("erc:\n{}", format!("what: {value}\n").repeat(times)),
        format!("<a>{}</a>", format!("<dc:title>{value}</dc:title>").repeat(times)),
        format!("<resource><titles>{}</titles></resource>", format!("<title>{value}</title>").repeat(times)),
        format!("{{\"title\": [{}]}}", vec![format!("\"{value}\""); times].join(",")),
        format!("{}\n{}\n", vec!["title"; times].join(","), vec![value; times].join(",")),
    ]
}

#[test]
fn every_limit_is_an_error_that_says_which_in_every_format() {
    let limits = Limits { bytes: 400, values: 3, value_bytes: 10, rows: 1 };
    let read = |value: &str, times: usize| {
        READERS
            .into_iter()
            .zip(files(value, times))
            .map(|(read, file)| read(file.as_bytes(), &limits))
            .collect::<Vec<_>>()
    };
    for record in read("0123456789", 3) {
        assert_eq!(record.unwrap().len(), 3);
    }
    for result in read("x", 4) {
        assert!(matches!(result, Err(MetadataError::TooManyValues { limit: 3, .. })), "{result:?}");
    }
    for result in read("01234567890", 1) {
        assert!(matches!(result, Err(MetadataError::ValueTooLong { found: 11, limit: 10, .. })), "{result:?}");
    }
    for result in read(&"x".repeat(400), 1) {
        assert!(matches!(result, Err(MetadataError::TooLarge { limit: 400, .. })), "{result:?}");
    }
}

#[test]
fn a_value_without_a_file_has_the_same_limits() {
    let mut record = Record::new();
    let error = record.add(Field::Who, &"x".repeat((64 << 10) + 1)).unwrap_err().to_string();
    assert_eq!(
        error,
        "cannot take a value into a description: a value of who has 65537 bytes, and at most 65536 are allowed"
    );
    for _ in 0..10_000 {
        record.add(Field::Where, "x").unwrap();
    }
    assert!(matches!(record.add(Field::Where, "x"), Err(MetadataError::TooManyValues { .. })));
    assert!(matches!(record.add(Field::Where, "\u{ffff}"), Err(MetadataError::Character { .. })));
}

#[test]
fn creators_that_are_too_many_for_one_value_end_in_etal() {
    let mut record = Record::new();
    for _ in 0..8_000 {
        record.add(dc(Element::Creator), "Lovelace, Ada").unwrap();
    }
    let implied = record.implied_erc();
    let who = implied.first(Field::Who).unwrap();
    assert!(who.len() <= 64 << 10 && who.ends_with("; Lovelace, Ada; (:etal)"), "{}", who.len());
}

#[test]
fn notes_are_limited() {
    let lines = (0..1_000).map(|number| format!("label{number}: x\n")).collect::<Vec<_>>().concat();
    assert_eq!(read_erc(lines.as_bytes(), &Limits::default()).unwrap().notes.len(), 50);
    let long = format!("{}: x\n", "\u{1b}".repeat(1_000));
    let notes = read_erc(long.as_bytes(), &Limits::default()).unwrap().notes;
    assert!(notes[0].message.len() < 600 && !notes[0].message.contains('\u{1b}'), "{}", notes[0].message);
}

/// Text that looks like a file of one of the formats.
fn fragments() -> impl Strategy<Value = Vec<u8>> {
    let part = prop::sample::select(vec![
        "erc:",
        "who: x",
        "\n",
        "\r",
        " ",
        "\t",
        "#",
        "|",
        "%0A",
        "%",
        "<a>",
        "</a>",
        "<a/>",
        "<dc:title>",
        "</dc:title>",
        "<resource>",
        "</resource>",
        "<titles><title>",
        "</title></titles>",
        "<br/>",
        "<!DOCTYPE a [",
        "]>",
        "<?xml version=\"1.0\"?>",
        "&amp;",
        "&#0;",
        "&#x110000;",
        "&x;",
        "<![CDATA[",
        "]]>",
        "<!--",
        "-->",
        "xmlns:dc=\"",
        "\"",
        "{",
        "}",
        "\"title\"",
        ":",
        "[",
        "]",
        ",",
        "null",
        "1e999",
        "object",
        "identifier",
        "title",
        "é",
        "\u{feff}",
        "<resourceType resourceTypeGeneral='&lt;'>",
        "</resourceType>",
    ]);
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat().into_bytes())
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop_oneof![prop::collection::vec(any::<u8>(), 0..300), fragments()]) {
        for limits in [Limits::default(), Limits { bytes: 200, values: 2, value_bytes: 4, rows: 1 }] {
            for read in READERS {
                if let Ok(record) = read(&bytes, &limits) {
                    prop_assert!(record.len() <= limits.values);
                }
            }
            let _ = read_table(&bytes, &limits);
        }
    }
}
