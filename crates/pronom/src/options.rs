//! How far an identification may go.

use std::time::Duration;

/// Bounds of one identification.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many bytes from each end are inspected; the whole file where absent.
    pub window: Option<u64>,
    /// After so long the answer is what is known by then, with a warning.
    pub time_limit: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { window: None, time_limit: Duration::from_mins(5) }
    }
}
