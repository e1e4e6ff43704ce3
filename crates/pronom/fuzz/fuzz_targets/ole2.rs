//! Compound files of any bytes: listed and read, with no more members than there is room for in the bytes.
#![no_main]

use std::io::Read;

use libfuzzer_sys::fuzz_target;
use strongroom_pronom::ContainerKind;
use strongroom_pronom::container::visit_members;

/// How often a directory whose sectors loop may be gone round before that is noticed.
const LOOPING: usize = 3;
/// Length of a directory entry.
const ENTRY: usize = 128;

fuzz_target!(|bytes: &[u8]| {
    let mut members = 0;
    let mut left = 4 << 20;
    let _ = visit_members(ContainerKind::Ole2, &bytes, None, &mut |member| {
        members += 1;
        if let Ok(content) = member.open() {
            let mut read = Vec::new();
            let _ = content.take(left).read_to_end(&mut read);
            left -= read.len() as u64;
        }
        true
    });
    assert!(members <= LOOPING * bytes.len() / ENTRY);
});
