//! Acts on content items stay as they were written, whatever statement tries to change them.

use strongroom_database::Time;
use strongroom_registry::content_acts::{self, ActEvent, ActTask, ContentAct, RecordedAct};
use strongroom_registry::{ContentActKind, Registry, Scope};
use uuid::Uuid;

use super::append_only::{Changes, stays_as_it_was_in_postgresql, stays_as_it_was_in_sqlite};

/// Statements that would change what was done.
const CHANGES: &str = "-- name: test.change_act
UPDATE content_acts SET event_reason = 'another one'
-- name: test.remove_acts
DELETE FROM content_acts
";
const TRUNCATIONS: &str = "-- name: test.truncate_acts
TRUNCATE content_acts
";
const REPLACEMENTS: &str = "-- name: test.replace_act
INSERT OR REPLACE INTO content_acts SELECT * FROM content_acts
";

fn act(key: &str) -> ContentAct {
    ContentAct {
        institution: None,
        time: Time(1),
        kind: ContentActKind::Deleted,
        event_type: "deletion".to_owned(),
        outcome: "success".to_owned(),
        actor: "duplication".to_owned(),
        source: "disk".to_owned(),
        destination: Some("cloud".to_owned()),
        space: "maps".to_owned(),
        key: key.to_owned(),
        size: Some(9),
        sha512: Some(vec![7; 64]),
        source_etag: None,
        etag_before: Some("\"1\"".to_owned()),
        etag_after: None,
        task: Some(ActTask { id: 3, topic: "duplicate.high".to_owned(), attempt: 2, policy_version: 5 }),
        event: Some(ActEvent {
            id: Uuid::nil(),
            happened_at: Time(2),
            actor: "ann".to_owned(),
            reason: "a NUL \0 in it".to_owned(),
        }),
        detail: "deleted in both".to_owned(),
    }
}

const ATTEMPTS: Changes = Changes { shared: CHANGES, of_sqlite: REPLACEMENTS, of_postgresql: TRUNCATIONS };

/// Acts, which are written where there are none.
fn written(registry: &Registry) -> Vec<RecordedAct> {
    let read = |store, after| {
        registry
            .read(|tx| content_acts::of_item(tx, Scope::System, (store, "maps", "1.txt"), after, 10))
            .expect("reads")
    };
    if read("cloud", 0).is_empty() {
        for key in ["1.txt", "2.txt", "1.txt"] {
            registry.write(move |tx| content_acts::append(tx, &act(key))).expect("appends");
        }
    }
    let acts = read("cloud", 0);
    assert_eq!(acts.iter().map(|act| act.id).collect::<Vec<_>>(), [1, 3]);
    let mut written = act("1.txt");
    "a NUL \u{fffd} in it".clone_into(&mut written.event.as_mut().expect("an event").reason);
    assert!(acts.iter().all(|recorded| recorded.act == written), "{acts:#?}");
    assert_eq!((read("disk", 0), read("disk", 1)), (acts.clone(), acts[1..].to_vec()));
    assert!(read("tape", 0).is_empty());
    acts
}

#[test]
fn acts_on_content_items_stay_as_they_were_in_sqlite() {
    stays_as_it_was_in_sqlite(&ATTEMPTS, written);
}

#[test]
fn acts_on_content_items_stay_as_they_were_in_postgresql() {
    stays_as_it_was_in_postgresql(&ATTEMPTS, written);
}
