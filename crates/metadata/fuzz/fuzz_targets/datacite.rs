//! DataCite documents of any bytes: what is read can be written in another format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strongroom_metadata::{Limits, read_datacite, read_json, write_json};

fuzz_target!(|bytes: &[u8]| {
    let Ok(reading) = read_datacite(bytes, &Limits::default()) else { return };
    let again = read_json(write_json(&reading.record).as_bytes(), &Limits::default()).expect("what is written is read");
    assert_eq!(again, reading.record);
});
