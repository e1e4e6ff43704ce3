//! the work: worker runtime, ingest, fixity, restoration, rebuild

pub mod event;
pub mod runtime;
