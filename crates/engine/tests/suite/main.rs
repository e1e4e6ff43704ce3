//! What the engine promises, proved against a real registry.

mod export;
mod fixity;
mod fixture;
mod restoration;
mod runtime;
mod schedule;
