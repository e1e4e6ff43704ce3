//! Binary signature files of any bytes: what can be read can be used.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strongroom_pronom::xml::{self, Document};
use strongroom_pronom::{Identifier, Options};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(set) = xml::read(Document { name: None, bytes }, None) {
        let identifier = Identifier::new(set);
        identifier.identify("file.bin", &bytes, &Options::default()).expect("reading memory does not fail");
    }
});
