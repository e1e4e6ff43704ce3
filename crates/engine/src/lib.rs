//! the work: worker runtime, ingest, fixity, restoration, rebuild
