//! How many records a second are populated and drained by an agent that does nothing, by the size of a chunk, by commit for each record or
//! each chunk, and with one and four workers. Run it with
//! `cargo run --release -p strongroom-records --example drain -- [--records N] [--seconds S] [--database URL | --postgres] [--redis PROGRAM]`.
//! Without a database the lists lie in a SQLite file; with `--postgres` on a server that is started, and syncs what it commits. With the program
//! of a Redis server the same ids are moved one by one through its lists in the same run.

#[path = "drain/redis.rs"]
mod redis;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use strongroom_database::testing::{Scratch, Server, programs};
use strongroom_database::{Database, Migration, Postgres, PostgresSettings, Sqlite, SystemClock};
use strongroom_records::{
    Addition, Chunk, ClaimRequest, DatabaseRecordLists, Ending, ListId, NewRecord, Outcome, PopulationRequest,
    RecordLists,
};

pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

const CHUNKS: [usize; 4] = [1, 10, 100, 1_000];
const WORKERS: [usize; 2] = [1, 4];
/// Ids that are added in one transaction.
const PAGE: u64 = 1_000;
const LEASE: Duration = Duration::from_mins(10);

/// What the command line says.
struct Request {
    records: u64,
    /// The longest that one measurement takes.
    limit: Duration,
    database: Option<String>,
    is_server_started: bool,
    redis: Option<String>,
}

fn request() -> Result<Request, Failure> {
    let mut request = Request {
        records: 1_000_000,
        limit: Duration::from_secs(20),
        database: None,
        is_server_started: false,
        redis: None,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} takes a value"));
        match argument.as_str() {
            "--records" => request.records = value()?.parse()?,
            "--seconds" => request.limit = Duration::from_secs(value()?.parse()?),
            "--database" => request.database = Some(value()?),
            "--postgres" => request.is_server_started = true,
            "--redis" => request.redis = Some(value()?),
            other => return Err(format!("there is no option {other}").into()),
        }
    }
    Ok(request)
}

fn main() -> Result<(), Failure> {
    let request = request()?;
    let folder = tempfile::tempdir()?;
    let server = if request.is_server_started { Some(start()?) } else { None };
    let url = request.database.clone().or_else(|| server.as_ref().map(Server::url));
    let scratch = url.as_deref().map(Scratch::on);
    let database = open(folder.path(), scratch.as_ref())?;
    let lists: Arc<dyn RecordLists> = Arc::new(DatabaseRecordLists::new(database));
    let name = if scratch.is_some() { "PostgreSQL" } else { "SQLite" };
    println!("one sync of 4 KiB: {:?}", sync_time(folder.path())?);
    println!("| engine | chunk | commit for each | workers | records | records/s | peak memory of this process, MiB |");
    println!("|---|---|---|---|---|---|---|");
    let list = populated(&*lists, request.records, name)?;
    // A share of the list for each measurement, so that all are made on a long list.
    let share = request.records / 20;
    for workers in WORKERS {
        for chunk in CHUNKS {
            for is_each in [true, false] {
                if chunk == 1 && !is_each {
                    continue;
                }
                let how = Drain { workers, chunk, is_each, most: share, limit: request.limit };
                how.run(&lists, list, name)?;
            }
        }
    }
    for workers in WORKERS {
        let list = populated(&*lists, request.records, name)?;
        let most = request.records;
        let how = Drain { workers, chunk: 1_000, is_each: false, most, limit: Duration::MAX };
        how.run(&lists, list, name)?;
        let counts = lists.status(list)?.counts;
        if counts.processed != request.records {
            return Err(format!("not all were processed: {counts:?}").into());
        }
        if let Some(server) = &server {
            let used = memory_of_server(server).unwrap_or(0) as f64 / 1_024.0;
            println!("| {name}: memory of the server {used:.0} MiB | | | | | | |");
        }
    }
    match request.redis {
        None => Ok(()),
        Some(program) => redis::measure(&program, folder.path(), request.records),
    }
}

/// A server that syncs what it commits, as one that keeps a registry does.
fn start() -> Result<Server, Failure> {
    let programs = programs().ok_or("the programs of PostgreSQL are not on this machine")?;
    let mut server = Server::start(&programs)?;
    server.stop(strongroom_database::testing::Stop::Fast)?;
    server.begin_with(&["fsync=on".into(), "full_page_writes=on".into(), "shared_buffers=256MB".into()])?;
    Ok(server)
}

