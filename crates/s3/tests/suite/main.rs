//! What the store in S3 promises, proved over a server within the test.

mod assemblies;
mod cold;
mod conformance;
mod listing;
mod ocfl;
mod parts;
mod probing;
mod purging;
mod putting;
mod reading;
mod real;
mod served;
mod spaces;
mod trouble;
