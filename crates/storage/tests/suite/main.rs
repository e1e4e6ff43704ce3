//! What every store promises, proved for the folder store and for each layer over it.

mod conformance;
mod crash;
mod folder;
mod layers;
mod power;
#[cfg(feature = "failpoints")]
mod races;
#[cfg(target_os = "linux")]
mod syncing;
