//! Answers with random faults: whatever comes, reading ends, and what is given is right.

use std::fs;
use std::io::{self, Read};
use std::sync::Mutex;

use strongroom_harvest::{
    ElementPath, Event, FileOptions, FileRecords, FileSource, JsonForm, JsonOptions, JsonSource, Limits, Paging,
    read_answer,
};
use strongroom_web_double::{Reply, WebDouble};

use crate::{connection, given};

const SEED: &[u8] = include_bytes!("../../fuzz/seeds/oai_answer/records.xml");
/// Bytes that have a meaning in XML, and some that have none in UTF-8.
const BYTES: &[u8] = b"<>&;'\"/=!?-[]: xa1#\x00\x0b\x80\xc3\xe9\xff";

/// Answers that differ from a right one in a few bytes, the same in every run.
pub(crate) fn mutants(count: u64) -> impl Iterator<Item = Vec<u8>> {
    mutants_of(SEED, BYTES, count)
}

/// The same of any text, with these bytes.
fn mutants_of(seed: &'static [u8], alphabet: &'static [u8], count: u64) -> impl Iterator<Item = Vec<u8>> {
    (0..count).map(move |number| {
        let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below as u64) as usize
        };
        let mut bytes = seed.to_vec();
        for _ in 0..=next(3) {
            if bytes.len() < 2 {
                break;
            }
            let at = next(bytes.len());
            let byte = alphabet[next(alphabet.len())];
            match next(5) {
                0 => bytes.insert(at, byte),
                1 => drop(bytes.remove(at)),
                2 => bytes.truncate(at.max(1)),
                3 => {
                    let end = (at + next(60)).min(bytes.len());
                    let part = bytes[at..end].to_vec();
                    bytes.splice(at..at, part);
                }
                _ => bytes[at] = byte,
            }
        }
        bytes
    })
}

/// The documents that are given of an answer.
pub(crate) fn documents(answer: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for event in read_answer(answer, "mutant", &Limits::default()) {
        if let Ok(Event::Record(record)) = event {
            assert!(!record.id.is_empty());
            assert_eq!(record.document.is_none(), record.is_deleted);
            found.extend(record.document.into_iter().chain(record.about).map(|document| document.bytes));
        }
    }
    found
}

#[test]
fn reading_ends_and_gives_no_more_than_there_is() {
    let mut given = 0;
    for answer in mutants(20_000) {
        let documents = documents(&answer);
        assert!(documents.len() <= 6);
        given += documents.len();
    }
    assert!(given > 10_000, "{given}");
}

/// An answer whose records never end.
struct Endless {
    part: &'static [u8],
    read: usize,
}

impl Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        const RECORD: &[u8] =
            b"<record><header><identifier>a</identifier></header><metadata><x>0123456789</x></metadata></record>";
        if self.part.len() == self.read {
            (self.part, self.read) = (RECORD, 0);
        }
        let count = into.len().min(self.part.len() - self.read);
        into[..count].copy_from_slice(&self.part[self.read..self.read + count]);
        self.read += count;
        Ok(count)
    }
}

#[test]
fn records_are_given_before_the_answer_ends() {
    let beginning = b"<OAI-PMH xmlns='http://www.openarchives.org/OAI/2.0/'><ListRecords>";
    let answer = Endless { part: beginning, read: 0 };
    let events = read_answer(answer, "endless", &Limits::default()).take(100_000);
    assert_eq!(events.filter(|event| matches!(event, Ok(Event::Record(_)))).count(), 100_000);
}

#[test]
fn every_beginning_of_an_answer_gives_the_records_that_are_whole_in_it() {
    let whole = documents(SEED);
    assert_eq!(whole.len(), 3);
    for end in 0..SEED.len() {
        let found = documents(&SEED[..end]);
        assert_eq!(found, whole[..found.len()], "{end}");
        let records = SEED[..end].windows(9).filter(|part| part == b"</record>").count();
        assert_eq!(found.len(), [0, 2, 2, 3][records], "{end}");
    }
}

const MARC: &[u8] = include_bytes!("../../fuzz/seeds/xml_file/marc.xml");
const JSON: &[u8] = include_bytes!("../../fuzz/seeds/json/page.json");
const LINES: &[u8] = include_bytes!("../../fuzz/seeds/json/records.jsonl");
/// Bytes that have a meaning in JSON, and some that have none in UTF-8.
const OF_JSON: &[u8] = b"{}[]\",:\\u0 1e-.tn\n\r\x00\x80\xc3\xff";

#[test]
fn reading_xml_files_ends_and_gives_no_more_than_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.xml");
    let records = [
        FileRecords::Marc,
        FileRecords::Files { id: None },
        FileRecords::Elements {
            name: "record".to_owned(),
            namespace: None,
            id: ElementPath::parse("controlfield").unwrap(),
        },
    ];
    let mut found = 0;
    for mutant in mutants_of(MARC, BYTES, 2_000) {
        fs::write(&path, &mutant).unwrap();
        for records in &records {
            let options = FileOptions { path: path.clone(), records: records.clone(), limits: Limits::default() };
            let given = given(&FileSource::new(options).unwrap());
            assert!(given.records.len() <= 6, "{}", String::from_utf8_lossy(&mutant));
            for record in &given.records {
                assert!(!record.id.is_empty());
                assert!(record.document.as_ref().is_none_or(|document| std::str::from_utf8(&document.bytes).is_ok()));
            }
            found += given.records.len();
        }
    }
    assert!(found > 3_000, "{found}");
}

#[test]
fn reading_json_ends_and_gives_no_more_than_there_is() {
    for (seed, form) in [(JSON, JsonForm::Document { records: "/response/docs".to_owned() }), (LINES, JsonForm::Lines)]
    {
        let web = WebDouble::start();
        let answers = Mutex::new(mutants_of(seed, OF_JSON, 1_500));
        web.answer("/api", move |_| Reply::ok(answers.lock().unwrap().next().unwrap_or_default()));
        let options = JsonOptions {
            url: web.url("/api"),
            form,
            id: "/id".to_owned(),
            datestamp: Some("/changed".to_owned()),
            deleted: Some("/gone".to_owned()),
            paging: Paging::One,
        };
        let source = JsonSource::new(connection(&web), options).unwrap();
        let mut found = 0;
        for _ in 0..1_000 {
            let given = given(&source);
            assert!(given.records.len() <= 8);
            for record in &given.records {
                assert!(!record.id.is_empty());
                let document = record.document.as_ref().map(|document| document.bytes.as_slice());
                assert!(document.is_none_or(|bytes| serde_json::from_slice::<serde_json::Value>(bytes).is_ok()));
            }
            found += given.records.len();
        }
        assert!(found > 800, "{found}");
    }
}
