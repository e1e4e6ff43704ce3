//! What a deposit's files are found to be, how that is told, and what becomes of it when there are other signature files.

#[cfg(feature = "failpoints")]
mod crash;

use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::Arc;

use strongroom_database::Time;
use strongroom_engine::app::formats::{self, Published};
use strongroom_engine::app::{Caller, OpContext};
use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_engine::identification::{self, ReidentifyRequest, ReidentifySummary};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::signatures;
use strongroom_engine::{Home, build_runtime, export};
use strongroom_queue::tasks;
use strongroom_registry::events::Event;
use strongroom_registry::leases::{self, Hold};
use strongroom_registry::objects::{self, Object};
use strongroom_registry::{Format, RegistryError};
use strongroom_storage::FolderStore;
use strongroom_storage_test::{Fault, Faults, Layered, Operation};
use uuid::Uuid;
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

use crate::fixture::{self, KEPT_IN, TestHome, home};
use crate::rebuild::{all_events, copy_stores, dump, rebuilt};

const PDF: &[u8] = b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF\n";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0\x3a\x7e\x9b\x55\
    \0\0\0\nIDATx\x9cc\xfa\xcf\0\0\x02\x05\x01\x02\x50\xa6\x39\x38\0\0\0\0IEND\xaeB`\x82";
const TYPES: &[u8] = b"<?xml version=\"1.0\"?><Types \
    xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"><Override PartName=\"/word/document.xml\" \
    ContentType=\"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml\"/></Types>";

/// A word processor's document: a ZIP whose members say what it is, with an image of this size before them.
fn document(image: usize) -> Vec<u8> {
    let noise = |number: usize| (number.wrapping_mul(2_654_435_761) >> 11) as u8;
    let image: Vec<u8> = (0..image).map(noise).collect();
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let members =
        [("word/media/image1.bin", image.as_slice()), ("[Content_Types].xml", TYPES), ("word/document.xml", b"<w/>")];
    for (name, bytes) in members {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        archive.start_file(name, options).expect("begins a member");
        archive.write_all(bytes).expect("writes");
    }
    archive.finish().expect("finishes").into_inner()
}

fn format(home: &TestHome, object: &Object, path: &str) -> Format {
    let path = format!("deposit/data/{path}");
    let files = home.registry.read(|tx| objects::files(tx, object.id, object.head, "", "", 100)).expect("files");
    files.into_iter().find(|file| file.path == path).expect("the file").format
}

/// Identifier, version and method.
fn brief(format: &Format) -> (Option<&str>, Option<&str>, Option<&str>) {
    (format.puid.as_deref(), format.version.as_deref(), format.method.as_deref())
}

fn identifications(home: &TestHome, object: &Object) -> Vec<Event> {
    let mut events = all_events(home, object);
    events.retain(|event| event.kind == "format identification");
    events
}

/// A binary signature file of one format, which says that everything that begins as a PDF does is `fmt/9999`.
fn older_signatures() -> Published {
    let text = r#"<?xml version="1.0" encoding="UTF-8"?>
<FFSignatureFile xmlns="http://www.nationalarchives.gov.uk/pronom/SignatureFile" Version="1" DateCreated="2001-01-01T00:00:00">
  <InternalSignatureCollection>
    <InternalSignature ID="1" Specificity="Specific"><ByteSequence Reference="BOFoffset">
      <SubSequence Position="1" SubSeqMinOffset="0" SubSeqMaxOffset="0"><Sequence>25504446</Sequence></SubSequence>
    </ByteSequence></InternalSignature>
  </InternalSignatureCollection>
  <FileFormatCollection>
    <FileFormat ID="1" Name="Something portable" PUID="fmt/9999" Version="0"><InternalSignatureID>1</InternalSignatureID>
      <Extension>pdf</Extension></FileFormat>
  </FileFormatCollection>
</FFSignatureFile>
"#;
    Published { name: "DROID_SignatureFile_V1.xml".into(), bytes: text.as_bytes().to_vec() }
}

const OLDER: &str = "DROID_SignatureFile_V1";

/// A home that uses those older signatures, with a deposit, and then the built-in ones.
fn home_with_newer_signatures() -> (TestHome, Object) {
    let home = home();
    formats::install(&call(&home), vec![older_signatures()], true).expect("installs");
    let object = home.ingest("letters", &[("a.pdf", PDF), ("a.txt", b"dear reader\n"), ("b.pdf", PDF)]);
    assert_eq!(brief(&format(&home, &object, "a.pdf")), (Some("fmt/9999"), Some("0"), Some("signature")));
    formats::choose(&call(&home), signatures::BUILT_IN).expect("chooses");
    (home, object)
}

