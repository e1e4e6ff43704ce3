//! Containers that are looked into: OLE2 and ZIP, read in bounded memory from any source.

use std::io::{self, Read};

use crate::signatures::ContainerKind;
use crate::source::Source;

/// Why a container could not be read, or not further.
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    /// What is wrong with it.
    #[error("{0}")]
    Malformed(String),
    /// The source failed.
    #[error("could not read it: {0}")]
    Io(#[from] io::Error),
}

/// Visits the members of a container in the order in which it lists them. `visit` says whether to go on.
pub fn visit_members(
    _kind: ContainerKind,
    _source: &dyn Source,
    _visit: &mut dyn FnMut(&mut dyn ContainerMember) -> bool,
) -> Result<(), ContainerError> {
    todo!()
}

/// A member of a container.
pub trait ContainerMember {
    /// Path as the container has it, `/` between folders; bytes that are no UTF-8 are replaced.
    fn path(&self) -> &str;
    /// Size of its content as the container says.
    fn size(&self) -> u64;
    /// Whether it is a folder.
    fn is_folder(&self) -> bool;
    /// Whether its content is encrypted.
    fn is_encrypted(&self) -> bool;
    /// Reads its content from the start. Ends early where the content is damaged, with an error.
    fn open(&mut self) -> Result<Box<dyn Read + '_>, ContainerError>;
}
