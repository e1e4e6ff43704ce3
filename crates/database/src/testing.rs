//! A PostgreSQL schema of its own for each test, on the server that `STRONGROOM_TEST_POSTGRES` names by a URL.

use std::sync::atomic::{AtomicU64, Ordering};

use postgres::Client;

use crate::postgres::test_connection;

pub use strongroom_test_postgres::{SERVER, Server, Stop, programs};

/// An empty schema, which goes when this goes.
pub struct Scratch {
    server: String,
    name: String,
}

impl Scratch {
    /// A fresh schema; none, and a line that says so, where no server is named.
    pub fn new() -> Option<Self> {
        let Ok(server) = std::env::var(SERVER) else {
            println!("SKIPPED: PostgreSQL: {SERVER} names no server");
            return None;
        };
        Some(Self::on(&server))
    }

    /// A fresh schema on this server.
    pub fn on(server: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("scratch_{}_{number}_{}", std::process::id(), uuid::Uuid::now_v7().simple());
        let scratch = Self { server: server.to_owned(), name };
        scratch.run(&format!("CREATE SCHEMA {}", scratch.name));
        scratch
    }

    /// The URL by which a database handle uses the schema.
    pub fn url(&self) -> String {
        with_schema(&self.server, &self.name)
    }

    /// A bare connection that uses the schema.
    pub fn client(&self) -> Client {
        client(&self.url())
    }

    /// Runs SQL in the schema.
    pub fn run(&self, sql: &str) {
        self.client().batch_execute(sql).expect("the server runs what a test asks of it");
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let Ok(mut client) = try_client(&self.server) else { return };
        // A handle that is still open in another thread may hold a lock; what is left is dropped with the server.
        let _ = client.batch_execute(&format!("SET lock_timeout = '5s'; DROP SCHEMA IF EXISTS {} CASCADE", self.name));
    }
}

/// A server to oneself; none, and a line that says so, where its programs are absent.
pub fn own_server() -> Option<Server> {
    let Some(programs) = programs() else {
        println!("SKIPPED: PostgreSQL: its programs are not on this machine");
        return None;
    };
    Some(Server::start(&programs).expect("a server starts"))
}

/// A server's URL with a schema to use.
pub fn with_schema(server: &str, schema: &str) -> String {
    let sign = if server.contains('?') { '&' } else { '?' };
    format!("{server}{sign}options=-csearch_path%3D{schema}")
}

/// A bare connection.
pub fn client(url: &str) -> Client {
    try_client(url).expect("the server answers")
}

fn try_client(url: &str) -> Result<Client, String> {
    let (config, connector) = test_connection(url).map_err(|error| error.to_string())?;
    postgres::Config::from(config).connect(connector).map_err(|error| error.to_string())
}
