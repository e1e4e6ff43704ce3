//! The requests.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use ureq::Agent;
use ureq::http::{HeaderValue, Response};
use url::{Host, Url};

use super::anvl;
use super::elements::{Elements, Registered};
use super::error::{Action, EzidError, shown};
use crate::ark::Ark;

/// A password. It is never shown.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Password(String);

impl Password {
    /// Takes a password.
    pub fn new(password: impl Into<String>) -> Self {
        Self(password.into())
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(***)")
    }
}

/// Where EZID is, and as whom it is asked.
#[derive(Debug, Clone)]
pub struct EzidOptions {
    /// The URL that comes before `/id/`, such as `https://ezid.cdlib.org`. Plain `http` is allowed to the loopback interface only.
    pub base: String,
    /// The user name of the account.
    pub user: String,
    /// Its password.
    pub password: Password,
    /// The longest time in which a connection may be made.
    pub connect_timeout: Duration,
    /// The longest time in which a request may be answered, with its connection.
    pub timeout: Duration,
}

impl EzidOptions {
    /// The address of the service of the California Digital Library.
    pub const CDL: &'static str = "https://ezid.cdlib.org";

    /// An account at a URL, with 10 s for connections and 60 s for requests.
    pub fn new(base: impl Into<String>, user: impl Into<String>, password: Password) -> Self {
        let (connect_timeout, timeout) = (Duration::from_secs(10), Duration::from_mins(1));
        Self { base: base.into(), user: user.into(), password, connect_timeout, timeout }
    }
}

/// Asks EZID. It blocks, and may be used by several threads.
#[derive(Clone)]
pub struct EzidClient {
    agent: Agent,
    /// Without a slash at its end.
    base: String,
    authorization: HeaderValue,
}

impl fmt::Debug for EzidClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EzidClient").field("base", &self.base).finish_non_exhaustive()
    }
}

/// Most bytes of an answer.
const LONGEST_ANSWER: u64 = 1 << 20;

/// What EZID says of an identifier that it does not have; its status is the one of every bad request.
const NO_SUCH_IDENTIFIER: &str = "no such identifier";

