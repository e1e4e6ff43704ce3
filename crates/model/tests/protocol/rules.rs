//! The rules, as what must be true in every state. They look at rows and bytes, never at what a worker thinks.

use stateright::Property;

use crate::state::{Next, Standing, State, Worker};
use crate::steps::Protocol;

/// Rule 1, for what is published.
pub(crate) const WHOLE: &str = "a published version has its content in every store";
/// Rules 3 and 4.
pub(crate) const HEAD: &str = "every root inventory names the head, or the version that is being committed after it";

pub(crate) fn all() -> Vec<Property<Protocol>> {
    vec![
        Property::always(WHOLE, |protocol: &Protocol, state: &State| {
            state.published().all(|(id, _)| (0..2).all(|store| protocol.has_content(state, store, id)))
        }),
        Property::always(HEAD, |_, state: &State| {
            let head = state.published().find(|(_, version)| version.number == state.head()).map(|(id, _)| id);
            state.stores.iter().all(|store| {
                store.root == head
                    || store.root.is_some_and(|id| {
                        let version = &state.versions[id];
                        version.standing == Standing::Committing && version.number == state.head() + 1
                    })
            })
        }),
        Property::always(
            "a root inventory never names bytes that are not there",
            |protocol: &Protocol, state: &State| {
                (0..2).all(|store| state.stores[store].root.is_none_or(|id| protocol.has_content(state, store, id)))
            },
        ),
        Property::always("a version that was to be dropped is never resumed", |_, state: &State| {
            let is_on_its_way = |standing| matches!(standing, Standing::Dropping | Standing::Dropped);
            state.versions.iter().all(|version| !version.was_dropped || is_on_its_way(version.standing))
        }),
        Property::always(
            "a number is taken again only when rows and bytes of the old version were removed",
            |_, state: &State| {
                state.versions.iter().enumerate().all(|(id, old)| {
                    let is_taken_again = state.versions.iter().skip(id + 1).any(|later| later.number == old.number);
                    !is_taken_again || (old.standing == Standing::Dropped && old.is_swept && !old.has_rows)
                })
            },
        ),
        Property::always("an object has at most one open version", |_, state: &State| {
            state.versions.iter().filter(|version| version.is_open()).count() <= 1
        }),
        Property::always("no store refuses who has the lease and goes forward", |_, state: &State| {
            may_go_forward(state)
        }),
        Property::sometimes("both deposits are published", |_, state: &State| state.head() == 2),
        Property::sometimes("a number is taken again and published", |_, state: &State| {
            state.versions.iter().any(|version| version.was_dropped) && state.published().any(|(id, _)| id > 0)
        }),
        Property::sometimes("a content lost after the commit is made again", |_, state: &State| {
            state.workers.iter().any(|worker| matches!(worker, Worker::Ingest { next: Next::Remake(0), .. }))
        }),
    ]
}

fn may_go_forward(state: &State) -> bool {
    state.workers.iter().enumerate().all(|(worker, job)| match *job {
        Worker::Ingest { item, version, next } if state.holds(worker, item) => match next {
            Next::Root(store) => [state.before(version), Some(version)].contains(&state.stores[store].root),
            Next::Rename(0) => {
                let directory = state.stores[0].directories[state.versions[version].number];
                directory.is_none_or(|directory| directory.version == version)
            }
            _ => true,
        },
        _ => true,
    })
}
