//! What the crate promises, in one test binary.

mod backup_codes;
mod passwords;
mod sealing;
mod secrecy;
mod sessions;
mod throttling;
mod tokens;
mod totp;
mod work;
