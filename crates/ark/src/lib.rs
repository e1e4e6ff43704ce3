//! ARK identifiers: read, compared, checked and made; and a client of EZID, the service that registers them.
//!
//! An ARK is `ark:/NAAN/NAME` (draft-kunze-ark-42): the NAAN is the number of the authority that assigns names, the name is what it
//! assigned.
//!
//! - [`Ark`] is an ARK as it was given, compared by its normal form: hyphens do not count, and `ark:` is the same as `ark:/`.
//! - [`check_character`] computes the check character of NOID; [`is_check_valid`] says whether a name ends with it.
//! - [`Minter`] makes names below a shoulder. It keeps no state: the caller gives random numbers or a counter, and keeps the names unique.
//!
//! The crate stands alone: it knows no registry, and keeps nothing.
//!
//! ```
//! use strongroom_ark::{Ark, Minter, Naan, Shoulder, is_check_valid};
//!
//! # fn main() -> Result<(), strongroom_ark::ArkError> {
//! let ark: Ark = "ark:13030/xf-93gt2q".parse()?;
//! assert_eq!(ark.to_string(), "ark:/13030/xf-93gt2q");
//! assert_eq!(ark, "ark:/13030/xf93gt2q".parse()?);
//! assert!(is_check_valid(&ark));
//!
//! let minter = Minter::new(Naan::new("99999")?, Shoulder::new("fk4")?);
//! let new = minter.random_name(0x5eed);
//! assert!(new.name().starts_with("fk4") && is_check_valid(&new));
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod ark;
mod check;
mod error;
mod minter;
mod naan;

pub use ark::Ark;
pub use check::{BETANUMERIC, check_character, is_check_valid};
pub use error::ArkError;
pub use minter::{DEFAULT_BODY, LONGEST_BODY, Minter, Shoulder};
pub use naan::Naan;
