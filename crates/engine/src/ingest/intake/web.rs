//! Payloads at web servers: only from hosts that the settings allow, never from private networks unless they allow that.

use strongroom_bagit::fetch::{FetchError, FetchOptions, Fetcher};
use strongroom_bagit::{Serialization, Source};
use url::Url;

use super::Located;
use crate::Home;
use crate::error::chain;
use crate::workflow::StageError;

/// Size and etag as the server tells them.
pub(super) fn locate(home: &Home, url: &Url) -> Result<Located, StageError> {
    let (size, etag) = fetcher(home).look(url.as_str()).map_err(failure)?;
    // A server that tells neither is taken at its word by what it says of the length.
    let etag = etag.or_else(|| size.map(|size| format!("length {size}"))).unwrap_or_else(|| "unknown".into());
    Ok(Located { etag, size })
}

/// The package, which is read once, as it comes.
pub(super) fn open(home: &Home, url: &Url, options: &DepositOptions) -> Result<Source, StageError> {
    let name = url.path_segments().and_then(|mut segments| segments.next_back()).unwrap_or_default().to_owned();
    if options.kind() == DepositKind::File {
        let download = fetcher(home).open(url.as_str()).map_err(failure)?;
        let name = options.file_name.clone().unwrap_or(name).into_bytes();
        let file = SingleFile { name, size: download.length, modified: None };
        return Ok(Source::single(file, checked(download.body, options)));
    }
    let serialization = Serialization::detect(&[], &name).ok_or_else(|| {
        StageError::fatal(format!("{url} does not name a ZIP or tar archive (plain, or compressed by gzip or bzip2), by its ending"))
    })?;
    let download = fetcher(home).open(url.as_str()).map_err(failure)?;
    let source = Source::from_stream(checked(download.body, options), serialization, Some(name));
    Ok(if options.kind() == DepositKind::Bag { source } else { source.with_plain_paths() })
}

/// A stream whose bytes are compared with what was declared for them, where anything was.
fn checked(body: Box<dyn Read + Send>, options: &DepositOptions) -> Box<dyn Read + Send> {
    Declared::of(options).map_or(body, |declared| Box::new(declared.reader(body)))
}

/// Opens what a URL names, with its size where the server says it.
pub(crate) fn open_url(home: &Home, url: &str) -> Result<(Option<u64>, Box<dyn Read + Send>), StageError> {
    let download = fetcher(home).open(url).map_err(failure)?;
    Ok((download.length, download.body))
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
