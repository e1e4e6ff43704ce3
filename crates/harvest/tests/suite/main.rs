//! Sources of records, right and wrong ones.

mod cursors;
mod files;
mod hostile;
mod http;
mod json;
mod lists;
mod peers;
mod records;
mod verbs;

use std::time::Duration;

use strongroom_download::{Policy, Retries, Supervision};
use strongroom_harvest::{
    Connection, Cursor, Event, HarvestError, Limits, Notice, OaiClient, OaiOptions, OaiSource, Record, RecordSource,
};
use strongroom_oai_double::{OaiDouble, OaiRecord};
use strongroom_web_double::WebDouble;

/// A policy for the server on this machine, with quick retries.
fn policy(web: &WebDouble) -> Policy {
    let retries = Retries { first_delay: Duration::ZERO, max_retry_after: Duration::ZERO, ..Retries::default() };
    Policy { hosts: vec![web.authority()], allow_private_networks: true, retries, ..Policy::default() }
}

fn connection(web: &WebDouble) -> Connection {
    Connection::new(policy(web)).unwrap()
}

fn client(provider: &OaiDouble) -> OaiClient {
    OaiClient::new(connection(provider.web()), &provider.base_url()).unwrap()
}

fn limited(provider: &OaiDouble, limits: Limits) -> OaiSource {
    let client = OaiClient::new(connection(provider.web()).limits(limits), &provider.base_url()).unwrap();
    OaiSource::new(client, OaiOptions::default()).unwrap()
}

fn source(provider: &OaiDouble, options: OaiOptions) -> OaiSource {
    OaiSource::new(client(provider), options).unwrap()
}

fn whole(provider: &OaiDouble) -> OaiSource {
    source(provider, OaiOptions::default())
}

fn of_sets(provider: &OaiDouble, sets: &[&str]) -> OaiSource {
    let sets = sets.iter().map(|set| (*set).to_owned()).collect();
    source(provider, OaiOptions { sets, ..OaiOptions::default() })
}

fn id(number: usize) -> String {
    format!("oai:test:{number:03}")
}

/// Records with these numbers, one each minute.
fn records(numbers: std::ops::Range<usize>) -> Vec<OaiRecord> {
    let datestamp = |number| format!("2024-01-{:02}T{:02}:{:02}:00Z", 1 + number / 1440, number / 60 % 24, number % 60);
    numbers.map(|number| OaiRecord::new(&id(number), &datestamp(number))).collect()
}

/// Everything that a source gives.
#[derive(Debug, Default)]
struct Given {
    records: Vec<Record>,
    notices: Vec<Notice>,
    cursors: Vec<Cursor>,
    error: Option<HarvestError>,
}

impl Given {
    fn ids(&self) -> Vec<&str> {
        self.records.iter().map(|record| record.id.as_str()).collect()
    }

    /// The identifiers without those that were given again, in order.
    fn distinct(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.ids().into_iter().map(str::to_owned).collect();
        ids.sort();
        ids.dedup();
        ids
    }

    fn document(&self, index: usize) -> &str {
        std::str::from_utf8(&self.records[index].document.as_ref().unwrap().bytes).unwrap()
    }

    /// The records that could not be read: identifiers and reasons.
    fn unreadable(&self) -> Vec<(Option<&str>, &str)> {
        let unreadable = self.notices.iter().filter_map(|notice| match notice {
            Notice::Unreadable { id, reason, .. } => Some((id.as_deref(), reason.as_str())),
            _ => None,
        });
        unreadable.collect()
    }
}

fn ids(numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(id).collect()
}

fn given_from(source: &dyn RecordSource, from: Option<Cursor>) -> Given {
    let mut given = Given::default();
    let events = match source.records(from, Supervision::default()) {
        Ok(events) => events,
        Err(error) => return Given { error: Some(error), ..given },
    };
    for event in events {
        match event {
            Ok(Event::Record(record)) => given.records.push(record),
            Ok(Event::Notice(notice)) => given.notices.push(notice),
            Ok(Event::Page(cursor)) => given.cursors.push(cursor),
            Err(error) => given.error = Some(error),
        }
    }
    given
}

fn given(source: &dyn RecordSource) -> Given {
    given_from(source, None)
}

/// What a source gives that has no error.
fn sound(source: &dyn RecordSource) -> Given {
    let given = given(source);
    assert!(given.error.is_none(), "{:?}", given.error);
    assert!(given.cursors.last().is_some_and(Cursor::is_finished));
    given
}

/// The text of an error with those that it comes from.
fn text(error: &HarvestError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}
