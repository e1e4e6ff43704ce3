//! What can be set of a store in S3: names, defaults, units. It may not know how settings are read.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

/// Least bytes of a part (S3: 5 MiB, but for the last part).
#[cfg(feature = "client")]
const LEAST_PART: u64 = 5 << 20;
/// Longer parts would only cost memory.
#[cfg(feature = "client")]
const LONGEST_PART: u64 = 1 << 30;

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Takes a text to be kept from view.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    #[cfg(feature = "client")]
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// Which checksum goes with the bytes of a put, so that the server refuses what was damaged on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Checksums {
    /// `x-amz-checksum-sha256`, which servers also keep and return.
    #[default]
    Sha256,
    /// `Content-MD5`, for servers that refuse the header above.
    Md5,
    /// None, for servers that refuse both.
    None,
}

/// Settings of a store in S3.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct S3Settings {
    /// The bucket. It must exist.
    pub bucket: String,
    /// Where in the bucket the store lies, a key without `/` at either end; empty: all of the bucket.
    pub prefix: String,
    /// URL of the service; none: AWS.
    pub endpoint: Option<String>,
    /// The region; none: that of environment or profile, else `us-east-1`.
    pub region: Option<String>,
    /// Whether the bucket is named in the path of URLs rather than in the host; none: in the path, but on AWS in the
    /// host.
    pub path_style: Option<bool>,
    /// The storage class of contents, for the caller that puts them to state in
    /// [`strongroom_storage::PutOptions::class`]; what is put without a class, inventories and bookkeeping, is in the
    /// bucket's standard class and stays readable.
    pub storage_class: Option<String>,
    /// The access key; none: environment, profile, or what the machine is given (web identity, container, instance).
    pub access_key: Option<String>,
    /// Its secret.
    pub secret_key: Option<Secret>,
    /// A file whose first line is the secret.
    pub secret_key_file: Option<PathBuf>,
    /// The profile of the usual configuration files to take credentials from, where no access key is given.
    pub profile: Option<String>,
    /// Server-side encryption to ask for, such as `AES256` or `aws:kms`; none: as the bucket does.
    pub encryption: Option<String>,
    /// The KMS key to encrypt with.
    pub kms_key: Option<String>,
    /// See [`Checksums`].
    pub checksums: Checksums,
    /// Bytes of a part of a large put, from 5 MiB to 1 GiB. A body that is not longer is put in one request. Parts become
    /// longer where 10,000 of them would not do.
    pub part_size: u64,
    /// Parts of one put that are under way at once. A put holds one part more than that in memory.
    pub parts_at_once: usize,
    /// Requests of this store under way at once, from all threads; the reading of opened bodies is not counted.
    pub max_requests: usize,
    /// Bytes a second, in both directions together, to which the caller that opens the store limits it; the store itself does
    /// not count them. 0: no limit.
    pub max_bytes_per_second: u64,
    /// How long a connection may take to come about.
    pub connect_timeout: Duration,
    /// How long an answer may take to begin, beside the time that the bytes sent with the request need at 32 KiB/s.
    pub answer_timeout: Duration,
    /// How long a body may go on without a byte arriving before it is asked for anew.
    pub stall_timeout: Duration,
    /// Attempts for each request, the first included. No other retries are needed around this store.
    pub attempts: u32,
    /// Longest wait before the second attempt; doubled for each further one, and shortened at random.
    pub first_wait: Duration,
    /// How long a probe of the server counts.
    pub probe_interval: Duration,
    /// How long the store's id counts that was read in the bucket: so late it is noticed that the place holds another store.
    pub id_interval: Duration,
}

impl Default for S3Settings {
    fn default() -> Self {
        Self {
            bucket: String::new(),
            prefix: String::new(),
            endpoint: None,
            region: None,
            path_style: None,
            storage_class: None,
            access_key: None,
            secret_key: None,
            secret_key_file: None,
            profile: None,
            encryption: None,
            kms_key: None,
            checksums: Checksums::default(),
            part_size: 8 << 20,
            parts_at_once: 3,
            max_requests: 32,
            max_bytes_per_second: 0,
            connect_timeout: Duration::from_secs(10),
            answer_timeout: Duration::from_mins(1),
            stall_timeout: Duration::from_secs(30),
            attempts: 5,
            first_wait: Duration::from_secs(1),
            probe_interval: Duration::from_hours(7 * 24),
            id_interval: Duration::from_mins(1),
        }
    }
}

