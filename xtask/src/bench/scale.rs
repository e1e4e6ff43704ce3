//! `bench scale`: the same deposits through one, two and four worker processes on PostgreSQL, and what they ask of the
//! database. Server and workers share the machine, so its processors are the limit that the figures stand beside.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use postgres::{Client, NoTls};
use strongroom_test_postgres::{Server, Stop};

use super::bags::{Run, write_tar};
use super::{Options, bare, scratch, seconds, strongroom};
use crate::{place, services};

struct Case {
    name: &'static str,
    bags: u32,
    run: Run,
    /// Worker processes.
    processes: &'static [usize],
}

const CASES: [Case; 3] = [
    Case { name: "20 bags, 10 x 4 KiB", bags: 20, run: Run { files: 10, size: 4_096 }, processes: &[1] },
    Case { name: "400 bags, 10 x 4 KiB", bags: 400, run: Run { files: 10, size: 4_096 }, processes: &[1, 2, 4] },
    Case { name: "1 bag, 20,000 x 1 KiB", bags: 1, run: Run { files: 20_000, size: 1_024 }, processes: &[1] },
];

const LARGE: [Case; 1] =
    [Case { name: "2,000 bags, 10 x 4 KiB", bags: 2_000, run: Run { files: 10, size: 4_096 }, processes: &[1, 2, 4] }];

/// How often it is looked whether all is done.
const LOOK: Duration = Duration::from_millis(50);
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

pub(super) fn run(options: &Options) -> Result<()> {
    let program = strongroom(options)?;
    let programs = services::postgres_programs()?.context("PostgreSQL is not on this machine")?;
    let mut server = Server::start(&programs)?;
    server.stop(Stop::Fast)?;
    let settings = SETTINGS.map(str::to_owned);
    // The binaries published for Java programs lack the extension that counts statements.
    let counts_statements = server.begin_with(&settings).is_ok();
    if !counts_statements {
        server.begin_with(&settings[..settings.len() - 1])?;
    }
    println!(
        "| case | processes | s | deposits/h | bare s | workers' cpu s | transactions/bag | statements/bag | \
         transactions/file | statements/file | rows kept/file | database bytes/file | log bytes/file | run again/bag |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for case in CASES.iter().chain(if options.is_large { LARGE.iter() } else { [].iter() }) {
        let folder = scratch()?;
        let bags = folder.path().join("bags");
        std::fs::create_dir(&bags)?;
        let tars = (1..=case.bags)
            .map(|number| write_tar(&bags, &format!("example.edu.bench-{number:04}"), &[case.run]))
            .collect::<Result<Vec<PathBuf>>>()?;
        let bare = bare::run(&tars, &folder.path().join("bare"))?;
        std::fs::remove_dir_all(folder.path().join("bare"))?;
        let home = folder.path().join("home");
        for &processes in case.processes {
            let trial = Trial::new(&program, &server, &home, counts_statements)?;
            let told = trial.run(&tars, processes)?;
            // What is kept of each deposit besides its payload is part of its cost.
            let files = (u64::from(case.bags) * case.run.files) as f64;
            let per = |number: f64, amount: Option<i64>| {
                amount.map_or("?".into(), |all| format!("{:.1}", all as f64 / number))
            };
            let each = |amount| per(files, amount);
            let each_bag = |amount| per(f64::from(case.bags), amount);
            println!(
                "| {} | {processes} | {} | {:.0} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                case.name,
                seconds(told.wall),
                f64::from(case.bags) / told.wall.as_secs_f64() * 3_600.0,
                seconds(bare.wall),
                seconds(told.cpu),
                each_bag(Some(told.database.transactions)),
                each_bag(told.database.statements),
                each(Some(told.database.transactions)),
                each(told.database.statements),
                each(Some(told.database.inserted - told.database.deleted)),
                each(Some(told.database.bytes)),
                each(Some(told.database.log)),
                each_bag(Some(told.database.undone)),
            );
            std::fs::remove_dir_all(&home)?;
        }
    }
    server.stop(Stop::Fast)?;
    Ok(())
}

/// A home with a database of its own.
struct Trial<'a> {
    program: &'a Path,
    home: &'a Path,
    client: Client,
    counts_statements: bool,
    /// How often the trial itself has asked the database, which is none of its cost.
    asked: i64,
}

/// What a trial needed.
struct Told {
    wall: Duration,
    cpu: Duration,
    database: Database,
}

/// What the server says of the trial's database, without what the trial itself asks: statements without those that begin and end
/// transactions, and every transaction, also those that only read.
#[derive(Debug, Clone, Copy)]
struct Database {
    transactions: i64,
    undone: i64,
    inserted: i64,
    deleted: i64,
    bytes: i64,
    log: i64,
    statements: Option<i64>,
}

