//! `bench scale`: the same deposits through one, two and four worker processes on PostgreSQL, and what they ask of the
//! database. Server and workers share the machine, so its processors are the limit that the figures stand beside.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::bags::{Run, write_tar};
use super::home::{CarefulServer, Figures, Home, Workers, cpu_of_children};
use super::{Options, bare, scratch, seconds, strongroom};
use crate::place;

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

pub(super) fn run(options: &Options) -> Result<()> {
    let program = strongroom(options)?;
    let server = CarefulServer::start()?;
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
            let told = measure(Home::new(&program, &home, Some(&server))?, &home, &tars, processes)?;
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
    server.stop()
}

/// What a trial needed.
struct Told {
    wall: Duration,
    cpu: Duration,
    database: Figures,
}

/// Hands everything in, and then has it worked on.
fn measure(mut home: Home, folder: &Path, tars: &[PathBuf], processes: usize) -> Result<Told> {
    let mut deposit = home.command();
    deposit.args(["deposit", "--institution", "example.edu", "--type", "bag", "--quiet"]).args(tars);
    let before = home.figures()?.context("the registry is not on a server")?;
    place::succeed(&mut deposit)?;
    bare::settle(folder)?;
    let cpu_before = cpu_of_children()?;
    let began = Instant::now();
    let mut workers = Workers::start(&home, processes, &[])?;
    home.wait_for_none(
        "SELECT count(*) FROM (SELECT 1 FROM work_items WHERE status IN ('pending', 'started') LIMIT 1) w",
    )?;
    let wall = began.elapsed();
    workers.stop()?;
    let succeeded = home.number("SELECT count(*) FROM work_items WHERE status = 'succeeded'")?;
    if usize::try_from(succeeded) != Ok(tars.len()) {
        bail!("{succeeded} of {} deposits succeeded", tars.len());
    }
    let after = home.figures()?.context("the registry is not on a server")?;
    Ok(Told { wall, cpu: cpu_of_children()?.saturating_sub(cpu_before), database: after.since(before) })
}
