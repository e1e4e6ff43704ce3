//! What the engine promises, proved against a real registry.

mod export;
mod fixity;
mod fixture;
mod identification;
mod rebuild;
mod restoration;
mod runtime;
mod schedule;
