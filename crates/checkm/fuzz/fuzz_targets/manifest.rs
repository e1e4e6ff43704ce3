//! Manifests of any bytes, read in both modes: nothing a strict check accepts is refused by a lenient one, and a row that is read is
//! written and read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strongroom_checkm::{
    Column, Limits, ManifestProfile, ManifestWriter, Mode, NewRow, ReadOptions, Reader, ValidateOptions, validate,
};

/// Limits that an input can reach.
const LIMITS: Limits = Limits { line_bytes: 512, columns: 32, rows: 64, bytes: 16 << 10 };

fn options(mode: Mode) -> ReadOptions {
    ReadOptions { mode, limits: LIMITS, profile: None }
}

fuzz_target!(|bytes: &[u8]| {
    let [strict, lenient] = [Mode::Strict, Mode::Lenient].map(|mode| {
        let options = ValidateOptions { read: options(mode), problems: 100, ..ValidateOptions::default() };
        validate(bytes, &options).expect("reading memory does not fail")
    });
    assert_eq!(strict.rows, lenient.rows);
    assert!(strict.rows <= LIMITS.rows && lenient.errors <= strict.errors);

    let read = options(Mode::Strict);
    let mut reader = Reader::new(bytes, &read, &mut |_| {}).expect("reading memory does not fail");
    let Some(row) = reader.next_row(&mut |_| {}).expect("reading memory does not fail") else { return };
    let (url, name) = (row.url(), row.file_name());
    let mut writer = ManifestWriter::new(Vec::new(), ManifestProfile::Object, &[]).expect("memory takes all");
    // A name out of a URL may look like a percent form, which cannot be written.
    if writer.row(&NewRow::new(url).text(Column::FileName, name)).is_err() {
        return;
    }
    let manifest = writer.finish().expect("memory takes all");
    let mut reader = Reader::new(manifest.as_slice(), &ReadOptions::default(), &mut |_| {}).expect("a manifest");
    let again = reader.next_row(&mut |problem| panic!("{problem:?}")).expect("a manifest").expect("a row");
    assert_eq!((again.url(), again.file_name()), (url, name));
});
