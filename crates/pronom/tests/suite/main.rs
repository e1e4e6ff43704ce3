//! The tests of this crate, one module for each concern.

mod agreement;
mod compiled_signatures;
mod containers;
mod hostile;
mod signature_files;
mod skeletons;
mod ways;
