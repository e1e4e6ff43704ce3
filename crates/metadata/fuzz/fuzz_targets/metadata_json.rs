//! JSON of any bytes: what is read is written and read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strongroom_metadata::{Limits, read_json, write_json};

fuzz_target!(|bytes: &[u8]| {
    let Ok(record) = read_json(bytes, &Limits::default()) else { return };
    let again = read_json(write_json(&record).as_bytes(), &Limits::default()).expect("what is written is read");
    assert_eq!(again, record);
});
