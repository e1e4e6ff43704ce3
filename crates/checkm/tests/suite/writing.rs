//! What is written is read back by a strict reader, or refused.

use proptest::prelude::*;
use strongroom_checkm::{
    CheckmError, Checksum, Column, ManifestProfile, ManifestWriter, Mode, NewRow, ReadOptions, Reader,
};
use strongroom_digest::{Algorithm, Digest};

use crate::manifests::judge;

const A: &str = "https://example.org/a.zip";

fn checksum(algorithm: Algorithm) -> Checksum {
    Checksum::new(algorithm, Digest::from_bytes(&vec![0xA7; algorithm.length()]).unwrap()).unwrap()
}

#[test]
fn a_manifest_of_every_profile_is_read_back() {
    for profile in ManifestProfile::ALL {
        let further: &[Column] = if profile.is_batch() { &[Column::Subject, Column::Rights] } else { &[] };
        let mut writer = ManifestWriter::new(Vec::new(), profile, further).unwrap();
        let url = if profile == ManifestProfile::Batch { "https://example.org/a.checkm" } else { A };
        writer.row(&NewRow::new(url)).unwrap();
        let name = if profile == ManifestProfile::Batch { " b|c.checkm" } else { " b|c.zip" };
        let mut row = NewRow::new(A).size(0).checksum(checksum(Algorithm::Adler32));
        row = row.text(Column::FileName, name).text(Column::FileLastModified, "2009-09-01");
        if profile.is_batch() {
            row = row.text(Column::Rights, "a; b|").text(Column::Subject, "c; d").text(Column::Subject, " e ");
        }
        writer.row(&row).unwrap();
        let manifest = writer.finish().unwrap();
        assert_eq!(judge(&manifest, Mode::Strict).problems, [], "{}", String::from_utf8_lossy(&manifest));
        let mut reader = Reader::new(manifest.as_slice(), &ReadOptions::default(), &mut |_| {}).unwrap();
        assert_eq!(reader.header().profile(), Some(profile));
        reader.next_row(&mut |_| {}).unwrap().unwrap();
        let row = reader.next_row(&mut |_| {}).unwrap().unwrap();
        assert_eq!((row.file_name(), row.size(), row.modified()), (name, Some(0), Some("2009-09-01")));
        assert_eq!(row.checksum(), Some(checksum(Algorithm::Adler32)));
        if profile.is_batch() {
            assert_eq!(row.text(Column::Rights).as_deref(), Some("a; b|"));
            assert_eq!(row.values(Column::Subject), ["c; d", " e "]);
        }
    }
}

#[test]
fn what_would_not_be_read_back_is_refused_and_nothing_of_it_written() {
    let mut writer = ManifestWriter::new(Vec::new(), ManifestProfile::ContainerBatch, &[]).unwrap();
    let mut refuse = |row: NewRow<'_>| writer.row(&row).unwrap_err();
    let row = || NewRow::new(A);
    for (column, value) in [
        (Column::Title, "a\nb"),
        (Column::Title, "a%20b"),
        (Column::Title, "a%scb"),
        (Column::Title, "\ta"),
        (Column::FileSize, "12"),
    ] {
        let error = refuse(row().text(column, value));
        assert!(matches!(error, CheckmError::Value { row: 1, .. }), "{error}");
    }
    for url in ["https://example.org/a|b.zip", " https://example.org/a.zip"] {
        assert!(matches!(refuse(NewRow::new(url)), CheckmError::Value { column: Column::FileUrl, .. }));
    }
    for bad in [
        NewRow::new("https://example.org/a b.zip"),
        NewRow::new("https://example.org/a.zip\nx"),
        NewRow::new(""),
        NewRow::new("# a"),
        row().text(Column::FileName, "../a.zip"),
        row().text(Column::FileName, "a.jpg"),
        row().text(Column::Date, "yesterday"),
        row().text(Column::PrimaryIdentifier, "a"),
    ] {
        assert!(matches!(refuse(bad.clone()), CheckmError::Row { row: 1, .. }), "{bad:?}");
    }
    assert!(matches!(refuse(row().text(Column::MimeType, "image/jpeg")), CheckmError::NoColumn { row: 1, .. }));
    assert!(matches!(refuse(row().text(Column::Title, "a").text(Column::Title, "b")), CheckmError::Value { .. }));
    writer.row(&NewRow::new(A)).unwrap();
    let manifest = writer.finish().unwrap();
    let report = judge(&manifest, Mode::Strict);
    assert_eq!((report.problems, report.rows), (Vec::new(), 1));
}

#[test]
fn a_column_that_the_profile_has_not_is_refused_at_the_start() {
    let error = ManifestWriter::new(Vec::new(), ManifestProfile::Object, &[Column::Title]).unwrap_err();
    assert_eq!(error.to_string(), "row 0 cannot be written: the manifest has no column mrt:title");
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~é|;%\t]{0,16}", "[a-z]{1,8}", "\\PC{0,8}"]
}

proptest! {
    #[test]
    fn every_row_that_is_taken_is_read_back(
        path in "[a-zA-Z0-9._~%-]{0,10}",
        name in prop_oneof!["[a-zA-Z0-9 |;%é._-]{0,10}", text()],
        size in proptest::option::of(any::<u64>()),
        algorithm in proptest::option::of(0..5_usize),
        title in text(),
        local in prop::collection::vec(text(), 0..3),
    ) {
        let algorithm = algorithm.map(|at| {
            [
                Algorithm::Crc32,
                Algorithm::Md2,
                Algorithm::Md5,
                Algorithm::Sha256,
                Algorithm::Sha512,
            ][at]
        });
        let url = format!("https://example.org/{path}");
        let mut row = NewRow::new(&url).text(Column::FileName, &name).text(Column::Title, &title);
        if let Some(size) = size {
            row = row.size(size);
        }
        if let Some(algorithm) = algorithm {
            row = row.checksum(checksum(algorithm));
        }
        for value in &local {
            row = row.text(Column::LocalIdentifier, value);
        }
        let mut writer = ManifestWriter::new(Vec::new(), ManifestProfile::SingleFileBatch, &[]).unwrap();
        let is_taken = writer.row(&row).is_ok();
        let manifest = writer.finish().unwrap();
        let mut report = |problem| panic!("{problem:?}");
        let mut reader = Reader::new(manifest.as_slice(), &ReadOptions::default(), &mut |_| {}).unwrap();
        if !is_taken {
            let has_row = reader.next_row(&mut |_| {}).unwrap().is_some();
            prop_assert!(!has_row);
            return Ok(());
        }
        let read = reader.next_row(&mut report).unwrap().unwrap();
        prop_assert_eq!(read.url(), &url);
        if !name.is_empty() {
            prop_assert_eq!(read.file_name(), &name);
        }
        prop_assert_eq!(read.size(), size);
        prop_assert_eq!(read.checksum(), algorithm.map(checksum));
        prop_assert_eq!(read.text(Column::Title).unwrap_or_default(), title);
        let mut expected: Vec<&str> = Vec::new();
        for value in local.iter().filter(|value| !value.is_empty()) {
            if !expected.contains(&value.as_str()) {
                expected.push(value);
            }
        }
        prop_assert_eq!(read.values(Column::LocalIdentifier), expected);
    }
}
