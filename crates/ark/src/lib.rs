//! ARK identifiers: read, compared, checked and made; and a client of EZID, the service that registers them.
//!
//! An ARK is `ark:/NAAN/NAME` (draft-kunze-ark-42): the NAAN is the number of the authority that assigns names, the name is what it
//! assigned.
//!
//! - [`Ark`] is an ARK as it was given, compared by its normal form: hyphens do not count, and `ark:` is the same as `ark:/`.
//! - [`check_character`] computes the check character of NOID; [`is_check_valid`] says whether a name ends with it.
//! - [`Minter`] makes names below a shoulder. It keeps no state: the caller gives random numbers or a counter, and keeps the names unique.
//! - [`EzidClient`] registers ARKs with EZID. It never asks EZID for a name: a name is made here and recorded first, so that a request whose
//!   answer was lost is repeated and loses none.
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
//!
//! A name is registered by as many equal requests as it takes:
//!
//! ```
//! use strongroom_ark::{Ark, Elements, EzidClient, EzidOptions, Password, Status};
//! use strongroom_ezid_double::{EzidDouble, Fault, PASSWORD, USER};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = EzidDouble::start()?;
//! server.plan(&Fault::LoseReply, 1);
//! let client = EzidClient::new(&EzidOptions::new(server.url(), USER, Password::new(PASSWORD)))?;
//! let ark: Ark = "ark:/99999/fk4000000011".parse()?;
//! let elements = Elements::new()
//!     .target("https://example.org/m/${identifier}")
//!     .status(&Status::Public)
//!     .erc([("who", "Lovelace, Ada"), ("what", "Notes"), ("when", "1843")]);
//!
//! let error = client.create_or_update(&ark, &elements).expect_err("the answer is lost");
//! assert!(error.is_transient());
//! client.create_or_update(&ark, &elements)?;
//! assert_eq!(server.identifiers().len(), 1);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod ark;
mod check;
mod error;
mod ezid;
mod minter;
mod naan;

pub use ark::Ark;
pub use check::{BETANUMERIC, check_character, is_check_valid};
pub use error::ArkError;
pub use ezid::{Action, Elements, EzidClient, EzidError, EzidOptions, Password, Registered, Status};
pub use minter::{DEFAULT_BODY, LONGEST_BODY, Minter, Shoulder};
pub use naan::Naan;
