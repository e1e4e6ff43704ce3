//! Tables in CSV.

use strongroom_metadata::{Element, Field, Limits, Table, read_csv, read_table};

use crate::{dc, record};

fn table(file: &str) -> Table {
    read_table(file.as_bytes(), &Limits::default()).unwrap()
}

#[test]
fn the_object_is_named_by_its_own_column_or_else_by_the_identifier() {
    let file = "\u{feff}Object,identifier,what\nark:/99999/fk4a, box 7 ; box 8,\"Notes, \"\"first\"\"\nedition\"\nark:/99999/fk4b,,\n";
    let read = table(file);
    assert_eq!(read.fields, [dc(Element::Identifier), Field::What]);
    assert_eq!(
        read.rows.iter().map(|row| (row.line, row.object.as_str())).collect::<Vec<_>>(),
        [(2, "ark:/99999/fk4a"), (4, "ark:/99999/fk4b")]
    );
    assert_eq!(
        read.rows[0].record,
        record(&[
            (dc(Element::Identifier), "box 7"),
            (dc(Element::Identifier), "box 8"),
            (Field::What, "Notes, \"first\"\nedition"),
        ])
    );
    assert!(read.rows[1].record.is_empty());

    let read = table("dc.identifier,title,identifier,title\r\nbox 7,a,fk4a,b\r\n");
    assert_eq!(read.fields, [dc(Element::Identifier), dc(Element::Title)]);
    assert_eq!(read.rows[0].object, "fk4a");
    assert_eq!(read.rows[0].record.values(dc(Element::Title)), ["a", "b"]);
}

#[test]
fn lines_are_counted_as_an_editor_counts_them() {
    let file = "\n\nobject,title\na,\"x\ny\"\n\n\nb,z\nc,z\n";
    for file in [file.to_owned(), file.replace('\n', "\r\n"), file.replace('\n', "\r")] {
        let lines: Vec<u64> = table(&file).rows.iter().map(|row| row.line).collect();
        assert_eq!(lines, [4, 8, 9], "{file:?}");
    }
}

#[test]
fn what_is_wrong_with_a_table_is_told_with_its_line() {
    for (file, reason) in [
        ("", " at line 1: there is no header"),
        (
            "title\nx\n",
            " at line 1: the header has no column \"object\" or \"identifier\", which names the object of a row",
        ),
        ("object,titel\n", " at line 1: there is no field \"titel\"; the fields are who"),
        ("object,object\n", " at line 1: the header has two columns \"object\""),
        ("object,title\na,b\nc\n", " at line 3: the row has 1 cells, and the header has 2"),
        ("object,title\n,b\n", " at line 2: the row names no object"),
        ("object,title\na,b\n\na,c\n", " at line 4: the object \"a\" has a row already"),
        ("object,title\na,x\u{7}\n", " at line 2: a value of title has the control character U+0007"),
    ] {
        let error = read_table(file.as_bytes(), &Limits::default()).expect_err(file).to_string();
        assert!(error.starts_with(&format!("cannot read the CSV description{reason}")), "{file:?}: {error}");
    }
    let limits = Limits { rows: 1, ..Limits::default() };
    let error = read_table(b"object\na\nb\n", &limits).unwrap_err().to_string();
    assert_eq!(error, "cannot read the CSV description at line 3: it has more than 1 rows");
}

#[test]
fn a_table_of_one_row_describes_a_single_object() {
    let read = |file: &str| read_csv(file.as_bytes(), &Limits::default());
    let expected = record(&[(dc(Element::Identifier), "box 7"), (dc(Element::Title), "a; b")]);
    assert_eq!(read("identifier,title\nbox 7,a; b\n").unwrap(), expected);
    for (file, reason) in [
        ("title\n", "line 1: there is no row below the header"),
        ("title\na\nb\n", "line 3: there is a second row, and the file describes a single object"),
        (
            "object\na\n",
            "line 1: a column \"object\" is for tables of many objects; this one describes a single object",
        ),
    ] {
        assert_eq!(
            read(file).unwrap_err().to_string(),
            format!("cannot read the CSV description at {reason}"),
            "{file:?}"
        );
    }
}
