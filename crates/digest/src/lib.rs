//! md5, sha1, sha256, sha512 (and kin) of one stream in one pass, on as many cores as help.
//!
//! [`MultiHasher`] takes bytes as they come; [`hash_reader`] reads a stream to its end; [`HashingReader`] hashes while
//! someone else reads. [`Progress`] counts what is read, for a line of progress.
//!
//! ```
//! use strongroom_digest::{Algorithm, hash_reader};
//!
//! let (length, digests) = hash_reader("abc".as_bytes(), &[Algorithm::Md5, Algorithm::Sha1])?;
//! assert_eq!(length, 3);
//! let md5 = digests.get(Algorithm::Md5).map(|digest| digest.to_hex());
//! assert_eq!(md5.as_deref(), Some("900150983cd24fb0d6963f7d28e17f72"));
//! # Ok::<(), std::io::Error>(())
//! ```

mod algorithm;
mod hasher;
mod lanes;
mod progress;
mod reader;
mod set;
mod state;
mod value;

pub use algorithm::Algorithm;
pub use hasher::MultiHasher;
pub use progress::{CountedReader, Progress};
pub use reader::{HashingReader, hash_reader};
pub use set::DigestSet;
pub use value::{Digest, DigestError};
