//! What every store promises, proved for the folder store.

mod conformance;
mod crash;
mod folder;
#[cfg(feature = "failpoints")]
mod races;
#[cfg(target_os = "linux")]
mod syncing;
