//! XML files of the disk.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use strongroom_download::Supervision;
use strongroom_harvest::{ElementPath, FileOptions, FileRecords, FileSource, Limits, Notice, RecordSource};

use crate::cursors::every_cursor_goes_on;
use crate::{Given, given, sound, text};

fn source(path: &Path, records: FileRecords) -> FileSource {
    FileSource::new(FileOptions { path: path.to_owned(), records, limits: Limits::default() }).unwrap()
}

fn marc(id: &str, status: char) -> String {
    format!(
        "<marc:record><marc:leader>00000{status}am a2200000 a 4500</marc:leader>\
         <marc:controlfield tag=\"005\">x</marc:controlfield><marc:controlfield tag=\"001\"> {id} </marc:controlfield></marc:record>"
    )
}

fn collection(records: &[String]) -> String {
    format!("<marc:collection xmlns:marc=\"http://www.loc.gov/MARC21/slim\">\n{}</marc:collection>", records.join("\n"))
}

fn failed(given: &Given) -> Vec<(&str, String)> {
    let failed = given.notices.iter().filter_map(|notice| match notice {
        Notice::FileFailed { path, error } => Some((path.as_str(), text(error))),
        _ => None,
    });
    failed.collect()
}

#[test]
fn a_collection_of_marc_xml_is_read_record_by_record() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.xml");
    fs::write(&path, collection(&[marc("m1", 'c'), marc("m2", 'd'), marc("", 'c'), marc("m4", 'c')])).unwrap();
    let source = source(&path, FileRecords::Marc);
    let given = sound(&source);
    assert_eq!(given.ids(), ["m1", "m2", "m4"]);
    assert_eq!(given.records.iter().map(|record| record.is_deleted).collect::<Vec<_>>(), [false, true, false]);
    let expected =
        marc("m1", 'c').replacen("<marc:record", "<marc:record xmlns:marc=\"http://www.loc.gov/MARC21/slim\"", 1);
    assert_eq!(given.document(0), expected);
    assert_eq!(given.records[0].document.as_ref().unwrap().media_type, "application/marcxml+xml");
    assert_eq!(given.unreadable(), [(None, "it has no identifier at its path")]);
    assert_eq!(source.describe(&Supervision::default()).unwrap().kind, "MARC-XML");
    every_cursor_goes_on(&source);
    fs::write(&path, "<record><controlfield tag='001'>alone</controlfield></record>").unwrap();
    assert_eq!(sound(&source).ids(), ["alone"]);
}

#[test]
fn elements_that_are_not_there_are_an_error_that_names_those_that_are() {
    let folder = tempfile::tempdir().unwrap();
    let error = |records: FileRecords| {
        let given = given(&source(folder.path(), records));
        assert!(given.records.is_empty() && given.notices.is_empty());
        given.error.map(|error| {
            assert!(!error.is_transient());
            text(&error)
        })
    };
    let elements = |name: &str| {
        let id = ElementPath::parse("@id").unwrap();
        FileRecords::Elements { name: name.to_owned(), namespace: None, id }
    };
    // A folder without files says that it has no records, and so does a file whose root element has nothing in it.
    assert_eq!(error(elements("ead")), None);
    fs::write(folder.path().join("dump.marc"), "x").unwrap();
    let text = error(FileRecords::Files { id: None }).unwrap();
    assert!(text.contains("no file whose name ends with .xml") && text.contains("\"dump.marc\""), "{text}");
    fs::write(folder.path().join("a.xml"), "<collection> </collection>").unwrap();
    assert_eq!((error(elements("ead")), error(FileRecords::Marc)), (None, None));
    fs::write(folder.path().join("b.xml"), "<dump><ead id='a'><c/></ead><note/></dump>").unwrap();
    let text = error(elements("edd")).unwrap();
    assert!(text.contains("no element \"edd\" in ") && text.contains("which has \"ead\", \"note\"; next: "), "{text}");
    fs::write(folder.path().join("b.xml"), "<r><a/><b/><c/><d/><e/><f/><g/></r>").unwrap();
    let text = error(elements("edd")).unwrap();
    assert!(text.contains("\"a\", \"b\", \"c\", \"d\", \"e\", others;"), "{text}");
    let other = "<x:all xmlns:x='urn:x'><x:record><x:controlfield tag='001'>1</x:controlfield></x:record></x:all>";
    fs::write(folder.path().join("b.xml"), other).unwrap();
    let text = error(FileRecords::Marc).unwrap();
    assert!(text.contains("of http://www.loc.gov/MARC21/slim in ") && text.contains("\"record of urn:x\""), "{text}");
    // What is found in one file is enough.
    fs::write(folder.path().join("c.xml"), collection(&[marc("m1", 'c')])).unwrap();
    assert_eq!(sound(&source(folder.path(), FileRecords::Marc)).ids(), ["m1"]);
}

