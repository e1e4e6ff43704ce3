//! What reading strictly and reading leniently have in common, and what not.

use strongroom_checkm::{Column, Mode, ReadOptions, Reader, Severity};

use crate::manifests::{judge, of_files, word};

const ODD: &str = "\u{FEFF}#%checkm_0.5\n#%profile | http://uc3.cdlib.org/registry/ingest/manifest/mrt-ingest-manifest\n\
    #%prefix | nfo\n#%fields | URL | fileUrl | hashAlgorithm | hashValue | nfo:fileLastModified | nfo:fileName | x:mimeType\n\
    ignored | http://localhost/a b | | 123 | 1.9.2009 | a.jpg | image/jpeg | further\n#%eof";

#[test]
fn what_is_odd_refuses_a_row_read_strictly_and_is_a_warning_read_leniently() {
    let strict = judge(ODD, Mode::Strict);
    let lenient = judge(ODD, Mode::Lenient);
    assert_eq!((word(&strict), word(&lenient)), ("error", "warning"));
    let told = |report: &strongroom_checkm::Report| -> Vec<_> {
        report.problems.iter().map(|problem| (problem.code, problem.message.clone(), problem.line)).collect()
    };
    assert_eq!(told(&strict), told(&lenient));
    assert!(lenient.problems.iter().all(|problem| problem.severity == Severity::Warning));
}

#[test]
fn a_row_read_leniently_has_what_can_be_read_without_doubt() {
    let options = ReadOptions { mode: Mode::Lenient, ..ReadOptions::default() };
    let mut problems = Vec::new();
    let mut reader = Reader::new(ODD.as_bytes(), &options, &mut |problem| problems.push(problem)).unwrap();
    assert_eq!(reader.header().columns()[..2], [None, Some(Column::FileUrl)]);
    let row = reader.next_row(&mut |problem| problems.push(problem)).unwrap().unwrap();
    assert_eq!((row.url(), row.file_name()), ("http://localhost/a b", "a.jpg"));
    assert_eq!((row.checksum(), row.modified()), (None, None));
    assert_eq!(row.text(Column::MimeType).as_deref(), Some("image/jpeg"));
    assert!(reader.next_row(&mut |_| {}).unwrap().is_none());
}

#[test]
fn a_row_with_an_error_is_passed_over_and_counted() {
    let manifest = of_files(&["https://example.org/a.jpg", "nothing", "https://example.org/c.jpg"]);
    for mode in [Mode::Strict, Mode::Lenient] {
        let options = ReadOptions { mode, ..ReadOptions::default() };
        let mut problems = Vec::new();
        let mut reader = Reader::new(manifest.as_bytes(), &options, &mut |problem| problems.push(problem)).unwrap();
        let mut numbers = Vec::new();
        while let Some(row) = reader.next_row(&mut |problem| problems.push(problem)).unwrap() {
            numbers.push((row.number(), row.file_name().to_owned()));
        }
        assert_eq!(numbers, [(1, "a.jpg".to_owned()), (3, "c.jpg".to_owned())]);
        assert_eq!(reader.rows(), 3);
        assert_eq!(problems.iter().map(|problem| problem.row).collect::<Vec<_>>(), [Some(2), Some(2)]);
    }
}

#[test]
fn what_would_lose_or_mix_up_files_is_an_error_in_both_modes() {
    let manifest = of_files(&["https://example.org/a.jpg"]);
    for bad in [
        manifest.replace("#%eof", ""),
        manifest.replace("#%eof", "#%eof\nhttps://example.org/b.jpg"),
        manifest.replace("a.jpg", "a.jpg | md5 | abc"),
        manifest.replace("a.jpg", "a.jpg | | | | | /etc/passwd"),
        manifest.replace("a.jpg", "a.jpg\nhttps://example.org/2/a.jpg"),
        manifest.replace("#%profile", "# profile"),
    ] {
        for mode in [Mode::Strict, Mode::Lenient] {
            assert_eq!(word(&judge(&bad, mode)), "error", "{bad}");
        }
    }
}
