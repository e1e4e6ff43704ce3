//! Packages at web servers: only from hosts that the settings allow, never from private networks unless they allow that.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use strongroom_bagit::{Serialization, SingleFile, Source};
use strongroom_digest::DigestSet;
use strongroom_download::{Body, DownloadError, Expected, Supervision};
use url::Url;

use super::Located;
use super::package::{OpenPackage, url_file_name};
use crate::Home;
use crate::error::chain;
use crate::ingest::deposit::DepositOptions;
use crate::ingest::kind::{DepositKind, holds_bag, is_container_name};
use crate::workflow::StageError;

/// Size and etag as the server says them.
pub(super) fn locate(home: &Home, url: &Url) -> Result<Located, StageError> {
    let probe = home.downloads()?.probe(url.as_str(), &Supervision::default()).map_err(failure)?;
    // A server that tells neither is taken at its word by what it says of the length.
    let etag = probe.version().map(str::to_owned);
    let etag = etag.or_else(|| probe.size.map(|size| format!("length {size}"))).unwrap_or_else(|| "unknown".into());
    Ok(Located { etag, size: probe.size })
}

/// The package, which is read once, as it comes.
pub(super) fn open(home: &Home, url: &Url, options: &DepositOptions) -> Result<OpenPackage, StageError> {
    let name = url_file_name(url).unwrap_or_default();
    let kind = options.kind();
    let serialization = Serialization::detect(&[], &name);
    let Some(serialization) = serialization.or((kind == DepositKind::File).then_some(Serialization::Directory)) else {
        return Err(StageError::fatal(format!(
            "{url} does not name a ZIP or tar archive (plain, or compressed by gzip or bzip2), by its ending"
        )));
    };
    let digest = options.digest.as_ref().and_then(|(algorithm, hex)| Some((*algorithm, hex.parse().ok()?)));
    let expected = Expected { size: options.size, digests: digest.into_iter().collect::<DigestSet>(), version: None };
    let download = Download::open(home, url.as_str(), expected)?;
    let failure = download.failure.clone();
    let source = if kind == DepositKind::File {
        let name = options.file_name.clone().unwrap_or(name).into_bytes();
        Source::single(SingleFile { name, size: download.size(), modified: None }, Box::new(download))
    } else {
        Source::from_stream(Box::new(download), serialization, Some(name))
    };
    let source = if kind == DepositKind::Bag { source } else { source.with_plain_paths() };
    Ok(OpenPackage { source, failure: Some(failure) })
}

/// What a package at a URL is, where its name says that it is an archive.
pub(super) fn recognize(home: &Home, url: &Url) -> Result<DepositKind, StageError> {
    let name = url_file_name(url).unwrap_or_default();
    let Some(serialization) = Serialization::detect(&[], &name).filter(|_| is_container_name(&name)) else {
        return Ok(DepositKind::File);
    };
    let download = Download::open(home, url.as_str(), Expected::default())?;
    let failed = download.failure.clone();
    match holds_bag(Source::from_stream(Box::new(download), serialization, Some(name))) {
        Ok(true) => Ok(DepositKind::Bag),
        Ok(false) => Ok(DepositKind::Container),
        Err(error) => Err(failed.take().unwrap_or_else(|| super::bag_trouble(error))),
    }
}

/// A download that keeps why it failed: what reads an archive does not pass on errors as they are.
pub(crate) struct Download {
    body: Body<'static>,
    failure: DownloadFailure,
}

impl Download {
    pub(crate) fn open(home: &Home, url: &str, expected: Expected) -> Result<Self, StageError> {
        let body = home.downloads()?.open(url, expected, Supervision::default()).map_err(failure)?;
        Ok(Self { body, failure: DownloadFailure::default() })
    }

    /// Bytes, where the server says how many.
    pub(crate) fn size(&self) -> Option<u64> {
        self.body.size()
    }
}

impl Read for Download {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.body.read(buffer).map_err(|error| match DownloadError::from_io(error) {
            Ok(error) => {
                let shown = error.to_string();
                self.failure.put(error);
                io::Error::other(shown)
            }
            Err(other) => other,
        })
    }
}

/// Why a download failed, where it did.
#[derive(Debug, Clone, Default)]
pub(crate) struct DownloadFailure(Arc<Mutex<Option<DownloadError>>>);

impl DownloadFailure {
    fn put(&self, error: DownloadError) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// What it means for the stage.
    pub(crate) fn take(&self) -> Option<StageError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().map(failure)
    }
}

/// What the failure of a download means for a stage.
pub(crate) fn failure(error: DownloadError) -> StageError {
    match error {
        DownloadError::Refused { .. } => {
            StageError::fatal(format!(
                "{error}; ingest.url_hosts in the settings allows hosts, ingest.allow_private_addresses those of private networks"
            ))
        }
        other if other.is_transient() => StageError::Transient(chain(&other)),
        other => StageError::fatal(chain(&other)),
    }
}
