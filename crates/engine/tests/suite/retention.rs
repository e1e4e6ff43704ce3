//! What the settings let go after its time, and what stays.

use std::time::Duration;

use strongroom_engine::retention::{self, Swept};
use strongroom_engine::runtime::Shutdown;
use strongroom_registry::items::{self, ItemFilter};
use strongroom_registry::{Scope, retention as record};

use crate::fixture::{TestHome, home, home_with};

const DAY: Duration = Duration::from_hours(24);

fn rows(home: &TestHome, table: &str) -> u64 {
    let sizes = home.registry.read(record::sizes).expect("sizes");
    sizes.into_iter().find(|(name, _)| *name == table).expect("the table").1
}

fn sweep(home: &TestHome) -> Swept {
    retention::sweep(home, &Shutdown::new()).expect("sweeps")
}

#[test]
fn without_a_setting_everything_stays() {
    let home = home();
    home.ingest("letters", &[("a.txt", b"one")]);
    home.clock.advance(DAY * 10_000);
    assert_eq!(sweep(&home), Swept::default());
}

#[test]
fn history_and_messages_go_after_their_time_and_the_last_line_stays() {
    let home = home_with("\n[retention]\nitem_history = \"30d\"\noutbox = \"30d\"\n");
    home.ingest("letters", &[("a.txt", b"one")]);
    let lines = rows(&home, "item_history");
    home.clock.advance(DAY * 29);
    assert_eq!(sweep(&home), Swept::default());
    home.clock.advance(DAY * 2);
    let swept = sweep(&home);
    assert_eq!((swept.item_history, swept.outbox), (lines - 1, 1), "{swept:?}");
    assert_eq!((rows(&home, "item_history"), rows(&home, "outbox"), rows(&home, "work_items")), (1, 0, 1));
    assert_eq!(sweep(&home), Swept::default());
}

#[test]
fn ended_items_go_with_their_history_and_what_they_made_stays() {
    let home = home_with("\n[retention]\nended_items = \"30d\"\n");
    let object = home.ingest("letters", &[("a.txt", b"one")]);
    home.clock.advance(DAY * 31);
    assert_eq!(sweep(&home).ended_items, 1);
    let left =
        home.registry.read(|tx| items::list(tx, Scope::System, &ItemFilter::default(), None, 10)).expect("lists");
    assert!(left.is_empty());
    assert_eq!((rows(&home, "item_history"), rows(&home, "work_items")), (0, 0));
    assert_eq!(home.object("letters").head, object.head);
    // The object goes on.
    assert_eq!(home.ingest("letters", &[("a.txt", b"two")]).head, 2);
}
