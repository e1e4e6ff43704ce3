//! Archives of any bytes: read as tar, tar.gz and zip, and no entry shown with an unsafe name.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use strongroom_bagit::{Limits, Serialization, Source, unsafe_reason};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { bytes: 16 << 20, ..Limits::default() };
    for serialization in [Serialization::Tar, Serialization::TarGz, Serialization::Zip] {
        let source = Source::from_stream(Box::new(Cursor::new(bytes.to_vec())), serialization, None);
        let scan = source.scan(&limits, &mut |entry, reader| {
            assert!(unsafe_reason(&entry.path).is_none());
            std::io::copy(reader, &mut std::io::sink()).map(drop)
        });
        scan.expect("bytes alone are no reason for an error");
    }
});
