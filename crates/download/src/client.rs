//! The client: one request at a time to an allowed host, with redirects judged like the URL that the caller gave.

use std::io;
use std::sync::Arc;

use ureq::config::Config;
use ureq::http::Response;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::transport::{Connector, RustlsConnector, TcpConnector};
use url::Url;

use crate::address::{NotPublic, PublicResolver};
use crate::entity::{self, header};
use crate::error::{DownloadError, is_of};
use crate::location::{allowed, authority, shown, shown_text};
use crate::meter::Metered;
use crate::permits::{Permit, Permits};
use crate::policy::{Patience, Policy, Retries};
use crate::supervision::Supervision;

/// Redirects followed for one request.
const MAX_REDIRECTS: usize = 5;
/// Bytes that are read from the network and buffered at a time, for each connection.
const BUFFER: usize = 128 << 10;
/// Longest headers of a response, in bytes.
const MAX_HEADERS: usize = 64 << 10;

/// Downloads from allowed hosts. Clones share their connections, and the limit of connections to each host.
#[derive(Debug, Clone)]
pub struct Client {
    inner: Arc<Inner>,
    patience: Option<Patience>,
}

#[derive(Debug)]
struct Inner {
    agent: ureq::Agent,
    policy: Policy,
    permits: Arc<Permits>,
}

/// A request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Question<'q> {
    /// Whether only the headers are asked for.
    pub(crate) is_head: bool,
    /// The value of `Range`.
    pub(crate) range: Option<&'q str>,
    /// The value of `If-Range`.
    pub(crate) if_range: Option<&'q str>,
    /// Headers besides, with their values.
    pub(crate) headers: &'q [(&'q str, &'q str)],
}

/// A response that is no redirect, with the right to its connection.
pub(crate) struct Answer {
    pub(crate) response: Response<ureq::Body>,
    pub(crate) permit: Permit,
    /// The URL that answered.
    pub(crate) location: Url,
}

impl Client {
    /// Takes the policy that holds for every download. Certificates are verified by the authorities that the system trusts, and by
    /// those of the policy.
    ///
    /// # Errors
    /// [`DownloadError::RootCertificate`] where a certificate of the policy is none.
    pub fn new(policy: Policy) -> Result<Self, DownloadError> {
        let tls = TlsConfig::builder().root_certs(RootCerts::from(roots(&policy)?)).build();
        let config = Config::builder()
            .max_redirects(0)
            .http_status_as_error(false)
            // A proxy would resolve names itself, and connect to any address.
            .proxy(None)
            .tls_config(tls)
            .timeout_connect(Some(policy.timeouts.connect))
            .timeout_resolve(Some(policy.timeouts.connect))
            .timeout_send_request(Some(policy.timeouts.connect))
            .timeout_recv_response(Some(policy.timeouts.response))
            .input_buffer_size(BUFFER)
            .max_response_header_size(MAX_HEADERS)
            .max_idle_connections_per_host(policy.connections_per_host)
            .user_agent(concat!("strongroom/", env!("CARGO_PKG_VERSION")))
            .build();
        let connector =
            ().chain(TcpConnector::default()).chain(Metered::new(&policy.timeouts)).chain(RustlsConnector::default());
        let agent = ureq::Agent::with_parts(config, connector, PublicResolver::new(&policy));
        let permits = Permits::new(policy.connections_per_host);
        Ok(Self { inner: Arc::new(Inner { agent, policy, permits }), patience: None })
    }

    /// The same client, with the connections and limits that it has, for one who waits for servers otherwise.
    #[must_use]
    pub fn with_patience(&self, patience: Patience) -> Self {
        Self { inner: self.inner.clone(), patience: Some(patience) }
    }

    /// How often and when a failed request is sent again.
    pub(crate) fn retries(&self) -> &Retries {
        self.patience.as_ref().map_or(&self.inner.policy.retries, |patience| &patience.retries)
    }

    /// The bounds of each download.
    pub fn policy(&self) -> &Policy {
        &self.inner.policy
    }

    /// Whether the URL is one that the policy allows to ask for, without asking. The address of its host is judged when it is
    /// connected to.
    pub fn check(&self, url: &str) -> Result<(), DownloadError> {
        allowed(&self.inner.policy.hosts, url, None).map(drop)
    }

