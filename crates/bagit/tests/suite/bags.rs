//! Small bags made for tests, and where those of others lie.

use std::fs;
use std::path::{Path, PathBuf};

use strongroom_digest::{Algorithm, hash_reader};

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
