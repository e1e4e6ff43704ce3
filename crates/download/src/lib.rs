//! stub
mod address;
mod body;
mod client;
mod entity;
mod error;
mod fetch;
mod location;
mod meter;
mod parallel;
mod partial;
mod permits;
mod policy;
mod probe;
mod retry;
mod supervision;

pub use body::{Body, Expected};
pub use client::Client;
pub use error::DownloadError;
pub use fetch::{Fetched, FileRequest};
pub use parallel::{Finished, Job, Parallel, Totals};
pub use policy::{Policy, Retries, Timeouts};
pub use probe::Probe;
pub use supervision::Supervision;
