//! What the crate promises, in one test binary.
