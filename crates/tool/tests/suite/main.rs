//! Tools that are run for real: small ones that do what a tool should not, and ClamAV, MediaInfo, JHOVE and veraPDF.

mod clamav;
mod environment;
mod java;
mod killing;
mod limits;
mod meaning;
mod mediainfo;
mod place;
mod starting;
