//! One answer as a whole: what an API or a protocol answers with, which changes from request to request and so is never resumed.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use tempfile::SpooledTempFile;
use ureq::http::HeaderMap;

use crate::client::{Answer, Client, Question, status_error};
use crate::entity::{Entity, coding, header};
use crate::error::{DownloadError, is_of, is_transient_status};
use crate::location::shown_text;
use crate::meter::{Quiet, Stall};
use crate::retry::Attempts;
use crate::supervision::Supervision;

/// Bytes that are read at a time.
const PIECE: usize = 64 << 10;
/// Most values of a header that are kept.
const MOST_LINKS: usize = 64;

/// What is asked for, and within which bounds.
#[derive(Debug, Clone, Copy)]
pub struct PageRequest<'p> {
    /// The URL.
    pub url: &'p str,
    /// Headers besides those of the client, with their values. `User-Agent` takes the place of the client's.
    pub headers: &'p [(&'p str, &'p str)],
    /// Most bytes of the answer.
    pub max_bytes: u64,
    /// Bytes of the answer that are kept in memory. A longer answer is a temporary file without a name.
    pub memory_bytes: usize,
    /// Where the temporary file is; none for the folder of the system.
    pub folder: Option<&'p Path>,
}

impl<'p> PageRequest<'p> {
    /// A request without headers, for at most 64 MiB, of which 1 MiB is kept in memory.
    pub fn new(url: &'p str) -> Self {
        Self { url, headers: &[], max_bytes: 64 << 20, memory_bytes: 1 << 20, folder: None }
    }
}

/// A whole answer. It is read from its beginning.
pub struct Page {
    status: u16,
    url: String,
    content_type: Option<String>,
    links: Vec<String>,
    length: u64,
    bytes: SpooledTempFile,
}

impl Page {
    /// The HTTP status: success, or a refusal (4xx) that no repetition changes.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The URL that answered, after redirects. It has its query, so it is not written in errors.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The header `Content-Type`.
    pub fn content_type(&self) -> Option<&str> {
        self.content_type.as_deref()
    }

    /// The values of the headers `Link` (RFC 8288), in their order.
    pub fn links(&self) -> &[String] {
        &self.links
    }

    /// Bytes of the answer.
    pub fn length(&self) -> u64 {
        self.length
    }
}

impl Read for Page {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(buffer)
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page").field("status", &self.status).field("length", &self.length).finish_non_exhaustive()
    }
}

impl Client {
    /// Asks for an answer as a whole, with `GET`. The connection is free again when this returns. Transient failures, also an answer
    /// that breaks off, are tried again as the policy says; `Retry-After` is obeyed up to [`Retries::max_retry_after`].
    ///
    /// [`Retries::max_retry_after`]: crate::Retries::max_retry_after
    ///
    /// # Errors
    /// A status that is neither success nor a lasting refusal, and what else a download fails with.
    pub fn page(&self, request: &PageRequest<'_>, supervision: &Supervision<'_>) -> Result<Page, DownloadError> {
        let mut attempts = Attempts::new(self.retries());
        loop {
            match self.page_once(request, supervision) {
                Err(error) if error.is_retried() => attempts.failed(error, 0, supervision)?,
                outcome => return outcome,
            }
        }
    }

    fn page_once(&self, request: &PageRequest<'_>, supervision: &Supervision<'_>) -> Result<Page, DownloadError> {
        let question = Question { headers: request.headers, ..Question::default() };
        let answer = self.ask(request.url, question, supervision)?;
        let status = answer.response.status().as_u16();
        let is_refusal = (400..500).contains(&status) && !is_transient_status(status);
        if !((200..300).contains(&status) || is_refusal) {
            return Err(status_error(request.url, &answer.response));
        }
        let headers = answer.response.headers();
        if let Some(coding) = coding(headers) {
            let reason = format!("its answer has the content coding {coding:?}, which was not asked for");
            return Err(DownloadError::Refused { url: shown_text(request.url), reason });
        }
        let mut page = Page {
            status,
            url: answer.location.to_string(),
            content_type: header(headers, "content-type").map(str::to_owned),
            links: links(headers),
            length: 0,
            bytes: match request.folder {
                Some(folder) => tempfile::spooled_tempfile_in(request.memory_bytes, folder),
                None => tempfile::spooled_tempfile(request.memory_bytes),
            },
        };
        read_all(answer, &mut page, request, supervision)?;
        Ok(page)
    }
}

/// Reads the body of an answer into the page.
fn read_all(
    answer: Answer,
    page: &mut Page,
    request: &PageRequest<'_>,
    supervision: &Supervision<'_>,
) -> Result<(), DownloadError> {
    let url = shown_text(request.url);
    let stated = Entity::whole(answer.response.headers()).size;
    let too_long = || DownloadError::TooLong { url: url.clone(), most: request.max_bytes };
    if stated.is_some_and(|size| size > request.max_bytes) {
        return Err(too_long());
    }
    let mut reader = answer.response.into_body().into_reader();
    let mut piece = vec![0; PIECE];
    loop {
        supervision.check(&url)?;
        let count = match reader.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if is_of::<Quiet>(&error) => continue,
            Err(error) => return Err(broken(url, page.length, error)),
        };
        page.length = page.length.saturating_add(count as u64);
        if page.length > request.max_bytes {
            return Err(too_long());
        }
        let stored = page.bytes.write_all(piece.get(..count).unwrap_or_default());
        stored.map_err(|source| DownloadError::Sink { url: url.clone(), source })?;
        supervision.count(count as u64);
    }
    if stated.is_some_and(|size| page.length < size) {
        return Err(broken(url, page.length, io::ErrorKind::UnexpectedEof.into()));
    }
    let rewound = page.bytes.seek(SeekFrom::Start(0));
    rewound.map(drop).map_err(|source| DownloadError::Sink { url, source })
}

fn broken(url: String, position: u64, error: io::Error) -> DownloadError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Stall>()) {
        Some(stall) => DownloadError::Stalled { url, position, received: stall.received, window: stall.window },
        None => DownloadError::Broken { url, position, source: error },
    }
}

fn links(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all("link").iter().filter_map(|value| value.to_str().ok());
    values.take(MOST_LINKS).map(str::to_owned).collect()
}
