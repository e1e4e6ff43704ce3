//! Storage layouts: where the object of an id lies below its storage root (OCFL community extensions 0002, 0003, 0004).

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use strongroom_digest::{Algorithm, MultiHasher};
use strongroom_storage::Key;

use crate::OcflError;

const FLAT_DIRECT: &str = "0002-flat-direct-storage-layout";
const HASH_AND_ID: &str = "0003-hash-and-id-n-tuple-storage-layout";
const HASHED: &str = "0004-hashed-n-tuple-storage-layout";

/// A mapping from object ids to places below the storage root.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// Extension 0002: the id is the directory's name.
    FlatDirect,
    /// Extension 0003: parts of the id's digest, then the percent-encoded id.
    HashAndId(Tuples),
    /// Extension 0004: parts of the id's digest, then the digest, or with `short_object_root` what is left of it.
    Hashed {
        /// How the digest is cut.
        tuples: Tuples,
        /// Whether the last directory has only the digits not used before.
        short_object_root: bool,
    },
}

/// How a digest becomes directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuples {
    algorithm: Algorithm,
    size: usize,
    count: usize,
}

impl Tuples {
    /// `count` directories of `size` hexadecimal digits each; both at most 32, both or neither 0, and no more digits
    /// than the digest has.
    pub fn new(algorithm: Algorithm, size: usize, count: usize) -> Result<Self, OcflError> {
        let holds = size <= 32 && count <= 32 && (size == 0) == (count == 0) && size * count <= algorithm.length() * 2;
        if !holds {
            let value = format!("{count} tuples of {size} digits of {algorithm}");
            return Err(OcflError::unwritable("a layout", value, "the extension does not allow these numbers"));
        }
        Ok(Self { algorithm, size, count })
    }
}

/// The configuration file of a layout extension.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Configuration {
    extension_name: String,
    #[serde(default = "Configuration::default_algorithm")]
    digest_algorithm: String,
    #[serde(default = "Configuration::default_number")]
    tuple_size: usize,
    #[serde(default = "Configuration::default_number")]
    number_of_tuples: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    short_object_root: Option<bool>,
}

impl Configuration {
    fn default_algorithm() -> String {
        "sha256".to_owned()
    }

    fn default_number() -> usize {
        3
    }
}

impl Layout {
    /// The layout that we give new storage roots: extension 0004 with SHA-512 and three directories of three digits.
    pub fn ours() -> Self {
        let tuples = Tuples { algorithm: Algorithm::Sha512, size: 3, count: 3 };
        Self::Hashed { tuples, short_object_root: false }
    }

