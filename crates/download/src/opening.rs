//! Opening a file for reading: the first request, and what is compared before a byte is read.

use std::io::Read;

use strongroom_digest::DigestSet;

use crate::body::Body;
use crate::client::{Answer, Client, Question, status_error};
use crate::entity::{ContentRange, Entity, Validator, coding, is_of_name};
use crate::error::DownloadError;
use crate::location::shown_text;
use crate::permits::Permit;
use crate::retry::Attempts;
use crate::supervision::Supervision;

/// What is known of a file before it is downloaded. The default expects nothing.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    /// Its bytes.
    pub size: Option<u64>,
    /// Digests of its bytes, which are computed while they are read.
    pub digests: DigestSet,
    /// Its version as [`Probe::version`](crate::Probe::version) tells it. The server must say the same.
    pub version: Option<String>,
}

/// What is asked for.
#[derive(Clone)]
pub(crate) struct Request<'a> {
    pub(crate) client: Client,
    pub(crate) url: String,
    /// The URL as it is written in errors.
    pub(crate) shown: String,
    pub(crate) expected: Expected,
    /// Whether a digest of the bytes is compared, here or by the caller.
    pub(crate) is_compared: bool,
    pub(crate) supervision: Supervision<'a>,
}

/// A connection that is read.
pub(crate) struct Source {
    pub(crate) reader: Box<dyn Read + Send + Sync>,
    _permit: Permit,
}

/// Where an earlier download of a file ended.
#[derive(Debug, Clone)]
pub(crate) struct Resume {
    pub(crate) position: u64,
    pub(crate) validator: Validator,
}

impl Client {
    /// Opens a file for reading. Transient failures are tried again as the policy says.
    pub fn open<'a>(
        &self,
        url: &str,
        expected: Expected,
        supervision: Supervision<'a>,
    ) -> Result<Body<'a>, DownloadError> {
        let is_compared = !expected.digests.is_empty();
        self.open_at(url, (expected, is_compared), supervision, None)
    }

    /// Opens a file where an earlier download ended, if it is still the same; otherwise at its start. `is_compared` says whether a digest of the
    /// bytes is compared, also where only the caller does that.
    pub(crate) fn open_at<'a>(
        &self,
        url: &str,
        (expected, is_compared): (Expected, bool),
        supervision: Supervision<'a>,
        resume: Option<&Resume>,
    ) -> Result<Body<'a>, DownloadError> {
        let (client, shown) = (self.clone(), shown_text(url));
        let request = Request { client, url: url.to_owned(), shown, expected, is_compared, supervision };
        let mut attempts = Attempts::new(self.retries());
        loop {
            match request.begin(resume) {
                Ok(begun) => return request.body(begun, attempts),
                Err(error) if error.is_retried() => attempts.failed(error, 0, &request.supervision)?,
                Err(error) => return Err(error),
            }
        }
    }
}

/// The first answer to a request.
pub(crate) struct Begun {
    pub(crate) source: Source,
    pub(crate) entity: Entity,
    pub(crate) start: u64,
}

impl<'a> Request<'a> {
    pub(crate) fn shown(&self) -> String {
        self.shown.clone()
    }

    pub(crate) fn ask(&self, range: Option<&str>, if_range: Option<&str>) -> Result<Answer, DownloadError> {
        let question = Question { range, if_range, ..Question::default() };
        let answer = self.client.ask(&self.url, question, &self.supervision)?;
        self.check_coding(&answer)?;
        Ok(answer)
    }

    /// Refuses bytes in a coding that was not asked for. A file that is packed itself, by its name, is sent by some servers with the coding
    /// that it has; and where a digest is compared, that says which bytes are wanted.
    fn check_coding(&self, answer: &Answer) -> Result<(), DownloadError> {
        let is_file = matches!(answer.response.status().as_u16(), 200 | 206);
        let Some(coding) = coding(answer.response.headers()).filter(|_| is_file && !self.is_compared) else {
            return Ok(());
        };
        let asked = self.url.split(['?', '#']).next().unwrap_or_default();
        if is_of_name(&coding, asked) || is_of_name(&coding, answer.location.path()) {
            return Ok(());
        }
        Err(DownloadError::Encoded { url: self.shown(), coding })
    }

    fn begin(&self, resume: Option<&Resume>) -> Result<Begun, DownloadError> {
        let Some(resume) = resume.filter(|resume| resume.position > 0) else {
            let answer = self.ask(None, None)?;
            return self.begin_whole(answer);
        };
        let range = format!("bytes={}-", resume.position);
        let answer = self.ask(Some(&range), Some(resume.validator.as_str()))?;
        match answer.response.status().as_u16() {
            206 => {
                let mut entity = Entity::part(answer.response.headers());
                if entity.agrees(&resume.validator) && starts_at(&answer, resume.position) {
                    entity.validator = Some(resume.validator.clone());
                    return Ok(Begun { source: Source::of(answer), entity, start: resume.position });
                }
            }
            200 => return self.begin_whole(answer),
            416 => {}
            _ => return Err(status_error(&self.url, &answer.response)),
        }
        drop(answer);
        let answer = self.ask(None, None)?;
        self.begin_whole(answer)
    }

    fn begin_whole(&self, answer: Answer) -> Result<Begun, DownloadError> {
        if answer.response.status().as_u16() != 200 {
            return Err(status_error(&self.url, &answer.response));
        }
        let entity = Entity::whole(answer.response.headers());
        Ok(Begun { source: Source::of(answer), entity, start: 0 })
    }

    /// Compares what the server says with what is expected.
    fn body(self, begun: Begun, attempts: Attempts) -> Result<Body<'a>, DownloadError> {
        let entity = &begun.entity;
        if let Some(expected) = &self.expected.version
            && let Some(version) = entity.other_version(expected)
        {
            let detail = format!("its version was {expected:?} and is {version:?}");
            return Err(DownloadError::Changed { url: self.shown(), detail });
        }
        if let (Some(found), Some(expected)) = (entity.size, self.expected.size)
            && found != expected
        {
            return Err(DownloadError::Length { url: self.shown(), expected, found });
        }
        let most = self.client.policy().max_bytes;
        if entity.size.or(self.expected.size).is_some_and(|size| size > most) {
            return Err(DownloadError::TooLong { url: self.shown(), most });
        }
        Ok(Body::new(self, begun, attempts))
    }
}

impl Source {
    pub(crate) fn of(answer: Answer) -> Self {
        Self { reader: Box::new(answer.response.into_body().into_reader()), _permit: answer.permit }
    }
}

/// Whether a response with a part of the file begins at this byte.
pub(crate) fn starts_at(answer: &Answer, position: u64) -> bool {
    let range = ContentRange::of(answer.response.headers()).and_then(|range| range.range);
    range.is_some_and(|(first, _)| first == position)
}
