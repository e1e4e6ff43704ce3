//! Rows of a manifest that become work items, beside rows that are inserted into the same database bare.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::lists::{Identifiers, Row, write_list};
use super::{OF_BATCHES, per, registries, size, submit};
use crate::bench::home::{CarefulServer, Home, Registry, Workers};
use crate::bench::{Options, bare, mebibytes, scratch, seconds};

/// Rows of the manifest.
const ROWS: u64 = 100_000;
/// Rows of one transaction of the bare work, as many as the program's have.
const AT_ONCE: u64 = 500;
/// The rows that a work item begins with: itself, the first line of its history, its task.
const TABLES: [&str; 3] = ["bare_items", "bare_lines", "bare_tasks"];
/// Whether the list is still being read.
const IS_READ: &str = "SELECT count(*) FROM (SELECT 1 AS one FROM work_items
    WHERE action = 'expand_batch' AND status IN ('pending', 'started') LIMIT 1) AS open";

pub(super) fn run(program: &Path, options: &Options) -> Result<()> {
    let rows = size(options, ROWS);
    let server = CarefulServer::start()?;
    let folder = scratch()?;
    let all: Vec<Row> = (1..=rows).map(Row::unfetched).collect();
    println!(
        "| registry | rows | identifiers | s | rows/s | bare rows/s | peak MiB | transactions/row | statements/row |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (name, on) in registries(&server) {
        for identifiers in [Identifiers::None, Identifiers::Local] {
            let list = folder.path().join("list.checkm");
            write_list(&list, &all, identifiers)?;
            let mut home = Home::new(program, &folder.path().join(format!("{name}-{identifiers:?}")), on)?;
            let bare = insert_bare(home.registry(), rows)?;
            submit(&home, &OF_BATCHES, &list)?;
            let before = home.figures()?;
            bare::settle(folder.path())?;
            let began = Instant::now();
            let mut workers = Workers::start(&home, 1, &["--topics", "batch.expand"])?;
            home.wait_for_none(IS_READ)?;
            let wall = began.elapsed();
            let peak = workers.peak()?;
            workers.stop()?;
            let figures = home.figures()?.zip(before).map(|(after, before)| after.since(before));
            let made = home.number("SELECT count(*) FROM work_items WHERE status = 'pending'")?;
            if u64::try_from(made) != Ok(rows) {
                bail!("{made} of {rows} rows became work items");
            }
            println!(
                "| {name} | {rows} | {identifiers:?} | {} | {:.0} | {:.0} | {} | {} | {} |",
                seconds(wall),
                rows as f64 / wall.as_secs_f64(),
                rows as f64 / bare.as_secs_f64(),
                mebibytes(peak),
                per(rows, figures.map(|figures| figures.transactions)),
                per(rows, figures.and_then(|figures| figures.statements)),
            );
        }
    }
    server.stop()
}

/// How long the database needs for as many rows in tables without anything else: a statement for each row in a file, for each
/// transaction and table on a server, whose statements cost a round trip. Every transaction is durable.
fn insert_bare(registry: &mut Registry, rows: u64) -> Result<Duration> {
    let note = "x".repeat(400);
    match registry {
        Registry::File(connection) => {
            connection.pragma_update(None, "synchronous", "FULL")?;
            for table in TABLES {
                connection.execute_batch(&format!("CREATE TABLE {table} (id BLOB PRIMARY KEY, note TEXT NOT NULL)"))?;
            }
            let began = Instant::now();
            for first in (0..rows).step_by(AT_ONCE as usize) {
                let transaction = connection.transaction()?;
                for table in TABLES {
                    let mut insert = transaction.prepare_cached(&format!("INSERT INTO {table} VALUES (?1, ?2)"))?;
                    for number in first..rows.min(first + AT_ONCE) {
                        insert.execute((u128::from(number).to_be_bytes(), &note))?;
                    }
                }
                transaction.commit()?;
            }
            let took = began.elapsed();
            for table in TABLES {
                connection.execute_batch(&format!("DROP TABLE {table}"))?;
            }
            Ok(took)
        }
        Registry::Server { client, .. } => {
            for table in TABLES {
                client.batch_execute(&format!("CREATE TABLE {table} (id UUID PRIMARY KEY, note TEXT NOT NULL)"))?;
            }
            let began = Instant::now();
            for first in (0..rows).step_by(AT_ONCE as usize) {
                let mut transaction = client.transaction()?;
                for table in TABLES {
                    let insert = format!(
                        "INSERT INTO {table} SELECT lpad(to_hex(n), 32, '0')::uuid, $3 FROM generate_series($1::bigint, $2) AS n"
                    );
                    let last = rows.min(first + AT_ONCE) - 1;
                    transaction.execute(&insert, &[&i64::try_from(first)?, &i64::try_from(last)?, &note])?;
                }
                transaction.commit()?;
            }
            let took = began.elapsed();
            for table in TABLES {
                client.batch_execute(&format!("DROP TABLE {table}"))?;
            }
            Ok(took)
        }
    }
}
