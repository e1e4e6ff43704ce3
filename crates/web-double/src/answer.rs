//! What a request is answered with: as HTTP says, or as a behaviour of its path says. What is posted is answered with the file.

use crate::behaviour::Behaviour;
use crate::request::Request;
use crate::state::{State, etag};

/// The time of the last modification of every file.
const MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
/// The time of every answer.
const NOW: &str = "Tue, 15 Nov 1994 08:12:31 GMT";

/// What a function answers a request with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The header `Content-Type`.
    pub content_type: &'static str,
    /// The header `Link`; none where it is empty.
    pub link: String,
    /// The header `Retry-After`; none where it is empty.
    pub retry_after: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// A body with the status 200.
    #[must_use]
    pub fn ok(body: Vec<u8>) -> Self {
        Self { status: 200, content_type: "application/octet-stream", link: String::new(), retry_after: "", body }
    }
}

/// An answer that can be sent.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) framing: Framing,
    /// Bytes of the body after which the connection is closed.
    pub(crate) cut: Option<u64>,
    pub(crate) is_endless: bool,
    pub(crate) is_slow: bool,
}

/// How the end of a body is marked.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    #[default]
    Length,
    /// A length that is not that of the body.
    StatedLength(u64),
    Chunks,
    Close,
}

/// Answers a request; none where the connection is closed instead.
pub(crate) fn answer(state: &mut State, request: &Request) -> Option<Answer> {
    let mut behaviours = state.behaviours.remove(&request.path).unwrap_or_default();
    let answer = decide(state, request, &mut behaviours);
    state.behaviours.insert(request.path.clone(), behaviours);
    answer
}

fn decide(state: &mut State, request: &Request, behaviours: &mut [Behaviour]) -> Option<Answer> {
    for behaviour in behaviours.iter_mut() {
        if let Some(instead) = instead(behaviour, request) {
            return instead;
        }
    }
    if let Some(handler) = state.handlers.get(&request.path).cloned() {
        let reply = (handler.0)(request);
        let mut answer = Answer { status: reply.status, body: reply.body, ..Answer::default() };
        answer.header("content-type", reply.content_type);
        if !reply.link.is_empty() {
            answer.header("link", reply.link);
        }
        if !reply.retry_after.is_empty() {
            answer.header("retry-after", reply.retry_after.to_owned());
        }
        answer.distort(behaviours);
        return Some(answer);
    }
    let Some(bytes) = state.bytes(&request.path) else { return Some(Answer::status(404)) };
    if request.method == "POST" {
        let mut answer = Answer { status: 200, body: bytes, ..Answer::default() };
        answer.distort(behaviours);
        return Some(answer);
    }
    if !matches!(request.method.as_str(), "GET" | "HEAD") {
        return Some(Answer::status(405));
    }
    let has = |wanted: &Behaviour| behaviours.contains(wanted);
    let mut answer = Answer { status: 200, ..Answer::default() };
    answer.header("date", NOW);
    let tag = if has(&Behaviour::NewETags) { etag(&state.requests.len().to_le_bytes()) } else { etag(&bytes) };
    let is_tagged = !has(&Behaviour::NoValidator) && !has(&Behaviour::NoETag);
    let is_weak = has(&Behaviour::WeakETag);
    if is_tagged {
        answer.header("etag", if is_weak { format!("W/{tag}") } else { tag.clone() });
    }
    if !has(&Behaviour::NoValidator) {
        answer.header("last-modified", MODIFIED);
    }
    if !has(&Behaviour::NoRanges) {
        answer.header("accept-ranges", "bytes");
    }
    let condition = request.header("if-range");
    let is_same = condition.is_none_or(|value| (is_tagged && !is_weak && value == tag) || value == MODIFIED);
    let range = request.range().filter(|_| !has(&Behaviour::NoRanges) && (is_same || has(&Behaviour::IgnoresIfRange)));
    match range {
        Some(range) => answer.part(bytes.clone(), range, behaviours),
        None => answer.body = bytes,
    }
    if request.method != "HEAD" {
        answer.distort(behaviours);
        let change = behaviours.iter_mut().find_map(|behaviour| match behaviour {
            Behaviour::ChangedBetweenRanges(bytes) => Some(std::mem::take(bytes)),
            _ => None,
        });
        if let Some(bytes) = change.filter(|bytes| !bytes.is_empty()) {
            state.files.insert(request.path.clone(), bytes);
        }
    } else if behaviours.contains(&Behaviour::NoLength) {
        answer.framing = Framing::Chunks;
    }
    Some(answer)
}

