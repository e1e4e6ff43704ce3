//! PREMIS 3 documents out of records.
//!
//! Plain structs say what there is to tell ([`Object`], [`Event`], [`Agent`]); [`PremisWriter`] streams them into a
//! document that the PREMIS 3.0 schema accepts, one at a time, so that an object of any number of files needs the same
//! memory. The crate stands alone: it knows no registry and no store.
//!
//! ```
//! use strongroom_premis::{Identifier, IntellectualEntity, Object, PremisWriter};
//!
//! # fn main() -> Result<(), strongroom_premis::PremisError> {
//! let mut premis = PremisWriter::new(Vec::new())?;
//! let entity = IntellectualEntity::new(Identifier::new("local", "example.edu/photographs"));
//! premis.object(&Object::from(entity))?;
//! let document = premis.finish()?;
//! assert!(document.starts_with(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>"));
//! # Ok(())
//! # }
//! ```

mod error;
mod event_type;
mod record;
mod text;
mod vocabulary;
mod writer;

pub use error::PremisError;
pub use event_type::EventType;
pub use record::{
    Agent, AgentKind, Event, File, Fixity, Format, Identifier, IntellectualEntity, LinkedAgent, LinkedObject, Object,
    Relationship, RelationshipKind, Representation, Storage,
};
pub use text::{decode, encode};
pub use vocabulary::{AgentRole, Outcome};
pub use writer::PremisWriter;
