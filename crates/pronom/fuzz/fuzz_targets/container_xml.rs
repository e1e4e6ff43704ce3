//! Container signature files of any bytes, beside a small binary one: what can be read can be used.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strongroom_pronom::xml::{self, Document};
use strongroom_pronom::{Identifier, Options};

const BINARY: &[u8] = include_bytes!("../seeds/binary_xml/small.xml");
const ARCHIVE: &[u8] = include_bytes!("../seeds/zip/small.zip");

fuzz_target!(|bytes: &[u8]| {
    let binary = Document { name: None, bytes: BINARY };
    if let Ok(set) = xml::read(binary, Some(Document { name: None, bytes })) {
        let identifier = Identifier::new(set);
        identifier.identify("file.zip", &ARCHIVE, &Options::default()).expect("reading memory does not fail");
    }
});
