//! The tests of this crate, one module for each concern.

mod compiled_signatures;
mod containers;
mod signature_files;
mod skeletons;
mod ways;
