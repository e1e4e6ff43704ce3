//! Signatures of a home: shown, installed, chosen, and what becomes of those that are damaged.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;

use serde_json::Value;

use crate::program::{Answer, Place, assert_keys};

/// A binary signature file that knows one format by the bytes `STRONG`.
fn binary(version: u32) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<FFSignatureFile DateCreated="2030-01-01T00:00:00" Version="{version}" xmlns="http://www.nationalarchives.gov.uk/pronom/SignatureFile">
<InternalSignatureCollection><InternalSignature ID="1" Specificity="Specific"><ByteSequence Reference="BOFoffset">
<SubSequence Position="1" SubSeqMinOffset="0" SubSeqMaxOffset="0"><Sequence>5354524F4E47</Sequence></SubSequence>
</ByteSequence></InternalSignature></InternalSignatureCollection>
<FileFormatCollection>
<FileFormat ID="1" Name="Strong" PUID="fmt/90001"><InternalSignatureID>1</InternalSignatureID></FileFormat>
<FileFormat ID="2" Name="ZIP Format" PUID="x-fmt/263"><Extension>zip</Extension></FileFormat>
</FileFormatCollection></FFSignatureFile>"#
    )
}

/// A container signature file that knows nothing.
fn container(version: u32) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<ContainerSignatureMapping schemaVersion="1.0" signatureVersion="{version}">
<ContainerSignatures/><FileFormatMappings/>
<TriggerPuids><TriggerPuid ContainerType="ZIP" Puid="x-fmt/263"/></TriggerPuids></ContainerSignatureMapping>"#
    )
}

fn in_use(answer: &Answer) -> Value {
    let used: Vec<Value> = answer.json().into_iter().filter(|line| line["in_use"] == true).collect();
    assert_eq!(used.len(), 1, "{answer:?}");
    used.into_iter().next().unwrap()
}

fn puid_of_strong(place: &Place) -> Value {
    place.write("strong", "STRONG\u{1}\u{2}\u{3}");
    place.run(["identify", "strong", "--json"]).succeeds().object()["matches"][0]["puid"].clone()
}

#[test]
fn the_built_in_signatures_are_shown_without_a_home() {
    let place = Place::empty();
    let shown = place.run(["signatures", "show", "--json"]).succeeds().object();
    assert_keys(
        &shown,
        &[
            "name",
            "in_use",
            "binary",
            "binary_version",
            "binary_created",
            "binary_sha256",
            "container",
            "container_version",
            "container_sha256",
            "formats",
            "byte_signatures",
            "container_signatures",
            "problem",
        ],
    );
    assert_eq!(shown["name"], "built-in");
    assert_eq!(shown["in_use"], true);
    assert_eq!(shown["binary_sha256"].as_str().unwrap().len(), 64);
    assert!(shown["formats"].as_u64().unwrap() > 2_500 && shown["byte_signatures"].as_u64().unwrap() > 2_200);
    place.write("a.xml", binary(900));
    place.run(["signatures", "update", "a.xml"]).fails(3, &["home"]);
}

#[test]
fn signatures_that_are_installed_are_used_until_others_are_chosen() {
    let place = Place::with_home();
    place.write("DROID_SignatureFile_V900.xml", binary(900));
    place.write("container-signature-20300101.xml", container(90));
    assert_eq!(puid_of_strong(&place), Value::Null);
    let files = ["container-signature-20300101.xml", "DROID_SignatureFile_V900.xml"];
    let updated = place.run(["signatures", "update", "--json"].iter().chain(&files)).succeeds().object();
    let name = "DROID_SignatureFile_V900_container-signature-20300101";
    assert_eq!((&updated["name"], &updated["formats"]), (&Value::from(name), &Value::from(2)));
    assert_eq!(puid_of_strong(&place), "fmt/90001");
    for file in ["signatures.compiled", "DROID_SignatureFile_V900.xml", "container-signature-20300101.xml"] {
        assert!(place.path(&format!("home/signatures/{name}/{file}")).is_file(), "{file}");
    }
    // Again is no harm.
    place.run(["signatures", "update"].iter().chain(&files)).succeeds();
    let shown = place.run(["signatures", "show", "--json"]).succeeds();
    assert_eq!(shown.json().len(), 2);
    assert_eq!(in_use(&shown)["name"], name);
    place.run(["signatures", "use", "built-in"]).succeeds();
    assert_eq!(puid_of_strong(&place), Value::Null);
    place.run(["signatures", "use", name]).succeeds();
    assert_eq!(puid_of_strong(&place), "fmt/90001");
    place.run(["signatures", "use", "nonsense"]).fails(3, &["nonsense", "signatures show"]);
    place.run(["signatures", "use", "../signatures"]).fails(3, &["../signatures"]);
    assert_eq!(puid_of_strong(&place), "fmt/90001");
}

