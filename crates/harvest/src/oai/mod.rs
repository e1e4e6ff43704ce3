//! OAI-PMH 2.0 (<http://www.openarchives.org/OAI/openarchivesprotocol.html>): sections named here are of that document.

mod answers;
mod client;
mod code;
mod cursor;
mod dates;
mod list;
mod page;
mod source;
mod stored;

pub use answers::{Identify, MetadataFormat, SetInfo};
pub use client::OaiClient;
pub use code::{OaiCode, OaiError};
pub use cursor::OaiCursor;
pub use dates::{Granularity, Window};
pub use source::{OaiOptions, OaiSource};
pub use stored::read_answer;
