//! Bytes made to keep an identification busy: it ends with an answer, and the ways of asking agree on it.

use strongroom_pronom::{Identifier, Observed, Options};

const SIZE: usize = 5_000_000;

/// Beginnings that leave much open, and what follows them over and over.
const CASES: [(&[u8], &[u8]); 22] = [
    (b"", b"\xFF"),
    (b"", b"\0"),
    (b"", b"PK"),
    (b"", b" "),
    (b"", b"<"),
    (b"", b"\r\n"),
    (b"", b"PK\x03\x04"),
    (b"PK\x03\x04", b"PK\x05\x06"),
    (b"PK\x03\x04", b"PK\x01\x02"),
    (b"", b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"),
    (b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", b"\0"),
    (b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", b"\xFF"),
    (b"%PDF-1.4\n", b"xmlns:pdfaid=\"http://www.aiim.org/pdfa/ns/id pdfaid:conformance "),
    (b"%PDF-1.4\nxmlns:pdfaid=\"http://www.aiim.org/pdfa/ns/id", b"pdfaid:conformance=\""),
    (b"<?xml version=\"1.0\"?>", b"<a xmlns=\"http://"),
    (b"", b"  0\r\nSECTION\r\n  2\r\nHEADER\r\n"),
    (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"tEXtiTXtIDAT"),
    (b"", b"\xFF\xD8\xFF\xE1"),
    (b"", b"\xFF\xFB\x90\0"),
    (b"", b"\0\0\x01\xBA"),
    (b"", b"\xFFCD001\x01CD001NSR02"),
    (b"GIF89a", b"!\xF9\x04"),
];

#[test]
fn bytes_made_of_near_matches_are_decided() {
    let identifier = Identifier::builtin().unwrap();
    let options = Options::default();
    for (beginning, rest) in CASES {
        let mut bytes = beginning.to_vec();
        bytes.extend(rest.iter().cycle().take(SIZE - beginning.len()));
        let read = identifier.identify("a", &bytes.as_slice(), &options).unwrap();
        let mut observation = identifier.observe("a", &options);
        bytes.chunks(70_000).for_each(|piece| observation.update(piece));
        let passed = match observation.finish() {
            Observed::Complete(answer) => answer,
            Observed::Container(pending) => pending.finish(&bytes.as_slice()).unwrap(),
        };
        let puids = |answer: &strongroom_pronom::Identification| {
            answer.matches.iter().map(|one| one.format.puid.clone()).collect::<Vec<_>>()
        };
        assert_eq!(puids(&read), puids(&passed), "{:?}", String::from_utf8_lossy(rest));
        assert_eq!(read.warnings, passed.warnings, "{:?}", String::from_utf8_lossy(rest));
    }
}
