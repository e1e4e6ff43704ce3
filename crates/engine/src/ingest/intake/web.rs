//! Payloads at web servers: only from hosts that the settings allow, never from private networks unless they allow that.

use strongroom_bagit::{Serialization, Source};
use strongroom_download::{Client, DownloadError, Expected, Policy, Supervision};
use url::Url;

use super::Located;
use crate::Home;
use crate::error::chain;
use crate::workflow::StageError;

/// Size and etag as the server tells them.
pub(super) fn locate(home: &Home, url: &Url) -> Result<Located, StageError> {
    let probe = client(home)?.probe(url.as_str(), &Supervision::default()).map_err(failure)?;
    // A server that tells neither is taken at its word by what it says of the length.
    let length = || probe.size.map(|size| format!("length {size}"));
    let etag = probe.version().map(str::to_owned).or_else(length).unwrap_or_else(|| "unknown".into());
    Ok(Located { etag, size: probe.size })
}

/// The payload as a bag that is read once, as it comes.
pub(super) fn open(home: &Home, url: &Url) -> Result<Source, StageError> {
    let name = url.path_segments().and_then(|mut segments| segments.next_back()).unwrap_or_default().to_owned();
    let serialization = Serialization::detect(&[], &name).ok_or_else(|| {
        StageError::fatal(format!("{url} does not name a tar, tar.gz, tgz or zip archive, by its ending"))
    })?;
    let body = client(home)?.open(url.as_str(), Expected::default(), Supervision::default()).map_err(failure)?;
    Ok(Source::from_stream(Box::new(body), serialization, Some(name)))
}

fn client(home: &Home) -> Result<Client, StageError> {
    let ingest = &home.settings.ingest;
    let (hosts, allow_private_networks) = (ingest.url_hosts.clone(), ingest.allow_private_addresses);
    Client::new(Policy { hosts, allow_private_networks, ..Policy::default() }).map_err(failure)
}

fn failure(error: DownloadError) -> StageError {
    match error {
        DownloadError::Refused { .. } => {
            StageError::fatal(format!("{error}; ingest.url_hosts in the settings allows hosts"))
        }
        other if other.is_transient() => StageError::Transient(chain(&other)),
        other => StageError::fatal(chain(&other)),
    }
}
