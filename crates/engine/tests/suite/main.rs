//! What the engine promises, proved against a real registry.

mod adoption;
mod app;
mod authorization;
mod backfill;
mod background;
mod export;
mod fixity;
mod fixture;
mod identification;
mod ingest;
mod installation;
mod meanwhile;
mod older;
mod outbox;
mod packages;
mod profiles;
mod rebuild;
mod receiving;
mod reconcile;
mod registering;
mod replacing;
mod restoration;
mod retention;
mod runtime;
mod saying;
mod stores;
