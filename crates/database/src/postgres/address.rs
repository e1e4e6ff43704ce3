//! What a `postgres://` URL says: where the server is, as whom to sign in, and how far its certificate is trusted. The
//! parameters are libpq's (PostgreSQL documentation, section 34.1.2); those about TLS are read here, all others by the client.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::DatabaseError;

/// How long a connection may take to be made where the URL says nothing.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// When a silent connection is asked whether it still lives, and how often before it is given up.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 3;
/// How long sent bytes may stay unacknowledged before the connection counts as lost.
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

/// How a connection is protected: the values of `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protection {
    /// No TLS.
    Disable,
    /// TLS where the server offers it; no certificate is checked.
    Prefer,
    /// TLS or nothing; the certificate is checked only where a root certificate is named.
    Require,
    /// TLS with a certificate of a known authority, whatever its name.
    VerifyCa,
    /// TLS with a certificate of a known authority for the host's name.
    VerifyFull,
}

/// A server and a database on it.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) protection: Protection,
    /// PEM file of the authorities to trust instead of the system's.
    pub(super) root_certificate: Option<PathBuf>,
    /// The address without its password, for people.
    pub(super) shown: String,
}

impl Address {
    /// Reads a URL. `password` stands for one kept elsewhere than in the URL.
    pub(super) fn parse(url: &str, password: Option<&str>) -> Result<Self, DatabaseError> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let wrong = |reason: String| DatabaseError::Schema { path: shown_base(base), reason };
        let (mut protection, mut root_certificate, mut others) = (None, None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = || percent_decode_str(value).decode_utf8_lossy().into_owned();
            match name {
                "sslmode" => protection = Some(mode(&value()).map_err(wrong)?),
                "sslrootcert" => root_certificate = Some(value()).filter(|path| path != "system").map(PathBuf::from),
                _ => others.push(pair),
            }
        }
        let plain = if others.is_empty() { base.to_owned() } else { format!("{base}?{}", others.join("&")) };
        // The client's error names the part it does not understand, not the password.
        let mut config = Config::from_str(&plain).map_err(|error| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
            wrong(format!("this is no address of a PostgreSQL database{cause}"))
        })?;
        if let Some(password) = password {
            config.password(password);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("strongroom");
        }
        config.keepalives_idle(KEEPALIVE_IDLE).keepalives_interval(KEEPALIVE_INTERVAL);
        config.keepalives_retries(KEEPALIVE_RETRIES).tcp_user_timeout(UNACKNOWLEDGED);
        let protection = match (protection.unwrap_or(Protection::Prefer), &root_certificate) {
            // As libpq does: a named root certificate is not there for nothing.
            (Protection::Require, Some(_)) => Protection::VerifyCa,
            (protection, _) => protection,
        };
        config.ssl_mode(match protection {
            Protection::Disable => SslMode::Disable,
            Protection::Prefer => SslMode::Prefer,
            _ => SslMode::Require,
        });
        let shown = shown(&config);
        Ok(Self { config, protection, root_certificate, shown })
    }
}

fn mode(text: &str) -> Result<Protection, String> {
    Ok(match text {
        "disable" => Protection::Disable,
        "prefer" => Protection::Prefer,
        "require" => Protection::Require,
        "verify-ca" => Protection::VerifyCa,
        "verify-full" => Protection::VerifyFull,
        other => {
            return Err(format!(
                "sslmode={other} is not known; use disable, prefer, require, verify-ca or verify-full"
            ));
        }
    })
}

fn shown(config: &Config) -> String {
    let user = config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(index, host)| {
            let port = config.get_ports().get(index).or(config.get_ports().first()).copied().unwrap_or(5432);
            match host {
                Host::Tcp(name) => format!("{name}:{port}"),
                Host::Unix(path) => format!("{}:{port}", path.display()),
            }
        })
        .collect();
    let database = config.get_dbname().map(|name| format!("/{name}")).unwrap_or_default();
    format!("postgres://{user}{}{database}", hosts.join(","))
}

/// A URL that could not be read, as far as it surely holds no password.
fn shown_base(base: &str) -> String {
    match base.rsplit_once('@') {
        Some((_, behind)) => format!("postgres://...@{behind}"),
        None => base.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let address =
            Address::parse("postgres://keeper:se%40cret@db.example.org:5433/strongroom", None).expect("reads");
        assert_eq!(address.shown, "postgres://keeper@db.example.org:5433/strongroom");
        for wrong in ["postgres://keeper:secret@host/db?sslmode=maybe", "postgres://keeper:secret@host/db?colour=red"] {
            let error = Address::parse(wrong, None).err().expect("is refused").to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_named_root_certificate_is_used_to_check() {
        let protection =
            |query: &str| Address::parse(&format!("postgres://h/d{query}"), None).expect("reads").protection;
        assert_eq!(protection(""), Protection::Prefer);
        assert_eq!(protection("?sslmode=require"), Protection::Require);
        assert_eq!(protection("?sslmode=require&sslrootcert=%2Fetc%2Froot.pem"), Protection::VerifyCa);
        assert_eq!(protection("?sslrootcert=system&sslmode=verify-full"), Protection::VerifyFull);
        assert_eq!(protection("?sslmode=disable&connect_timeout=3"), Protection::Disable);
    }
}
