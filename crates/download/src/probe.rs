//! What a server says about a file without sending it.

use crate::client::{Client, Question, status_error};
use crate::entity::{ContentRange, Entity, accepts_ranges};
use crate::error::DownloadError;
use crate::location::shown_text;
use crate::retry::Attempts;
use crate::supervision::Supervision;

/// What a server says about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Its bytes; none where the server does not say.
    pub size: Option<u64>,
    /// The header `ETag` as it was sent, with its quotes.
    pub etag: Option<String>,
    /// The header `Last-Modified` as it was sent.
    pub last_modified: Option<String>,
    /// Whether a part of the file can be asked for, so that a download can be resumed.
    pub accepts_ranges: bool,
}

impl Probe {
    /// A text that changes when the bytes may have changed: the entity tag, or else the time of the last modification.
    pub fn version(&self) -> Option<&str> {
        self.etag.as_deref().or(self.last_modified.as_deref())
    }
}

impl Client {
    /// Asks for the size and the version of a file: by `HEAD`, and where that is refused or says no size, by a request of the first
    /// byte. Transient failures are tried again as the policy says.
    pub fn probe(&self, url: &str, supervision: &Supervision<'_>) -> Result<Probe, DownloadError> {
        let mut attempts = Attempts::new(self.retries());
        loop {
            match self.probe_once(url, supervision) {
                Err(error) if error.is_retried() => attempts.failed(error, 0, supervision)?,
                outcome => return outcome,
            }
        }
    }

    fn probe_once(&self, url: &str, supervision: &Supervision<'_>) -> Result<Probe, DownloadError> {
        let answer = self.ask(url, Question { is_head: true, ..Question::default() }, supervision)?;
        let response = answer.response;
        let head = match response.status().as_u16() {
            200 => {
                let probe = probe(Entity::whole(response.headers()), accepts_ranges(response.headers()));
                if probe.size.is_some() {
                    return Ok(probe);
                }
                Some(probe)
            }
            status if is_head_refused(status) => None,
            _ => return Err(status_error(url, &response)),
        };
        drop((response, answer.permit));
        match (self.probe_by_range(url, supervision), head) {
            (Err(DownloadError::Status { .. }), Some(head)) => Ok(head),
            (outcome, _) => outcome,
        }
    }

    fn probe_by_range(&self, url: &str, supervision: &Supervision<'_>) -> Result<Probe, DownloadError> {
        let answer = self.ask(url, Question { range: Some("bytes=0-0"), ..Question::default() }, supervision)?;
        let headers = answer.response.headers();
        match answer.response.status().as_u16() {
            200 => Ok(probe(Entity::whole(headers), false)),
            206 => match ContentRange::of(headers) {
                Some(ContentRange { range: Some((0, _)), .. }) => Ok(probe(Entity::part(headers), true)),
                _ => Err(DownloadError::Status { url: shown_text(url), status: 206, retry_after: None }),
            },
            // An empty file has no first byte.
            416 if ContentRange::of(headers).is_some_and(|range| range.size == Some(0)) => {
                Ok(probe(Entity::part(headers), true))
            }
            _ => Err(status_error(url, &answer.response)),
        }
    }
}

fn probe(entity: Entity, accepts_ranges: bool) -> Probe {
    Probe { size: entity.size, etag: entity.etag, last_modified: entity.last_modified, accepts_ranges }
}

/// Statuses that may mean that the file is there and `HEAD` is not supported or not permitted, as with signed URLs.
fn is_head_refused(status: u16) -> bool {
    matches!(status, 400 | 401 | 403 | 405 | 406 | 500 | 501)
}
