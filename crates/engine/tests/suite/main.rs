//! What the engine promises, proved against a real registry.

mod export;
mod fixity;
mod fixture;
mod rebuild;
mod restoration;
mod runtime;
mod schedule;
