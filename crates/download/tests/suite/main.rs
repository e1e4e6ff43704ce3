//! What becomes of a download when the server, the network or the caller does something unexpected.

mod cuts;
mod files;
mod kept;
mod pages;
mod parallel;
mod policy;
mod posts;
mod probe;
mod reader;
mod waiting;

use std::io::Read;
use std::time::Duration;

use strongroom_download::{Client, DownloadError, Expected, Policy, Retries, Supervision};
use strongroom_web_double::{Behaviour, WebDouble};

/// A policy for the server on this machine, with quick retries.
fn policy(web: &WebDouble) -> Policy {
    let retries = Retries { first_delay: Duration::ZERO, max_retry_after: Duration::ZERO, ..Retries::default() };
    let root_certificates = web.root_certificate().map(str::to_owned).into_iter().collect();
    Policy {
        hosts: vec![web.authority()],
        allow_private_networks: true,
        root_certificates,
        retries,
        ..Policy::default()
    }
}

fn client(web: &WebDouble) -> Client {
    Client::new(policy(web)).unwrap()
}

/// Bytes that differ at each place.
fn bytes(length: u32) -> Vec<u8> {
    (0..length).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// A server that has a file at `/f` and behaves so.
fn serving(content: &[u8], behaviours: &[Behaviour]) -> WebDouble {
    let web = WebDouble::start();
    web.put("/f", content);
    for behaviour in behaviours {
        web.on("/f", behaviour.clone());
    }
    web
}

/// Opens the file and reads it to its end.
fn read(client: &Client, url: &str, expected: &Expected) -> Result<Vec<u8>, DownloadError> {
    let mut body = client.open(url, expected.clone(), Supervision::default())?;
    let mut found = Vec::new();
    match body.read_to_end(&mut found) {
        Ok(_) => Ok(found),
        Err(error) => {
            let position = body.position();
            assert_eq!(position, found.len() as u64);
            Err(DownloadError::from_io(error).unwrap())
        }
    }
}

/// A short word for how reading ended.
fn word(outcome: &Result<Vec<u8>, DownloadError>) -> String {
    match outcome {
        Ok(found) => format!("read {}", found.len()),
        Err(error) => {
            let name = match error {
                DownloadError::Refused { .. } => "refused".to_owned(),
                DownloadError::Encoded { .. } => "encoded".to_owned(),
                DownloadError::Status { status, .. } => format!("status {status}"),
                DownloadError::Transport { .. } => "transport".to_owned(),
                DownloadError::Tls { .. } => "tls".to_owned(),
                DownloadError::Broken { position, .. } => format!("broken at {position}"),
                DownloadError::Stalled { position, .. } => format!("stalled at {position}"),
                DownloadError::Length { found, .. } => format!("length {found}"),
                DownloadError::TooLong { most, .. } => format!("more than {most}"),
                DownloadError::Digest { .. } => "digest".to_owned(),
                DownloadError::Changed { .. } => "changed".to_owned(),
                DownloadError::Interrupted { .. } => "interrupted".to_owned(),
                other => format!("{other:?}"),
            };
            format!("{name}{}", if error.is_transient() { ", transient" } else { "" })
        }
    }
}