    /// The registered name of its extension.
    pub fn extension(&self) -> &'static str {
        match self {
            Self::FlatDirect => FLAT_DIRECT,
            Self::HashAndId(_) => HASH_AND_ID,
            Self::Hashed { .. } => HASHED,
        }
    }

    /// One sentence for `ocfl_layout.json`.
    pub(crate) fn description(&self) -> String {
        match self {
            Self::FlatDirect => "The name of an object's directory is its id.".to_owned(),
            Self::HashAndId(tuples) => format!(
                "Directories of {} digits from the {} of the id, {} of them, then the percent-encoded id.",
                tuples.size, tuples.algorithm, tuples.count
            ),
            Self::Hashed { tuples, .. } => format!(
                "Directories of {} digits from the {} of the id, {} of them, then the digest.",
                tuples.size, tuples.algorithm, tuples.count
            ),
        }
    }

    /// Reads the layout of an extension and, where it has one, its configuration. `Ok(None)` for an extension that is not
    /// known here.
    pub(crate) fn read(extension: &str, configuration: Option<&[u8]>) -> Result<Option<Self>, String> {
        if extension == FLAT_DIRECT {
            return Ok(Some(Self::FlatDirect));
        }
        if extension != HASH_AND_ID && extension != HASHED {
            return Ok(None);
        }
        let default = format!("{{\"extensionName\":\"{extension}\"}}").into_bytes();
        let configuration: Configuration = serde_json::from_slice(configuration.unwrap_or(&default))
            .map_err(|error| format!("the configuration of {extension} cannot be read: {error}"))?;
        if configuration.extension_name != extension {
            return Err(format!("the configuration of {extension} names {:?}", configuration.extension_name));
        }
        let algorithm = configuration.digest_algorithm.parse().map_err(|error| format!("{extension}: {error}"))?;
        let tuples = Tuples::new(algorithm, configuration.tuple_size, configuration.number_of_tuples)
            .map_err(|error| format!("{extension}: {error}"))?;
        if extension == HASH_AND_ID {
            return Ok(Some(Self::HashAndId(tuples)));
        }
        let short_object_root = configuration.short_object_root.unwrap_or(false);
        if short_object_root && tuples.size * tuples.count == algorithm.length() * 2 {
            return Err(format!("{extension}: nothing of the digest is left for a short object root"));
        }
        Ok(Some(Self::Hashed { tuples, short_object_root }))
    }

    /// The configuration file of the extension; `None` where it has none.
    pub(crate) fn configuration(&self) -> Option<String> {
        let (tuples, short_object_root) = match self {
            Self::FlatDirect => return None,
            Self::HashAndId(tuples) => (tuples, None),
            Self::Hashed { tuples, short_object_root } => (tuples, Some(*short_object_root)),
        };
        let configuration = Configuration {
            extension_name: self.extension().to_owned(),
            digest_algorithm: tuples.algorithm.name().to_owned(),
            tuple_size: tuples.size,
            number_of_tuples: tuples.count,
            short_object_root,
        };
        serde_json::to_string_pretty(&configuration).ok().map(|text| text + "\n")
    }

    /// Where the object of this id lies, relative to the storage root.
    pub fn path(&self, id: &str) -> Result<Key, OcflError> {
        let fault = |reason| OcflError::unwritable("an object id", id, reason);
        if id.is_empty() {
            return Err(fault("it is empty"));
        }
        let path = match self {
            Self::FlatDirect if id.contains('/') || id == "extensions" => {
                return Err(fault("it cannot be a directory's name"));
            }
            Self::FlatDirect => id.to_owned(),
            Self::HashAndId(tuples) => {
                let (mut path, digest) = tuples.directories(id);
                path.push_str(&encapsulation(id, &digest));
                path
            }
            Self::Hashed { tuples, short_object_root } => {
                let (mut path, digest) = tuples.directories(id);
                let used = if *short_object_root { tuples.size * tuples.count } else { 0 };
                path.push_str(digest.get(used..).unwrap_or_default());
                path
            }
        };
        Ok(Key::new(path)?)
    }
}

impl Tuples {
    /// The directories with a trailing slash each, and the whole digest in hexadecimal.
    fn directories(&self, id: &str) -> (String, String) {
        let mut hasher = MultiHasher::new(&[self.algorithm]);
        hasher.update(id.as_bytes());
        let digest = hasher.finish().get(self.algorithm).map(|digest| digest.to_hex()).unwrap_or_default();
        let mut path = String::new();
        for part in digest.as_bytes().chunks(self.size.max(1)).take(self.count) {
            path.extend(part.iter().map(|byte| char::from(*byte)));
            path.push('/');
        }
        (path, digest)
    }
}

