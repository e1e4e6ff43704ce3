//! Identification anew whose process is killed between an object's logs and the registry: the next run ends as an
//! undisturbed one does.

use std::time::Duration;

use super::*;
use crate::killing::{home_of_this_process, kill_at};

#[test]
#[ignore = "is run by the other test of this module, in a process of its own"]
fn killed() {
    let Some(home) = home_of_this_process() else { return };
    identification::run(&home, &ReidentifyRequest::default(), &mut |_| ()).expect("identifies");
}

#[test]
fn a_change_that_was_logged_and_not_recorded_is_told_once() {
    let (home, object) = home_with_newer_signatures();
    kill_at(home.path(), "identification::crash::killed", "signatures.reidentify.logged", &[]);
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
