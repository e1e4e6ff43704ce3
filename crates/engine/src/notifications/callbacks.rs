//! The channel of callbacks. The client and the judgement of hosts and addresses are those of downloads.

use std::time::Duration;

use strongroom_download::{Client, DownloadError, Policy, Post, Posted, Timeouts};
use strongroom_registry::confirmations;
use strongroom_registry::outbox::{self, Message};
use url::Url;

use super::callback::{Payload, signature};
use super::shown;
use crate::outbox::{Channel, Delay, Delivery};
use crate::{EngineError, Home, chain, crash_point};

/// The channel whose messages are posted to URLs.
pub(crate) struct Callbacks;

/// The client that posts callbacks to the hosts that the settings allow.
pub(crate) fn client(home: &Home) -> Result<Client, EngineError> {
    let settings = &home.settings.callbacks;
    let policy = Policy {
        hosts: settings.hosts.clone(),
        allow_private_networks: settings.allow_private_addresses,
        root_certificates: home.authorities(settings.ca_file.as_deref())?.into_iter().collect(),
        timeouts: Timeouts { connect: settings.timeout, response: settings.timeout, ..Timeouts::default() },
        ..Policy::default()
    };
    Client::new(policy).map_err(|error| EngineError::Settings(format!("callbacks are not possible: {error}")))
}

impl Channel for Callbacks {
    fn name(&self) -> &'static str {
        "callbacks"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[outbox::CALLBACK]
    }

    /// The URL: a receiver gets the events of one URL in their order, unless some need review.
    fn place(&self, message: &Message) -> String {
        payload(message).map(|payload| payload.url).unwrap_or_default()
    }

    fn route(&self, message: &Message) -> String {
        let url = payload(message).and_then(|payload| Url::parse(&payload.url).ok());
        url.map(|url| url.origin().ascii_serialization()).unwrap_or_default()
    }

    fn gives_up_after(&self, home: &Home) -> Option<Duration> {
        Some(home.settings.callbacks.give_up_after)
    }

    fn deliver(&self, home: &Home, message: &Message) -> Result<Delivery, EngineError> {
        let undeliverable = |reason: String, advice: &str| {
            let id = message.id;
            let again = format!("then: strongroom outbox send {id}; or: strongroom outbox remove {id}");
            Ok(Delivery::Undeliverable(format!("{reason}; next: {advice}, {again}")))
        };
        let Some(payload) = payload(message) else {
            let reason = "its text is not that of a callback, perhaps of a later version of the program";
            return undeliverable(reason.to_owned(), "start the program that inserted it");
        };
        let settings = &home.settings.callbacks;
        let scheme = payload.url.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase()).unwrap_or_default();
        if !settings.schemes.contains(&scheme) {
            let reason = format!("{:?} is not among the schemes of callbacks.schemes", shown(&scheme));
            return undeliverable(reason, "correct the URL, or callbacks.schemes, and restart the workers");
        }
        let Some(secret) = home.settings.callback_secret(payload.collection.as_deref()) else {
            let reason = "the settings have no key of signatures".to_owned();
            return undeliverable(reason, "set callbacks.secret and restart the workers");
        };
        let time = home.registry.read(|tx| tx.now())?.timestamp().as_second();
        let signature = format!("v1={}", signature(secret, time, &payload.body));
        let time = time.to_string();
        let post = Post {
            url: &payload.url,
            headers: &[
                ("content-type", "application/json"),
                ("idempotency-key", &payload.idempotency_key),
                ("strongroom-event", &payload.event),
                ("strongroom-timestamp", &time),
                ("strongroom-signature", &signature),
            ],
            body: payload.body.as_bytes(),
            timeout: settings.timeout,
            max_answer: settings.max_answer,
        };
        match home.callbacks()?.post(&post) {
            Ok(Posted { status: 200..=299, .. }) => {
                crash_point("outbox.callback.sent");
                let (id, item) = (message.id, message.item);
                home.registry.write_and_wake(move |tx| {
                    outbox::set_delivered(tx, id)?;
                    confirmations::look_again_for(tx, item)
                })?;
                Ok(Delivery::Made)
            }
            Ok(posted) if is_transient(posted.status) => {
                let delay = Delay::of_message(refusal(&payload, &posted));
                Ok(Delivery::Delayed(Delay { wait: posted.retry_after, ..delay }))
            }
            Ok(posted @ Posted { status: 300..=399, .. }) => {
                let reason = format!("{}, and redirects are not followed", refusal(&payload, &posted));
                undeliverable(reason, "name the URL to which it leads")
            }
            Ok(posted) => undeliverable(refusal(&payload, &posted), "correct the URL or its receiver"),
            Err(DownloadError::Refused { url, reason }) => undeliverable(
                format!("nothing is posted to {url}: {reason}"),
                "correct the URL, or callbacks.hosts and callbacks.allow_private_addresses, and restart the workers",
            ),
            Err(error) => Ok(Delivery::Delayed(Delay::of_route(unreachable(&error)))),
        }
    }
}

fn payload(message: &Message) -> Option<Payload> {
    serde_json::from_str(&message.payload).ok()
}

/// Statuses after which the same request may be answered otherwise (RFC 9110 section 15, RFC 8470, RFC 6585).
fn is_transient(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500..=599)
}

fn refusal(payload: &Payload, posted: &Posted) -> String {
    let place = strongroom_download::shown_url(&payload.url);
    let text = if posted.text.trim().is_empty() { String::new() } else { format!(": {}", shown(&posted.text)) };
    format!("{place} answered with status {}{text}", posted.status)
}

/// Why there was no answer.
fn unreachable(error: &DownloadError) -> String {
    let cause = std::error::Error::source(error).map_or_else(|| error.to_string(), chain);
    match error {
        DownloadError::Tls { url, .. } => format!("the host of {url} cannot be trusted: {cause}"),
        DownloadError::Transport { url, .. } => format!("{url} could not be reached: {cause}"),
        _ => chain(error),
    }
}
