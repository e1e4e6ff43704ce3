//! The skeleton files of the PRONOM community: each is made to match one signature, and named after it.

use std::fs;
use std::path::{Path, PathBuf};

use strongroom_pronom::{Identifier, Options, xml};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures/pronom")
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// `fmt-125-signature-id-171.ppt` is of fmt/125, `x-fmt-88-...` of x-fmt/88.
fn expected(name: &str) -> Option<String> {
    let (prefix, rest) = match name.strip_prefix("x-fmt-") {
        Some(rest) => ("x-fmt", rest),
        None => ("fmt", name.strip_prefix("fmt-")?),
    };
    let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some(format!("{prefix}/{number}"))
}

#[test]
fn every_skeleton_is_what_its_name_says() {
    let folder = fixtures();
    if !folder.is_dir() {
        println!("SKIPPED: the PRONOM fixtures are not there");
        return;
    }
    let binary = fs::read(folder.join("DROID_SignatureFile_V122.xml")).unwrap();
    let container = fs::read(folder.join("container-signature-20260119.xml")).unwrap();
    let document = |bytes| xml::Document { name: None, bytes };
    let set = xml::read(document(&binary), Some(document(&container))).unwrap();
    let identifier = Identifier::new(set);
    let mut paths = Vec::new();
    files(&folder.join("skeletons"), &mut paths);
    paths.sort();
    let mut wrong = Vec::new();
    for path in &paths {
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = fs::read(path).unwrap();
        let answer = identifier.identify(name, &bytes.as_slice(), &Options::default()).unwrap();
        let puids: Vec<&str> = answer.matches.iter().map(|one| one.format.puid.as_str()).collect();
        if puids != [expected(name).unwrap().as_str()] {
            wrong.push(format!("{name}: {puids:?} {:?}", answer.warnings));
        }
    }
    println!("{}", wrong.join("\n"));
    assert_eq!(wrong.len(), 6);
}
