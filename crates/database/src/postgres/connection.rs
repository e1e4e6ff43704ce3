//! One connection: how it is made and set up, and the statements prepared on it.

use std::collections::HashMap;
use std::sync::Arc;

use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::types::Kind;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::value::Columns;
use crate::{DatabaseError, Statement, Statements};

use super::address::Address;
use super::client::Client;
use super::failure::{Act, explain};
use super::schema;

/// How every session is set up.
///
/// - `synchronous_commit` may be anything but off: what was answered is durable.
/// - Who waits for a row longer than ten seconds tries again instead; a transaction whose program has fallen silent ends
///   and lets its rows go.
/// - Every statement has an index, and the plan is to use it however small the tables are: whole tables that were read
///   would count as read by serialisable transactions. Without this setting's large costs there is no use for `jit`.
const SESSION: &str = "
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
    SET lock_timeout = '10s';
    SET idle_in_transaction_session_timeout = '1min';
    SET enable_seqscan = off;
    SET jit = off;
    SET client_min_messages = error";

/// What is asked of a server before anything is done there: its version, its encoding, and the schema that tables are made in.
const SERVER: &str =
    "SELECT current_setting('server_version_num'), current_setting('server_encoding'), current_schema()";

/// The oldest server that is known to do.
const OLDEST_VERSION: u32 = 150_000;

/// A statement that the server has taken in.
#[derive(Clone)]
pub(super) struct Prepared {
    pub(super) statement: tokio_postgres::Statement,
    /// Whether every parameter is an array: the statement works on many value lists at once.
    pub(super) is_grouped: bool,
    pub(super) columns: Arc<Columns>,
    /// Whether it only reads, or locks what it reads.
    pub(super) is_query: bool,
}

/// An open session.
pub(super) struct Connection {
    pub(super) client: Client,
    prepared: HashMap<&'static str, Prepared>,
    /// See [`schema::server_epoch`].
    pub(super) server_epoch: Option<String>,
}

impl Connection {
    /// Opens a session with a server that is fit for us; it may have no schema yet.
    pub(super) fn open(address: &Address, connector: &MakeRustlsConnect) -> Result<Self, DatabaseError> {
        Self::begin(address, connector, SERVER).map(|(connection, _)| connection)
    }

    /// As [`Self::open`], for transactions: the schema is there.
    pub(super) fn open_for_work(address: &Address, connector: &MakeRustlsConnect) -> Result<Self, DatabaseError> {
        let look = format!("{SERVER}, ({})", schema::SERVER_EPOCH);
        let (mut connection, row) = Self::begin(address, connector, &look)?;
        connection.server_epoch = match row.into_iter().nth(3).flatten() {
            Some(epoch) => Some(epoch),
            None => Some(schema::server_epoch(&mut connection, &address.shown)?),
        };
        Ok(connection)
    }

    /// Connects, sets the session up and inspects the server, in one exchange; refuses one that is not fit for us.
    /// With what the query gave: that of [`SERVER`], and what is asked behind it.
    fn begin(
        address: &Address,
        connector: &MakeRustlsConnect,
        look: &str,
    ) -> Result<(Self, Vec<Option<String>>), DatabaseError> {
        let client = Client::open(&address.config, &address.shown, connector)?;
        let mut connection = Self { client, prepared: HashMap::new(), server_epoch: None };
        let row =
            connection.first_row(&address.shown, "read the state of the server", &format!("{SESSION}; {look}"))?;
        check_server(address, &row)?;
        Ok((connection, row))
    }

    /// The first row of the last statement that gave one, as texts; empty where none did. One exchange with the server,
    /// however many statements there are.
    pub(super) fn first_row(
        &mut self,
        shown: &str,
        act: &'static str,
        sql: &str,
    ) -> Result<Vec<Option<String>>, DatabaseError> {
        self.try_first_row(sql).map_err(|error| explain(shown, Act::Other(act), &error))
    }

    /// As [`Self::first_row`], with the client's own error.
    pub(super) fn try_first_row(&mut self, sql: &str) -> Result<Vec<Option<String>>, tokio_postgres::Error> {
        Ok(last_row(&self.client.simple_query(sql)?))
    }

    /// A statement of ours as the server has it; taken in at its first use.
    pub(super) fn prepared(
        &mut self,
        statements: &Statements,
        statement: Statement,
    ) -> Result<Result<Prepared, tokio_postgres::Error>, DatabaseError> {
        if let Some(prepared) = self.prepared.get(statement.0) {
            return Ok(Ok(prepared.clone()));
        }
        let sql = statements.sql(statement).ok_or_else(|| DatabaseError::Statement {
            statement: statement.0,
            detail: "there is no statement of this name".into(),
        })?;
        let made = match self.client.prepare(sql) {
            Ok(made) => made,
            Err(error) => return Ok(Err(error)),
        };
        let types = made.params();
        let is_grouped = !types.is_empty() && types.iter().all(|found| matches!(found.kind(), Kind::Array(_)));
        let columns = Arc::new(Columns::of(made.columns().iter().map(tokio_postgres::Column::name)));
        let is_query = sql.trim_start().starts_with("SELECT");
        let prepared = Prepared { statement: made, is_grouped, columns, is_query };
        self.prepared.insert(statement.0, prepared.clone());
        Ok(Ok(prepared))
    }
}

/// The last row among the answers to SQL, as texts; empty where there is none.
pub(super) fn last_row(messages: &[SimpleQueryMessage]) -> Vec<Option<String>> {
    let row = messages.iter().rev().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    row.map(|row| (0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect()).unwrap_or_default()
}

/// Refuses a server that is not fit for us, by what [`SERVER`] gave.
fn check_server(address: &Address, row: &[Option<String>]) -> Result<(), DatabaseError> {
    let unfit = |reason: String| Err(DatabaseError::Schema { path: address.shown.clone(), reason });
    let [version, encoding, schema, ..] = row else { return unfit("the server does not answer".into()) };
    let version: u32 = version.as_deref().and_then(|text| text.parse().ok()).unwrap_or(0);
    if version < OLDEST_VERSION {
        return unfit(format!("the server is PostgreSQL {}; it has to be 15 or later", version / 10_000));
    }
    if encoding.as_deref() != Some("UTF8") {
        return unfit("the database's encoding has to be UTF8; create one with ENCODING 'UTF8'".into());
    }
    if schema.is_none() {
        return unfit("no schema of the search path exists; create it, or leave search_path as it is".into());
    }
    Ok(())
}
