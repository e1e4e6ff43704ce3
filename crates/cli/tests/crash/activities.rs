//! Kills the program while it works on activities, and compares what is there in the end with what an undisturbed run leaves: case 12 of
//! the reference, on both databases.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt;

use strongroom_database::testing::Scratch;
use strongroom_records::lists;
use strongroom_registry::activities::{self, ActivityFilter};
use strongroom_registry::{ActivityState, RegistryError, Scope, items};
use tempfile::TempDir;

use crate::{SIGKILL, open, program, succeed, work_until};

const RECORDS: usize = 30;

/// Dies at each of `points` in a chain, with a registry in each database.
fn survive(points: &[&str]) {
    for point in points {
        survive_with(point, None);
        let Some(database) = Scratch::new() else { continue };
        survive_with(point, Some(&database.url()));
    }
}

/// Dies at `point` in a chain of a harvest and its deposit, is started again, and must end as if nothing had happened. The registry is a
/// file, or in the database of a URL.
fn survive_with(point: &str, registry: Option<&str>) {
    let folder = TempDir::new().expect("a temporary folder");
    let (home, catalogue) = (folder.path().join("home"), folder.path().join("catalogue"));
    succeed(program(&home).arg("init").arg(&home).args(registry.map(|url| ["--registry", url]).into_iter().flatten()));
    // What a dead worker had comes back soon.
    let mut settings =
        OpenOptions::new().append(true).open(home.join("strongroom.toml")).expect("the settings are there");
    writeln!(settings, "\n[workers.\"activity.run\"]\nlease = \"5s\"").expect("settings are written");
    fs::create_dir(&catalogue).expect("a folder");
    for number in 0..RECORDS {
        fs::write(catalogue.join(format!("{number:02}.xml")), format!("<record>{number}</record>")).expect("a file");
    }
    let path = format!("path={}", catalogue.display());
    let options = ["--option", "kind=folder", "--option", &path, "--option", "institution=example.edu"];
    let made = succeed(program(&home).args(["activity", "run", "harvest", "--json"]).args(options));
    let made: serde_json::Value = serde_json::from_slice(&made.stdout).expect("JSON");
    let harvest = made["activity"].as_str().expect("an identifier");
    succeed(program(&home).args(["activity", "run", "deposit", "--follow", "--input", harvest]));
    let output = program(&home)
        .env("FAILPOINTS", format!("{point}=1*return"))
        .args(["-q", "work", "--topics", "activity.run"])
        .output()
        .expect("the program starts");
    assert_eq!(
        output.status.signal(),
        Some(SIGKILL),
        "{point} was not reached: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    work_until(&home, &|items, tasks| {
        tasks == 0 && items.len() == RECORDS && items.iter().all(|item| item.status.is_ended())
    });
    let home = open(&home);
    home.registry
        .read(|tx| {
            let all = activities::list(tx, Scope::System, &ActivityFilter::default(), None, 10)?;
            assert_eq!(all.len(), 2);
            for activity in all {
                assert_eq!(activity.state, ActivityState::Finished, "{activity:?} after a kill at {point}");
                let counts = lists::status(tx, activity.list)?.counts;
                assert_eq!((counts.processed, counts.populated()), (RECORDS as u64, RECORDS as u64), "{point}");
            }
            let items = items::list(tx, Scope::System, &items::ItemFilter::default(), None, 100)?;
            let objects: BTreeSet<&str> = items.iter().map(|item| item.object_identifier.as_str()).collect();
            assert_eq!((items.len(), objects.len()), (RECORDS, RECORDS), "{point}");
            Ok::<_, RegistryError>(())
        })
        .expect("the registry is read");
}

#[test]
fn case_12_a_chain_ends_as_undisturbed_when_killed_while_a_list_is_populated() {
    survive(&["activity.population", "activity.page"]);
}

#[test]
fn case_12_a_chain_ends_as_undisturbed_when_killed_within_a_chunk() {
    survive(&["activity.begin", "activity.claimed", "activity.processed", "activity.committed"]);
}

#[test]
fn case_12_a_chain_ends_as_undisturbed_when_killed_between_its_last_record_and_its_end() {
    survive(&["activity.finished"]);
}
