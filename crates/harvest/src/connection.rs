//! How the servers of sources are asked: by a client that keeps the rules about hosts, with headers that say who asks.

use std::path::PathBuf;

use strongroom_download::{Client, DownloadError, Page, PageRequest, Policy, Supervision, shown_url};
use url::Url;

use crate::error::{HarvestError, shown};
use crate::limits::Limits;

/// Bytes of an answer that are kept in memory where it is read record by record.
const IN_MEMORY: usize = 1 << 20;

/// How servers are asked, and within which bounds.
#[derive(Debug, Clone)]
pub struct Connection {
    client: Client,
    user_agent: Option<String>,
    from: Option<String>,
    folder: Option<PathBuf>,
    pub(crate) limits: Limits,
}

impl Connection {
    /// Asks the hosts of a policy, each with one request at a time over all clones, whatever the policy says about connections.
    ///
    /// # Errors
    /// [`HarvestError::Download`] where a certificate of the policy is none.
    pub fn new(policy: Policy) -> Result<Self, HarvestError> {
        Ok(Self::with_client(Client::new(Policy { connections_per_host: 1, ..policy })?))
    }

    /// Asks with a client. A source has one request at a time; several sources of one host have as many as the client's policy allows.
    pub fn with_client(client: Client) -> Self {
        Self { client, user_agent: None, from: None, folder: None, limits: Limits::default() }
    }

    /// Sets the header `User-Agent` (RFC 9110 section 10.1.5), in the place of the client's.
    #[must_use]
    pub fn user_agent(self, value: impl Into<String>) -> Self {
        Self { user_agent: Some(value.into()), ..self }
    }

    /// Sets the header `From`, the mail address of the person who is responsible (RFC 9110 section 10.1.2).
    #[must_use]
    pub fn from_address(self, value: impl Into<String>) -> Self {
        Self { from: Some(value.into()), ..self }
    }

    /// Sets the folder of the temporary files of large answers.
    #[must_use]
    pub fn temporary_files(self, folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..self }
    }

    /// Sets the bounds of what is read.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Whether the policy allows to ask for a URL, and the headers can be sent.
    pub(crate) fn check(&self, url: &str) -> Result<Url, HarvestError> {
        for (what, value) in [("the header User-Agent", &self.user_agent), ("the header From", &self.from)] {
            if let Some(value) = value
                && !value.bytes().all(|byte| matches!(byte, b' '..=b'~'))
            {
                let reason = "it must be printable ASCII".to_owned();
                return Err(HarvestError::Setting { what, value: shown(value), reason });
            }
        }
        self.client.check(url)?;
        Url::parse(url).map_err(|error| HarvestError::Setting {
            what: "the URL of a source",
            value: shown_url(url),
            reason: error.to_string(),
        })
    }

    /// Asks for an answer that is read from memory and, beyond a bound, from a temporary file.
    pub(crate) fn page(&self, url: &str, accept: &str, supervision: &Supervision<'_>) -> Result<Page, DownloadError> {
        self.ask(url, accept, (self.limits.page_bytes, IN_MEMORY), supervision)
    }

    /// Asks for an answer that is kept in memory.
    pub(crate) fn small_page(
        &self,
        url: &str,
        accept: &str,
        supervision: &Supervision<'_>,
    ) -> Result<Page, DownloadError> {
        let most = self.limits.json_page_bytes;
        self.ask(url, accept, (most, usize::try_from(most).unwrap_or(usize::MAX)), supervision)
    }

    fn ask(
        &self,
        url: &str,
        accept: &str,
        (max_bytes, memory_bytes): (u64, usize),
        supervision: &Supervision<'_>,
    ) -> Result<Page, DownloadError> {
        let mut headers = vec![("accept", accept)];
        headers.extend(self.user_agent.as_deref().map(|value| ("user-agent", value)));
        headers.extend(self.from.as_deref().map(|value| ("from", value)));
        let folder = self.folder.as_deref();
        self.client.page(&PageRequest { url, headers: &headers, max_bytes, memory_bytes, folder }, supervision)
    }
}
