//! Manifests that are meant to do harm, and bytes that are none.

use std::io::{self, BufRead, BufReader, Read};

use proptest::prelude::*;
use strongroom_checkm::{Limits, Mode, ReadOptions, Reader, ValidateOptions, validate};

use crate::manifests::{found, judge, of_files, with};

const A: &str = "https://example.org/a.jpg";

#[test]
fn control_characters_and_bytes_that_are_no_text_are_told_of_by_row() {
    for (bytes, code) in [
        (&b"https://example.org/\0"[..], "text.control_character"),
        (b"https://example.org/a | | | | | a\x1Bb", "text.control_character"),
        (b"https://example.org/a\rhttps://example.org/b", "text.control_character"),
        (b"https://example.org/a | | | | | caf\xE9", "text.not_utf8"),
        (b"https://example.org/a | | | | | \xED\xA0\x80", "text.not_utf8"),
    ] {
        let manifest = of_files(&[A, "MARK", "https://example.org/c.jpg"]).into_bytes();
        let at = manifest.windows(4).position(|window| window == b"MARK").unwrap();
        let manifest = [&manifest[..at], bytes, &manifest[at + 4..]].concat();
        assert_eq!(found(&manifest), [(code, Some(2))], "{bytes:?}");
        let report = judge(&manifest, Mode::Lenient);
        assert_eq!((report.errors, report.rows), (1, 3), "{bytes:?}");
    }
}

#[test]
fn a_file_with_the_line_ends_of_old_systems_or_another_encoding_is_told_of_and_not_read() {
    let manifest = of_files(&[A]);
    let codes = |bytes: &[u8]| found(bytes).into_iter().map(|(code, _)| code).collect::<Vec<_>>();
    assert_eq!(codes(manifest.replace('\n', "\r").as_bytes())[0], "text.control_character");
    let wide: Vec<u8> = manifest.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(codes(&wide).contains(&"text.control_character"));
    assert!(codes(b"PK\x03\x04\x14\0\0\0\x08\0\xFF\xFE").contains(&"text.not_utf8"));
}

#[test]
fn percent_forms_that_are_cut_off_or_unknown_stand_for_themselves() {
    let manifest =
        of_files(&["https://example.org/1 | | | | | 100%|", "https://example.org/2 | | | | | %2%zz%7%é%%20x"]);
    let mut names = Vec::new();
    let mut reader = Reader::new(manifest.as_bytes(), &ReadOptions::default(), &mut |_| {}).unwrap();
    while let Some(row) = reader.next_row(&mut |problem| panic!("{problem:?}")).unwrap() {
        names.push(row.file_name().to_owned());
    }
    assert_eq!(names, ["100%", "%2%zz%7%é% x"]);
    assert_eq!(found(of_files(&["https://example.org/%2"])), [("url.characters", Some(1))]);
}

#[test]
fn a_name_that_leads_out_of_the_object_is_refused_however_it_is_given() {
    for name in ["/etc/passwd", "../x", "a/../../x", "C:\\x", "a\\..\\x", "~/x", "%TEMP%/x", "a//b", "a/"] {
        let manifest = of_files(&[&format!("{A} | | | | | {name}")]);
        assert_eq!(found(&manifest), [("name.unsafe", Some(1))], "{name}");
    }
    for last in ["..", "%2e%2e", "..%2Fx", "%2Fetc%2Fpasswd", "a%00b", "a%0Ab", "%5C%5Cserver"] {
        let codes = found(of_files(&[&format!("https://example.org/b/{last}")]));
        assert_eq!(codes, [("name.unsafe", Some(1))], "{last}");
    }
    let long = "x".repeat(300);
    assert_eq!(found(of_files(&[&format!("{A} | | | | | {long}")])), [("name.too_long", Some(1))]);
}

fn limited(limits: Limits, manifest: &str) -> Vec<(&'static str, Option<u64>)> {
    let options =
        ValidateOptions { read: ReadOptions { limits, ..ReadOptions::default() }, ..ValidateOptions::default() };
    let report = validate(manifest.as_bytes(), &options).unwrap();
    assert!(report.rows <= limits.rows);
    report.problems.iter().map(|problem| (problem.code, problem.row)).collect()
}

