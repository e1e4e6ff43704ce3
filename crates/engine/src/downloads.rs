//! What packages and their files are downloaded with, within the bounds of the settings.

use std::sync::OnceLock;

use strongroom_download::{Client, Policy};

use crate::EngineError;
use crate::settings::Ingest;

/// A client of web servers, made when one is first needed.
#[derive(Debug)]
pub struct Downloads {
    policy: Policy,
    client: OnceLock<Client>,
}

impl Downloads {
    /// From the hosts that the settings allow.
    pub(crate) fn of(settings: &Ingest) -> Self {
        Self::within(Policy {
            hosts: settings.url_hosts.clone(),
            allow_private_networks: settings.allow_private_addresses,
            private_hosts: settings.private_url_hosts.clone(),
            ..Policy::default()
        })
    }

    /// Within these bounds.
    pub fn within(policy: Policy) -> Self {
        Self { policy, client: OnceLock::new() }
    }

    /// What downloads.
    ///
    /// # Errors
    /// A root certificate of the policy cannot be used.
    pub(crate) fn client(&self) -> Result<&Client, EngineError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = Client::new(self.policy.clone())
            .map_err(|error| EngineError::Settings(format!("downloads are not possible: {error}")))?;
        Ok(self.client.get_or_init(|| client))
    }
}