impl EzidClient {
    /// A client; it makes no connection yet.
    ///
    /// # Errors
    /// [`EzidError::Options`].
    pub fn new(options: &EzidOptions) -> Result<Self, EzidError> {
        let refused = |reason| EzidError::Options { base: options.base.clone(), reason };
        let url = Url::parse(&options.base).map_err(|_| refused("it is not an absolute URL"))?;
        if !url.username().is_empty() || url.password().is_some() {
            // The URL may have the password, which no error shows.
            let reason = "the URL has a user name or a password, which have settings of their own";
            return Err(EzidError::Options { base: url.host_str().unwrap_or_default().to_owned(), reason });
        }
        let is_loopback = is_loopback(&url);
        match url.scheme() {
            "https" => {}
            "http" if is_loopback => {}
            "http" => {
                return Err(refused("the password would be sent without encryption; the URL must begin with https"));
            }
            _ => return Err(refused("the URL must begin with https")),
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refused("the URL has a query or a fragment"));
        }
        if options.user.is_empty() || options.user.contains(':') || options.user.contains(char::is_control) {
            return Err(refused("the user name is empty, or has a colon or a control character"));
        }
        let Password(password) = &options.password;
        if password.is_empty() || password.contains(char::is_control) {
            return Err(refused("the password is empty or has a control character"));
        }
        let credentials = STANDARD.encode(format!("{}:{password}", options.user));
        let mut authorization = HeaderValue::from_str(&format!("Basic {credentials}"))
            .map_err(|_| refused("the user name and password cannot be sent"))?;
        authorization.set_sensitive(true);
        let config = Agent::config_builder()
            // The password goes nowhere else.
            .max_redirects(0)
            .http_status_as_error(false)
            // A connection that was idle may be lost without a sign, and requests are rare.
            .max_idle_connections(0)
            .timeout_connect(Some(options.connect_timeout))
            .timeout_global(Some(options.timeout))
            .user_agent(concat!("strongroom/", env!("CARGO_PKG_VERSION")));
        let config = if is_loopback { config.proxy(None) } else { config };
        let base = url.as_str().trim_end_matches('/').to_owned();
        Ok(Self { agent: config.build().into(), base, authorization })
    }

    /// Creates an identifier with these elements; where it exists, sets them. It may be repeated.
    ///
    /// # Errors
    /// Every [`EzidError`] about a request.
    pub fn create_or_update(&self, ark: &Ark, elements: &Elements) -> Result<(), EzidError> {
        let action = Action::Register;
        let body = body_of(action, ark, elements)?;
        let request = self.agent.put(format!("{}?update_if_exists=yes", self.url(ark)));
        let request = request.header("authorization", &self.authorization).header("content-type", CONTENT_TYPE);
        read_answer(action, ark, request.send(body)).map(|_| ())
    }

    /// Sets elements of an identifier that exists. It may be repeated.
    ///
    /// # Errors
    /// Every [`EzidError`] about a request; [`EzidError::Unknown`] where there is no such identifier.
    pub fn update(&self, ark: &Ark, elements: &Elements) -> Result<(), EzidError> {
        let action = Action::Update;
        let body = body_of(action, ark, elements)?;
        let request = self.agent.post(self.url(ark));
        let request = request.header("authorization", &self.authorization).header("content-type", CONTENT_TYPE);
        read_answer(action, ark, request.send(body)).map(|_| ())
    }

    /// What EZID has of an identifier; nothing where it has none of this name.
    ///
    /// # Errors
    /// Every [`EzidError`] about a request but [`EzidError::Unknown`].
    pub fn get(&self, ark: &Ark) -> Result<Option<Registered>, EzidError> {
        let request = self.agent.get(self.url(ark)).header("authorization", &self.authorization);
        match read_answer(Action::Read, ark, request.call()) {
            Ok(registered) => Ok(Some(registered)),
            Err(EzidError::Unknown { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn url(&self, ark: &Ark) -> String {
        // Every other character of a normal form stands for itself in a path.
        format!("{}/id/{}", self.base, ark.normal().replace('%', "%25"))
    }
}

const CONTENT_TYPE: &str = "text/plain; charset=UTF-8";

fn body_of(action: Action, ark: &Ark, elements: &Elements) -> Result<String, EzidError> {
    elements.body().map_err(|name| EzidError::Name { action, ark: ark.clone(), name: name.to_owned() })
}

/// What the server answered, as far as it answered.
fn read_answer(
    action: Action,
    ark: &Ark,
    response: Result<Response<ureq::Body>, ureq::Error>,
) -> Result<Registered, EzidError> {
    let no_answer = |source| EzidError::NoAnswer { action, ark: ark.clone(), source: Box::new(source) };
    let response = response.map_err(no_answer)?;
    let status = response.status().as_u16();
    let bytes = match response.into_body().into_with_config().limit(LONGEST_ANSWER).read_to_vec() {
        Ok(bytes) => bytes,
        // What is known of a failure is its status.
        Err(_) if status >= 400 => Vec::new(),
        Err(ureq::Error::BodyExceedsLimit(_)) => {
            let text = format!("it has more than {LONGEST_ANSWER} bytes");
            return Err(EzidError::Answer { action, ark: ark.clone(), status, text });
        }
        Err(error) => return Err(no_answer(error)),
    };
    let text = String::from_utf8_lossy(&bytes);
    match status {
        200..300 => success(ark, &text).ok_or_else(|| EzidError::Answer {
            action,
            ark: ark.clone(),
            status,
            text: shown(&text),
        }),
        _ => Err(failure(action, ark, status, &text)),
    }
}

/// What an answer `success: ark:/...` says, where it is about this ARK.
fn success(ark: &Ark, text: &str) -> Option<Registered> {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let named = first.strip_prefix("success:")?.split_whitespace().next()?;
    let named: Ark = named.parse().ok()?;
    if named != *ark {
        return None;
    }
    Some(Registered::new(named, anvl::read(rest)?))
}

fn failure(action: Action, ark: &Ark, status: u16, text: &str) -> EzidError {
    let said = text.trim().strip_prefix("error:").map(str::trim);
    let is_unknown = said.is_some_and(|said| said.contains(NO_SUCH_IDENTIFIER));
    let ark = ark.clone();
    let text = shown(said.unwrap_or(text));
    match status {
        400 | 404 if is_unknown => EzidError::Unknown { action, ark },
        401 => EzidError::Credentials { action, ark, text },
        403 => EzidError::Forbidden { action, ark, text },
        408 | 425 | 429 | 500.. => EzidError::Unavailable { action, ark, status, text },
        400..500 => EzidError::BadRequest { action, ark, status, text },
        _ => EzidError::Answer { action, ark, status, text },
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        None => false,
    }
}
