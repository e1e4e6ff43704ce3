//! Archives and tag files with bytes changed at random: whatever they have become, they are judged, without panic or hang.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use proptest::prelude::*;
use strongroom_bagit::{
    BagError, CheckOptions, Evidence, FileFact, FileFacts, Limits, Scan, Serialization, Source, check,
};
use strongroom_digest::{Algorithm, hash_reader};

use crate::bags::{Bag, gzip};

fn scan(archive: Vec<u8>, serialization: Serialization) -> Scan {
    let limits = Limits { bytes: 1 << 20, ..Limits::default() };
    let source = Source::from_stream(Box::new(Cursor::new(archive)), serialization, None);
    let scan = source.scan(&limits, &mut |entry, reader| {
        assert!(strongroom_bagit::unsafe_reason(&entry.path).is_none());
        std::io::copy(reader, &mut std::io::sink()).map(drop)
    });
    scan.unwrap()
}

fn changed(mut bytes: Vec<u8>, changes: &[(prop::sample::Index, u8)]) -> Vec<u8> {
    for (at, value) in changes {
        let at = at.index(bytes.len());
        bytes[at] = *value;
    }
    bytes
}

struct InMemory(BTreeMap<String, Vec<u8>>);

impl Evidence for InMemory {
    fn files(&self) -> Result<FileFacts<'_>, BagError> {
        Ok(Box::new(self.0.iter().map(|(path, content)| {
            let (size, digests) = hash_reader(content.as_slice(), &[Algorithm::Sha256]).map_err(BagError::Stream)?;
            Ok(FileFact { path: path.clone(), size, digests: digests.iter().collect() })
        })))
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + Send + '_>, BagError> {
        Ok(Box::new(Cursor::new(self.0[path].as_slice())))
    }
}

fn rich() -> Bag {
    Bag::new("1.0", &[Algorithm::Sha256, Algorithm::Md5], &[("a%b", "alpha"), ("é/x\ny", "beta")])
        .with("fetch.txt", "https://example.org/a - data/a%25b\n")
        .adding("bag-info.txt", "Bag-Count: 1 of 2\nExternal-Description: one\n  two\n")
        .sealed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_changed_tar_archive_is_judged(changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..6)) {
        // A changed header is mostly caught by its checksum; one that is mended reaches further.
        let mut tar = changed(Bag::plain().tar(), &changes);
        scan(tar.clone(), Serialization::Tar);
        for block in tar.chunks_exact_mut(512).filter(|block| &block[257..262] == b"ustar") {
            block[148..156].copy_from_slice(b"        ");
            let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
            block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
        scan(tar, Serialization::Tar);
    }

    #[test]
    fn a_changed_zip_archive_is_judged(changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..6)) {
        scan(changed(Bag::plain().zip(), &changes), Serialization::Zip);
    }

    #[test]
    fn a_changed_gzip_stream_is_judged(changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..4)) {
        scan(changed(gzip(&Bag::plain().tar()), &changes), Serialization::TarGz);
    }

    #[test]
    fn random_bytes_are_judged(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        for serialization in [Serialization::Tar, Serialization::TarGz, Serialization::Zip] {
            scan(bytes.clone(), serialization);
        }
    }

    #[test]
    fn changed_tag_files_are_judged(file in any::<prop::sample::Index>(), changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..8)) {
        let mut files = rich().files;
        let path = files.keys().nth(file.index(files.len())).unwrap().clone();
        let content = files[&path].clone();
        files.insert(path, changed(content, &changes));
        let source = Source::from_stream(Box::new(Cursor::new(rich().tar())), Serialization::Tar, None);
        let honest = source.scan(&Limits::default(), &mut |_, _| Ok(())).unwrap();
        check(&InMemory(files), &honest, &CheckOptions::default()).unwrap();
    }
}