    pub(crate) fn agent(&self) -> &ureq::Agent {
        &self.inner.agent
    }

    pub(crate) fn permits(&self) -> &Arc<Permits> {
        &self.inner.permits
    }

    /// Sends a request, and follows redirects. Waits for a free connection to the host. Nothing is tried twice.
    pub(crate) fn ask(
        &self,
        url: &str,
        question: Question<'_>,
        supervision: &Supervision<'_>,
    ) -> Result<Answer, DownloadError> {
        let mut location = allowed(&self.inner.policy.hosts, url, None)?;
        for _ in 0..=MAX_REDIRECTS {
            let permit = self.inner.permits.acquire(authority(&location), &shown(&location), supervision)?;
            supervision.check(&shown(&location))?;
            let response = self.send(&location, question)?;
            let status = response.status().as_u16();
            if !matches!(status, 301 | 302 | 303 | 307 | 308) {
                return Ok(Answer { response, permit, location });
            }
            let Some(target) = header(response.headers(), "location") else {
                return Err(DownloadError::Status { url: shown(&location), status, retry_after: None });
            };
            location = allowed(&self.inner.policy.hosts, target, Some(&location))?;
        }
        let reason = format!("there are more than {MAX_REDIRECTS} redirects");
        Err(DownloadError::Refused { url: shown_text(url), reason })
    }

    fn send(&self, location: &Url, question: Question<'_>) -> Result<Response<ureq::Body>, DownloadError> {
        let agent = &self.inner.agent;
        let mut request = if question.is_head { agent.head(location.as_str()) } else { agent.get(location.as_str()) };
        // Compressed on the way, a file would have other offsets and another length.
        request = request.header("accept-encoding", "identity");
        for (name, value) in [("range", question.range), ("if-range", question.if_range)] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        for (name, value) in question.headers {
            request = request.header(*name, *value);
        }
        if let Some(patience) = &self.patience {
            request = request
                .config()
                .timeout_connect(Some(patience.connect))
                .timeout_resolve(Some(patience.connect))
                .timeout_send_request(Some(patience.connect))
                .timeout_recv_response(Some(patience.response))
                .build();
        }
        request.call().map_err(|error| failure(location, error))
    }
}

/// What a response with a status that has no file means.
pub(crate) fn status_error(url: &str, response: &Response<ureq::Body>) -> DownloadError {
    let retry_after = entity::wait_asked(response.headers());
    DownloadError::Status { url: shown_text(url), status: response.status().as_u16(), retry_after }
}

pub(crate) fn failure(location: &Url, error: ureq::Error) -> DownloadError {
    let url = shown(location);
    match error {
        ureq::Error::Io(error) if is_of::<NotPublic>(&error) => {
            DownloadError::Refused { url, reason: error.to_string() }
        }
        // Its text would have the whole URL.
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => {
            DownloadError::Refused { url, reason: "it is not a URL of HTTP".into() }
        }
        // While a request is sent, only TLS reads data that can be invalid.
        ureq::Error::Io(ref inner) if inner.kind() == io::ErrorKind::InvalidData => {
            DownloadError::Tls { url, source: Box::new(error) }
        }
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => DownloadError::Tls { url, source: Box::new(error) },
        error => DownloadError::Transport { url, source: Box::new(error) },
    }
}

/// The authorities of the system and of the policy.
fn roots(policy: &Policy) -> Result<Vec<Certificate<'static>>, DownloadError> {
    let system = rustls_native_certs::load_native_certs().certs;
    let mut roots: Vec<_> = system.iter().map(|root| Certificate::from_der(root).to_owned()).collect();
    for (index, text) in policy.root_certificates.iter().enumerate() {
        let failed = |source| DownloadError::RootCertificate { number: index + 1, source: Box::new(source) };
        let before = roots.len();
        for item in parse_pem(text.as_bytes()) {
            if let PemItem::Certificate(root) = item.map_err(failed)? {
                roots.push(root);
            }
        }
        if roots.len() == before {
            return Err(failed(ureq::Error::Tls("it has no certificate")));
        }
    }
    Ok(roots)
}
