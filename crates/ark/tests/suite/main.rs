//! What the crate promises, in one test binary.

mod anvl_round_trip;
mod arks;
mod ezid;
mod minting;
