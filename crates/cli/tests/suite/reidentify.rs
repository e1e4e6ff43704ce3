//! `signatures reidentify`: what was identified with other signatures is counted, left to the workers, or done at once.

use serde_json::Value;

use crate::program::{Place, assert_keys};

/// A binary signature file that takes everything beginning with `dear` for one format.
pub(crate) const OLDER: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<FFSignatureFile DateCreated="2001-01-01T00:00:00" Version="1" xmlns="http://www.nationalarchives.gov.uk/pronom/SignatureFile">
<InternalSignatureCollection><InternalSignature ID="1" Specificity="Specific"><ByteSequence Reference="BOFoffset">
<SubSequence Position="1" SubSeqMinOffset="0" SubSeqMaxOffset="0"><Sequence>64656172</Sequence></SubSequence>
</ByteSequence></InternalSignature></InternalSignatureCollection>
<FileFormatCollection><FileFormat ID="1" Name="Letter" PUID="fmt/90001"><InternalSignatureID>1</InternalSignatureID>
<Extension>txt</Extension></FileFormat></FileFormatCollection></FFSignatureFile>"#;

fn file(place: &Place) -> Value {
    let files = place.run(["objects", "files", "example.edu/letter", "--json"]).succeeds().json();
    files.into_iter().find(|file| file["path"] == "data/greeting.txt").unwrap()
}

/// A home with a deposit that was identified with older signatures than it uses now.
fn with_newer_signatures() -> Place {
    let place = Place::with_home();
    place.write("DROID_SignatureFile_V1.xml", OLDER);
    place.run(["signatures", "update", "DROID_SignatureFile_V1.xml", "--allow-older"]).succeeds();
    place.bag("letter", "dear reader\n");
    place.run(["deposit", "letter.tar", "--wait"]).succeeds();
    assert_eq!(file(&place)["puid"], "fmt/90001");
    place.run(["signatures", "use", "built-in"]).succeeds();
    place
}

#[test]
fn files_are_identified_anew_here_and_now() {
    let place = with_newer_signatures();
    let behind = place.run(["signatures", "reidentify", "--dry-run", "--json"]).succeeds().object();
    assert_keys(&behind, &["signatures", "objects", "files", "bytes"]);
    assert_eq!(behind["objects"], 1);
    assert_eq!(file(&place)["puid"], "fmt/90001", "only counted");
    let done = place.run(["signatures", "reidentify", "--wait", "--json"]).succeeds().object();
    assert_keys(&done, &["objects", "changed", "unchanged", "cold", "postponed", "failed", "errors"]);
    assert_eq!((&done["objects"], &done["failed"]), (&1.into(), &0.into()));
    let after = file(&place);
    assert_eq!((&after["puid"], &after["format_signatures"]), (&"x-fmt/111".into(), &behind["signatures"]));
    let events = place.run(["objects", "events", "example.edu/letter", "--json"]).succeeds().json();
    assert!(events.iter().any(|event| event["outcome_detail"] == "fmt/90001 -> x-fmt/111"), "{events:?}");
    let again = place.run(["signatures", "reidentify", "--wait", "--json"]).succeeds().object();
    assert_eq!(again["objects"], 0);
}

#[test]
fn files_are_left_to_the_workers() {
    let place = with_newer_signatures();
    let enqueued = place.run(["signatures", "reidentify", "--json"]).succeeds().object();
    assert_eq!((&enqueued["topic"], &enqueued["tasks"]), (&"signatures.reidentify".into(), &1.into()));
    let topics = place.run(["queue", "list", "--json"]).succeeds().json();
    let topic = topics.iter().find(|topic| topic["topic"] == "signatures.reidentify").unwrap();
    assert_eq!(topic["ready"], 1);
    place.run(["signatures", "reidentify", "--object", "example.edu/absent"]).fails(3, &["example.edu/absent"]);
    place.run(["signatures", "reidentify", "--institution", "absent.edu"]).fails(3, &["absent.edu"]);
    place.run(["signatures", "reidentify", "--wait", "--dry-run"]).fails(2, &["--dry-run"]);
}