fn open(folder: &std::path::Path, scratch: Option<&Scratch>) -> Result<Arc<dyn Database>, Failure> {
    let dialect = if scratch.is_some() { "postgres" } else { "sqlite" };
    let steps = strongroom_records::schema(dialect).iter().zip(1..);
    let migrations: Vec<Migration> = steps.map(|(sql, version)| Migration { version, name: "lists", sql }).collect();
    let statements = strongroom_records::statements(dialect);
    Ok(match scratch {
        None => Arc::new(Sqlite::open(&folder.join("registry.db"), statements, &migrations, Arc::new(SystemClock))?),
        Some(scratch) => {
            Arc::new(Postgres::open(&scratch.url(), PostgresSettings::default(), statements, &migrations)?)
        }
    })
}

pub(crate) fn id(number: u64) -> String {
    format!("https://example.org/records/oai:example.org:{number:012}")
}

/// A complete list of so many records.
fn populated(lists: &dyn RecordLists, records: u64, name: &str) -> Result<ListId, Failure> {
    let (list, began) = (ListId::new(), Instant::now());
    lists.create(list)?;
    let request = PopulationRequest { list, worker: "populates".into(), lease: LEASE };
    let population = lists.take_population(&request)?.ok_or("the population is free")?;
    let mut first = 0;
    while first < records {
        let last = (first + PAGE).min(records);
        let page = (first..last).map(|number| NewRecord::todo(id(number))).collect();
        lists
            .add(&population, &Addition { records: page, cursor: Some(last.to_string()), is_last: last == records })?;
        first = last;
    }
    report(&format!("{name}, populate | {PAGE} | chunk | 1"), records, began.elapsed());
    Ok(list)
}

/// How a list is drained.
struct Drain {
    workers: usize,
    chunk: usize,
    /// Whether each record is ended in a transaction of its own.
    is_each: bool,
    most: u64,
    limit: Duration,
}

impl Drain {
    fn run(&self, lists: &Arc<dyn RecordLists>, list: ListId, name: &str) -> Result<(), Failure> {
        let (done, began) = (AtomicU64::new(0), Instant::now());
        std::thread::scope(|scope| {
            let work = |number| {
                let done = &done;
                move || self.work(&**lists, list, number, (done, began))
            };
            let threads: Vec<_> = (0..self.workers).map(|number| scope.spawn(work(number))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
        })?;
        let commit = if self.is_each { "record" } else { "chunk" };
        let what = format!("{name} | {} | {commit} | {}", self.chunk, self.workers);
        report(&what, done.into_inner(), began.elapsed());
        Ok(())
    }

    fn work(
        &self,
        lists: &dyn RecordLists,
        list: ListId,
        number: usize,
        (done, began): (&AtomicU64, Instant),
    ) -> Result<(), Failure> {
        let request = ClaimRequest { list, worker: format!("worker {number}"), limit: self.chunk, lease: LEASE };
        while done.load(Ordering::Relaxed) < self.most && began.elapsed() < self.limit {
            let Some(chunk) = lists.claim(&request)? else { break };
            let ends = endings(&chunk);
            for ends in ends.chunks(if self.is_each { 1 } else { ends.len() }) {
                lists.finish(chunk.lease, ends)?;
            }
            done.fetch_add(chunk.records.len() as u64, Ordering::Relaxed);
        }
        Ok(())
    }
}

fn endings(chunk: &Chunk) -> Vec<Ending> {
    let of = |number| Ending { number, outcome: Outcome::Processed { result: None } };
    chunk.records.iter().map(|record| of(record.number)).collect()
}

pub(crate) fn report(what: &str, records: u64, time: Duration) {
    let rate = records as f64 / time.as_secs_f64();
    println!("| {what} | {records} | {rate:.0} | {:.0} |", peak_memory().unwrap_or(0) as f64 / 1_024.0);
}

/// The most that this process had in memory, in KiB.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// What the processes of a server have in memory now, in KiB; what they share counts once.
fn memory_of_server(server: &Server) -> Option<u64> {
    let main = std::fs::read_to_string(server.folder().join("data/postmaster.pid")).ok()?.lines().next()?.to_owned();
    let mut sum = 0;
    for process in std::fs::read_dir("/proc").ok()?.flatten() {
        let read = |name: &str| std::fs::read_to_string(process.path().join(name)).unwrap_or_default();
        let field = |text: &str, name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next().map(str::to_owned)
        };
        let is_main = process.file_name().to_str() == Some(&main);
        if is_main || field(&read("status"), "PPid:").as_deref() == Some(&main) {
            let shared = field(&read("smaps_rollup"), "Pss:");
            sum += shared.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    Some(sum)
}

/// What one durable commit costs on this disk at least.
fn sync_time(folder: &std::path::Path) -> Result<Duration, Failure> {
    let mut file = std::fs::File::create(folder.join("sync"))?;
    let began = Instant::now();
    for _ in 0..100 {
        std::io::Write::write_all(&mut file, &[0; 4096])?;
        file.sync_data()?;
    }
    Ok(began.elapsed() / 100)
}
