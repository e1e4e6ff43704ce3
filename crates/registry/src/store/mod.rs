//! Operations on records, by group of tables: plain functions over a [`Transaction`](crate::Transaction), one implementation for
//! all engines.

mod advance;
pub mod backfill;
pub mod batches;
pub mod checks;
mod claims;
pub mod comparing;
pub mod copies;
pub mod discarding;
mod endings;
pub mod events;
pub mod fixity;
pub mod health;
pub mod identification;
pub mod interim;
pub mod items;
pub mod journal;
pub mod leases;
mod notes;
pub mod objects;
pub mod outbox;
pub mod parts;
mod publishing;
pub mod rebuild;
pub mod receiving;
mod recovery;
mod requests;
pub mod restored;
pub mod retention;
pub mod schedules;
pub mod standing;
pub mod stores;
pub mod tenants;
pub mod versions;
mod waking;
pub mod work;
