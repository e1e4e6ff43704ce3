//! The client of the SDK and the runtime it runs on. Nothing else in this crate knows how either is made.

use std::fs;
use std::sync::OnceLock;

use aws_config::timeout::TimeoutConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::{
    BehaviorVersion, Credentials, Region, RequestChecksumCalculation, ResponseChecksumValidation, SharedHttpClient,
    StalledStreamProtectionConfig,
};
use aws_smithy_http_client::tls::{self, rustls_provider::CryptoMode};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::settings::S3Settings;

/// Threads that wait for the network, for all stores of the process.
const THREADS: usize = 2;

/// The runtime of every store of this process.
pub(crate) fn runtime() -> Result<Handle, String> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    let made = RUNTIME.get_or_init(|| {
        let mut builder = Builder::new_multi_thread();
        let built = builder.worker_threads(THREADS).thread_name("s3").enable_all().build();
        built.map_err(|error| format!("threads for the network could not be started: {error}"))
    });
    made.as_ref().map(|runtime| runtime.handle().clone()).map_err(Clone::clone)
}

/// Connections are pooled for the whole process, and the certificates of the machine are read once.
fn http_client() -> SharedHttpClient {
    static CLIENT: OnceLock<SharedHttpClient> = OnceLock::new();
    let make = || {
        let builder = aws_smithy_http_client::Builder::new();
        builder.tls_provider(tls::Provider::Rustls(CryptoMode::Ring)).build_https()
    };
    CLIENT.get_or_init(make).clone()
}

/// Makes the client that the settings describe. An error says what is wrong with them.
pub(crate) async fn client(settings: &S3Settings) -> Result<Client, String> {
    let mut builder = aws_sdk_s3::config::Builder::new();
    let mut region = settings.region.clone();
    if let Some(access_key) = &settings.access_key {
        let secret = secret(settings)?;
        builder = builder.credentials_provider(Credentials::new(access_key, secret, None, None, "settings"));
    } else {
        let mut loader = aws_config::defaults(BehaviorVersion::latest()).http_client(http_client());
        if let Some(profile) = &settings.profile {
            loader = loader.profile_name(profile);
        }
        // Else the machine would be asked for its region, which only machines at AWS answer.
        if let Some(region) = &settings.region {
            loader = loader.region(Region::new(region.clone()));
        }
        let usual = loader.load().await;
        region = region.or_else(|| usual.region().map(|region| region.as_ref().to_owned()));
        builder.set_credentials_provider(usual.credentials_provider());
    }
    let checksums = if settings.is_aws() {
        RequestChecksumCalculation::WhenSupported
    } else {
        RequestChecksumCalculation::WhenRequired
    };
    let retries =
        RetryConfig::standard().with_max_attempts(settings.attempts).with_initial_backoff(settings.first_wait);
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(settings.connect_timeout)
        .operation_attempt_timeout(settings.answer_timeout)
        .build();
    if let Some(endpoint) = &settings.endpoint {
        builder = builder.endpoint_url(endpoint);
    }
    let config = builder
        .behavior_version(BehaviorVersion::latest())
        .http_client(http_client())
        .region(Region::new(region.unwrap_or_else(|| "us-east-1".to_owned())))
        .force_path_style(settings.path_style.unwrap_or_else(|| !settings.is_aws()))
        .request_checksum_calculation(checksums)
        // The caller that reads a body hashes it; a second time would be for nothing.
        .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
        // Bodies have a time limit of their own, see `body`.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .retry_config(retries)
        .timeout_config(timeouts)
        .build();
    Ok(Client::from_conf(config))
}

fn secret(settings: &S3Settings) -> Result<String, String> {
    if let Some(secret) = &settings.secret_key {
        return Ok(secret.reveal().to_owned());
    }
    let Some(path) = &settings.secret_key_file else {
        return Err("access_key is given and no secret key".to_owned());
    };
    let text = fs::read_to_string(path);
    let text = text.map_err(|error| format!("the secret key in {} cannot be read: {error}", path.display()))?;
    match text.lines().next().map(str::trim) {
        Some(secret) if !secret.is_empty() => Ok(secret.to_owned()),
        _ => Err(format!("the first line of {} is empty and should be the secret key", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use aws_sdk_s3::presigning::PresigningConfig;

    use super::*;
    use crate::Secret;

    /// Where a request for a key of the bucket would go.
    fn place(endpoint: Option<&str>, path_style: Option<bool>) -> String {
        let settings = S3Settings {
            bucket: "bucket".into(),
            endpoint: endpoint.map(str::to_owned),
            region: Some("us-west-2".into()),
            access_key: Some("key".into()),
            secret_key: Some(Secret::new("secret")),
            path_style,
            ..S3Settings::default()
        };
        let signed = runtime().expect("a runtime").block_on(async {
            let client = client(&settings).await.expect("a client");
            let times = PresigningConfig::expires_in(Duration::from_mins(1)).expect("times");
            client.get_object().bucket("bucket").key("a b/c+d").presigned(times).await.expect("a request")
        });
        let url = signed.uri();
        url.split('?').next().unwrap_or(url).to_owned()
    }

    #[test]
    fn buckets_are_named_in_the_path_or_in_the_host() {
        let theirs = Some("http://store.example.edu:9000");
        assert_eq!(place(theirs, None), "http://store.example.edu:9000/bucket/a%20b/c%2Bd");
        assert_eq!(place(theirs, Some(false)), "http://bucket.store.example.edu:9000/a%20b/c%2Bd");
        assert_eq!(place(None, None), "https://bucket.s3.us-west-2.amazonaws.com/a%20b/c%2Bd");
        assert_eq!(place(None, Some(true)), "https://s3.us-west-2.amazonaws.com/bucket/a%20b/c%2Bd");
    }
}