impl S3Settings {
    /// Whether the service is AWS itself.
    #[cfg(feature = "client")]
    pub(crate) fn is_aws(&self) -> bool {
        let Some(endpoint) = &self.endpoint else { return true };
        let authority = endpoint.split_once("://").map_or(endpoint.as_str(), |(_, rest)| rest);
        let host = authority.split(['/', ':']).next().unwrap_or_default();
        host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn")
    }

    /// Waits after attempt number `attempt` (from 1) of what the client does not repeat itself; false, at once, where the
    /// attempts are spent.
    #[cfg(feature = "client")]
    pub(crate) fn wait_after(&self, attempt: u32) -> bool {
        if attempt >= self.attempts {
            return false;
        }
        std::thread::sleep(self.first_wait.saturating_mul(1 << attempt.saturating_sub(1).min(10)));
        true
    }

    /// Where the service is, for people.
    #[cfg(feature = "client")]
    pub(crate) fn shown_endpoint(&self) -> &str {
        self.endpoint.as_deref().unwrap_or("AWS")
    }

    /// What is wrong with the settings by themselves.
    #[cfg(feature = "client")]
    pub(crate) fn fault(&self) -> Option<String> {
        if self.bucket.is_empty() {
            return Some("bucket must name a bucket".to_owned());
        }
        if !(LEAST_PART..=LONGEST_PART).contains(&self.part_size) {
            return Some("part_size must be from 5 MiB to 1 GiB".to_owned());
        }
        if self.parts_at_once == 0 || self.max_requests == 0 || self.attempts == 0 {
            return Some("parts_at_once, max_requests and attempts must be at least 1".to_owned());
        }
        if self.access_key.is_none() && (self.secret_key.is_some() || self.secret_key_file.is_some()) {
            return Some("a secret key is given and no access_key".to_owned());
        }
        if self.access_key.is_some() && self.secret_key.is_none() && self.secret_key_file.is_none() {
            return Some("access_key is given and neither secret_key nor secret_key_file".to_owned());
        }
        let is_url = |url: &String| url.starts_with("http://") || url.starts_with("https://");
        if self.endpoint.as_ref().is_some_and(|endpoint| !is_url(endpoint)) {
            return Some("endpoint must be a URL that begins with https:// or http://".to_owned());
        }
        None
    }
}

#[cfg(all(test, feature = "client"))]
mod tests {
    use super::*;

    fn with_endpoint(endpoint: &str) -> S3Settings {
        S3Settings { bucket: "b".into(), endpoint: Some(endpoint.into()), ..S3Settings::default() }
    }

    #[test]
    fn aws_is_told_from_its_kin_by_the_host() {
        assert!(S3Settings::default().is_aws());
        assert!(with_endpoint("https://s3.us-west-2.amazonaws.com").is_aws());
        assert!(with_endpoint("https://s3.cn-north-1.amazonaws.com.cn:443/").is_aws());
        for other in
            ["http://127.0.0.1:9000", "https://amazonaws.com.example.edu", "https://example.edu/.amazonaws.com"]
        {
            assert!(!with_endpoint(other).is_aws(), "{other}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let settings = S3Settings { secret_key: Some(Secret::new("hush")), ..S3Settings::default() };
        assert!(!format!("{settings:?}").contains("hush"));
    }

    #[test]
    fn settings_that_cannot_work_are_told() {
        assert_eq!(with_endpoint("http://localhost:1").fault(), None);
        let faulty = [
            S3Settings::default(),
            with_endpoint("localhost:1"),
            S3Settings { part_size: 1, ..with_endpoint("http://a") },
            S3Settings { attempts: 0, ..with_endpoint("http://a") },
            S3Settings { access_key: Some("a".into()), ..with_endpoint("http://a") },
            S3Settings { secret_key: Some(Secret::new("a")), ..with_endpoint("http://a") },
        ];
        for settings in faulty {
            assert!(settings.fault().is_some(), "{settings:?}");
        }
    }
}
