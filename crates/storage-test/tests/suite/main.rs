//! What the stores for tests do, and that they are stores.

mod conformance;
mod faults;
mod power;