/// An answer instead of the file, or `Some(None)` for none at all.
#[allow(clippy::option_option)] // Three outcomes, only here.
fn instead(behaviour: &mut Behaviour, request: &Request) -> Option<Option<Answer>> {
    let answer = match behaviour {
        Behaviour::NotFound => Answer::status(404),
        Behaviour::Status(status) => Answer::status(*status),
        Behaviour::FailTimes { times, status } if *times > 0 => {
            *times -= 1;
            Answer::status(*status)
        }
        Behaviour::RetryAfter { times, value } if *times > 0 => {
            *times -= 1;
            let mut answer = Answer::status(503);
            answer.header("retry-after", value.clone());
            answer
        }
        Behaviour::Unanswered(times) if *times > 0 => {
            *times -= 1;
            return Some(None);
        }
        Behaviour::RedirectTo(location) => {
            let mut answer = Answer::status(302);
            answer.header("location", location.clone());
            answer
        }
        Behaviour::RedirectNowhere => Answer::status(302),
        Behaviour::NoHead if request.method == "HEAD" => Answer::status(405),
        _ => return None,
    };
    Some(Some(answer))
}

impl Answer {
    fn status(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    fn header(&mut self, name: &'static str, value: impl Into<String>) {
        self.headers.push((name, value.into()));
    }

    /// A part of the bytes, for `bytes=FIRST-` and `bytes=FIRST-LAST`.
    fn part(&mut self, bytes: Vec<u8>, range: &str, behaviours: &[Behaviour]) {
        let size = bytes.len() as u64;
        let asked = range.strip_prefix("bytes=").and_then(|range| range.split_once('-'));
        let Some((first, last)) = asked.and_then(|(first, last)| Some((first.parse::<u64>().ok()?, last))) else {
            self.body = bytes;
            return;
        };
        let mut first = first;
        let mut last = last.parse::<u64>().unwrap_or(u64::MAX).min(size.saturating_sub(1));
        if first >= size {
            self.status = 416;
            self.header("content-range", format!("bytes */{size}"));
            return;
        }
        for behaviour in behaviours {
            match behaviour {
                Behaviour::WrongStart => first = first.saturating_sub(1),
                Behaviour::ShortRanges(most) => last = last.min(first.saturating_add(most.saturating_sub(1))),
                _ => {}
            }
        }
        self.status = 206;
        self.header("content-range", format!("bytes {first}-{last}/{size}"));
        self.body = bytes.get(first as usize..=last as usize).unwrap_or_default().to_vec();
    }

    /// Changes how the body is sent.
    fn distort(&mut self, behaviours: &mut [Behaviour]) {
        for behaviour in behaviours {
            match behaviour {
                Behaviour::CutAfter { bytes, times } if *times > 0 => {
                    *times -= 1;
                    self.cut = Some(*bytes);
                }
                Behaviour::Cuts(cuts) if !cuts.is_empty() => self.cut = Some(cuts.remove(0)),
                Behaviour::WrongLength(length) if self.status == 200 => {
                    self.framing = Framing::StatedLength(*length);
                }
                Behaviour::NoLength => self.framing = Framing::Chunks,
                Behaviour::UntilClose => self.framing = Framing::Close,
                Behaviour::Endless => {
                    self.framing = Framing::Chunks;
                    self.is_endless = true;
                }
                Behaviour::Slow => self.is_slow = true,
                Behaviour::Encoded(encoding) => self.header("content-encoding", *encoding),
                _ => {}
            }
        }
    }
}
