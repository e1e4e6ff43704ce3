//! Completes a bag by downloading what its `fetch.txt` names (RFC 8493 section 2.2.3), within bounds that the caller sets.
//!
//! A fetch list comes from a stranger and would make this machine ask for whatever it names. So nothing is fetched unless
//! its host has been allowed by name, redirects are judged like the list itself, names that resolve to private networks
//! are refused at the moment of connecting, and nothing is written but new files below `data/`.

use std::fs::{self, DirBuilder};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ureq::config::Config;
use ureq::http::{Response, Uri};
use ureq::typestate::WithoutBody;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Body, RequestBuilder};
use url::Url;

use crate::declaration::{self, Declaration, Version};
use crate::error::BagError;
use crate::manifest::{self, FETCH, FetchLine, PAYLOAD};
use crate::path;
use crate::source::{Folder, open_member};
use crate::text::Lines;

/// Redirects followed, each of them judged.
const MOST_REDIRECTS: usize = 5;

/// What may be fetched. The default allows no host, and so nothing.
#[derive(Debug, Clone)]
pub struct FetchOptions {
    /// Hosts that may be asked: `example.org`, `*.example.org` for all below it, `example.org:8443` for a port that is not
    /// the scheme's own.
    pub hosts: Vec<String>,
    /// Whether hosts in private networks, and this machine itself, may be asked.
    pub allow_private_networks: bool,
    /// Most bytes of one file, where the list states no length.
    pub most_bytes: u64,
    /// Longest time for one file.
    pub timeout: Duration,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self { hosts: Vec::new(), allow_private_networks: false, most_bytes: 5 << 40, timeout: Duration::from_hours(6) }
    }
}

/// Why a file was not fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The caller has not allowed it, or it is not safe.
    #[error("{url} is not fetched: {reason}")]
    Refused {
        /// What was to be fetched, or the path it was for.
        url: String,
        /// Why not.
        reason: String,
    },
    /// The server answered, but not with the file.
    #[error("{url} was answered with status {status}")]
    Status {
        /// What was asked for.
        url: String,
        /// The HTTP status.
        status: u16,
    },
    /// The server could not be reached, or went away.
    #[error("could not fetch {url}")]
    Transport {
        /// What was asked for.
        url: String,
        /// Why it failed.
        source: Box<ureq::Error>,
    },
    /// The file has another length than stated, or more than is allowed.
    #[error("{url} has {found} bytes or more, and {expected} were expected")]
    Length {
        /// What was fetched.
        url: String,
        /// Bytes stated or allowed.
        expected: u64,
        /// Bytes read until it was given up.
        found: u64,
    },
    /// The bytes could not be read or written.
    #[error("could not bring {url} to {}", path.display())]
    Io {
        /// What was fetched.
        url: String,
        /// Where it was to go.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

impl FetchError {
    /// Whether asking again later may help: the trouble is with the way or the server, not with what was asked.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Refused { .. } => false,
            Self::Status { status, .. } => *status >= 500 || matches!(status, 408 | 425 | 429),
            // That is how an address that is not public is refused.
            Self::Transport { source, .. } => {
                !matches!(&**source, ureq::Error::Io(error) if error.kind() == io::ErrorKind::PermissionDenied)
            }
            Self::Length { .. } | Self::Io { .. } => true,
        }
    }
}

/// What became of one line of `fetch.txt`.
#[derive(Debug)]
#[non_exhaustive]
pub enum FetchOutcome {
    /// The file is there now, with so many bytes.
    Fetched(u64),
    /// It was there before.
    Present,
    /// It could not be fetched.
    Failed(FetchError),
}

