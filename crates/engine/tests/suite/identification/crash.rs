//! Identification anew whose process is killed between an object's logs and the registry: the next run ends as if nobody had
//! interrupted it. The process that is killed is this test binary once more, running [`killed`] on the home of the test.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use strongroom_engine::settings::Settings;

use super::*;

const HOME: &str = "STRONGROOM_CRASH_HOME";
const SIGKILL: i32 = 9;

#[test]
#[ignore = "is run by the other test of this module, in a process of its own"]
fn killed() {
    let Ok(folder) = std::env::var(HOME) else { return };
    let folder = Path::new(&folder);
    let settings = std::fs::read_to_string(folder.join("strongroom.toml")).expect("reads");
    let home = Home::open(folder, Settings::from_toml(&settings).expect("settings")).expect("opens");
    strongroom_engine::arm_crash_points();
    identification::run(&home, &ReidentifyRequest::default(), &mut |_| ()).expect("identifies");
}

#[test]
fn a_change_that_was_logged_and_not_recorded_is_told_once() {
    let (home, object) = home_with_newer_signatures();
    let status = Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "identification::crash::killed", "--ignored"])
        .env(HOME, home.path())
        .env("FAILPOINTS", "signatures.reidentify.logged=1*return")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("runs");
    assert_eq!(status.signal(), Some(SIGKILL), "{status:?}");
    assert_eq!(format(&home, &object, "a.pdf").puid.as_deref(), Some("fmt/9999"), "nothing is recorded yet");
    // The hold of the one that was killed runs out.
    home.clock.advance(Duration::from_mins(2));
    let summary = run(&home);
    assert_eq!((summary.failed, summary.postponed), (0, 0), "{summary:?}");
    let changes = |home: &TestHome| {
        let events = identifications(home, &object);
        let ids = events.into_iter().filter(|event| event.outcome_detail.as_deref() == Some("fmt/9999 -> fmt/18"));
        ids.map(|event| event.id).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(changes(&home).len(), 2);
    let fresh = fixture::home();
    copy_stores(&home, &fresh);
    rebuilt(&fresh, KEPT_IN[0]);
    assert_eq!(changes(&fresh), changes(&home));
    assert_eq!(format(&fresh, &object, "a.pdf"), format(&home, &object, "a.pdf"));
}