#[test]
fn what_is_beyond_a_limit_is_an_error_and_never_passed_over_in_silence() {
    let rows = ["https://example.org/1", "https://example.org/2", "https://example.org/3"];
    let manifest = of_files(&rows);
    let all = Limits::default();
    assert_eq!(limited(Limits { rows: 3, ..all }, &manifest), []);
    assert_eq!(limited(Limits { rows: 2, ..all }, &manifest), [("limit.rows", None)]);
    assert_eq!(limited(Limits { bytes: manifest.len() as u64, ..all }, &manifest), []);
    assert_eq!(limited(Limits { bytes: manifest.len() as u64 - 1, ..all }, &manifest), [("limit.bytes", None)]);
    let long = manifest.replace("org/2", &format!("org/{}", "2".repeat(200)));
    assert_eq!(limited(Limits { line_bytes: 170, ..all }, &long), [("limit.line", Some(2))]);
    let wide = manifest.replace("org/2", &format!("org/2{}", "|".repeat(20)));
    assert_eq!(limited(Limits { columns: 10, ..all }, &wide), [("limit.columns", Some(2))]);
    let broken = manifest.replace("org/3", "org/\0");
    assert_eq!(limited(Limits { rows: 3, ..all }, &broken), [("text.control_character", Some(3))]);
}

#[test]
fn many_problems_are_counted_and_the_first_are_listed() {
    let rows: Vec<&str> = vec!["nothing"; 5_000];
    let report = judge(with(strongroom_checkm::ManifestProfile::SingleFileBatch, &[], &rows), Mode::Strict);
    // Not a URL, and no name in it.
    assert_eq!((report.errors, report.rows, report.problems.len()), (10_000, 5_000, 1_001));
    let last = report.problems.last().unwrap();
    assert_eq!(last.code, "problems.truncated");
    assert!(last.message.starts_with("9000 more problems"), "{}", last.message);
}

/// A manifest of any number of rows, made while it is read.
struct Endless {
    rows: u64,
    next: u64,
    ready: Vec<u8>,
    used: usize,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.used == self.ready.len() {
            self.used = 0;
            self.ready = match self.next {
                0 => of_files(&[]).replace("#%eof\n", "").into_bytes(),
                row if row <= self.rows => format!("https://example.org/{row}.jpg | | | {row}\n").into_bytes(),
                row if row == self.rows + 1 => b"#%eof\n".to_vec(),
                _ => Vec::new(),
            };
            self.next += 1;
        }
        let length = (&self.ready[self.used..]).read(buffer)?;
        self.used += length;
        Ok(length)
    }
}

#[test]
fn a_manifest_of_many_rows_is_read_as_a_stream() {
    let input = BufReader::new(Endless { rows: 100_000, next: 0, ready: Vec::new(), used: 0 });
    let mut reader = Reader::new(input, &ReadOptions::default(), &mut |_| {}).unwrap();
    let mut bytes = 0;
    while let Some(row) = reader.next_row(&mut |problem| panic!("{problem:?}")).unwrap() {
        bytes += row.size().unwrap();
    }
    assert_eq!((reader.rows(), bytes), (100_000, 5_000_050_000));
}

/// Fails after some bytes.
struct Broken(usize);

impl Read for Broken {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::Error::other("the disk is gone"));
        }
        let length = self.0.min(buffer.len());
        buffer[..length].fill(b'\n');
        self.0 -= length;
        Ok(length)
    }
}

#[test]
fn a_failure_to_read_is_an_error_that_names_the_line() {
    let input: Box<dyn BufRead> = Box::new(BufReader::with_capacity(8, Broken(20)));
    let error = validate(input, &ValidateOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "could not read the manifest at line 21");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "the disk is gone");
}

proptest! {
    #[test]
    fn any_bytes_are_read_to_the_end(raw in prop::collection::vec(any::<u8>(), 0..400)) {
        judge(&raw, Mode::Strict);
        judge(&raw, Mode::Lenient);
    }

    #[test]
    fn any_text_of_the_format_is_read_to_the_end(lines in prop::collection::vec("(#%(checkm_0.7|profile|fields|eof|prefix)?)?[ |:a-zA-Z0-9%/.é\\r]{0,40}", 0..12)) {
        let text = lines.join("\n");
        let strict = judge(&text, Mode::Strict);
        let lenient = judge(&text, Mode::Lenient);
        prop_assert_eq!(strict.rows, lenient.rows);
        prop_assert!(lenient.errors <= strict.errors);
    }

    #[test]
    fn a_manifest_with_any_bytes_in_a_row_says_so_or_reads_it(row in prop::collection::vec(any::<u8>(), 0..80)) {
        let manifest = of_files(&[A, "MARK"]).into_bytes();
        let at = manifest.windows(4).position(|window| window == b"MARK").unwrap();
        judge([&manifest[..at], &row, &manifest[at + 4..]].concat(), Mode::Strict);
    }
}
