//! The small port through which the queue and the registry reach a SQL database.
//!
//! Operations are plain functions over a [`Transaction`] and name their SQL by [`Statement`]s, which are kept in `.sql`
//! files, one folder per dialect. [`Sqlite`] is the embedded engine, [`Postgres`] the one for many machines; [`open`] picks
//! one by its address.

mod clock;
mod error;
mod location;
mod migration;
mod postgres;
mod sqlite;
mod statement;
#[cfg(feature = "testing")]
pub mod testing;
mod transaction;
pub mod transfer;
mod value;

pub use clock::{CLOCK_TOLERANCE, Clock, ManualClock, SystemClock};
pub use error::DatabaseError;
pub use location::{Location, Schema, exists, open, upgrade};
pub use migration::{Migration, Upgraded};
pub use postgres::{Postgres, PostgresSettings};
pub use sqlite::Sqlite;
pub use statement::{Placeholders, Statement, Statements};
pub use transaction::{Asked, Database, Isolation, Transaction, WriteJob};
pub use value::{Row, Time, Value};
