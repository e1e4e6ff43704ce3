//! Tools that are run for real: small ones that do what a tool should not.

mod environment;
mod killing;
mod limits;
mod meaning;
mod place;
mod starting;
