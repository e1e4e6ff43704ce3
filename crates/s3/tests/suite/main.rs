//! What the store in S3 promises, proved over a server within the test.

mod conformance;
mod served;
