//! Packages that are no bags, and bags beside them: files, folders, containers and manifests, from paths and from a web server.

mod batches;
mod cases;
mod changing;
mod fetching;
mod hostile;
mod identifiers;
mod kinds;
mod ledger;
mod manifests;
mod misbehaving;
mod modes;
mod refused;
mod remote;
mod reports;
mod restoring;
#[cfg(feature = "failpoints")]
mod resuming;
mod rules;
mod samples;
mod sizes;
mod space;
mod world;
