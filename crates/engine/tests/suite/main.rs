//! What the engine promises, proved against a real registry.

mod fixity;
mod export;
mod fixture;
mod restoration;
mod runtime;
