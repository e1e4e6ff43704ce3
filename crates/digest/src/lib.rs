//! md5, sha1, sha256, sha512 (and kin) of one stream in one pass, on as many cores as help.

mod algorithm;
mod value;

pub use algorithm::Algorithm;
pub use value::{Digest, DigestError};
