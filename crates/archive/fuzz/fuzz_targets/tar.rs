//! Tars of any bytes: read from a stream and from a source, with the same members.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strongroom_archive::tar::{Input, Member, Reader, SourceInput, StreamInput};

fn members<I: Input>(mut reader: Reader<I>) -> Vec<Member> {
    std::iter::from_fn(|| reader.next_member().ok().flatten()).collect()
}

fuzz_target!(|bytes: &[u8]| {
    let streamed = members(Reader::new(StreamInput(bytes)));
    assert!(streamed.len() <= bytes.len() / 512);
    assert_eq!(streamed, members(Reader::new(SourceInput::new(bytes))));
});
