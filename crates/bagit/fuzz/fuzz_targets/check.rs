//! Whole bags of any tag files: the input is cut at NUL bytes into `bagit.txt`, manifests, `bag-info.txt`, `fetch.txt` and
//! the names of payload files.
#![no_main]

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use libfuzzer_sys::fuzz_target;
use strongroom_bagit::{
    BagError, CheckOptions, Evidence, FileFact, FileFacts, Limits, Scan, Serialization, Source, check, unsafe_reason,
};
use strongroom_digest::{Algorithm, hash_reader};

const TAG_FILES: [&str; 6] =
    ["bagit.txt", "manifest-md5.txt", "manifest-sha256.txt", "tagmanifest-md5.txt", "bag-info.txt", "fetch.txt"];

struct InMemory(BTreeMap<String, Vec<u8>>);

impl Evidence for InMemory {
    fn files(&self) -> Result<FileFacts<'_>, BagError> {
        Ok(Box::new(self.0.iter().map(|(path, content)| {
            let (size, digests) = hash_reader(content.as_slice(), &[Algorithm::Md5]).map_err(BagError::Stream)?;
            Ok(FileFact { path: path.clone(), size, digests: digests.iter().collect() })
        })))
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + Send + '_>, BagError> {
        Ok(Box::new(Cursor::new(self.0.get(path).map(Vec::as_slice).unwrap_or_default())))
    }
}

fn empty_scan() -> Scan {
    let archive = vec![0; 1024];
    let source = Source::from_stream(Box::new(Cursor::new(archive)), Serialization::Tar, None);
    source.scan(&Limits::default(), &mut |_, _| Ok(())).expect("an empty archive")
}

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.split(|byte| *byte == 0);
    let mut files = BTreeMap::new();
    for (name, content) in TAG_FILES.iter().zip(&mut parts) {
        files.insert((*name).to_owned(), content.to_vec());
    }
    for name in parts.take(100) {
        let path = format!("data/{}", String::from_utf8_lossy(name));
        if unsafe_reason(&path).is_none() {
            files.insert(path, Vec::new());
        }
    }
    check(&InMemory(files), &empty_scan(), &CheckOptions::default()).expect("bytes alone are no reason for an error");
});
