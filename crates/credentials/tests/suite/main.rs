//! What the crate promises, in one test binary.

mod passwords;
mod sessions;
mod tokens;
mod work;
