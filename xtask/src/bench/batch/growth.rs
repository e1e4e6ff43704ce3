//! The cost of an item of the same batch in a small and in a large registry, turn by turn. The registries are filled with copies of what
//! the program itself made of a first batch.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use strongroom_web_double::WebDouble;

use super::filling::Filler;
use super::lists::{Identifiers, write_list};
use super::{Took, allow, ingest, registries, serve, size};
use crate::bench::home::{CarefulServer, Home};
use crate::bench::{Options, scratch};

/// Objects of a batch.
const OBJECTS: u64 = 500;
/// Work items in the registry, about so many.
const ITEMS: [u64; 2] = [10_000, 1_000_000];
/// Batches that are measured at each size; the median counts. One more comes before them.
const BATCHES: usize = 5;

pub(super) fn run(program: &Path, options: &Options) -> Result<()> {
    let objects = size(options, OBJECTS);
    let server = CarefulServer::start()?;
    println!(
        "| registry | work items | ms/object | workers' cpu ms/object | transactions/object | statements/object | filled in s |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (name, on) in registries(&server) {
        let folder = scratch()?;
        let web = WebDouble::start();
        let mut trials =
            ITEMS.iter().map(|items| Trial::new(program, folder.path(), on, *items)).collect::<Result<Vec<_>>>()?;
        let mut round = 0;
        let mut next = |home: &mut Home| -> Result<Took> {
            round += 1;
            let list = folder.path().join(format!("{round}.checkm"));
            write_list(&list, &serve(&web, &format!("round-{round}-"), 0..objects), Identifiers::Local)?;
            ingest(home, folder.path(), &list, objects)
        };
        for Trial { home, items, filled, .. } in &mut trials {
            allow(home, &web);
            next(home)?;
            let began = Instant::now();
            Filler::new(home.registry(), objects + 1)?.fill(home.registry(), size(options, *items))?;
            *filled = began.elapsed();
        }
        // Turn by turn, so that what else the machine does falls to both. The first after the filling is not counted.
        for turn in 0..=BATCHES {
            for trial in &mut trials {
                let took = next(&mut trial.home)?;
                if turn > 0 {
                    trial.batches.push(took);
                }
            }
        }
        let mut first: Option<Summary> = None;
        for Trial { home, batches, filled, .. } in &mut trials {
            let summary = Summary::of(batches, objects);
            let items = home.number("SELECT count(*) FROM work_items")?;
            println!(
                "| {name} | {items} | {} | {} | {} | {} | {:.0} |",
                listed(batches, |took| took.wall, objects),
                listed(batches, |took| took.cpu, objects),
                shown(summary.transactions),
                shown(summary.statements),
                filled.as_secs_f64()
            );
            if let Some(first) = &first {
                let ratio = |now: Option<f64>, before: Option<f64>| {
                    now.zip(before).map_or("not counted".into(), |(now, before)| format!("{:.2}", now / before))
                };
                println!(
                    "| {name} | ratio (aim: at most 1.2) | {:.2} | {:.2} | {} | {} | |",
                    summary.wall / first.wall,
                    summary.cpu / first.cpu,
                    ratio(summary.transactions, first.transactions),
                    ratio(summary.statements, first.statements)
                );
            }
            first.get_or_insert(summary);
        }
    }
    server.stop()
}

/// A registry of one size, and what batches needed there.
struct Trial {
    home: Home,
    items: u64,
    filled: Duration,
    batches: Vec<Took>,
}

impl Trial {
    fn new(program: &Path, folder: &Path, on: Option<&CarefulServer>, items: u64) -> Result<Self> {
        let home = Home::new(program, &folder.join(items.to_string()), on)?;
        Ok(Self { home, items, filled: Duration::ZERO, batches: Vec::new() })
    }
}

/// Medians, for each object.
struct Summary {
    /// Milliseconds.
    wall: f64,
    cpu: f64,
    transactions: Option<f64>,
    statements: Option<f64>,
}

impl Summary {
    fn of(batches: &[Took], objects: u64) -> Self {
        let median = |values: Vec<f64>| {
            let mut values = values;
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied()
        };
        let time = |of: fn(&Took) -> Duration| {
            median(batches.iter().map(|took| milliseconds(of(took), objects)).collect()).unwrap_or_default()
        };
        let count = |of: fn(&Took) -> Option<i64>| {
            median(batches.iter().filter_map(of).map(|count| count as f64 / objects as f64).collect())
        };
        Self {
            wall: time(|took| took.wall),
            cpu: time(|took| took.cpu),
            transactions: count(|took| took.figures.map(|figures| figures.transactions)),
            statements: count(|took| took.figures.and_then(|figures| figures.statements)),
        }
    }
}

fn milliseconds(time: Duration, objects: u64) -> f64 {
    time.as_secs_f64() * 1e3 / objects as f64
}

fn listed(batches: &[Took], of: fn(&Took) -> Duration, objects: u64) -> String {
    batches.iter().map(|took| format!("{:.1}", milliseconds(of(took), objects))).collect::<Vec<_>>().join(", ")
}

fn shown(count: Option<f64>) -> String {
    count.map_or_else(|| "not counted".to_owned(), |count| format!("{count:.1}"))
}
