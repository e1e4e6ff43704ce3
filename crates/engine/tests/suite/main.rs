//! What the engine promises, proved against a real registry.

mod fixture;
mod restoration;
mod runtime;
