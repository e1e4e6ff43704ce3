//! Finds sequences in bytes.
