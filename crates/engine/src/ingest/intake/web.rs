//! Payloads at web servers: only from hosts that the settings allow, never from private networks unless they allow that.

use strongroom_bagit::fetch::{FetchError, FetchOptions, Fetcher};
use strongroom_bagit::{Serialization, Source};
use url::Url;

use super::Located;
use crate::Home;
use crate::error::chain;
use crate::workflow::StageError;

/// Size and etag as the server says them.
pub(super) fn locate(home: &Home, url: &Url) -> Result<Located, StageError> {
    let (size, etag) = fetcher(home).look(url.as_str()).map_err(failure)?;
    // A server that says neither is taken at its word by what it says of the length.
    let etag = etag.or_else(|| size.map(|size| format!("length {size}"))).unwrap_or_else(|| "unknown".into());
    Ok(Located { etag, size })
}

/// The payload as a bag that is read once, as it comes.
pub(super) fn open(home: &Home, url: &Url) -> Result<Source, StageError> {
    let name = url.path_segments().and_then(|mut segments| segments.next_back()).unwrap_or_default().to_owned();
    let serialization = Serialization::detect(&[], &name).ok_or_else(|| {
        StageError::fatal(format!("{url} does not name a tar, tar.gz, tgz or zip archive, by its ending"))
    })?;
    let download = fetcher(home).open(url.as_str()).map_err(failure)?;
    Ok(Source::from_stream(download.body, serialization, Some(name)))
}

fn fetcher(home: &Home) -> Fetcher {
    Fetcher::new(&FetchOptions {
        hosts: home.settings.ingest.url_hosts.clone(),
        allow_private_networks: home.settings.ingest.allow_private_addresses,
        ..FetchOptions::default()
    })
}

fn failure(error: FetchError) -> StageError {
    match error {
        FetchError::Refused { .. } => {
            StageError::fatal(format!("{error}; ingest.url_hosts in the settings allows hosts"))
        }
        other if other.is_transient() => StageError::Transient(chain(&other)),
        other => StageError::fatal(chain(&other)),
    }
}
