//! Answers of OAI-PMH: whatever comes, reading ends, and every document that is given is one by itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use quick_xml::NsReader;
use quick_xml::events::Event as Node;
use quick_xml::name::ResolveResult;
use strongroom_harvest::{Event, Limits, read_answer};

fuzz_target!(|bytes: &[u8]| {
    // Small bounds are reached by small inputs.
    let limits = Limits { record_bytes: 1 << 10, depth: 16, id_bytes: 64, sets: 4, token_bytes: 64, ..Limits::default() };
    for event in read_answer(bytes, "fuzz", &limits) {
        let Ok(Event::Record(record)) = event else { continue };
        assert!(!record.id.is_empty() && record.id.len() <= 64 && record.sets.len() <= 4);
        assert_eq!(record.document.is_none(), record.is_deleted);
        for document in record.document.iter().chain(&record.about) {
            stands_alone(&document.bytes);
        }
    }
});

/// One root element, whose tags match and whose prefixes are declared.
fn stands_alone(bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).expect("UTF-8");
    let mut reader = NsReader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let (mut depth, mut roots) = (0, 0);
    loop {
        let (space, node) = reader.read_resolved_event().expect("well-formed");
        assert!(!matches!(space, ResolveResult::Unknown(_)), "{text}");
        match node {
            Node::Start(_) => {
                roots += usize::from(depth == 0);
                depth += 1;
            }
            Node::End(_) => depth -= 1,
            Node::Text(_) | Node::CData(_) | Node::GeneralRef(_) => assert!(depth > 0, "{text}"),
            Node::Eof => break,
            _ => {}
        }
    }
    assert_eq!((depth, roots), (0, 1), "{text}");
}