fn call(home: &TestHome) -> OpContext {
    OpContext::new(home.home.clone(), Caller::at_console("tester"))
}

fn run(home: &TestHome) -> ReidentifySummary {
    identification::run(home, &ReidentifyRequest::default(), &mut |_| ()).expect("identifies")
}

#[test]
fn a_deposit_is_identified_by_what_is_in_its_files() {
    let home = home();
    let small = document(10);
    let large = document(700 << 10);
    let object = home.ingest(
        "mixed",
        &[
            ("report.pdf", PDF),
            ("scan.png", PNG),
            ("letter.docx", &small),
            ("long.docx", &large),
            ("notes.txt", b"dear reader,\nyours\n"),
            ("wrong.png", PDF),
            ("what", &[7, 1, 250, 3, 0, 9, 200, 0, 17]),
            ("empty.csv", b""),
        ],
    );
    let of = |path: &str| format(&home, &object, path);
    assert_eq!(brief(&of("report.pdf")), (Some("fmt/18"), Some("1.4"), Some("signature")));
    assert_eq!(of("scan.png").mime.as_deref(), Some("image/png"));
    assert_eq!(of("scan.png").method.as_deref(), Some("signature"));
    assert_eq!(brief(&of("letter.docx")), (Some("fmt/412"), Some("2007 onwards"), Some("container")));
    assert_eq!(brief(&of("long.docx")), brief(&of("letter.docx")), "streamed and in memory say the same");
    assert!(of("long.docx").basis.is_some_and(|basis| basis.contains("[Content_Types].xml")));
    assert_eq!(brief(&of("notes.txt")), (Some("x-fmt/111"), None, Some("text")));
    let wrong = of("wrong.png");
    assert_eq!(wrong.puid.as_deref(), Some("fmt/18"));
    assert!(wrong.warning.is_some_and(|warning| warning.contains("the extension is none of the format's")));
    let unknown = of("what");
    assert_eq!((brief(&unknown), unknown.was_tried()), ((None, None, None), true));
    let empty = of("empty.csv").warning.expect("a warning");
    assert!(empty.contains("empty") && empty.contains("may be: x-fmt/18"), "{empty}");
    let files = home.registry.read(|tx| objects::files(tx, object.id, 1, "deposit/", "", 100)).expect("files");
    let signatures = files[0].format.signatures.clone().expect("signatures");
    assert!(signatures.starts_with("DROID_SignatureFile_V") && signatures.contains("; container-signature-"));
    assert!(files.iter().all(|file| file.format.signatures.as_ref() == Some(&signatures)));
}

#[test]
fn each_new_file_tells_what_it_was_found_to_be_once() {
    let home = home();
    let object = home.ingest("letters", &[("a.pdf", PDF), ("what", &[7, 1, 250, 3, 0, 9, 200, 0, 17])]);
    let all = objects_events(&home, &object);
    assert!(all.iter().all(|(_, count)| *count == 1), "{all:?}");
    let events = identifications(&home, &object);
    let pdf = events.iter().find(|event| event.outcome_detail.as_deref() == Some("fmt/18")).expect("an event");
    let detail = pdf.detail.as_deref().expect("a detail");
    assert!(detail.starts_with("by signature; ") && detail.contains("DROID_SignatureFile_V"), "{detail}");
    assert_eq!(pdf.outcome, "success");
    let unknown = events.iter().find(|event| event.outcome_detail.as_deref() == Some("unknown")).expect("an event");
    assert_eq!(unknown.outcome, "warning");

    // What is kept already is not told again.
    let before = events.len();
    let updated = home.ingest("letters", &[("a.pdf", PDF), ("new.txt", b"new\n")]);
    let after = identifications(&home, &updated);
    let of_payload = after.iter().filter(|event| event.outcome_detail.as_deref() == Some("fmt/18")).count();
    assert_eq!(of_payload, 1);
    assert!(after.len() > before);
}

