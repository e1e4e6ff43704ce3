//! Audit chains: each entry names the SHA-256 of the one before, so that an outsider sees what was changed, left out, moved or cut off.
//!
//! A chain is text in lines that end with LF. Each line is an entry: a JSON object in the canonical form of RFC 8785, in UTF-8. It has
//! these keys, and whatever else the caller says of the act:
//!
//! | key | value |
//! |---|---|
//! | `chain` | the name of the chain: the domain name of an institution |
//! | `previous` | the SHA-256 of the line before without its line end, 64 hexadecimal digits in lower case; of the first entry 64 zeros |
//! | `sequence` | the number of the entry, from 1 |
//! | `time` | when, as RFC 3339 in UTC |
//!
//! [`Link`] is the end of a chain, and appends to it. A [`Head`] is what is published of a chain at a moment: how many entries it has,
//! the SHA-256 of the last one, and which of them are in one file (a [`Range`]). A [`SigningKey`] signs it. [`Verifier`] reads a chain in the
//! memory of one line and names the first entry that does not hold; [`verify`] does so for files, with the names of [`names`].
//!
//! A chain alone proves that nothing was changed *in* it. That it was not made anew from some entry on, or cut off, is proved by heads
//! which were published before, in places where the chain's keeper cannot change them: the verifier compares them.
//!
//! ```
//! use strongroom_audit::{Head, Link, RangeSum, Verifier};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let body = serde_json::json!({"act": "deletions.approve", "actor": "bob@example.edu"});
//! let start = Link::start("example.edu");
//! let (line, _) = start.append("2026-05-04T09:30:00Z", body.as_object().expect("an object"))?;
//! let mut sum = RangeSum::behind(start);
//! sum.take(line.as_bytes());
//! let (range, link) = sum.finish();
//! let head = Head::of(&link, range, "2026-05-04T10:00:00Z");
//!
//! let mut verifier = Verifier::new([head]);
//! verifier.take(line.as_bytes())?;
//! assert_eq!(verifier.finish()?.sequence(), 1);
//! # Ok(())
//! # }
//! ```

mod error;
mod fault;
mod files;
mod head;
mod link;
pub mod names;
mod sha256;
mod signing;
mod verify;

pub use error::AuditError;
pub use fault::{Broken, Fault};
pub use files::{Verified, verify};
pub use head::{Head, Range, RangeSum};
pub use link::{LONGEST_LINE, Link};
pub use sha256::Sha256;
pub use signing::{PublicKey, SigningKey};
pub use verify::{KEY_ACT, NO_KEY, NearDuplicates, Verifier};
