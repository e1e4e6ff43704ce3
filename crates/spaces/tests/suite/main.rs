//! What every plain store promises, proved for the one in a folder, and what a folder does besides.

mod conformance;
mod folder;
#[cfg(target_os = "linux")]
mod full;
mod order;