/// Files of an object, and how many identifications each has.
fn objects_events(home: &TestHome, object: &Object) -> Vec<(String, usize)> {
    let events = identifications(home, object);
    let files =
        home.registry.read(|tx| objects::files(tx, object.id, object.head, "deposit/", "", 100)).expect("files");
    let count = |file: &objects::File| events.iter().filter(|event| event.file == Some(file.id)).count();
    files.iter().map(|file| (file.path.clone(), count(file))).collect()
}

#[test]
fn the_same_bytes_under_two_names_are_two_answers() {
    let home = home();
    // No signature of any kind tells comma-separated values: the name alone does.
    let bytes = &[7, 1, 250, 3, 0, 9, 200, 0, 17];
    let object = home.ingest("letters", &[("a.pdf", PDF), ("b.tif", PDF), ("c.csv", bytes), ("d.what", bytes)]);
    let (fits, does_not) = (format(&home, &object, "a.pdf"), format(&home, &object, "b.tif"));
    assert_eq!((fits.puid.as_deref(), does_not.puid.as_deref()), (Some("fmt/18"), Some("fmt/18")));
    assert_eq!(fits.warning, None);
    assert!(does_not.warning.is_some());
    assert_eq!(brief(&format(&home, &object, "c.csv")), (Some("x-fmt/18"), None, Some("extension")));
    assert_eq!(brief(&format(&home, &object, "d.what")), (None, None, None));
}

