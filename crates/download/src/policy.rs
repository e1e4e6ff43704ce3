//! What a client may ask for, and within which bounds. The default allows no host, and so nothing.

use std::time::Duration;

/// The bounds of every download of a client.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Hosts that may be asked: `example.org`, `*.example.org` for all below it, `example.org:8443` for a port that is not
    /// the scheme's own.
    pub hosts: Vec<String>,
    /// Whether hosts in private networks, and this machine itself, may be asked.
    pub allow_private_networks: bool,
    /// Those of the hosts that may be in private networks where not all may, written as in [`Policy::hosts`].
    pub private_hosts: Vec<String>,
    /// Certificates of authorities that are trusted besides those of the system, each text as PEM.
    pub root_certificates: Vec<String>,
    /// Most bytes of one download.
    pub max_bytes: u64,
    /// Most connections to one host at a time, over all clones of a client.
    pub connections_per_host: usize,
    /// When waiting for a server ends.
    pub timeouts: Timeouts,
    /// How often and when a failed request is sent again.
    pub retries: Retries,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            allow_private_networks: false,
            private_hosts: Vec::new(),
            root_certificates: Vec::new(),
            max_bytes: 5 << 40,
            connections_per_host: 4,
            timeouts: Timeouts::default(),
            retries: Retries::default(),
        }
    }
}

/// When waiting for a server ends.
#[derive(Debug, Clone)]
pub struct Timeouts {
    /// Longest time to connect, TLS included.
    pub connect: Duration,
    /// Longest time from the request to the end of the response's headers.
    pub response: Duration,
    /// How long the rate of a body is measured. Only the time in which the client waits for bytes counts.
    pub stall_window: Duration,
    /// Least bytes in that time. With fewer the download has stalled.
    pub stall_bytes: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            response: Duration::from_mins(2),
            stall_window: Duration::from_mins(1),
            stall_bytes: 60 << 10,
        }
    }
}

/// How long a server is waited for, and how often it is asked, where that is not as the policy says
/// ([`Client::with_patience`](crate::Client::with_patience)).
#[derive(Debug, Clone)]
pub struct Patience {
    /// As [`Timeouts::connect`].
    pub connect: Duration,
    /// As [`Timeouts::response`].
    pub response: Duration,
    /// As [`Policy::retries`].
    pub retries: Retries,
}

/// How often and when a failed request is sent again.
#[derive(Debug, Clone)]
pub struct Retries {
    /// Most attempts without progress in between; 1 means that nothing is sent again. Progress is at least
    /// [`Retries::progress_bytes`] of new bytes.
    pub attempts: u32,
    /// New bytes after which failures are counted from zero again.
    pub progress_bytes: u64,
    /// The wait before the second attempt. It doubles with each further one, and is shortened at random by up to a half.
    pub first_delay: Duration,
    /// The longest such wait.
    pub max_delay: Duration,
    /// The longest wait that a server can ask for by `Retry-After`.
    pub max_retry_after: Duration,
    /// How long after the first request another one begins at most. Where that would be later, also because the server asks for it, the
    /// failure is returned at once.
    pub within: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            attempts: 5,
            progress_bytes: 1 << 20,
            first_delay: Duration::from_secs(1),
            max_delay: Duration::from_mins(1),
            max_retry_after: Duration::from_mins(5),
            within: Duration::MAX,
        }
    }
}
