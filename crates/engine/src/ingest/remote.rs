//! Which deposits read from servers, at which stages. How long that takes, the servers decide; so they have topics of their own.

use serde::Deserialize;
use strongroom_registry::Subject;

use super::kind::DepositKind;

/// Whether the package itself is at a server.
pub(super) fn has_remote_package(subject: Subject<'_>) -> bool {
    subject.source.is_some_and(|source| source.starts_with("http://") || source.starts_with("https://"))
}

/// Whether the package is at a server, or names files there.
pub(super) fn has_remote_files(subject: Subject<'_>) -> bool {
    /// What says so of the options of a deposit.
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Options {
        kind: Option<DepositKind>,
        is_fetched: bool,
    }
    let options = || serde_json::from_str::<Options>(subject.options).unwrap_or_default();
    has_remote_package(subject) || {
        let Options { kind, is_fetched } = options();
        is_fetched || kind == Some(DepositKind::Manifest)
    }
}