/// Fetches every file of `fetch.txt` that is not there yet into the bag, a directory, and shows each line with its outcome.
/// What was fetched proves nothing by itself: validate the bag afterwards. Says whether all files are there.
pub fn complete(
    bag: &Path,
    options: &FetchOptions,
    show: &mut dyn FnMut(&FetchLine, &FetchOutcome),
) -> Result<bool, BagError> {
    let fail = |act, name: &str, error| BagError::io(act, &bag.join(name), error);
    let folder = Folder::open(bag).map_err(|error| BagError::io("open", bag, error))?;
    let declaration = open_member(&folder, declaration::FILE)
        .and_then(|file| Declaration::parse(file, &mut |_| {}))
        .map_err(|error| fail("read", declaration::FILE, error))?;
    let version = declaration.version.unwrap_or(Version::V0_97);
    let charset = declaration.charset().ok_or_else(|| {
        fail(
            "read",
            declaration::FILE,
            io::Error::new(io::ErrorKind::Unsupported, "the character encoding is not known"),
        )
    })?;
    let list = match open_member(&folder, FETCH) {
        Ok(list) => list,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(fail("open", FETCH, error)),
    };
    let fetcher = Fetcher::new(options);
    let mut is_complete = true;
    let mut lines = Lines::new(Box::new(list), charset).map_err(|error| fail("read", FETCH, error))?;
    while let Some(line) = lines.next().map_err(|error| fail("read", FETCH, error))? {
        if line.text.trim().is_empty() {
            continue;
        }
        let Some(entry) = manifest::parse_fetch_line(&line.text, &mut |_, _| {}).filter(|_| line.fault.is_none())
        else {
            is_complete = false;
            continue;
        };
        let outcome = fetcher.bring(bag, &entry, version).unwrap_or_else(FetchOutcome::Failed);
        is_complete &= !matches!(outcome, FetchOutcome::Failed(_));
        show(&entry, &outcome);
    }
    Ok(is_complete)
}

/// An opened download.
pub struct Download {
    /// The bytes.
    pub body: Box<dyn Read + Send>,
    /// How many the server says there are.
    pub length: Option<u64>,
    /// The server's `ETag`, or else `Last-Modified`: changes when the bytes may have changed.
    pub etag: Option<String>,
}

/// Makes a request of a URL.
type Request<'r> = dyn Fn(&str) -> RequestBuilder<WithoutBody> + 'r;

fn described(response: &Response<Body>) -> (Option<u64>, Option<String>) {
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let length = header("content-length").and_then(|length| length.parse().ok());
    (length, header("etag").or_else(|| header("last-modified")))
}

/// Downloads from allowed hosts.
#[derive(Debug)]
pub struct Fetcher {
    agent: ureq::Agent,
    options: FetchOptions,
}

impl Fetcher {
    /// Takes the bounds that hold for every download.
    pub fn new(options: &FetchOptions) -> Self {
        let config = Config::builder()
            .max_redirects(0)
            .http_status_as_error(false)
            // A proxy would resolve names out of our sight.
            .proxy(None)
            .timeout_connect(Some(Duration::from_secs(30)))
            .timeout_recv_response(Some(Duration::from_mins(2)))
            .timeout_recv_body(Some(options.timeout))
            .user_agent(concat!("strongroom/", env!("CARGO_PKG_VERSION")))
            .build();
        let resolver =
            PublicResolver { inner: DefaultResolver::default(), allow_private: options.allow_private_networks };
        Self { agent: ureq::Agent::with_parts(config, DefaultConnector::default(), resolver), options: options.clone() }
    }

    /// Opens an allowed URL; redirects are followed where they are allowed too.
    pub fn open(&self, url: &str) -> Result<Download, FetchError> {
        let response = self.ask(url, &|url| self.agent.get(url))?;
        let (length, etag) = described(&response);
        Ok(Download { body: Box::new(response.into_body().into_reader()), length, etag })
    }

    /// Looks at an allowed URL without reading it: its length and a text that changes when its bytes may have changed, as
    /// far as the server says.
    pub fn look(&self, url: &str) -> Result<(Option<u64>, Option<String>), FetchError> {
        Ok(described(&self.ask(url, &|url| self.agent.head(url))?))
    }