impl<'a> Trial<'a> {
    fn new(program: &'a Path, server: &Server, home: &'a Path, counts_statements: bool) -> Result<Self> {
        let mut client = Client::connect(&server.url(), NoTls).context("the server does not answer")?;
        client.batch_execute("DROP DATABASE IF EXISTS trial")?;
        client.batch_execute("CREATE DATABASE trial ENCODING 'UTF8' TEMPLATE template0")?;
        let url = server.url();
        let url = url.strip_suffix("postgres").map(|front| format!("{front}trial")).context("the server's URL")?;
        let mut client = Client::connect(&url, NoTls).context("the database does not answer")?;
        if counts_statements {
            client.batch_execute("CREATE EXTENSION pg_stat_statements")?;
        }
        let mut init = Command::new(program);
        init.args(["init", "--registry", &url]).arg(home).stdout(Stdio::null());
        place::succeed(&mut init).context("the program cannot make a home")?;
        Ok(Self { program, home, client, counts_statements, asked: 0 })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.program);
        command.arg("--home").arg(self.home).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Hands everything in, and then has it worked on.
    fn run(mut self, tars: &[PathBuf], processes: usize) -> Result<Told> {
        let mut deposit = self.command();
        deposit.args(["deposit", "--institution", "example.edu", "--type", "bag", "--quiet"]).args(tars);
        let before = self.look()?;
        place::succeed(&mut deposit)?;
        bare::settle(self.home)?;
        let cpu_before = cpu_of_children()?;
        let began = Instant::now();
        let mut workers = Workers(Vec::new());
        for _ in 0..processes {
            let mut work = self.command();
            work.args(["work", "--quiet"]).stderr(Stdio::null());
            workers.0.push(work.spawn().context("cannot start a worker")?);
        }
        while self.is_at_work()? {
            if began.elapsed() > PATIENCE {
                bail!("the deposits are not done after {} s", PATIENCE.as_secs());
            }
            std::thread::sleep(LOOK);
        }
        let wall = began.elapsed();
        workers.stop()?;
        self.asked += 1;
        let succeeded: i64 =
            self.client.query_one("SELECT count(*) FROM work_items WHERE status = 'succeeded'", &[])?.get(0);
        if usize::try_from(succeeded) != Ok(tars.len()) {
            bail!("{succeeded} of {} deposits succeeded", tars.len());
        }
        let after = self.look()?;
        Ok(Told { wall, cpu: cpu_of_children()?.saturating_sub(cpu_before), database: after.since(before) })
    }

    fn is_at_work(&mut self) -> Result<bool> {
        let at_work = "SELECT EXISTS (SELECT 1 FROM work_items WHERE status IN ('pending', 'started'))";
        self.asked += 1;
        Ok(self.client.query_one(at_work, &[])?.get(0))
    }

    fn look(&mut self) -> Result<Database> {
        // What backends have counted is reported when they end, or after a second of rest.
        std::thread::sleep(Duration::from_millis(1_500));
        let row = self.client.query_one(
            "SELECT xact_commit, xact_rollback, tup_inserted, tup_deleted, pg_database_size(datname),
                pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint
             FROM pg_stat_database WHERE datname = current_database()",
            &[],
        )?;
        let own_transactions = self.asked;
        self.asked += 1;
        let statements = if self.counts_statements {
            let counted = "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements
                WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
                    AND query !~* '^(BEGIN|COMMIT|ROLLBACK|START|SET|SHOW)'";
            let counted: i64 = self.client.query_one(counted, &[])?.get(0);
            self.asked += 1;
            Some(counted - (self.asked - 1))
        } else {
            None
        };
        Ok(Database {
            transactions: row.get::<_, i64>(0) - own_transactions,
            undone: row.get(1),
            inserted: row.get(2),
            deleted: row.get(3),
            bytes: row.get(4),
            log: row.get(5),
            statements,
        })
    }
}

impl Database {
    fn since(self, before: Self) -> Self {
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

/// Worker processes; asked to stop however the trial ends.
struct Workers(Vec<Child>);

impl Workers {
    fn stop(&mut self) -> Result<()> {
        for worker in &self.0 {
            kill(Pid::from_raw(worker.id().try_into()?), Signal::SIGTERM)?;
        }
        for mut worker in self.0.drain(..) {
            let status = worker.wait()?;
            if !status.success() {
                bail!("a worker ended with {status}");
            }
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
fn cpu_of_children() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("cannot ask for the resources used")?;
    let micros = |time: nix::sys::time::TimeVal| time.tv_sec() * 1_000_000 + time.tv_usec();
    Ok(Duration::from_micros(u64::try_from(micros(usage.user_time()) + micros(usage.system_time()))?))
}
