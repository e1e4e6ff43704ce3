//! A callback: what its message in the outbox has, and how it is signed.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::Sha256;
use strongroom_registry::outbox::{self, Message};
use uuid::Uuid;

use super::{Prepared, Receivers};
use crate::settings::Secret;

/// An event that is posted to a URL.
#[derive(Debug, Clone, PartialEq)]
pub struct Callback {
    /// Where to.
    pub url: String,
    /// Whose secret signs it: `INSTITUTION/COLLECTION`; the common secret where there is none, or the collection has none.
    pub collection: Option<String>,
    /// What happened, such as `batch.completed`.
    pub event: String,
    /// What is posted. An object gets the field `event`.
    pub body: Value,
}

/// What the message of a callback has.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Payload {
    pub(super) url: String,
    pub(super) collection: Option<String>,
    pub(super) event: String,
    /// The same in each attempt.
    pub(super) idempotency_key: String,
    /// The bytes that are posted and signed.
    pub(super) body: String,
}

impl Callback {
    /// The callback as a message of the outbox, under a key that names what it reports.
    pub fn prepare(self, key: impl Into<String>) -> Prepared {
        self.prepare_as(key, Uuid::new_v4().to_string())
    }

    /// The same under an idempotency key that an earlier message about the same had.
    pub(crate) fn prepare_as(mut self, key: impl Into<String>, idempotency_key: String) -> Prepared {
        if let Value::Object(body) = &mut self.body {
            body.insert("event".to_owned(), Value::String(self.event.clone()));
        }
        let payload = Payload {
            url: self.url,
            collection: self.collection,
            event: self.event,
            idempotency_key,
            body: self.body.to_string(),
        };
        // Texts only: it cannot fail.
        let payload = serde_json::to_string(&payload).unwrap_or_default();
        Prepared { key: key.into(), kind: outbox::CALLBACK, payload }
    }
}

/// The URL and the idempotency key of the message of a callback.
pub(crate) fn sent(message: &Message) -> Option<(String, String)> {
    let payload: Payload = serde_json::from_str(&message.payload).ok()?;
    Some((payload.url, payload.idempotency_key))
}

/// Where the message of a callback goes.
pub(super) fn receivers(message: &Message) -> Receivers {
    let payload: Option<Payload> = serde_json::from_str(&message.payload).ok();
    payload.map_or_else(Receivers::default, |payload| Receivers {
        to: vec![strongroom_download::shown_url(&payload.url)],
        subject: Some(payload.event),
        refused: Vec::new(),
    })
}

/// The signature of a body that is posted at a time in seconds: HMAC-SHA256 (RFC 2104) of `TIME.BODY`, as lower-case hex.
pub(super) fn signature(secret: &Secret, time: i64, body: &str) -> String {
    // A key may have any length: it cannot fail.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()) else { return String::new() };
    mac.update(format!("{time}.{body}").as_bytes());
    let mut hex = String::new();
    for byte in mac.finalize().into_bytes() {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_that_of_other_programs() {
        let secret: Secret = serde_json::from_str("\"0123456789abcdef0123456789abcdef\"").expect("a secret");
        // printf '1700000000.{"event":"test"}' | openssl dgst -sha256 -hmac 0123456789abcdef0123456789abcdef
        assert_eq!(
            signature(&secret, 1_700_000_000, "{\"event\":\"test\"}"),
            "036f0ddc8ddd72da03802b4a2b49547d6516ad1a6a5347527a093387536cb405"
        );
    }
}
