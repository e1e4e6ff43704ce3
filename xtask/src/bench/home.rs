//! A data directory to measure in, with its registry in a file or on a PostgreSQL server: what the programs are started with, what
//! the registry is asked, and what the server counts.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use postgres::{Client, NoTls};
use strongroom_test_postgres::{Server, Stop};

use crate::{place, services};

/// How often the registry is asked whether all is done.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Longer than any case takes.
const PATIENCE: Duration = Duration::from_mins(30);
/// As a careful operator has it, but for counting statements.
const SETTINGS: [&str; 6] = [
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    "max_connections=200",
    "shared_buffers=512MB",
    "shared_preload_libraries=pg_stat_statements",
];

/// A PostgreSQL server as a careful operator has it.
pub(super) struct CarefulServer {
    server: Server,
    /// The binaries published for Java programs lack the extension that counts statements.
    counts_statements: bool,
}

impl CarefulServer {
    pub(super) fn start() -> Result<Self> {
        let programs = services::postgres_programs()?.context("PostgreSQL is not on this machine")?;
        let mut server = Server::start(&programs)?;
        server.stop(Stop::Fast)?;
        let settings = SETTINGS.map(str::to_owned);
        let counts_statements = server.begin_with(&settings).is_ok();
        if !counts_statements {
            server.begin_with(&settings[..settings.len() - 1])?;
        }
        Ok(Self { server, counts_statements })
    }

    pub(super) fn stop(mut self) -> Result<()> {
        Ok(self.server.stop(Stop::Fast)?)
    }

    /// An empty database for a data directory, in the place of that of another one of its name.
    fn database(&self, folder: &Path) -> Result<(String, Client)> {
        let url = self.server.url();
        let mut client = Client::connect(&url, NoTls).context("the server does not answer")?;
        let folder = folder.file_name().and_then(|name| name.to_str()).context("the name of the folder")?;
        let name = format!("trial_{}", folder.to_ascii_lowercase().replace('-', "_"));
        client.batch_execute(&format!("DROP DATABASE IF EXISTS {name}"))?;
        client.batch_execute(&format!("CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0"))?;
        let url = url.strip_suffix("postgres").map(|front| format!("{front}{name}")).context("the server's URL")?;
        let mut client = Client::connect(&url, NoTls).context("the database does not answer")?;
        if self.counts_statements {
            client.batch_execute("CREATE EXTENSION pg_stat_statements")?;
        }
        Ok((url, client))
    }
}

/// Where the registry of a data directory is.
pub(super) enum Registry {
    File(rusqlite::Connection),
    Server {
        client: Box<Client>,
        counts_statements: bool,
        /// How often the benchmark itself has asked the database, which is none of its cost.
        asked: i64,
    },
}

/// A data directory with its registry.
pub(super) struct Home {
    program: PathBuf,
    folder: PathBuf,
    environment: Vec<(&'static str, String)>,
    registry: Registry,
}

/// What the server says of the database, without what the benchmark itself asks: statements without those that begin and end
/// transactions, and every transaction, also those that only read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Figures {
    pub(super) transactions: i64,
    pub(super) undone: i64,
    pub(super) inserted: i64,
    pub(super) deleted: i64,
    pub(super) bytes: i64,
    pub(super) log: i64,
    pub(super) statements: Option<i64>,
}

impl Home {
    /// Makes one whose registry is in a file, or on a server, in the place of the one that was there.
    pub(super) fn new(program: &Path, folder: &Path, server: Option<&CarefulServer>) -> Result<Self> {
        let mut init = Command::new(program);
        init.arg("init");
        let on_server = server.map(|server| server.database(folder)).transpose()?;
        if let Some((url, _)) = &on_server {
            init.args(["--registry", url]);
        }
        place::succeed(init.arg(folder).stdout(Stdio::null())).context("the program cannot make a data directory")?;
        let registry = if let (Some((_, client)), Some(server)) = (on_server, server) {
            Registry::Server { client: Box::new(client), counts_statements: server.counts_statements, asked: 0 }
        } else {
            let file = folder.join("registry.db");
            let opened = rusqlite::Connection::open(&file);
            Registry::File(opened.with_context(|| format!("cannot open {}", file.display()))?)
        };
        Ok(Self { program: program.to_owned(), folder: folder.to_owned(), environment: Vec::new(), registry })
    }

    /// Sets a variable of the environment of every command.
    pub(super) fn set(&mut self, name: &'static str, value: String) {
        self.environment.push((name, value));
    }

