//! What others wrote: our client before a provider by pyoai, and a harvester by sickle before our provider.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Seek, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::{Value, json};
use strongroom_download::{Policy, Supervision};
use strongroom_harvest::{Connection, OaiClient, OaiCode, OaiOptions, OaiSource, Window};
use strongroom_oai_double::OaiDouble;

use crate::cursors::every_cursor_goes_on;
use crate::hostile::{documents, mutants};
use crate::{id, ids, records, sound};

const PYTHON: &str = "STRONGROOM_PEERS_PYTHON";

/// The Python with the peers; none, with a line that says so, where there is none.
fn python(what: &str) -> Option<OsString> {
    let found = std::env::var_os(PYTHON);
    if found.is_none() {
        println!("SKIPPED: {what}: no python with pyoai, sickle and lxml ({PYTHON} is not set)");
    }
    found
}

/// A provider by pyoai, as a process of the test.
struct Provider {
    process: Child,
    _input: ChildStdin,
    port: u16,
}

impl Provider {
    fn start(records: usize) -> Option<Self> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/peers/pyoai_provider.py");
        let mut process = Command::new(python("a harvest of a provider by pyoai")?)
            .args(["-W", "ignore", script, &records.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Some(Self { process, _input: input, port: line.trim().parse().unwrap() })
    }

    fn client(&self) -> OaiClient {
        let hosts = vec![format!("127.0.0.1:{}", self.port)];
        let policy = Policy { hosts, allow_private_networks: true, ..Policy::default() };
        OaiClient::new(Connection::new(policy).unwrap(), &format!("http://127.0.0.1:{}/oai", self.port)).unwrap()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn pyoai_ids(numbers: impl Iterator<Item = usize>) -> Vec<String> {
    numbers.map(|number| format!("oai:pyoai:{number:04}")).collect()
}

#[test]
fn a_provider_by_pyoai_is_harvested_by_every_verb() {
    let Some(provider) = Provider::start(57) else { return };
    let client = provider.client();
    let supervision = Supervision::default();
    let identify = client.identify(&supervision).unwrap();
    assert_eq!((identify.repository_name.as_str(), identify.deleted_record.as_str()), ("pyoai", "persistent"));
    let formats = client.formats(None, &supervision).unwrap();
    assert_eq!(formats[0].prefix, "oai_dc");
    let sets: Vec<String> = client.sets(supervision.clone()).map(|set| set.unwrap().spec).collect();
    assert_eq!(sets, ["even", "odd"]);
    let record = client.record("oai:pyoai:0003", "oai_dc", &supervision).unwrap().unwrap();
    let document = String::from_utf8(record.document.unwrap().bytes).unwrap();
    assert!(document.starts_with("<oai_dc:dc ") && document.contains("&lt;Title&gt; &amp; 3 \u{e9}"), "{document}");
    assert_eq!(client.record("none", "oai_dc", &supervision).unwrap(), None);
    let error = client.record("oai:pyoai:0003", "marc", &supervision).unwrap_err();
    let strongroom_harvest::HarvestError::Oai { errors, .. } = error else { panic!("{error:?}") };
    assert_eq!(errors[0].code, OaiCode::CannotDisseminateFormat);

    let whole = OaiSource::new(provider.client(), OaiOptions::default()).unwrap();
    let given = sound(&whole);
    assert_eq!(given.ids(), pyoai_ids(0..57));
    assert!(given.records.iter().enumerate().all(|(number, record)| record.is_deleted == (number % 10 == 0)));
    assert_eq!(given.records[5].datestamp.as_deref(), Some("2024-01-01T00:05:00Z"));
    every_cursor_goes_on(&whole);

    let window = Window {
        from: Some("2024-01-01T00:10:00Z".parse().unwrap()),
        until: Some("2024-01-01T00:40:00Z".parse().unwrap()),
    };
    let sets = vec!["odd".to_owned(), "even".to_owned()];
    let options = OaiOptions { sets, window, headers_only: true, ..OaiOptions::default() };
    let given = sound(&OaiSource::new(provider.client(), options).unwrap());
    let expected = pyoai_ids((11..41).step_by(2)).into_iter().chain(pyoai_ids((10..41).step_by(2)));
    assert_eq!(given.ids(), expected.collect::<Vec<_>>());
}

#[test]
fn the_provider_of_these_tests_is_harvested_by_sickle() {
    let Some(python) = python("a harvest by sickle") else { return };
    let all = records(0..25).into_iter().map(|record| record.within("a"));
    let provider = OaiDouble::start(all.collect());
    provider.change(|records| records[7] = records[7].clone().deleted());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/peers/sickle_harvester.py");
    let output = Command::new(python).args(["-W", "ignore", script, &provider.base_url()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["name"], "Test provider");
    assert_eq!(found["granularity"], "YYYY-MM-DDThh:mm:ssZ");
    assert_eq!(found["formats"], json!(["oai_dc"]));
    assert_eq!(found["sets"], json!(["a"]));
    // sickle leaves deleted headers in lists of identifiers.
    assert_eq!(found["identifiers"], json!(ids(0..25)));
    let ours = sound(&crate::whole(&provider));
    let expected: Vec<Value> = ours
        .records
        .iter()
        .map(|record| {
            let title = (!record.is_deleted).then_some(&record.id);
            json!([record.id, record.datestamp, record.sets, record.is_deleted, title])
        })
        .collect();
    assert_eq!(found["records"], json!(expected));
    assert_eq!(found["window"], json!(ids(10..21)));
    assert_eq!(found["one"], json!([id(1)]));
    assert_eq!(found["refusals"], json!(["IdDoesNotExist", "NoRecordsMatch", "BadArgument"]));
}

#[test]
fn documents_of_answers_with_faults_are_read_by_lxml() {
    let Some(python) = python("documents of answers with faults before lxml") else { return };
    let mut documents: Vec<Vec<u8>> = mutants(20_000).flat_map(|answer| documents(&answer)).collect();
    documents.sort();
    documents.dedup();
    let mut lines = String::new();
    for document in &documents {
        for byte in document {
            write!(lines, "{byte:02x}").unwrap();
        }
        lines.push('\n');
    }
    let mut input = tempfile::tempfile().unwrap();
    input.write_all(lines.as_bytes()).unwrap();
    input.rewind().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/peers/lxml_reader.py");
    let output = Command::new(python).arg(script).stdin(input).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), documents.len().to_string());
    assert!(documents.len() > 500, "{}", documents.len());
}
