//! Declarations and tag files of any bytes, in several encodings and versions.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strongroom_bagit::{Charset, Declaration, TagFile, Version};

fuzz_target!(|bytes: &[u8]| {
    Declaration::parse(bytes, &mut |_| {}).expect("reading memory does not fail");
    for label in ["UTF-8", "UTF-16", "UTF-32", "ISO-8859-1", "US-ASCII", "GB18030", "ISO-2022-JP", "Shift_JIS"] {
        let charset = Charset::for_label(label).expect("a known label");
        for version in [Version::V0_97, Version::V1_0] {
            let file = TagFile { name: "bag-info.txt", charset, version };
            file.parse(bytes, &mut |_| {}).expect("reading memory does not fail");
        }
    }
});
