//! Commits whose answer never comes.

use std::sync::Arc;

use strongroom_database::testing::Scratch;
use strongroom_database::{Database, DatabaseError};

use super::proxy::{Break, Proxy};
use super::{open, raise, value};

/// The number after a commit that broke there, and how often the job ran.
fn raise_across(at: Break) -> Option<(i64, u32)> {
    let scratch = Scratch::new()?;
    let url = scratch.url();
    let port: u16 = port_of(&url);
    let proxy = Proxy::to(port);
    let database: Arc<dyn Database> = open(&url.replace(&format!(":{port}/"), &format!(":{}/", proxy.port())));
    database.write(|transaction| raise(transaction, "one")).expect("the way is open");
    proxy.break_next(at);
    let mut runs = 0;
    let runs = database
        .write(move |transaction| {
            runs += 1;
            raise(transaction, "one")?;
            Ok::<_, DatabaseError>(runs)
        })
        .expect("is kept in the end");
    let found: i64 = database.read(|transaction| value(transaction, "one")).expect("reads");
    Some((found, runs))
}

fn port_of(url: &str) -> u16 {
    let behind = url.rsplit_once('@').map_or(url, |(_, behind)| behind);
    let port = behind.split(['/', '?']).next().and_then(|host| host.rsplit_once(':'));
    port.and_then(|(_, port)| port.parse().ok()).unwrap_or(5432)
}

#[test]
fn a_commit_whose_answer_is_lost_is_not_run_again() {
    let Some((found, runs)) = raise_across(Break::AfterCommit) else { return };
    assert_eq!((found, runs), (2, 1));
}

#[test]
fn a_commit_that_never_arrived_is_run_again() {
    let Some((found, runs)) = raise_across(Break::BeforeCommit) else { return };
    assert_eq!((found, runs), (2, 2));
}
