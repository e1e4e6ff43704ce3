//! What the crate promises, in one test binary.

mod bags;
mod conformance;
mod containers;
mod profile;
mod rules;
mod write;
