//! Puts the kinds of identification together and weighs what they find.

use std::io;
use std::sync::Arc;

use crate::answer::Identification;
use crate::error::PronomError;
use crate::options::Options;
use crate::signatures::{Release, SignatureSet};
use crate::source::Source;

/// Identifies files by one pair of signature files. Cheap to clone, shared between threads.
#[derive(Clone)]
pub struct Identifier(Arc<SignatureSet>);

impl Identifier {
    /// Makes ready a set of signatures.
    pub fn new(set: SignatureSet) -> Self {
        Self(Arc::new(set))
    }

    /// With the signatures that ship with the crate.
    pub fn builtin() -> Result<Self, PronomError> {
        Ok(Self::new(crate::builtin::signatures()?))
    }

    /// The binary signature file in use.
    pub fn binary_release(&self) -> &Release {
        &self.0.binary
    }

    /// The container signature file in use.
    pub fn container_release(&self) -> Option<&Release> {
        self.0.container.as_ref()
    }

    /// Identifies bytes that can be read anywhere. Only the extension of `name` counts.
    pub fn identify(&self, _name: &str, _source: &dyn Source, _options: &Options) -> io::Result<Identification> {
        todo!()
    }

    /// Identifies bytes that pass by once.
    pub fn observe(&self, _name: &str, _options: &Options) -> Observation {
        todo!()
    }
}

/// An identification of bytes that pass by once, in order.
pub struct Observation {}

impl Observation {
    /// Takes the next bytes.
    pub fn update(&mut self, _bytes: &[u8]) {
        todo!()
    }

    /// Ends the stream.
    pub fn finish(self) -> Observed {
        todo!()
    }
}

/// What a stream told.
pub enum Observed {
    /// All there is to know.
    Complete(Identification),
    /// It is a container, and its inside needs to be read from where the bytes lie by now.
    Container(Pending),
}

/// An identification that waits for the inside of a container.
pub struct Pending {}

impl Pending {
    /// Looks inside.
    pub fn finish(self, _source: &dyn Source) -> io::Result<Identification> {
        todo!()
    }

    /// Does without, with a warning.
    pub fn give_up(self, _reason: &str) -> Identification {
        todo!()
    }
}
