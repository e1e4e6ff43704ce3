//! Small bags made for tests, and where those of others lie.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use strongroom_bagit::{CheckOptions, Report, Severity, encode_path, validate};
use strongroom_digest::{Algorithm, hash_reader};
use tempfile::TempDir;

/// A folder of test material that others have published, if it is at hand.
pub(crate) fn fixtures(folder: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures").join(folder);
    if path.is_dir() {
        return Some(path);
    }
    println!("SKIPPED: {folder} is not at hand in the folder of fixtures beside the project");
    None
}

/// Hexadecimal digest of some bytes.
pub(crate) fn digest(algorithm: Algorithm, bytes: &[u8]) -> String {
    hash_reader(bytes, &[algorithm]).unwrap().1.get(algorithm).unwrap().to_hex()
}

/// A bag in memory: valid as made, and then spoilt.
#[derive(Clone)]
pub(crate) struct Bag {
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    algorithms: Vec<Algorithm>,
}

impl Bag {
    /// A valid bag with these payload files (named without `data/`).
    pub(crate) fn new(version: &str, algorithms: &[Algorithm], payload: &[(&str, &str)]) -> Self {
        let mut bag = Self { files: BTreeMap::new(), algorithms: algorithms.to_vec() };
        bag.set("bagit.txt", &format!("BagIt-Version: {version}\nTag-File-Character-Encoding: UTF-8\n"));
        let octets: usize = payload.iter().map(|(_, content)| content.len()).sum();
        bag.set("bag-info.txt", &format!("Source-Organization: Example\nPayload-Oxum: {octets}.{}\n", payload.len()));
        for (name, content) in payload {
            bag.set(&format!("data/{name}"), content);
        }
        for algorithm in algorithms {
            let mut manifest = String::new();
            for (path, content) in bag.files.iter().filter(|(path, _)| path.starts_with("data/")) {
                let path = if version == "1.0" { encode_path(path) } else { path.clone() };
                manifest.extend([&digest(*algorithm, content), "  ", &path, "\n"]);
            }
            bag.set(&format!("manifest-{algorithm}.txt"), &manifest);
        }
        bag.sealed()
    }

    /// A valid bag of version 1.0 with two files.
    pub(crate) fn plain() -> Self {
        Self::new("1.0", &[Algorithm::Sha256], &[("a.txt", "alpha"), ("sub/b.txt", "beta")])
    }

    pub(crate) fn set(&mut self, path: &str, content: &str) {
        self.files.insert(path.to_owned(), content.as_bytes().to_vec());
    }

    pub(crate) fn with(mut self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.files.insert(path.to_owned(), content.as_ref().to_vec());
        self
    }

    pub(crate) fn without(mut self, path: &str) -> Self {
        assert!(self.files.remove(path).is_some(), "{path}");
        self
    }

    /// Adds to the end of a file.
    pub(crate) fn adding(mut self, path: &str, text: &str) -> Self {
        self.files.entry(path.to_owned()).or_default().extend_from_slice(text.as_bytes());
        self
    }

    /// Replaces text in a file, which has to be there.
    pub(crate) fn replacing(mut self, path: &str, from: &str, to: &str) -> Self {
        let text = String::from_utf8(self.files[path].clone()).unwrap();
        assert!(text.contains(from), "{path} has no {from:?}");
        self.set(path, &text.replace(from, to));
        self
    }

    /// Makes the tag manifests anew.
    pub(crate) fn sealed(mut self) -> Self {
        self.files.retain(|path, _| !path.starts_with("tagmanifest-"));
        let mut manifests = Vec::new();
        for algorithm in &self.algorithms {
            let lines = self.files.iter().filter(|(path, _)| !path.starts_with("data/"));
            let lines: Vec<String> =
                lines.map(|(path, content)| format!("{}  {path}\n", digest(*algorithm, content))).collect();
            let text = lines.concat();
            manifests.push((format!("tagmanifest-{algorithm}.txt"), text));
        }
        for (name, text) in manifests {
            self.set(&name, &text);
        }
        self
    }

    /// Writes the bag as a directory of the given name.
    pub(crate) fn write(&self, directory: &Path) {
        fs::create_dir_all(directory.join("data")).unwrap();
        for (path, content) in &self.files {
            let path = directory.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }

    /// The bag as a tar archive, below a base directory `bag`.
    pub(crate) fn tar(&self) -> Vec<u8> {
        let mut archive = Vec::new();
        archive.extend(tar_member("bag/", b'5', &[]));
        archive.extend(tar_member("bag/data/", b'5', &[]));
        for (path, content) in &self.files {
            archive.extend(tar_member(&format!("bag/{path}"), b'0', content));
        }
        archive.extend([0; 1024]);
        archive
    }

    pub(crate) fn zip(&self) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default();
        writer.add_directory("bag/data", options).unwrap();
        for (path, content) in &self.files {
            writer.start_file(format!("bag/{path}"), options).unwrap();
            writer.write_all(content).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    /// Validates the bag as a directory.
    pub(crate) fn judge(&self) -> Report {
        self.judge_with(&CheckOptions::default())
    }

    pub(crate) fn judge_with(&self, options: &CheckOptions) -> Report {
        let directory = TempDir::new().unwrap();
        let bag = directory.path().join("bag");
        self.write(&bag);
        validate(&bag, options).unwrap()
    }
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A tar header of the ustar form; the size is what is said, not what follows.
pub(crate) fn tar_header(name: &str, kind: u8, size: u64) -> [u8; 512] {
    let mut header = [0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..108].copy_from_slice(b"0000644\0");
    header[108..116].copy_from_slice(b"0000000\0");
    header[116..124].copy_from_slice(b"0000000\0");
    header[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    header[136..148].copy_from_slice(b"00000000000\0");
    header[156] = kind;
    header[257..265].copy_from_slice(b"ustar\x0000");
    header[148..156].copy_from_slice(b"        ");
    let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

/// A tar member: header, bytes, padding.
pub(crate) fn tar_member(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
    let mut member = tar_header(name, kind, content.len() as u64).to_vec();
    member.extend_from_slice(content);
    member.resize(member.len().next_multiple_of(512), 0);
    member
}

/// Validates an archive of the given name.
pub(crate) fn judge_archive(name: &str, archive: &[u8]) -> Report {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join(name);
    fs::write(&path, archive).unwrap();
    validate(&path, &CheckOptions::default()).unwrap()
}

/// Codes of the errors, each once.
pub(crate) fn errors(report: &Report) -> Vec<&str> {
    of_severity(report, Severity::Error)
}

/// Codes of the warnings, each once.
pub(crate) fn warnings(report: &Report) -> Vec<&str> {
    of_severity(report, Severity::Warning)
}

fn of_severity(report: &Report, severity: Severity) -> Vec<&str> {
    let mut codes: Vec<&str> = report
        .problems
        .iter()
        .filter(|problem| problem.severity == severity)
        .map(|problem| problem.code.as_str())
        .collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}
