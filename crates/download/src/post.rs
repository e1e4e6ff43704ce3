//! Posting a body to an allowed host: one request, bounded in time, no redirect followed.

use std::io::Read;
use std::time::Duration;

use crate::client::{Client, failure};
use crate::entity::wait_asked;
use crate::error::DownloadError;
use crate::location::{allowed, authority, shown};
use crate::supervision::Supervision;

/// What is posted, and within which bounds.
#[derive(Debug, Clone, Copy)]
pub struct Post<'p> {
    /// Where to.
    pub url: &'p str,
    /// Headers, with their values.
    pub headers: &'p [(&'p str, &'p str)],
    /// The body.
    pub body: &'p [u8],
    /// The longest time from the look-up of the host to the end of the answer.
    pub timeout: Duration,
    /// Most bytes of the answer that are read.
    pub max_answer: u64,
}

/// What a server answered to a [`Post`]; a redirect is an answer like others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// The HTTP status.
    pub status: u16,
    /// When the server asks to try again.
    pub retry_after: Option<Duration>,
    /// The first bytes of the answer's body, as text.
    pub text: String,
}

impl Client {
    /// Posts a body to a host that the policy allows. Nothing is tried twice, and no redirect is followed: each status is an answer. An
    /// answer whose body breaks off or is too long counts, because the server has decided.
    ///
    /// # Errors
    /// The policy does not allow it, or there was no answer in time.
    pub fn post(&self, post: &Post<'_>) -> Result<Posted, DownloadError> {
        let location = allowed(&self.policy().hosts, post.url, None)?;
        let _permit = self.permits().acquire(authority(&location), &shown(&location), &Supervision::default())?;
        let mut request = self.agent().post(location.as_str());
        for (name, value) in post.headers {
            request = request.header(*name, *value);
        }
        // A connection that is kept may be closed by the server just when the next request is sent.
        let request = request.header("connection", "close").config().timeout_global(Some(post.timeout)).build();
        let response = request.send(post.body).map_err(|error| failure(&location, error))?;
        let retry_after = wait_asked(response.headers());
        let status = response.status().as_u16();
        let mut bytes = Vec::new();
        let _ = response.into_body().into_reader().take(post.max_answer).read_to_end(&mut bytes);
        Ok(Posted { status, retry_after, text: String::from_utf8_lossy(&bytes).into_owned() })
    }
}