    fn ask(&self, url: &str, request: &Request<'_>) -> Result<Response<Body>, FetchError> {
        let mut url = self.allowed(url, None)?;
        for _ in 0..=MOST_REDIRECTS {
            let response = request(url.as_str())
                .header("accept-encoding", "identity")
                .call()
                .map_err(|source| FetchError::Transport { url: url.to_string(), source: Box::new(source) })?;
            let status = response.status().as_u16();
            match status {
                200 => return Ok(response),
                301 | 302 | 303 | 307 | 308 => {
                    let location = response.headers().get("location").and_then(|value| value.to_str().ok());
                    let Some(location) = location else { return Err(FetchError::Status { url: url.into(), status }) };
                    url = self.allowed(location, Some(&url))?;
                }
                _ => return Err(FetchError::Status { url: url.into(), status }),
            }
        }
        Err(FetchError::Refused { url: url.into(), reason: format!("there are more than {MOST_REDIRECTS} redirects") })
    }

    fn allowed(&self, text: &str, base: Option<&Url>) -> Result<Url, FetchError> {
        let refused = |reason: &str| FetchError::Refused { url: text.to_owned(), reason: reason.to_owned() };
        let url = match base {
            Some(base) => base.join(text),
            None => Url::parse(text),
        }
        .map_err(|_| refused("it is not an absolute URL"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused("only http and https are spoken"));
        }
        if base.is_some_and(|base| base.scheme() == "https") && url.scheme() == "http" {
            return Err(refused("it leads from https to http"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("it carries a user name or password"));
        }
        let host =
            url.host_str().ok_or_else(|| refused("it names no host"))?.trim_end_matches('.').to_ascii_lowercase();
        let is_allowed =
            self.options.hosts.iter().any(|allowed| is_host_allowed(&allowed.to_ascii_lowercase(), &host, url.port()));
        if is_allowed { Ok(url) } else { Err(refused("its host has not been allowed")) }
    }

    fn bring(&self, bag: &Path, line: &FetchLine, version: Version) -> Result<FetchOutcome, FetchError> {
        let refused = |reason: &str| FetchError::Refused { url: line.path.clone(), reason: reason.to_owned() };
        if let Some(reason) = manifest::unsafe_listing(&line.path) {
            return Err(refused(&format!("the path is not safe: {reason}")));
        }
        if !line.path.starts_with(PAYLOAD) {
            return Err(refused("only payload files are fetched"));
        }
        let readings = path::readings(&line.path, version.is_strict());
        let relative = readings.first().ok_or_else(|| refused("it has no path"))?;
        let target = bag.join(relative.as_ref());
        let fail = |source| FetchError::Io { url: line.url.clone(), path: target.clone(), source };
        if fs::symlink_metadata(&target).is_ok() {
            return Ok(FetchOutcome::Present);
        }
        let parent = make_parents(bag, relative).map_err(fail)?;
        let reader = self.open(&line.url)?.body;
        let mut file = tempfile::Builder::new().prefix(".fetching-").tempfile_in(&parent).map_err(fail)?;
        let most = line.length.unwrap_or(self.options.most_bytes).min(self.options.most_bytes);
        let found = io::copy(&mut reader.take(most.saturating_add(1)), &mut file).map_err(fail)?;
        if found > most || line.length.is_some_and(|length| length != found) {
            return Err(FetchError::Length { url: line.url.clone(), expected: line.length.unwrap_or(most), found });
        }
        file.flush().and_then(|()| file.as_file().sync_all()).map_err(fail)?;
        file.persist_noclobber(&target).map_err(|error| fail(error.error))?;
        Ok(FetchOutcome::Fetched(found))
    }
}

/// Makes the directories above a path of the bag; refuses to go through a link.
fn make_parents(bag: &Path, relative: &str) -> io::Result<PathBuf> {
    let mut directory = bag.to_owned();
    let Some((parents, _)) = relative.rsplit_once('/') else { return Ok(directory) };
    for part in parents.split('/') {
        directory.push(part);
        match fs::symlink_metadata(&directory) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => {
                return Err(io::Error::new(
                    io::ErrorKind::NotADirectory,
                    "something else stands where a directory has to be",
                ));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => DirBuilder::new().create(&directory)?,
            Err(error) => return Err(error),
        }
    }
    Ok(directory)
}

/// Whether an entry of the list of hosts means a host and port; no port is the scheme's own.
fn is_host_allowed(allowed: &str, host: &str, port: Option<u16>) -> bool {
    let (allowed, allowed_port) = match allowed.rsplit_once(':') {
        Some((name, digits)) if !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()) => {
            (name, digits.parse().ok())
        }
        _ => (allowed, None),
    };
    let is_same = match allowed.strip_prefix("*.") {
        Some(domain) => host.strip_suffix(domain).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
        None => allowed == host,
    };
    is_same && port == allowed_port
}

