//! Dublin Core documents of any bytes: what is read is written and read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strongroom_metadata::{Limits, read_dublin_core, write_dublin_core};

fuzz_target!(|bytes: &[u8]| {
    let Ok(reading) = read_dublin_core(bytes, &Limits::default()) else { return };
    let file = write_dublin_core(&reading.record);
    let again = read_dublin_core(file.as_bytes(), &Limits::default()).expect("what is written is read");
    assert_eq!((again.record, again.notes.len()), (reading.record, 0));
});
