//! Descriptions in JSON.

use strongroom_metadata::{Element, Field, Limits, read_json, write_json};

use crate::{dc, record};

#[test]
fn strings_numbers_lists_and_null_are_values_and_names_may_have_a_prefix() {
    let file = br#"{"who": "Ada", "when": 1843, "where": ["ark:/99999/fk4x", "box 7"], "dc:title": ["Notes", null, ""], "dc.date": null,
        "Subject": "engines; notes", "resourceType": "Text"}"#;
    let expected = record(&[
        (Field::Who, "Ada"),
        (Field::When, "1843"),
        (Field::Where, "ark:/99999/fk4x"),
        (Field::Where, "box 7"),
        (dc(Element::Title), "Notes"),
        (dc(Element::Subject), "engines; notes"),
        (Field::ResourceType, "Text"),
    ]);
    assert_eq!(read_json(file, &Limits::default()).unwrap(), expected);
}

#[test]
fn typing_errors_are_refused() {
    for (file, reason) in [
        ("{\n\"titel\": \"x\"}", ": there is no field \"titel\"; the fields are who, what, when, where, contributor, "),
        ("{\"title\": \"x\", \"dc:title\": \"y\"}", ": the field title occurs twice"),
        ("{\n\"title\": {\"en\": \"x\"}}", " at line 2: invalid type: map, expected a string or a list of strings"),
        ("{\n\"title\": true}", " at line 2: invalid type: boolean `true`, expected a string or a list of strings"),
        ("{\"title\": [[\"x\"]]}", " at line 1: a list within a list is not a value"),
        ("[]", " at line 1: invalid type: sequence, expected an object of field names and values"),
        ("{\"title\": \"x\"", " at line 1: EOF while parsing an object"),
        ("{} {}", " at line 1: trailing characters"),
        ("{\"title\": \"a\\u0000\"}", ": a value of title has the control character U+0000"),
    ] {
        let error = read_json(file.as_bytes(), &Limits::default()).expect_err(file).to_string();
        let expected = format!("cannot read the JSON description{reason}");
        assert!(error.starts_with(&expected), "{error}\n{expected}");
    }
}

#[test]
fn one_value_is_written_as_a_string_and_more_as_a_list() {
    let record = record(&[(Field::Who, "Ada"), (dc(Element::Subject), "a"), (dc(Element::Subject), "b")]);
    let file = write_json(&record);
    assert_eq!(file, "{\n  \"subject\": [\n    \"a\",\n    \"b\"\n  ],\n  \"who\": \"Ada\"\n}\n");
    assert_eq!(write_json(&strongroom_metadata::Record::new()), "{}\n");
}
