//! ERC files.

use strongroom_metadata::{Field, Limits, Record, read_erc, write_erc};

use crate::record;

fn read(file: &str) -> Record {
    read_erc(file.as_bytes(), &Limits::default()).unwrap().record
}

fn refused(file: &str) -> String {
    read_erc(file.as_bytes(), &Limits::default()).unwrap_err().to_string()
}

#[test]
fn labels_comments_continuations_and_line_ends_of_every_system_are_read() {
    let file = "# by hand\nERC:\nWho: Lovelace, Ada\n# a comment in the middle\n\twith Babbage\nwhat:\n  Notes\n\n  on engines\nwhen : 1843\n\
                where: ark:/99999/fk4x\nwhere: box: 7\n";
    let expected = record(&[
        (Field::Who, "Lovelace, Ada with Babbage"),
        (Field::What, "Notes on engines"),
        (Field::When, "1843"),
        (Field::Where, "ark:/99999/fk4x"),
        (Field::Where, "box: 7"),
    ]);
    for file in [file.to_owned(), file.replace('\n', "\r\n"), file.replace('\n', "\r"), format!("\u{feff}{file}")] {
        assert_eq!(read(&file), expected, "{file:?}");
    }
}

#[test]
fn the_short_form_has_all_four_on_one_line() {
    let expected = record(&[
        (Field::Who, "Ada"),
        (Field::What, "Notes"),
        (Field::When, "1843"),
        (Field::Where, "http://example.org/a|b"),
    ]);
    assert_eq!(read("erc: Ada | Notes |1843| http://example.org/a|b\n"), expected);
}

#[test]
fn a_code_for_a_missing_value_is_no_value() {
    assert!(read("erc:\nwho: (:unas)\nwhat: (:unav)\nwhen: (:UNKN)\nwhere: (:none)\nwhere:\n").is_empty());
    let kept = read("who: (:unkn) Anonymous\nwhat: (:tba)\nwhen: (1843)\n");
    assert_eq!(kept.values(Field::Who), ["(:unkn) Anonymous"]);
    assert_eq!(kept.values(Field::What), ["(:tba)"]);
}

#[test]
fn four_percent_forms_are_decoded_and_every_other_percent_is_itself() {
    let read = read("what: 100%25 of%0aa%3Ab, 50%20x, 7%\nwho: %0A\n");
    assert_eq!(read.first(Field::What), Some("100% of\na:b, 50%20x, 7%"));
    assert_eq!(read.first(Field::Who), None);
}

#[test]
fn unknown_labels_are_noted_once_with_their_line() {
    let reading = read_erc(b"erc:\nwho: Ada\nnote: x\nsupport: y\nnote: z\n", &Limits::default()).unwrap();
    let notes: Vec<(u64, &str)> = reading.notes.iter().map(|note| (note.line, note.message.as_str())).collect();
    assert_eq!(
        notes,
        [
            (3, "\"note\" was ignored: a description has no field for it"),
            (4, "\"support\" was ignored: a description has no field for it"),
        ]
    );
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    assert_eq!(
        refused("erc:\nwho: Ada\n1843\n"),
        "cannot read the ERC description at line 3: the line has no colon after its label"
    );
    assert_eq!(
        refused("\n  Ada\n"),
        "cannot read the ERC description at line 2: the line begins with white space, and there is no value that it continues"
    );
    assert_eq!(
        refused("erc:\nwho: A\u{1b}[2J\n"),
        "cannot read the ERC description at line 2: a value of who has the control character U+001B"
    );
    let error = read_erc(b"erc:\nwho: caf\xe9\n", &Limits::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot read the ERC description at line 2: it is not in UTF-8, the only encoding that is read: there is a byte 0xE9"
    );
}

#[test]
fn what_has_no_value_is_written_as_unassigned() {
    let record = record(&[(Field::What, "100% of\nit"), (Field::Where, "ark:/99999/fk4x"), (Field::Where, "box 7")]);
    let file = write_erc(&record);
    assert_eq!(file, "erc:\nwho: (:unas)\nwhat: 100%25 of%0Ait\nwhen: (:unas)\nwhere: ark:/99999/fk4x\nwhere: box 7\n");
    assert_eq!(read(&file), record);
}
