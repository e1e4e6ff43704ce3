//! The web servers of a run, and what goes wrong with a URL of theirs: each fault is planned for one URL, so that it is known
//! what has to become of the deposit.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use strongroom_web_double::{Behaviour, Certificate, WebDouble};

use crate::bags::sha512;

/// What goes wrong with a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WebFault {
    /// 500 twice, then the file.
    FailsTwice,
    /// The first connection is closed in the middle of the file.
    Cut,
    /// The same, and then the file is another one.
    Changed,
    /// No byte of the file is sent until [`Web::release`].
    Slow,
    /// 404.
    NotFound,
    /// The server says another length than the file has.
    WrongLength,
    /// The file does not end.
    Endless,
    /// A redirect to a private address that the settings do not allow.
    Redirected,
    /// 500 once, and then such a redirect.
    RedirectedLater,
    /// A certificate that no known authority has signed.
    BadCertificate,
}

/// What passes by itself.
pub(crate) const TRANSIENT: [WebFault; 4] = [WebFault::FailsTwice, WebFault::Cut, WebFault::Changed, WebFault::Slow];
/// What stays.
pub(crate) const PERMANENT: [WebFault; 6] = [
    WebFault::NotFound,
    WebFault::WrongLength,
    WebFault::Endless,
    WebFault::Redirected,
    WebFault::RedirectedLater,
    WebFault::BadCertificate,
];

impl WebFault {
    /// Whether the file can never be had.
    pub(crate) fn is_permanent(self) -> bool {
        PERMANENT.contains(&self)
    }

    /// Whether what comes is other bytes than those of the file.
    pub(crate) fn sends_other_bytes(self) -> bool {
        matches!(self, Self::WrongLength | Self::Endless)
    }
}

/// More bytes than any file has.
const EVERY_BYTE: u64 = 1 << 40;

/// The servers.
pub(crate) struct Web {
    allowed: WebDouble,
    /// One with a certificate that cannot be trusted.
    untrusted: WebDouble,
    /// One that the settings do not name.
    forbidden: WebDouble,
    slow: Mutex<Vec<String>>,
}

impl Web {
    pub(crate) fn start() -> Self {
        Self {
            allowed: WebDouble::start(),
            untrusted: WebDouble::start_tls(Certificate::SelfSigned),
            forbidden: WebDouble::start(),
            slow: Mutex::default(),
        }
    }

    /// The hosts that the program may ask, as the setting has them.
    pub(crate) fn hosts(&self) -> String {
        format!("{}, {}", self.allowed.authority(), self.untrusted.authority())
    }

    /// Puts a file at a path of its own: its URL, and the SHA-512 of everything that may rightly come from there.
    pub(crate) fn lay(&self, path: &str, bytes: &[u8], fault: Option<WebFault>) -> (String, Vec<String>) {
        let server = if fault == Some(WebFault::BadCertificate) { &self.untrusted } else { &self.allowed };
        server.put(path, bytes);
        let size = bytes.len() as u64;
        let mut digests = vec![sha512(bytes)];
        let cut = Behaviour::CutAfter { bytes: size / 2, times: 1 };
        match fault {
            None | Some(WebFault::BadCertificate) => {}
            Some(WebFault::FailsTwice) => server.on(path, Behaviour::FailTimes { times: 2, status: 500 }),
            Some(WebFault::Cut) => server.on(path, cut),
            Some(WebFault::Changed) => {
                let changed: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
                digests.push(sha512(&changed));
                server.on(path, cut);
                server.on(path, Behaviour::ChangedBetweenRanges(changed));
            }
            Some(WebFault::Slow) => {
                server.on(path, Behaviour::Slow);
                self.slow.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
            }
            Some(WebFault::NotFound) => server.on(path, Behaviour::NotFound),
            Some(WebFault::WrongLength) => server.on(path, Behaviour::WrongLength(size.saturating_sub(10))),
            Some(WebFault::Endless) => server.on(path, Behaviour::Endless),
            Some(fault @ (WebFault::Redirected | WebFault::RedirectedLater)) => {
                self.forbidden.put(path, bytes);
                if fault == WebFault::RedirectedLater {
                    server.on(path, Behaviour::FailTimes { times: 1, status: 500 });
                }
                server.on(path, Behaviour::RedirectTo(self.forbidden.url(path)));
            }
        }
        (server.url(path), digests)
    }

    /// Lets the slow files come that were laid until now.
    pub(crate) fn release(&self) {
        for path in self.slow.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            self.allowed.release(&path, EVERY_BYTE);
        }
    }

    /// Paths of the server that was not to be asked, with how often it was.
    pub(crate) fn asked_against_the_rules(&self) -> BTreeMap<String, usize> {
        let mut asked = BTreeMap::new();
        for request in self.forbidden.requests() {
            *asked.entry(request.path).or_default() += 1;
        }
        asked
    }
}
