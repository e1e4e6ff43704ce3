//! What is written is read as it was.

use proptest::prelude::*;
use strongroom_metadata::{
    Field, Limits, Record, read_dublin_core, read_erc, read_json, write_dublin_core, write_erc, write_json,
};

/// Values in any script, with the characters that the formats give a meaning.
fn value() -> impl Strategy<Value = String> {
    let special = prop::sample::select(vec![
        "%", "%25", "%0A", ":", "|", "#", "\n", "\r\n", "\t", " ", "&", "&amp;", "<", ">", "]]>", "\"", "'", ";", ",",
        "\\", "(:unas)", "\u{85}", "\u{a0}", "\u{2028}", "\u{feff}", "é", "文", "א", "🗝",
    ]);
    let part = prop_oneof![special.prop_map(str::to_owned), "[^\\p{Cc}\u{fffe}\u{ffff}]{1,8}"];
    prop::collection::vec(part, 1..8).prop_map(|parts| parts.concat())
}

fn any_record() -> impl Strategy<Value = Record> {
    let field = prop::sample::select(Field::all().collect::<Vec<_>>());
    prop::collection::vec((field, value()), 0..24).prop_map(|values| {
        let mut record = Record::new();
        for (field, value) in &values {
            record.add(*field, value).unwrap();
        }
        record
    })
}

proptest! {
    #[test]
    fn every_format_gives_back_what_was_written(record in any_record()) {
        let limits = Limits::default();
        let erc = read_erc(write_erc(&record).as_bytes(), &limits).unwrap();
        prop_assert_eq!((erc.record, erc.notes.len()), (record.erc(), 0));
        let dublin_core = read_dublin_core(write_dublin_core(&record).as_bytes(), &limits).unwrap();
        prop_assert_eq!((dublin_core.record, dublin_core.notes.len()), (record.dublin_core(), 0));
        prop_assert_eq!(read_json(write_json(&record).as_bytes(), &limits).unwrap(), record);
    }
}
