//! Archives of any bytes: listed and read, with no more members than there is room for in the bytes.
#![no_main]

use std::io::Read;

use libfuzzer_sys::fuzz_target;
use strongroom_archive::zip::{Index, Placement};

/// Length of a file header in the central directory.
const HEADER: usize = 46;

fuzz_target!(|bytes: &[u8]| {
    for placement in [Placement::Exact, Placement::Embedded] {
        let Ok(index) = Index::open(bytes, placement) else { continue };
        let mut members = 0;
        let mut left = 4 << 20;
        for entry in index.entries().flatten() {
            members += 1;
            let Ok(local) = entry.local_header(bytes) else { continue };
            if let Ok(content) = entry.open_verified(bytes, &local) {
                let mut read = Vec::new();
                let _ = content.take(left).read_to_end(&mut read);
                assert!(read.len() as u64 <= entry.size);
                left -= read.len() as u64;
            }
        }
        assert!(members <= bytes.len() / HEADER);
    }
});
