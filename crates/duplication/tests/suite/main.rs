//! What the crate promises.

mod checking;
mod filtering;
mod globs;
mod importing;
mod lookup;
mod writing;
