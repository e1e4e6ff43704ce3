//! The skeleton files of the PRONOM community: each is made to match one signature, and named after it.

use std::fs;
use std::path::{Path, PathBuf};

use strongroom_pronom::{Identifier, Options, xml};

/// Skeletons that no longer match what PRONOM's V122 asks for: the file, what it is by V122, and why.
const STALE: [(&str, &[&str], &str); 6] = [
    (
        "fmt-1651-signature-id-1987.fit",
        &[],
        "changed: signature 1987 asks for 2E464954 at offset 8; the skeleton has 464954 at 9, without the dot",
    ),
    (
        "fmt-1915-signature-id-2265.mso",
        &[],
        "changed: signature 2265 asks for 01F0 behind a gap of two bytes; the skeleton has 010F there",
    ),
    (
        "fmt-1968-signature-id-2317.aea",
        &[],
        "changed: signature 2317 asks for 00080000 at the beginning; the skeleton has nothing but zeros there",
    ),
    (
        "fmt-61-signature-id-78.xls",
        &[],
        "withdrawn: V122 has no signature 78; fmt/61 is told by container signatures, and the skeleton is no container",
    ),
    (
        "fmt-935-signature-id-1279.png",
        &["fmt/11"],
        "changed: signature 1279 also asks for 6663544C00000000 anywhere, which the skeleton lacks; what is left is a PNG",
    ),
    (
        "x-fmt-39-signature-id-546.dbq",
        &["x-fmt/10"],
        "moved: signature 546 is one of x-fmt/10 in V122; x-fmt/39 has signature 2300 instead",
    ),
];

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
fn every_skeleton_but_the_stale_ones_is_what_its_name_says() {
    let folder = fixtures();
    if !folder.is_dir() {
        println!("SKIPPED: the skeletons of PRONOM: {} is not there", folder.display());
        return;
    }
    let binary = fs::read(folder.join("DROID_SignatureFile_V122.xml")).unwrap();
    let container = fs::read(folder.join("container-signature-20260119.xml")).unwrap();
    let document = |bytes| xml::Document { name: None, bytes };
    let set = xml::read(document(&binary), Some(document(&container))).unwrap();
    let identifier = Identifier::new(set);
    let mut paths = Vec::new();
    files(&folder.join("skeletons"), &mut paths);
    assert_eq!(paths.len(), 2_447);
    let mut otherwise = Vec::new();
    for path in &paths {
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = fs::read(path).unwrap();
        let answer = identifier.identify(name, &bytes.as_slice(), &Options::default()).unwrap();
        let puids: Vec<String> = answer.matches.iter().map(|found| found.format.puid.clone()).collect();
        if puids != [expected(name).unwrap()] {
            otherwise.push((name.to_owned(), puids));
        }
    }
    otherwise.sort();
    let stale =
        STALE.map(|(name, puids, _)| (name.to_owned(), puids.iter().map(ToString::to_string).collect::<Vec<_>>()));
    assert_eq!(otherwise, stale);
}
