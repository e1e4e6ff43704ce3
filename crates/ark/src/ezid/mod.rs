//! A client of EZID, the service of the California Digital Library that registers identifiers (EZID API, version 2).
//!
//! Names are not asked of the service: a [`crate::Minter`] makes one, the caller records it, and [`EzidClient::create_or_update`] registers
//! it. Where the answer is lost, the same request is sent again, and no name is lost.

mod anvl;
mod client;
mod elements;
mod error;

pub use client::{EzidClient, EzidOptions, Password};
pub use elements::{Elements, Registered, Status};
pub use error::{Action, EzidError};
