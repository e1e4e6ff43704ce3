//! What this crate promises, against a store in memory and the published fixtures.

mod codes;
mod fixtures;
mod folder;
mod guards;
mod memory;
mod purging;
mod reading;
mod sample;
mod writing;
