//! Installations: what was made of one, and what its operator has to know when it is opened.

use serde::Serialize;

/// An installation that was made.
#[derive(Debug, Clone, Serialize)]
pub struct InstallationView {
    /// Its data directory.
    pub home: String,
    /// Its settings file.
    pub settings: String,
    /// The domain name of its first institution.
    pub institution: String,
    /// The short name of that institution's collection.
    pub collection: String,
}

/// A store in use that cannot be used now.
#[derive(Debug, Clone, Serialize)]
pub struct UnusableStoreView {
    /// Its name.
    pub store: String,
    /// `away`, or `refused` where it is not the store that it should be.
    pub state: &'static str,
    /// Why, and what to do.
    pub reason: String,
}
