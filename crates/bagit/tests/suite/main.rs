//! What the crate promises, in one test binary.

mod bags;
mod bounds;
mod conformance;
mod containers;
mod deposits;
mod evidence;
mod fetching;
mod mutations;
mod profile;
mod rules;
mod write;
