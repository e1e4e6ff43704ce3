//! What the crate promises, in one test binary.

mod arks;
mod minting;
