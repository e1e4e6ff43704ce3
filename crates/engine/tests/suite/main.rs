//! What the engine promises, proved against a real registry.

mod activities;
mod adoption;
mod app;
mod authorization;
mod backfill;
mod background;
mod deleting;
mod deleting_again;
mod deletions;
mod export;
mod fixity;
mod fixture;
mod identification;
mod identifiers;
mod ingest;
mod installation;
#[cfg(feature = "failpoints")]
mod killing;
mod legal_holds;
mod meanwhile;
mod notifications;
mod older;
mod outbox;
mod packages;
mod people;
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