/// Resolves names, and lets only public addresses through. The address that is judged is the one that is connected to.
#[derive(Debug)]
struct PublicResolver {
    inner: DefaultResolver,
    allow_private: bool,
}

impl Resolver for PublicResolver {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.inner.resolve(uri, config, timeout)?;
        if self.allow_private {
            return Ok(found);
        }
        let mut public = self.empty();
        for address in found.iter().filter(|address| is_public(address.ip())) {
            public.push(*address);
        }
        if public.is_empty() {
            let message = "the host has no address in a public network";
            return Err(ureq::Error::Io(io::Error::new(io::ErrorKind::PermissionDenied, message)));
        }
        Ok(public)
    }
}

/// Whether an address belongs to the public Internet (IANA special-purpose address registries, RFC 6890).
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(address) => is_public_v4(address),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    !(first == 0
        || first >= 224
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || (first == 100 && (64..128).contains(&second))
        || (first == 192 && second == 0 && third == 0)
        || (first == 192 && second == 88 && third == 99)
        || (first == 198 && (18..20).contains(&second)))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // Global unicast only; within it not the protocol assignments with Teredo, documentation, and 6to4.
    (0x2000..0x4000).contains(&first)
        && !(first == 0x2001 && (second < 0x200 || second == 0xdb8))
        && first != 0x2002
        && first != 0x3fff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_private_and_special_networks_are_not_public() {
        for address in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "192.0.2.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2001::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in ["140.147.249.9", "1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1"] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn hosts_are_allowed_by_name_domain_and_port() {
        assert!(is_host_allowed("example.org", "example.org", None));
        assert!(is_host_allowed("*.example.org", "a.b.example.org", None));
        assert!(is_host_allowed("example.org:8443", "example.org", Some(8443)));
        for (allowed, host, port) in [
            ("example.org", "evil-example.org", None),
            ("example.org", "example.org.evil.net", None),
            ("*.example.org", "example.org", None),
            ("*.example.org", "evilexample.org", None),
            ("example.org", "example.org", Some(22)),
            ("example.org:8443", "example.org", None),
        ] {
            assert!(!is_host_allowed(allowed, host, port), "{allowed} {host}");
        }
    }

    #[test]
    fn nothing_is_allowed_by_default_and_only_the_web_ever() {
        let nothing = Fetcher::new(&FetchOptions::default());
        assert!(matches!(nothing.open("https://example.org/x"), Err(FetchError::Refused { .. })));
        let some = Fetcher::new(&FetchOptions { hosts: vec!["example.org".to_owned()], ..FetchOptions::default() });
        for url in [
            "file:///etc/passwd",
            "ftp://example.org/x",
            "https://u:p@example.org/",
            "https://other.org/",
            "//example.org/x",
        ] {
            assert!(matches!(some.allowed(url, None), Err(FetchError::Refused { .. })), "{url}");
        }
        assert!(some.allowed("https://EXAMPLE.org./x", None).is_ok());
        let base = Url::parse("https://example.org/a").unwrap();
        assert!(some.allowed("http://example.org/b", Some(&base)).is_err());
        assert!(some.allowed("/b", Some(&base)).is_ok());
    }
}