#[test]
fn what_is_not_given_stays_as_it_is_in_use() {
    let place = Place::with_home();
    place.write("new.xml", binary(900));
    place.write("container-signature-20300101.xml", container(90));
    let built_in = place.run(["signatures", "show", "--json"]).succeeds().object();
    let other_container =
        place.run(["signatures", "update", "container-signature-20300101.xml", "--json"]).succeeds().object();
    assert_eq!(other_container["binary"], built_in["binary"]);
    assert_eq!(other_container["byte_signatures"], built_in["byte_signatures"]);
    assert_eq!(
        (&other_container["container_version"], &other_container["container_signatures"]),
        (&"90".into(), &0.into())
    );
    let other_binary = place.run(["signatures", "update", "new.xml", "--json"]).succeeds().object();
    assert_eq!(other_binary["container"], other_container["container"]);
    assert_eq!(other_binary["binary"], "DROID_SignatureFile_V900", "a name without a version names no release");
    let name = other_binary["name"].as_str().unwrap();
    assert!(place.path(&format!("home/signatures/{name}/container-signature-20300101.xml")).is_file());
}

#[test]
fn older_signatures_are_refused_unless_one_insists() {
    let place = Place::with_home();
    place.write("DROID_SignatureFile_V7.xml", binary(7));
    place
        .run(["signatures", "update", "DROID_SignatureFile_V7.xml"])
        .fails(4, &["DROID_SignatureFile_V7", "older", "--allow-older"]);
    assert!(!place.path("home/signatures").exists());
    place.run(["signatures", "update", "DROID_SignatureFile_V7.xml", "--allow-older"]).succeeds();
    assert_eq!(puid_of_strong(&place), "fmt/90001");
}

#[test]
fn what_cannot_be_read_replaces_nothing() {
    let place = Place::with_home();
    place.write("broken.xml", &binary(900)[..400]);
    place.write("good.xml", binary(901));
    place.write("bad_container.xml", "<ContainerSignatureMapping>");
    place.run(["signatures", "update", "broken.xml"]).fails(2, &["broken.xml"]);
    place.run(["signatures", "update", "good.xml", "bad_container.xml"]).fails(2, &["bad_container.xml"]);
    place.run(["signatures", "update", "nothing.xml"]).fails(3, &["nothing.xml"]);
    place.run(["signatures", "update", "good.xml", "good.xml"]).fails(2, &["both binary"]);
    place.run(["signatures", "update", "http://127.0.0.1:9/x.xml"]).fails(5, &["127.0.0.1", "signatures update"]);
    assert!(!place.path("home/signatures").exists());
    assert_eq!(in_use(&place.run(["signatures", "show", "--json"]).succeeds())["name"], "built-in");
}

/// Serves one file over HTTP, once, and gives its URL.
fn serve(name: &str, bytes: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/files/{name}?version=new", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        assert!(lines.map(Result::unwrap).any(|line| line.is_empty()));
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len()).unwrap();
        stream.write_all(&bytes).unwrap();
    });
    url
}

