//! XML files of the disk: whatever they have, reading ends, and every document that is given is text with an identifier.

#![no_main]

use libfuzzer_sys::fuzz_target;
use strongroom_download::Supervision;
use strongroom_harvest::{ElementPath, Event, FileOptions, FileRecords, FileSource, Limits, RecordSource};

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.xml");
    std::fs::write(&path, bytes).expect("writes");
    // Small bounds are reached by small inputs.
    let limits = Limits { record_bytes: 1 << 10, depth: 16, id_bytes: 64, ..Limits::default() };
    let id = ElementPath::parse("controlfield").expect("a path");
    for records in [
        FileRecords::Marc,
        FileRecords::Files { id: None },
        FileRecords::Elements { name: "record".to_owned(), namespace: None, id },
    ] {
        let options = FileOptions { path: path.clone(), records, limits: limits.clone() };
        let source = FileSource::new(options).expect("options");
        for event in source.records(None, Supervision::default()).expect("begins") {
            let Ok(Event::Record(record)) = event else { continue };
            assert!(!record.id.is_empty());
            if let Some(document) = record.document {
                std::str::from_utf8(&document.bytes).expect("UTF-8");
            }
        }
    }
});
