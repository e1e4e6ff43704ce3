//! A repair whose process is killed at any point: the next round ends as an undisturbed one does.

use super::*;
use crate::killing::{home_of_this_process, kill_at};

#[test]
#[ignore = "is run by the other tests of this module, in a process of its own"]
fn killed() {
    let Some(home) = home_of_this_process() else { return };
    run(&home, &all());
}

fn survive(point: &str) {
    let home = home();
    let object = letters(&home);
    let key = copy(&home, &object, "deposit/data/a.txt", "primary").key;
    let bad = damage(&home, "primary", &key);
    kill_at(home.path(), "fixity::crash::killed", point, &[]);

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