#[test]
fn signatures_come_from_a_server_that_is_named() {
    let place = Place::with_home();
    let url = serve("DROID_SignatureFile_V900.xml", binary(900).into_bytes());
    place.write("container-signature-20300101.xml", container(90));
    let updated = place.run(["signatures", "update", &url, "container-signature-20300101.xml", "--json"]).succeeds();
    assert_eq!(updated.object()["name"], "DROID_SignatureFile_V900_container-signature-20300101");
    assert_eq!(puid_of_strong(&place), "fmt/90001");
    let url = serve("DROID_SignatureFile_V901.xml", b"no signatures here".to_vec());
    place.run(["signatures", "update", &url]).fails(2, &["DROID_SignatureFile_V901.xml"]);
    assert_eq!(puid_of_strong(&place), "fmt/90001");
}

#[test]
fn damaged_signatures_are_told_and_never_passed_over() {
    let place = Place::with_home();
    place.write("DROID_SignatureFile_V900.xml", binary(900));
    place.write("container-signature-20300101.xml", container(90));
    let update =
        ["signatures", "update", "DROID_SignatureFile_V900.xml", "container-signature-20300101.xml", "--allow-older"];
    place.run(update).succeeds();
    let compiled =
        place.path("home/signatures/DROID_SignatureFile_V900_container-signature-20300101/signatures.compiled");
    let mut bytes = fs::read(&compiled).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xFF;
    fs::write(&compiled, bytes).unwrap();
    place.write("strong", "STRONG");
    for command in [&["identify", "strong"][..], &["signatures", "show"]] {
        place.run(command).fails(5, &["signatures.compiled", "signatures update", "signatures use"]);
    }
    place.run(update).succeeds();
    assert_eq!(puid_of_strong(&place), "fmt/90001");
    fs::remove_file(&compiled).unwrap();
    place.run(["identify", "strong"]).fails(5, &["signatures.compiled", "missing"]);
    place.run(["signatures", "use", "built-in"]).succeeds();
    assert_eq!(puid_of_strong(&place), Value::Null);
    let shown = place.run(["signatures", "show", "--json"]).succeeds().json();
    assert!(shown[1]["problem"].as_str().unwrap().contains("missing"), "{shown:?}");
    fs::write(place.path("home/signatures/current"), "../../elsewhere\n").unwrap();
    place.run(["identify", "strong"]).fails(5, &["signatures/current"]);
}

#[test]
fn a_published_pair_is_installed_and_gone_back_from() {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../../shared/fixtures/pronom"].iter().collect();
    let binary = folder.join("DROID_SignatureFile_V122.xml");
    let container = folder.join("container-signature-20260119.xml");
    if !binary.is_file() || !container.is_file() {
        println!("SKIPPED: there is no published pair of signature files");
        return;
    }
    let place = Place::with_home();
    let update = |insists: &[&str]| {
        let mut command = place.command();
        Answer::of(command.args(["signatures", "update", "--json"]).arg(&binary).arg(&container).args(insists))
    };
    update(&[]).fails(4, &["DROID_SignatureFile_V122", "--allow-older"]);
    let updated = update(&["--allow-older"]).succeeds().object();
    assert_eq!(updated["name"], "DROID_SignatureFile_V122_container-signature-20260119");
    assert_eq!(updated["formats"], 2_544);
    place.write("a.gif", b"GIF89a\x01\0\x01\0\0\0\0;");
    let entry = place.run(["identify", "a.gif", "--json"]).succeeds().object();
    assert_eq!(entry["signatures"], "DROID_SignatureFile_V122; container-signature-20260119");
    assert_eq!(entry["matches"][0]["puid"], "fmt/4");
    let named = Answer::of(
        place
            .command()
            .args(["identify", "a.gif", "--json", "--signatures"])
            .arg(&binary)
            .arg("--containers")
            .arg(&container),
    );
    assert_eq!(named.succeeds().object(), entry);
    place.run(["signatures", "use", "built-in"]).succeeds();
    assert_eq!(in_use(&place.run(["signatures", "show", "--json"]).succeeds())["name"], "built-in");
}
