//! How many tasks a second a queue takes on this machine, every answer durable. Run it with
//! `cargo run --release -p strongroom-queue --example throughput [FOLDER [MEASUREMENT]] [--database URL]`; the folder decides
//! which disk is measured, a part of a measurement's name that no other is made. With a URL of a PostgreSQL server the
//! queue lies there, in a schema that is dropped at the end.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use strongroom_database::testing::Scratch;
use strongroom_database::{Database, Migration, Postgres, PostgresSettings, Sqlite, SystemClock};
use strongroom_queue::{DatabaseQueue, LeaseRequest, NewTask, Outcome, Queue, Settlement, Wakeups, WorkerId};

const PAYLOAD_BYTES: usize = 200;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What the command line says.
#[derive(Default)]
struct Request {
    folder: Option<String>,
    measurement: Option<String>,
    database: Option<String>,
}

fn request() -> Result<Request, Failure> {
    let mut request = Request::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--database" {
            request.database = Some(arguments.next().ok_or("--database takes a URL")?);
        } else if request.folder.is_none() {
            request.folder = Some(argument);
        } else {
            request.measurement = Some(argument);
        }
    }
    Ok(request)
}

fn open(folder: &Path, scratch: Option<&Scratch>) -> Result<Arc<dyn Database>, Failure> {
    let dialect = if scratch.is_some() { "postgres" } else { "sqlite" };
    let steps = strongroom_queue::schema(dialect).iter().zip(1..);
    let migrations: Vec<Migration> = steps.map(|(sql, version)| Migration { version, name: "queue", sql }).collect();
    let statements = strongroom_queue::statements(dialect);
    Ok(match scratch {
        None => Arc::new(Sqlite::open(&folder.join("registry.db"), statements, &migrations, Arc::new(SystemClock))?),
        Some(scratch) => {
            let settings = PostgresSettings { connections: 64, ..PostgresSettings::default() };
            Arc::new(Postgres::open(&scratch.url(), settings, statements, &migrations)?)
        }
    })
}

fn main() -> Result<(), Failure> {
    let request = request()?;
    let folder = match &request.folder {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    };
    let scratch = request.database.as_deref().map(Scratch::on);
    let database = open(folder.path(), scratch.as_ref())?;
    let queue = Arc::new(DatabaseQueue::new(database.clone(), Arc::new(Wakeups::through(database))));
    let report = |what: &str, measure: &dyn Fn() -> Result<(usize, Duration), Failure>| {
        if request.measurement.as_deref().is_some_and(|wanted| !what.contains(wanted)) {
            return Ok(());
        }
        report(what, measure)
    };

    println!("one sync of 4 KiB: {:?}", sync_time(folder.path())?);
    report("enqueue, one caller, batches of 10,000", &|| enqueue(&queue, 1, 20_000, 10_000))?;
    report("enqueue, 8 callers, one by one", &|| enqueue(&queue, 8, 40_000, 1))?;
    report("enqueue, 64 callers, one by one", &|| enqueue(&queue, 64, 100_000, 1))?;
    for backlog in [20_000, 1_000_000] {
        fill(&queue, backlog)?;
        println!("backlog {backlog}");
        report("  lease and settle, 1 worker, one by one", &|| work(&queue, 1, 4_000, 1))?;
        fill(&queue, backlog)?;
        report("  lease and settle, 8 workers, one by one", &|| work(&queue, 8, 16_000, 1))?;
        fill(&queue, backlog)?;
        report("  lease and settle, 8 workers, batches of 10", &|| work(&queue, 8, 16_000, 10))?;
        fill(&queue, backlog)?;
        report("  lease and settle, 64 callers, one by one", &|| work(&queue, 64, 12_800, 1))?;
        fill(&queue, backlog)?;
        report("  lease and settle, 64 callers, batches of 10", &|| work(&queue, 64, 12_800, 10))?;
        fill(&queue, backlog)?;
        report("  lease and settle, 1 worker, batches of 100", &|| work(&queue, 1, 16_000, 100))?;
        fill(&queue, backlog)?;
        report("  lease and settle, 8 workers, batches of 100", &|| work(&queue, 8, 16_000, 100))?;
        fill(&queue, backlog)?;
        println!("  one sync of 4 KiB: {:?}", sync_time(folder.path())?);
        let began = Instant::now();
        queue.counts()?;
        println!("  counts: {:.1} ms", began.elapsed().as_secs_f64() * 1e3);
    }
    wake_ups(&queue)
}

fn report(what: &str, measure: &dyn Fn() -> Result<(usize, Duration), Failure>) -> Result<(), Failure> {
    let busy_before = processor_time();
    let (tasks, time) = measure()?;
    let busy = processor_time().saturating_sub(busy_before).as_secs_f64() * 1e6 / tasks as f64;
    println!("{what}: {:.0} tasks/s, {busy:.1} µs of processor time each", tasks as f64 / time.as_secs_f64());
    Ok(())
}