/// The directory name that carries the id under extension 0003: percent-encoded, cut at 100 characters with the digest
/// appended where it is longer.
fn encapsulation(id: &str, digest: &str) -> String {
    let mut name = String::new();
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "%{byte:02x}");
        }
    }
    if name.len() > 100 {
        name.truncate(100);
        name.push('-');
        name.push_str(digest);
    }
    name
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(extension: &str, configuration: &str) -> Layout {
        Layout::read(extension, Some(configuration.as_bytes())).unwrap().unwrap()
    }

    // The expected paths of these tests are the examples of the extensions' own texts.

    #[test]
    fn hashed_tuples_map_the_published_examples() {
        let default = Layout::read(HASHED, None).unwrap().unwrap();
        let path = default.path("..hor/rib:le-$id").unwrap();
        assert_eq!(path.as_str(), "487/326/d8c/487326d8c2a3c0b885e23da1469b4d6671fd4e76978924b4443e9e3c316cda6d");
        let short = read(
            HASHED,
            r#"{"extensionName":"0004-hashed-n-tuple-storage-layout","digestAlgorithm":"md5","tupleSize":2,
                "numberOfTuples":15,"shortObjectRoot":true}"#,
        );
        assert_eq!(short.path("object-01").unwrap().as_str(), "ff/75/53/44/92/48/5e/ab/b3/9f/86/35/67/28/88/4e");
        let flat =
            read(HASHED, r#"{"extensionName":"0004-hashed-n-tuple-storage-layout","tupleSize":0,"numberOfTuples":0}"#);
        assert_eq!(
            flat.path("object-01").unwrap().as_str(),
            "3c0ff4240c1e116dba14c7627f2319b58aa3d77606d0d90dfc6161608ac987d4"
        );
    }

    #[test]
    fn hash_and_id_tuples_map_the_published_examples() {
        let layout = Layout::read(HASH_AND_ID, None).unwrap().unwrap();
        assert_eq!(layout.path("object-01").unwrap().as_str(), "3c0/ff4/240/object-01");
        assert_eq!(layout.path("..Hor/rib:lè-$id").unwrap().as_str(), "373/529/21a/%2e%2eHor%2frib%3al%c3%a8-%24id");
        let long = layout.path(&"abcdefghij".repeat(26)).unwrap();
        let digest = "55b432806f4e270da0cf23815ed338742179002153cd8d896f23b3e2d8a14359";
        assert_eq!(long.as_str(), format!("55b/432/806/{}-{digest}", "abcdefghij".repeat(10)));
        let md5 = read(
            HASH_AND_ID,
            r#"{"extensionName":"0003-hash-and-id-n-tuple-storage-layout","digestAlgorithm":"md5","tupleSize":5,
                "numberOfTuples":2}"#,
        );
        assert_eq!(md5.path("object-01").unwrap().as_str(), "ff755/34492/object-01");
    }

    #[test]
    fn numbers_that_an_extension_forbids_are_refused() {
        for (size, count) in [(0, 3), (3, 0), (33, 1), (1, 33), (32, 32)] {
            assert!(Tuples::new(Algorithm::Sha256, size, count).is_err(), "{size} {count}");
        }
        let short = r#"{"extensionName":"0004-hashed-n-tuple-storage-layout","digestAlgorithm":"md5","tupleSize":32,
            "numberOfTuples":1,"shortObjectRoot":true}"#;
        assert!(Layout::read(HASHED, Some(short.as_bytes())).is_err());
        assert!(Layout::read(HASHED, Some(b"[]")).is_err());
        assert_eq!(Layout::read("0099-unheard-of", None), Ok(None));
    }

    #[test]
    fn our_own_configuration_reads_back() {
        let ours = Layout::ours();
        let text = ours.configuration().unwrap();
        assert_eq!(Layout::read(ours.extension(), Some(text.as_bytes())).unwrap(), Some(ours));
    }

    #[test]
    fn a_flat_layout_refuses_ids_that_are_no_directory_names() {
        assert_eq!(Layout::FlatDirect.path("object-01").unwrap().as_str(), "object-01");
        for bad in ["", "a/b", "..", "extensions"] {
            assert!(Layout::FlatDirect.path(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_id_has_one_short_clean_place(id in "\\PC{1,300}") {
            for layout in [Layout::ours(), Layout::read(HASH_AND_ID, None).unwrap().unwrap()] {
                let path = layout.path(&id).unwrap();
                prop_assert_eq!(path.as_str().split('/').count(), 4);
                prop_assert_eq!(&path, &layout.path(&id).unwrap());
            }
        }
    }
}