    pub(super) fn registry(&mut self) -> &mut Registry {
        &mut self.registry
    }

    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--home").arg(&self.folder).stdin(Stdio::null()).stdout(Stdio::null());
        command.envs(self.environment.iter().map(|(name, value)| (*name, value)));
        command
    }

    /// The number that a query of one row answers.
    pub(super) fn number(&mut self, query: &str) -> Result<i64> {
        match &mut self.registry {
            Registry::File(connection) => Ok(connection.query_row(query, [], |row| row.get(0))?),
            Registry::Server { client, asked, .. } => {
                *asked += 1;
                Ok(client.query_one(query, &[])?.get(0))
            }
        }
    }

    /// Waits until a query of one row answers 0.
    pub(super) fn wait_for_none(&mut self, query: &str) -> Result<()> {
        let began = Instant::now();
        while self.number(query)? != 0 {
            if began.elapsed() > PATIENCE {
                bail!("not done after {} s: {query}", PATIENCE.as_secs());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// What the server has counted; nothing counts where the registry is a file.
    pub(super) fn figures(&mut self) -> Result<Option<Figures>> {
        let Registry::Server { client, counts_statements, asked } = &mut self.registry else { return Ok(None) };
        // What backends have counted is reported when they end, or after a second of rest.
        std::thread::sleep(Duration::from_millis(1_500));
        let row = client.query_one(
            "SELECT xact_commit, xact_rollback, tup_inserted, tup_deleted, pg_database_size(datname),
                pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint
             FROM pg_stat_database WHERE datname = current_database()",
            &[],
        )?;
        let own_transactions = *asked;
        *asked += 1;
        let statements = if *counts_statements {
            let counted = "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements
                WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
                    AND query !~* '^(BEGIN|COMMIT|ROLLBACK|START|SET|SHOW)'";
            let counted: i64 = client.query_one(counted, &[])?.get(0);
            *asked += 1;
            Some(counted - (*asked - 1))
        } else {
            None
        };
        Ok(Some(Figures {
            transactions: row.get::<_, i64>(0) - own_transactions,
            undone: row.get(1),
            inserted: row.get(2),
            deleted: row.get(3),
            bytes: row.get(4),
            log: row.get(5),
            statements,
        }))
    }
}

impl Figures {
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            transactions: self.transactions - before.transactions,
            undone: self.undone - before.undone,
            inserted: self.inserted - before.inserted,
            deleted: self.deleted - before.deleted,
            bytes: self.bytes - before.bytes,
            log: self.log - before.log,
            statements: self.statements.zip(before.statements).map(|(after, before)| after - before),
        }
    }
}

/// Worker processes; stopped however the measurement ends.
pub(super) struct Workers(Vec<Child>);

impl Workers {
    /// Starts so many processes, with further arguments.
    pub(super) fn start(home: &Home, processes: usize, arguments: &[&str]) -> Result<Self> {
        let mut workers = Self(Vec::new());
        for _ in 0..processes {
            let mut work = home.command();
            work.args(["work", "--quiet"]).args(arguments).stderr(Stdio::null());
            workers.0.push(work.spawn().context("cannot start a worker")?);
        }
        Ok(workers)
    }

    /// The largest resident set that one of them has had so far, in bytes, as Linux counts it.
    pub(super) fn peak(&self) -> Result<u64> {
        let mut peak = 0;
        for worker in &self.0 {
            let file = format!("/proc/{}/status", worker.id());
            let status = std::fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
            let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kibibytes = kibibytes.and_then(|rest| rest.trim().strip_suffix(" kB")).context("no VmHWM")?;
            peak = peak.max(kibibytes.trim().parse::<u64>()? * 1024);
        }
        Ok(peak)
    }

    pub(super) fn stop(&mut self) -> Result<()> {
        for worker in &self.0 {
            kill(Pid::from_raw(worker.id().try_into()?), Signal::SIGTERM)?;
        }
        for mut worker in self.0.drain(..) {
            let status = worker.wait()?;
            // One that has only begun does not know the signal yet, and is ended by it.
            if !status.success() && status.signal() != Some(Signal::SIGTERM as i32) {
                bail!("a worker ended with {status}");
            }
        }
        Ok(())
    }
}

impl Workers {
    /// Ends them at once, whatever they work on.
    pub(super) fn kill(&mut self) -> Result<()> {
        for mut worker in self.0.drain(..) {
            worker.kill().context("cannot end a worker")?;
            worker.wait()?;
        }
        Ok(())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &mut self.0 {
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }
}

/// Processor time of all processes that this one has started and that have ended.
pub(super) fn cpu_of_children() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("cannot ask for the resources used")?;
    let micros = |time: nix::sys::time::TimeVal| time.tv_sec() * 1_000_000 + time.tv_usec();
    Ok(Duration::from_micros(u64::try_from(micros(usage.user_time()) + micros(usage.system_time()))?))
}
