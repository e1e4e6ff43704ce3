//! ERC files of any bytes: what is read is written and read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strongroom_metadata::{Limits, read_erc, write_erc};

fuzz_target!(|bytes: &[u8]| {
    let Ok(reading) = read_erc(bytes, &Limits::default()) else { return };
    let again = read_erc(write_erc(&reading.record).as_bytes(), &Limits::default()).expect("what is written is read");
    assert_eq!((again.record, again.notes.len()), (reading.record, 0));
});
