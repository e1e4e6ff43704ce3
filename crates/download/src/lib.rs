//! stub
mod address;
mod body;
mod client;
mod entity;
mod error;
mod location;
mod meter;
mod permits;
mod policy;
mod probe;
mod retry;
mod supervision;

pub use body::{Body, Expected};
pub use client::Client;
pub use error::DownloadError;
pub use policy::{Policy, Retries, Timeouts};
pub use probe::Probe;
pub use supervision::Supervision;
