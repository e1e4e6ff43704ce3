//! What the crate promises.

mod checking;
mod deciding;
mod filtering;
mod globs;
mod importing;
mod lookup;
mod merging;
mod together;
mod writing;