#[test]
fn a_large_collection_has_cursors_within_it() {
    let folder = tempfile::tempdir().unwrap();
    let records: Vec<String> = (0..2500).map(|number| marc(&format!("m{number}"), 'c')).collect();
    fs::write(folder.path().join("a.xml"), collection(&records)).unwrap();
    fs::write(folder.path().join("b.xml"), collection(&[marc("last", 'c')])).unwrap();
    for path in [folder.path().to_owned(), folder.path().join("a.xml")] {
        let source = source(&path, FileRecords::Marc);
        assert!(sound(&source).cursors.len() >= 4);
        every_cursor_goes_on(&source);
    }
}

#[test]
fn a_file_that_is_another_when_it_is_read_on_is_read_from_its_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.xml");
    let of = |numbers: &mut dyn Iterator<Item = u32>| {
        collection(&numbers.map(|number| marc(&format!("m{number}"), 'c')).collect::<Vec<_>>())
    };
    fs::write(folder.path().join("b.xml"), collection(&[marc("last", 'c')])).unwrap();
    for (root, all) in [(folder.path().to_owned(), 2601), (path.clone(), 2600)] {
        fs::write(&path, of(&mut (0..2500))).unwrap();
        let source = source(&root, FileRecords::Marc);
        let cursor = sound(&source).cursors.remove(1);
        let rest = |text: &str| {
            fs::write(&path, text).unwrap();
            crate::given_from(&source, Some(cursor.clone()))
        };
        // It is exported again, the newest first.
        let given = rest(&of(&mut (0..2600).rev()));
        assert!(given.error.is_none(), "{:?}", given.error);
        assert_eq!((given.records.len(), given.ids()[0]), (all, "m2599"));
        let [Notice::Changed { place }] = given.notices.as_slice() else { panic!("{:?}", given.notices) };
        assert_eq!(place.source, path.display().to_string());
        // It has become shorter than what was read, or cannot be read to there.
        let given = rest(&of(&mut (0..10)));
        assert_eq!((given.records.len(), given.notices.len()), (all - 2590, 1));
        let cut = of(&mut (0..10)).replace("</marc:collection>", "<marc:record>");
        assert_eq!(rest(&cut).records.len(), if all == 2601 { 11 } else { 10 });
        // What comes behind the cursor may be another.
        let given = rest(&of(&mut (0..2000).chain(3000..3001)));
        assert_eq!((given.ids()[0], given.notices.len()), ("m3000", 0));
        fs::write(&path, of(&mut (0..2500))).unwrap();
        every_cursor_goes_on(&source);
        // A cursor that was stored by an earlier program does not say what it has passed.
        let mut older = serde_json::to_value(&cursor).unwrap();
        older.as_object_mut().unwrap().remove("passed");
        let given = crate::given_from(&source, Some(serde_json::from_value(older).unwrap()));
        assert_eq!((given.ids()[0], given.notices.len()), ("m0", 1));
    }
}

#[test]
fn a_folder_is_read_in_the_order_of_its_paths_and_goes_on_from_every_file() {
    let folder = tempfile::tempdir().unwrap();
    for path in ["b/2.xml", "b/10.XML", "b.xml", "a/z/1.xml", "a.b/1.xml", "a.xml", "c/skipped.txt", "z.xml"] {
        let file = folder.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("<mods><id>{path}</id></mods>")).unwrap();
    }
    let by_path = source(folder.path(), FileRecords::Files { id: None });
    let expected = ["a/z/1.xml", "a.b/1.xml", "a.xml", "b/10.XML", "b/2.xml", "b.xml", "z.xml"];
    let given = sound(&by_path);
    assert_eq!(given.ids(), expected);
    assert_eq!(given.document(0), "<mods><id>a/z/1.xml</id></mods>");
    every_cursor_goes_on(&by_path);
    let by_element = source(folder.path(), FileRecords::Files { id: Some(ElementPath::parse("id").unwrap()) });
    assert_eq!(sound(&by_element).ids(), expected);
    // A file that is gone or new does not matter for the others.
    let cursor = given.cursors[2].clone();
    fs::remove_file(folder.path().join("a.xml")).unwrap();
    fs::write(folder.path().join("a/new.xml"), "<mods/>").unwrap();
    assert_eq!(crate::given_from(&by_path, Some(cursor)).ids(), expected[3..]);
}

#[test]
fn elements_of_files_are_records_by_name_and_namespace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dump.xml");
    fs::write(&path, "<dump><ead xmlns='urn:e' id='1'/><x><ead id='2'>a</ead></x><ead id='3' xmlns='urn:f'/></dump>")
        .unwrap();
    let records = |namespace: Option<&str>| FileRecords::Elements {
        name: "ead".to_owned(),
        namespace: namespace.map(str::to_owned),
        id: ElementPath::parse("@id").unwrap(),
    };
    assert_eq!(sound(&source(&path, records(None))).ids(), ["1", "2", "3"]);
    assert_eq!(sound(&source(&path, records(Some("urn:f")))).ids(), ["3"]);
    assert_eq!(sound(&source(&path, records(Some("")))).ids(), ["2"]);
}

