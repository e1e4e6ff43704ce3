//! The tests of this crate, one module for each concern.

mod skeletons;
