//! siegfried as a Python library, in a process of its own.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use serde_json::Value;
use strongroom_pronom::Identifier;

const VERSIONS: &str = "
import os, pygfried
result = pygfried.identify_many([os.devnull])
print(*(one['details'] for one in result['identifiers']), sep='; ')
";

const ASK: &str = "
import json, os, sys, pygfried
paths = [os.fsdecode(path) for path in sys.stdin.buffer.read().split(b'\\0') if path]
for start in range(0, len(paths), 500):
    part = paths[start:start + 500]
    told = {file['filename']: file for file in pygfried.identify_many(part, workers=2)['files']}
    for path in part:
        print(json.dumps(told.get(path)))
";

/// siegfried with the signatures that we ship.
pub(super) struct Witness {
    python: OsString,
}

/// A format that siegfried names.
pub(super) struct Match {
    pub(super) puid: String,
    pub(super) kind: Kind,
    pub(super) basis: String,
    pub(super) is_extension_mismatch: bool,
}

/// By what, the most reliable first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Container,
    Signature,
    Text,
    Extension,
}

impl Witness {
    /// The witness, or why there is none.
    pub(super) fn found(identifier: &Identifier) -> Result<Self, String> {
        let python = std::env::var_os("STRONGROOM_PEERS_PYTHON").ok_or("STRONGROOM_PEERS_PYTHON is not set")?;
        let output = Command::new(&python).args(["-c", VERSIONS]).output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err("the Python of the peers has no pygfried".to_owned());
        }
        let theirs = String::from_utf8_lossy(&output.stdout).trim().replace(".xml", "");
        let ours = identifier.signatures();
        if ours != theirs {
            return Err(format!("it knows other signatures: {theirs}, and not {ours}"));
        }
        Ok(Self { python })
    }

    pub(super) fn python(&self) -> &Path {
        Path::new(&self.python)
    }

    /// What it says about each file; `None` where it could not read one.
    pub(super) fn ask(&self, paths: &[PathBuf]) -> Vec<Option<Vec<Match>>> {
        let mut child = Command::new(&self.python)
            .args(["-c", ASK])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the python that answered before");
        let mut input = child.stdin.take().unwrap();
        let output = child.stdout.take().unwrap();
        let told = thread::scope(|scope| {
            scope.spawn(move || {
                for path in paths {
                    input.write_all(path.as_os_str().as_bytes()).unwrap();
                    input.write_all(b"\0").unwrap();
                }
            });
            BufReader::new(output)
                .lines()
                .map(|line| matches_in(&serde_json::from_str(&line.unwrap()).unwrap()))
                .collect()
        });
        assert!(child.wait().unwrap().success());
        told
    }
}

fn matches_in(file: &Value) -> Option<Vec<Match>> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let errors = text(file, "errors");
    if file.is_null() || !(errors.is_empty() || errors == "empty source") {
        return None;
    }
    let mut matches = Vec::new();
    for one in file["matches"].as_array()? {
        let (puid, basis, warning) = (text(one, "id"), text(one, "basis"), text(one, "warning"));
        if puid == "UNKNOWN" {
            continue;
        }
        let kind = if basis.contains("container ") {
            Kind::Container
        } else if basis.contains("byte match") {
            Kind::Signature
        } else if basis.contains("text match") {
            Kind::Text
        } else {
            Kind::Extension
        };
        let is_extension_mismatch = warning.contains("extension mismatch");
        matches.push(Match { puid, kind, basis, is_extension_mismatch });
    }
    Some(matches)
}
