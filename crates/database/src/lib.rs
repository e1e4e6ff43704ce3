//! The small port through which the queue and the registry reach a SQL database.
//!
//! Operations are plain functions over a [`Transaction`] and name their SQL by [`Statement`]s, which are kept in `.sql`
//! files, one folder per dialect. [`Sqlite`] is the embedded engine; PostgreSQL is a second one behind the same port.

mod clock;
mod error;
mod migration;
mod sqlite;
mod statement;
mod transaction;
mod value;

pub use clock::{Clock, ManualClock, SystemClock};
pub use error::DatabaseError;
pub use migration::Migration;
pub use sqlite::Sqlite;
pub use statement::{Statement, Statements};
pub use transaction::{Database, Transaction, WriteJob};
pub use value::{Row, Time, Value};
