//! What the crate promises, in one test binary.

mod cases;
mod hostile;
mod manifests;
mod modes;
mod rules;
mod writing;