#[test]
fn symbolic_links_are_refused_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret.xml"), "<a/>").unwrap();
    fs::write(folder.path().join("good.xml"), "<a/>").unwrap();
    symlink(outside.path().join("secret.xml"), folder.path().join("link.xml")).unwrap();
    symlink(outside.path(), folder.path().join("folder")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        folder.path().join("pipe.xml"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let files = source(folder.path(), FileRecords::Files { id: None });
    let given = sound(&files);
    assert_eq!(given.ids(), ["good.xml"]);
    let failed = failed(&given);
    assert_eq!(failed.iter().map(|(path, _)| *path).collect::<Vec<_>>(), ["folder", "link.xml", "pipe.xml"]);
    assert!(failed[0].1.ends_with("it is a symbolic link, which is not followed"), "{failed:?}");
    every_cursor_goes_on(&files);
    let link =
        FileOptions { path: folder.path().join("folder"), records: FileRecords::Marc, limits: Limits::default() };
    assert!(FileSource::new(link).is_err());
}

#[test]
fn a_file_that_cannot_be_read_is_told_and_the_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let good = |id: &str| collection(&[marc(id, 'c')]);
    let cut = collection(&[marc("b1", 'c'), marc("b2", 'c')]);
    fs::write(folder.path().join("a.xml"), good("a")).unwrap();
    fs::write(folder.path().join("b.xml"), &cut[..cut.len() - 40]).unwrap();
    fs::write(folder.path().join("c.xml"), "").unwrap();
    fs::write(folder.path().join("d.xml"), [collection(&[marc("d1", 'c')]).as_bytes(), b"\xff"].concat()).unwrap();
    fs::write(folder.path().join("e.xml"), collection(&[marc("e\u{1}", 'c'), marc("e2", 'c')])).unwrap();
    fs::write(folder.path().join("f.xml"), "<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]><a>&b;</a>")
        .unwrap();
    let source = source(folder.path(), FileRecords::Marc);
    let given = sound(&source);
    assert_eq!(given.ids(), ["a", "b1", "d1", "e2"]);
    let failed = failed(&given);
    assert_eq!(failed.iter().map(|(path, _)| *path).collect::<Vec<_>>(), ["b.xml", "c.xml", "d.xml", "f.xml"]);
    assert!(failed[0].1.contains("b.xml, byte "), "{failed:?}");
    assert_eq!(given.unreadable().len(), 1);
    every_cursor_goes_on(&source);
    let alone = self::source(&folder.path().join("b.xml"), FileRecords::Marc);
    let alone = crate::given(&alone);
    assert_eq!(alone.ids(), ["b1"]);
    assert!(alone.error.is_some());
}

#[test]
fn bounds_hold_for_files_and_folders() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("a/b/c")).unwrap();
    fs::write(folder.path().join("a/b/c/deep.xml"), "<a/>").unwrap();
    fs::write(folder.path().join("large.xml"), format!("<a>{}</a>", "x".repeat(2000))).unwrap();
    fs::write(folder.path().join("small.xml"), "<a/>").unwrap();
    let bounded = |limits| {
        let records = FileRecords::Files { id: None };
        FileSource::new(FileOptions { path: folder.path().to_owned(), records, limits }).unwrap()
    };
    let found = sound(&bounded(Limits { record_bytes: 1000, folder_depth: 2, ..Limits::default() }));
    assert_eq!(found.ids(), ["small.xml"]);
    let failed = failed(&found);
    assert!(failed[0].1.ends_with("more than 2 folders are within each other"), "{failed:?}");
    assert!(failed[1].1.ends_with("it has more than 1000 bytes"), "{failed:?}");
    let refused = crate::given(&bounded(Limits { folder_names: 2, ..Limits::default() }));
    assert!(text(&refused.error.unwrap()).ends_with("it has more than 2 names"));
    let broken = given(&source(&folder.path().join("large.xml"), FileRecords::Marc));
    assert!(broken.error.is_none());
}

#[test]
fn what_a_file_of_the_disk_is_does_not_pass() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.xml");
    let whole = collection(&[marc("a", 'c'), marc("b", 'c')]);
    fs::write(&path, &whole[..whole.len() - 40]).unwrap();
    let cut = given(&source(&path, FileRecords::Marc));
    assert!(!cut.error.expect("it is cut").is_transient());
    let limits = Limits { record_bytes: 100, ..Limits::default() };
    let records = FileRecords::Files { id: None };
    let long = given(&FileSource::new(FileOptions { path: path.clone(), records, limits }).unwrap());
    assert!(!long.error.expect("it is too long").is_transient());
}
