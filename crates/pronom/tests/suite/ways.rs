//! The ways of asking give one answer: bytes in memory, read in ranges, and passing by in pieces of any length.

use std::cell::Cell;
use std::io;
use std::time::Duration;

use proptest::prelude::*;
use strongroom_pronom::{Identification, Identifier, Observed, Options, Source, Warning};

/// Parts of real formats, to be put anywhere.
const PARTS: [&[u8]; 17] = [
    b"%PDF-1.4\n",
    b"%PDF-1.7\n",
    b"\n%%EOF\n",
    b"xmlns:pdfaid=\"http://www.aiim.org/pdfa/ns/id/\"",
    b"pdfaid:part=\"1\" pdfaid:conformance=\"B\"",
    b"<?xml version=\"1.0\"?>",
    b"<html xmlns=\"http://www.w3.org/1999/xhtml\">",
    b"<svg version=\"1.1\" xmlns=\"http://www.w3.org/2000/svg\">",
    b"GIF89a",
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    b"PK\x03\x04\x14\0\0\0\0\0",
    b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1",
    b"  0\r\nSECTION\r\n  2\r\nHEADER\r\n",
    b"  0\r\nEOF\r\n",
    b"TRUEVISION-XFILE.\0",
    b"META-INF/MANIFEST.MF",
];

fn observed(identifier: &Identifier, name: &str, bytes: &[u8], cuts: &[usize]) -> Identification {
    let mut observation = identifier.observe(name, &Options::default());
    let mut rest = bytes;
    for cut in cuts.iter().copied().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at(cut.clamp(1, rest.len()));
        observation.update(piece);
        rest = after;
    }
    match observation.finish() {
        Observed::Complete(answer) => answer,
        Observed::Container(pending) => pending.finish(&bytes).unwrap(),
    }
}

fn puids(answer: &Identification) -> Vec<&str> {
    answer.matches.iter().map(|one| one.format.puid.as_str()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn bytes_that_pass_by_get_the_answer_of_bytes_that_are_read(
        parts in prop::collection::vec((0..PARTS.len(), prop_oneof![0_usize..40, 0_usize..200_000]), 1..5),
        padding in prop_oneof![Just(0_u8), Just(b' '), Just(0xA5)],
        cuts in prop::collection::vec(prop_oneof![1_usize..5_000, 60_000_usize..300_000], 1..4),
    ) {
        let identifier = Identifier::builtin().unwrap();
        let mut bytes = Vec::new();
        for (part, gap) in parts {
            bytes.extend_from_slice(PARTS[part]);
            bytes.extend(std::iter::repeat_n(padding, gap));
        }
        let read = identifier.identify("a.bin", &bytes.as_slice(), &Options::default()).unwrap();
        let passed = observed(&identifier, "a.bin", &bytes, &cuts);
        prop_assert_eq!(puids(&read), puids(&passed));
        prop_assert_eq!(&read.candidates, &passed.candidates);
        prop_assert_eq!(&read.warnings, &passed.warnings);
    }
}

/// A source that counts what is read of it.
struct Counted<'b> {
    bytes: &'b [u8],
    read: Cell<u64>,
}

impl Source for Counted<'_> {
    fn size(&self) -> u64 {
        self.bytes.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read_at(offset, buffer)?;
        self.read.set(self.read.get() + read as u64);
        Ok(read)
    }
}

#[test]
fn of_a_large_file_only_what_is_needed_is_read() {
    let identifier = Identifier::builtin().unwrap();
    let mut bytes = b"fLaC\0\0\0\x22\x10\0\x10\0".to_vec();
    bytes.resize(40 << 20, 0);
    let source = Counted { bytes: &bytes, read: Cell::new(0) };
    let answer = identifier.identify("tape.flac", &source, &Options::default()).unwrap();
    assert_eq!(puids(&answer), ["fmt/279"]);
    assert!(source.read.get() < 400 << 10, "{} bytes were read", source.read.get());
}

#[test]
fn an_answer_that_a_window_cut_short_says_so() {
    let identifier = Identifier::builtin().unwrap();
    let mut bytes = b"%PDF-1.4\n".to_vec();
    bytes.resize(1 << 20, b' ');
    bytes.extend_from_slice(
        b"xmlns:pdfaid=\"http://www.aiim.org/pdfa/ns/id/\" pdfaid:part=\"1\" pdfaid:conformance=\"B\"",
    );
    bytes.resize(2 << 20, b' ');
    bytes.extend_from_slice(b"%%EOF\n");
    let whole = identifier.identify("a.pdf", &bytes.as_slice(), &Options::default()).unwrap();
    assert_eq!((puids(&whole), whole.warnings.as_slice()), (vec!["fmt/354"], &[][..]));
    let options = Options { window: Some(64 << 10), ..Options::default() };
    let cut = identifier.identify("a.pdf", &bytes.as_slice(), &options).unwrap();
    assert_eq!(puids(&cut), ["fmt/18"]);
    assert_eq!(cut.warnings, [Warning::WindowLimited { window: 64 << 10 }]);
}

#[test]
fn an_answer_for_which_there_was_no_time_says_so() {
    let identifier = Identifier::builtin().unwrap();
    let mut bytes = b"%PDF-1.4\n".to_vec();
    bytes.resize(1 << 20, b' ');
    bytes.extend_from_slice(b"%%EOF\n");
    let options = Options { time_limit: Duration::ZERO, ..Options::default() };
    let answer = identifier.identify("a.pdf", &bytes.as_slice(), &options).unwrap();
    assert_eq!((puids(&answer), answer.warnings.as_slice()), (vec!["fmt/18"], &[Warning::TimeSpent][..]));
    let mut observation = identifier.observe("a.pdf", &options);
    bytes.chunks(100_000).for_each(|piece| observation.update(piece));
    let Observed::Complete(answer) = observation.finish() else { panic!("a PDF is no container") };
    assert_eq!((puids(&answer), answer.warnings.as_slice()), (vec!["fmt/18"], &[Warning::TimeSpent][..]));
}
