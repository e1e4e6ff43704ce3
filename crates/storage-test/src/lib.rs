//! Stores for tests: what a test does around the calls of another store.
//!
//! A [`Layer`] says what happens around one call of a store; [`Layered`] is the store that results. [`Faults`] is a layer of
//! planned faults. [`Unsynced`] is a store that can lose what was not synced, as a power cut does. All of them pass the
//! conformance suite of `strongroom-storage`. The program is not built with this crate.

mod faults;
mod layer;
mod unsynced;

pub use faults::{Fault, Faults};
pub use layer::{Call, Layer, Layered, Operation};
pub use unsynced::{Loss, Unsynced};