#[test]
fn hostile_containers_are_taken_in_with_a_warning() {
    let home = home();
    let whole = document(10);
    let large = document(700 << 10);
    let mut looped = whole.clone();
    // Where the directory begins, as the end of the archive says.
    let end = looped.len() - 6;
    looped[end..end + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut cfb = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec();
    cfb.resize(300 << 10, 0xff);
    let object = home.ingest(
        "hostile",
        &[
            ("cut.docx", &whole[..whole.len() / 2]),
            ("large-cut.docx", &large[..large.len() - 100]),
            ("looped.docx", &looped),
            ("broken.doc", &cfb),
        ],
    );
    for path in ["cut.docx", "large-cut.docx", "looped.docx", "broken.doc"] {
        let format = format(&home, &object, path);
        assert!(format.was_tried(), "{path}");
        assert!(format.warning.as_ref().is_some_and(|warning| warning.contains("not readable")), "{path}: {format:?}");
    }
}

#[test]
fn what_could_not_be_read_back_while_it_was_fetched_is_identified_later() {
    let mut home = home();
    let folder = FolderStore::open("staging", home.path().join("stores/staging")).expect("opens");
    let faulty = Arc::new(Layered::new(Arc::new(folder), Faults::new()));
    // The first to be opened is the container, right after it was put.
    faulty.layer().plan(Operation::Open, 1, Fault::Fail(std::io::ErrorKind::Other));
    let mut cut = Home::with_registry(home.path(), home.settings.clone(), home.registry.clone()).expect("opens");
    cut.roles.staging = faulty.clone();
    home.home = Arc::new(cut);
    let object = home.ingest("letters", &[("a.docx", &document(700 << 10))]);
    assert_eq!(faulty.layer().happened(), 1);
    let found = format(&home, &object, "a.docx");
    assert_eq!(brief(&found), (Some("fmt/412"), Some("2007 onwards"), Some("container")));
    let told = identifications(&home, &object);
    assert_eq!(told.iter().filter(|event| event.outcome_detail.as_deref() == Some("fmt/412")).count(), 1);
}

#[test]
fn a_window_is_kept_to_and_told() {
    let home = fixture::home_with("[identification]\nwindow = \"1 KiB\"\n");
    let mut bytes = b"%PDF-1.4\n".to_vec();
    bytes.resize(100_000, b' ');
    let object = home.ingest("letters", &[("a.pdf", &bytes)]);
    let warning = format(&home, &object, "a.pdf").warning.expect("a warning");
    assert!(warning.contains("1024 bytes"), "{warning}");
}

#[test]
fn a_premis_document_tells_formats_with_their_registry() {
    let home = home();
    let object = home.ingest("letters", &[("a.pdf", PDF), ("b.png", PDF), ("what", &[7, 1, 250, 3, 0, 9, 200, 0, 17])]);
    let mut document = Vec::new();
    export::premis(&home, &object, &mut document).expect("writes");
    let text: String = String::from_utf8(document).expect("UTF-8").split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.replace("> <", "><");
    assert!(
        text.contains("<formatRegistryName>PRONOM</formatRegistryName><formatRegistryKey>fmt/18</formatRegistryKey>")
    );
    assert!(text.contains("<formatVersion>1.4</formatVersion>"), "{text}");
    assert!(text.contains("<formatNote>identified by signature: signature"));
    assert!(text.contains("<formatNote>signatures: DROID_SignatureFile_V"));
    assert!(text.contains("<formatNote>warning: the extension is none of the format's</formatNote>"));
    assert!(text.contains("<formatName>unknown</formatName>"));
    assert!(text.contains("eventType/for\">format identification</eventType>"), "{text}");
}

#[test]
fn what_was_identified_with_other_signatures_is_identified_anew() {
    let (home, object) = home_with_newer_signatures();
    let events = identifications(&home, &object).len();
    let behind = identification::behind(&home, &ReidentifyRequest::default()).expect("counts");
    assert_eq!((behind.objects, behind.files >= 3), (1, true), "{behind:?}");
    let summary = run(&home);
    assert_eq!((summary.objects, summary.failed, summary.postponed), (1, 0, 0), "{summary:?}");
    assert_eq!(summary.changed + summary.unchanged, behind.files);
    for path in ["a.pdf", "b.pdf"] {
        let format = format(&home, &object, path);
        assert_eq!(brief(&format), (Some("fmt/18"), Some("1.4"), Some("signature")));
        assert_eq!(format.signatures.as_ref(), Some(&behind.signatures));
    }
    let told = identifications(&home, &object);
    assert_eq!(told.len() as u64, events as u64 + summary.changed);
    let change = |event: &&Event| event.outcome_detail.as_deref() == Some("fmt/9999 -> fmt/18");
    let changes: Vec<&Event> = told.iter().filter(change).collect();
    assert_eq!(changes.len(), 2);
    let detail = changes[0].detail.as_deref().expect("a detail");
    assert!(detail.contains(&behind.signatures) && detail.contains(&format!("; before with {OLDER}")), "{detail}");

    let again = identification::behind(&home, &ReidentifyRequest::default()).expect("counts");
    assert_eq!((again.objects, again.files), (0, 0));
    assert_eq!(run(&home), ReidentifySummary::default());
    assert_eq!(identifications(&home, &object), told, "nothing is told twice");
}

#[test]
fn what_changed_comes_back_with_a_rebuild() {
    let (home, object) = home_with_newer_signatures();
    run(&home);
    for store in KEPT_IN {
        let fresh = fixture::home();
        copy_stores(&home, &fresh);
        let summary = rebuilt(&fresh, store);
        assert!(summary.is_complete(), "{:?}", summary.problems);
        assert_eq!(all_events(&fresh, &object), all_events(&home, &object));
        // Of what stayed the same the stores do not know by which signatures: it is identified once more.
        let summary = run(&fresh);
        assert_eq!(summary.changed, 0, "{summary:?}");
        assert_eq!(dump(&fresh, &KEPT_IN), dump(&home, &KEPT_IN));
    }
}

#[test]
fn workers_identify_anew_what_was_enqueued() {
    let (home, object) = home_with_newer_signatures();
    let request = ReidentifyRequest::default();
    assert_eq!(identification::enqueue(&home, &request).expect("enqueues"), 1);
    assert_eq!(identification::enqueue(&home, &request).expect("enqueues"), 1, "and makes no second task");
    let waiting = || {
        let of_key = home.registry.read(|tx| Ok::<_, RegistryError>(tasks::of_key(tx, &object.id.to_string())?));
        of_key.expect("tasks").len()
    };
    assert_eq!(waiting(), 1);
    let runtime = build_runtime(&home, Some(&[identification::TOPIC.to_owned()])).expect("a runtime").build();
    let summary = runtime.run_until(&Shutdown::new(), &|| waiting() == 0);
    assert_eq!((summary.ended, summary.panicked), (1, 0));
    assert_eq!(format(&home, &object, "a.pdf").puid.as_deref(), Some("fmt/18"));
}

#[test]
fn another_institution_or_object_is_left_alone() {
    let (home, object) = home_with_newer_signatures();
    let elsewhere = ReidentifyRequest { object: Some("test.edu/absent".into()), ..ReidentifyRequest::default() };
    assert!(identification::behind(&home, &elsewhere).is_err());
    let unknown = ReidentifyRequest { institution: Some("absent.edu".into()), ..ReidentifyRequest::default() };
    assert!(identification::enqueue(&home, &unknown).is_err());
    let ours = ReidentifyRequest {
        institution: Some(fixture::INSTITUTION.into()),
        object: Some(object.identifier.clone()),
        ..ReidentifyRequest::default()
    };
    assert_eq!(identification::behind(&home, &ours).expect("counts").objects, 1);
}

#[test]
fn an_object_that_somebody_works_on_is_left_for_later() {
    let (home, object) = home_with_newer_signatures();
    let (id, owner) = (object.id, Uuid::now_v7());
    let until = Time(i64::MAX / 2);
    let held = home.registry.write(move |tx| leases::hold(tx, id, owner, until)).expect("holds");
    assert!(matches!(held, Hold::Held { .. }));
    let summary = run(&home);
    assert_eq!((summary.postponed, summary.changed), (1, 0), "{summary:?}");
    assert_eq!(format(&home, &object, "a.pdf").puid.as_deref(), Some("fmt/9999"));
    home.registry.write(move |tx| leases::release_owner(tx, owner)).expect("lets go");
    assert!(run(&home).changed >= 2);
}

#[test]
fn a_copy_that_is_wrong_is_not_believed() {
    let (home, object) = home_with_newer_signatures();
    let copies = home.registry.read(|tx| objects::copies(tx, content(&home, &object))).expect("copies");
    let path = home.file(&copies[0].store, &copies[0].key);
    let mut bytes = std::fs::read(&path).expect("reads");
    bytes[7] = b'7';
    std::fs::write(&path, &bytes).expect("writes");
    let summary = run(&home);
    assert_eq!(summary.failed, 0, "{summary:?}");
    assert_eq!(format(&home, &object, "a.pdf").puid.as_deref(), Some("fmt/18"), "by the other copy");
    let found = fixity::problems(&home, None, None, 10).expect("problems");
    assert_eq!(found.len(), 1, "it is a finding at once: {found:?}");
    assert_eq!((found[0].content, &found[0].store), (Some(content(&home, &object)), &copies[0].store));
    let checked = fixity::run(&home, &FixityRequest::default(), &mut |_| ()).expect("checks");
    assert_eq!((checked.damaged, checked.repaired), (1, 1), "and checked next: {checked:?}");

    // With no right copy nothing changes, and it stays behind.
    let (home, object) = home_with_newer_signatures();
    for copy in &home.registry.read(|tx| objects::copies(tx, content(&home, &object))).expect("copies") {
        std::fs::write(home.file(&copy.store, &copy.key), &bytes).expect("writes");
    }
    let summary = run(&home);
    assert_eq!(summary.failed, 2, "the same bytes under two names: {summary:?}");
    assert!(summary.errors[0].contains("not the recorded ones"), "{summary:?}");
    assert_eq!(format(&home, &object, "a.pdf").puid.as_deref(), Some("fmt/9999"));
}

fn content(home: &TestHome, object: &Object) -> strongroom_registry::ContentId {
    let files = home.registry.read(|tx| objects::files(tx, object.id, 1, "deposit/data/", "", 100)).expect("files");
    files.iter().find(|file| file.path.ends_with("a.pdf")).expect("the file").content
}

#[test]
fn the_pair_before_the_newest_gives_the_same_answers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures/pronom");
    let files = ["DROID_SignatureFile_V122.xml", "container-signature-20260119.xml"].map(|name| folder.join(name));
    if !files.iter().all(|file| file.is_file()) {
        println!("SKIPPED: the signature files are not at hand");
        return;
    }
    let home = home();
    let files = files.iter().map(|file| Published::read(file).expect("reads")).collect();
    formats::install(&call(&home), files, true).expect("installs");
    let object = home.ingest("letters", &[("a.pdf", PDF), ("b.docx", &document(700 << 10)), ("c.txt", b"text\n")]);
    let before = format(&home, &object, "b.docx");
    assert_eq!(before.signatures.as_deref(), Some("DROID_SignatureFile_V122; container-signature-20260119"));
    formats::choose(&call(&home), signatures::BUILT_IN).expect("chooses");
    let summary = run(&home);
    assert_eq!((summary.changed, summary.failed), (0, 0), "{summary:?}");
    let after = format(&home, &object, "b.docx");
    assert_eq!(brief(&after), brief(&before));
    assert_ne!(after.signatures, before.signatures);
}
