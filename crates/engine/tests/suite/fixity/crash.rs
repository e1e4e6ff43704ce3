//! A repair whose process is killed at any point: the next round ends as if nobody had interrupted it. The process that is
//! killed is this test binary once more, running [`killed`] on the home that the test made.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use strongroom_engine::settings::Settings;

use super::*;

const HOME: &str = "STRONGROOM_CRASH_HOME";
const SIGKILL: i32 = 9;

#[test]
#[ignore = "is run by the other tests of this module, in a process of its own"]
fn killed() {
    let Ok(folder) = std::env::var(HOME) else { return };
    let folder = Path::new(&folder);
    let settings = fs::read_to_string(folder.join("strongroom.toml")).expect("reads");
    let home = Home::open(folder, Settings::from_toml(&settings).expect("settings")).expect("opens");
    strongroom_engine::arm_crash_points();
    run(&home, &all());
}

fn survive(point: &str) {
    let home = home();
    let object = letters(&home);
    let key = copy(&home, &object, "deposit/data/a.txt", "primary").key;
    let bad = damage(&home, "primary", &key);
    let status = Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "fixity::crash::killed", "--ignored"])
        .env(HOME, home.path())
        .env("FAILPOINTS", format!("{point}=1*return"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("runs");
    assert_eq!(status.signal(), Some(SIGKILL), "{point}: {status:?}");

    // The hold of the one that was killed runs out.
    home.clock.advance(Duration::from_mins(2));
    let summary = run(&home, &all());
    assert_eq!((summary.failed, summary.postponed, summary.unrepairable), (0, 0, 0), "{point}: {summary:?}");
    assert_eq!(fs::read(home.file("primary", &key)).expect("reads"), b"dear reader", "{point}");
    let found = findings(&home);
    let [finding] = found.as_slice() else { panic!("{point}: one finding: {found:?}") };
    assert_eq!(finding.state, FindingState::Repaired, "{point}");
    let quarantined = finding.quarantine_key.clone().expect("the bad bytes are kept");
    assert_eq!(fs::read(home.file("quarantine", &quarantined)).expect("reads"), bad, "{point}");
    for kind in ["quarantine", "recovery"] {
        assert_eq!(outcomes(&home, &object, kind, "success"), 1, "{point}: {kind}");
    }
    assert!(logs(&home, "secondary").last().is_some_and(|log| log.contains("-repair-")), "{point}");
    assert_eq!(run(&home, &all()).damaged, 0, "{point}");
}

#[test]
fn a_repair_ends_as_undisturbed_when_killed_at_any_point() {
    for point in ["read", "found", "quarantined", "replaced", "logged"] {
        survive(&format!("fixity.check.{point}"));
    }
}