/// What this process has used so far: on a machine that is busy with other things it says more than the rate does.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// What one durable commit costs on this disk at least.
fn sync_time(folder: &Path) -> Result<Duration, Failure> {
    let mut file = std::fs::File::create(folder.join("sync"))?;
    let began = Instant::now();
    for _ in 0..100 {
        std::io::Write::write_all(&mut file, &[0; 4096])?;
        file.sync_data()?;
    }
    Ok(began.elapsed() / 100)
}

fn task(number: usize) -> NewTask {
    let institution = format!("institution-{}", number % 5);
    NewTask { fair_key: institution, ..NewTask::new("ingest.fetch", format!("{number:032}"), vec![7; PAYLOAD_BYTES]) }
}

static NEXT: AtomicUsize = AtomicUsize::new(0);

fn enqueue(queue: &Arc<DatabaseQueue>, callers: usize, all: usize, batch: usize) -> Result<(usize, Duration), Failure> {
    together(callers, |_| {
        let mut sent = 0;
        while sent < all / callers {
            let first = NEXT.fetch_add(batch, Ordering::Relaxed);
            let tasks: Vec<NewTask> = (first..first + batch).map(task).collect();
            queue.enqueue(&tasks)?;
            sent += batch;
        }
        Ok(sent)
    })
}

/// At most as many as there are: workers who find nothing wait for ever here.
fn work(queue: &Arc<DatabaseQueue>, workers: usize, all: usize, batch: usize) -> Result<(usize, Duration), Failure> {
    let request = LeaseRequest {
        topics: vec!["ingest.fetch".into()],
        keys: None,
        limit: batch,
        holder: WorkerId::this_process(),
        duration: Duration::from_mins(1),
    };
    together(workers, |_| {
        let mut done = 0;
        while done < all / workers {
            let leased = queue.lease(&request)?;
            let settlements: Vec<Settlement> =
                leased.iter().map(|task| Settlement { lease: task.lease, outcome: Outcome::Done }).collect();
            queue.settle(&settlements)?;
            done += leased.len();
        }
        Ok(done)
    })
}

fn together(
    threads: usize,
    run: impl Fn(usize) -> Result<usize, Failure> + Sync,
) -> Result<(usize, Duration), Failure> {
    let began = Instant::now();
    let run = &run;
    let all: Result<Vec<usize>, Failure> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|number| scope.spawn(move || run(number))).collect();
        started.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked")?).collect()
    });
    Ok((all?.into_iter().sum(), began.elapsed()))
}

fn fill(queue: &Arc<DatabaseQueue>, backlog: u64) -> Result<(), Failure> {
    let ready: u64 = queue.counts()?.iter().map(|topic| topic.ready).sum();
    let missing = backlog.saturating_sub(ready) as usize;
    for first in (0..missing).step_by(5_000) {
        let batch = 5_000.min(missing - first);
        let start = NEXT.fetch_add(batch, Ordering::Relaxed);
        let tasks: Vec<NewTask> = (start..start + batch).map(task).collect();
        queue.enqueue(&tasks)?;
    }
    Ok(())
}

/// From the call of enqueue to the waiting worker's lease, one task at a time, in one process.
fn wake_ups(queue: &Arc<DatabaseQueue>) -> Result<(), Failure> {
    let request = LeaseRequest {
        topics: vec!["idle".into()],
        keys: None,
        limit: 1,
        holder: WorkerId::this_process(),
        duration: Duration::from_mins(1),
    };
    let (ready, waiting) = std::sync::mpsc::channel();
    let (leased, seen) = std::sync::mpsc::channel();
    let worker = {
        let queue = queue.clone();
        std::thread::spawn(move || -> Result<(), Failure> {
            for _ in 0..500 {
                ready.send(())?;
                while !queue.wait_for_work(&request.topics, Instant::now() + Duration::from_secs(10))? {}
                let tasks = queue.lease(&request)?;
                leased.send(Instant::now())?;
                queue.settle(
                    &tasks.iter().map(|t| Settlement { lease: t.lease, outcome: Outcome::Done }).collect::<Vec<_>>(),
                )?;
            }
            Ok(())
        })
    };
    let mut times = Vec::new();
    for number in 0..500 {
        waiting.recv()?;
        std::thread::sleep(Duration::from_millis(1));
        let began = Instant::now();
        queue.enqueue(&[NewTask::new("idle", format!("{number}"), "")])?;
        times.push(seen.recv()?.duration_since(began));
    }
    worker.join().map_err(|_| "the worker panicked")??;
    times.sort_unstable();
    println!("idle wake-up: median {:?}, 99 % {:?}", times[250], times[494]);
    Ok(())
}
