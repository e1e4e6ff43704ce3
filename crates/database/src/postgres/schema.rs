//! Whose tables the database holds, which version they have, and which life of the server they were seen in. Versions only
//! go forward, as in the embedded engine. Programs that start at the same time bring a schema forward one after another.

use crate::migration::{OlderSchema, check_order, check_version};
use crate::{DatabaseError, Migration, Upgraded};

use super::connection::Connection;
use super::failure::{Act, explain};

/// What the table of versions is marked with, so that one of another program is not taken for ours.
const MARK: &str = "strongroom";

/// The engine's own tables. The identifier of the server's present life lies in an unlogged table, which is empty again after
/// every recovery from a crash, and on a standby that was promoted (documentation of CREATE TABLE); see `commit`.
const BOOKKEEPING: &str = "
    CREATE TABLE schema_version (
        version    BIGINT PRIMARY KEY,
        name       TEXT NOT NULL,
        applied_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
    );
    COMMENT ON TABLE schema_version IS 'strongroom';
    CREATE UNLOGGED TABLE server_life (
        single BIGINT PRIMARY KEY CHECK (single = 1),
        id     UUID NOT NULL
    )";

/// Applies the migrations that the schema has not had yet, each in a transaction of its own.
pub(super) fn migrate(
    connection: &mut Connection,
    shown: &str,
    migrations: &[Migration],
    older: OlderSchema,
) -> Result<Upgraded, DatabaseError> {
    let known = check_order(migrations)?;
    let present = version(connection, shown)?;
    check_version(shown, present, known, older)?;
    if present == known {
        return Ok(Upgraded { from: present, to: known, copy: None });
    }
    let failed = |error: tokio_postgres::Error| explain(shown, Act::Other("bring the schema up to date"), &error);
    // The lock belongs to the session, which the caller closes.
    connection
        .client
        .batch_execute(
            "SET lock_timeout = 0;
             SELECT pg_advisory_lock(hashtext('strongroom schema'), current_schema()::regnamespace::oid::int);
             SET lock_timeout = '10s'",
        )
        .map_err(failed)?;
    // Another program may have done so meanwhile.
    let present = version(connection, shown)?;
    check_version(shown, present, known, older)?;
    for migration in migrations.iter().filter(|migration| migration.version > present) {
        let bookkeeping = if migration.version == 1 { BOOKKEEPING } else { "" };
        let applied = format!(
            "BEGIN; {bookkeeping}; {}; INSERT INTO schema_version (version, name) VALUES ({}, '{}'); COMMIT",
            migration.sql,
            migration.version,
            migration.name.replace('\'', "''")
        );
        connection
            .client
            .batch_execute(&applied)
            .map_err(|error| explain(shown, Act::Statement(migration.name), &error))?;
    }
    Ok(Upgraded { from: present, to: known, copy: None })
}

/// The version of the schema; 0 where there is none. Refuses tables of another program; what extensions of the server bring
/// is none.
pub(super) fn version(connection: &mut Connection, shown: &str) -> Result<u32, DatabaseError> {
    const ACT: &str = "read the schema";
    let row = connection.first_row(
        shown,
        ACT,
        "SELECT obj_description(to_regclass(quote_ident(current_schema()) || '.schema_version'), 'pg_class'),
            (SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace
                AND relkind IN ('r', 'p', 'v', 'm', 'f') AND oid NOT IN (SELECT objid FROM pg_depend
                    WHERE classid = 'pg_class'::regclass AND deptype = 'e'))",
    )?;
    let (mark, tables) = match row.as_slice() {
        [mark, tables] => (mark.as_deref(), tables.as_deref()),
        _ => (None, None),
    };
    if mark == Some(MARK) {
        let row = connection.first_row(shown, ACT, "SELECT coalesce(max(version), 0) FROM schema_version")?;
        return Ok(row.first().and_then(Option::as_deref).and_then(|text| text.parse().ok()).unwrap_or(0));
    }
    if tables == Some("0") {
        return Ok(0);
    }
    Err(DatabaseError::Schema {
        path: shown.to_owned(),
        reason: "this schema holds tables of another program; name another database, or another schema by search_path"
            .into(),
    })
}

/// Asks for the identifier of the server's present life, where it has one.
pub(super) const SERVER_EPOCH: &str = "SELECT id FROM server_life";

/// Identifies the server's present life. While it stays the same, transaction ids are not given twice.
pub(super) fn server_epoch(connection: &mut Connection, shown: &str) -> Result<String, DatabaseError> {
    const ACT: &str = "read the state of the server";
    let found = |row: Vec<Option<String>>| row.into_iter().next().flatten();
    if let Some(id) = found(connection.first_row(shown, ACT, SERVER_EPOCH)?) {
        return Ok(id);
    }
    let made = format!(
        "INSERT INTO server_life (single, id) VALUES (1, gen_random_uuid()) ON CONFLICT (single) DO NOTHING; {SERVER_EPOCH}"
    );
    found(connection.first_row(shown, ACT, &made)?).ok_or_else(|| DatabaseError::Unavailable {
        act: ACT.into(),
        detail: format!("{shown}: its server epoch has no identifier"),
    })
}
