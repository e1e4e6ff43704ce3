//! Event types: the terms of the Library of Congress vocabulary, two that are not in it, and any other label.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use crate::vocabulary::Term;

macro_rules! event_types {
    ($($(#[$doc:meta])* $name:ident = $label:literal $(, $key:literal)?;)*) => {
        /// What kind of act an event records.
        ///
        /// The terms with a key are those of `http://id.loc.gov/vocabulary/preservation/eventType/` (50 terms, as
        /// changed on 2018-09-24). The list is open: any other label is kept as [`EventType::Other`], without a URI.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum EventType {
            $($(#[$doc])* $name,)*
            /// A local term, by its label.
            Other(Box<str>),
        }

        impl EventType {
            /// Every term that has a name here, in alphabetical order of the labels.
            pub const NAMED: &'static [Self] = &[$(Self::$name),*];

            /// The term's label, as records keep it.
            pub fn label(&self) -> &str {
                match self {
                    $(Self::$name => $label,)*
                    Self::Other(label) => label,
                }
            }

            /// The three-letter key in the Library of Congress vocabulary; none for local terms.
            pub fn key(&self) -> Option<&'static str> {
                match self {
                    $(Self::$name => event_types!(@key $($key)?),)*
                    Self::Other(_) => None,
                }
            }
        }

        impl From<&str> for EventType {
            /// The term of this label; an unknown one becomes [`EventType::Other`].
            fn from(label: &str) -> Self {
                match label {
                    $($label => Self::$name,)*
                    other => Self::Other(other.into()),
                }
            }
        }
    };
    (@key $key:literal) => { Some($key) };
    (@key) => { None };
}

event_types! {
    /// Rights of access were set; a local term.
    AccessAssignment = "access assignment";
    /// Taken into the inventory of the repository.
    Accession = "accession", "acc";
    /// Assessed for being kept.
    Appraisal = "appraisal", "app";
    /// Actively obtained by the repository.
    Capture = "capture", "cap";
    /// Source code made into a program.
    Compiling = "compiling", "cop";
    /// Coded to need less space.
    Compression = "compression", "com";
    /// A new object made.
    Creation = "creation", "cre";
    /// Taken out of the inventory of the repository.
    Deaccession = "deaccession", "dea";
    /// Compression undone.
    Decompression = "decompression", "dec";
    /// Encryption undone.
    Decryption = "decryption", "der";
    /// Removed from storage.
    Deletion = "deletion", "del";
    /// A digital signature made.
    DigitalSignatureGeneration = "digital signature generation", "dsg";
    /// A digital signature checked.
    DigitalSignatureValidation = "digital signature validation", "dig";
    /// Shown to a person.
    Displaying = "displaying", "dsp";
    /// Given out to a user.
    Dissemination = "dissemination", "dis";
    /// Encrypted.
    Encryption = "encryption", "enc";
    /// A program run.
    Execution = "execution", "exe";
    /// Written out of a system.
    Exporting = "exporting", "exp";
    /// Taken out of a larger whole.
    Extraction = "extraction", "ext";
    /// A file given another name.
    FilenameChange = "filename change", "fil";
    /// A digest compared with the one on record.
    FixityCheck = "fixity check", "fix";
    /// Searched for traces of its history.
    ForensicFeatureAnalysis = "forensic feature analysis", "ffa";
    /// The format found out.
    FormatIdentification = "format identification", "for";
    /// An identifier given; a local term.
    IdentifierAssignment = "identifier assignment";
    /// An image of a medium made.
    Imaging = "imaging", "ima";
    /// An information package made.
    InformationPackageCreation = "information package creation", "ipc";
    /// Information packages joined.
    InformationPackageMerging = "information package merging", "ipm";
    /// An information package divided.
    InformationPackageSplitting = "information package splitting", "ips";
    /// Taken into the repository.
    Ingestion = "ingestion", "ing";
    /// The end of taking in.
    IngestionEnd = "ingestion end", "ine";
    /// The begin of taking in.
    IngestionStart = "ingestion start", "ins";
    /// Code run by an interpreter.
    Interpreting = "interpreting", "int";
    /// A digest computed.
    MessageDigestCalculation = "message digest calculation", "mes";
    /// Metadata read out of an object.
    MetadataExtraction = "metadata extraction", "mee";
    /// Metadata changed.
    MetadataModification = "metadata modification", "mem";
    /// A version in another format made.
    Migration = "migration", "mig";
    /// Content changed.
    Modification = "modification", "mod";
    /// A version in a format of the repository's choice made.
    Normalization = "normalization", "nor";
    /// Put together into one file.
    Packing = "packing", "pac";
    /// A policy set for an object.
    PolicyAssignment = "policy assignment", "poa";
    /// Printed.
    Printing = "printing", "prt";
    /// Set apart.
    Quarantine = "quarantine", "qua";
    /// Brought back after damage or loss.
    Recovery = "recovery", "rec";
    /// Parts made unreadable.
    Redaction = "redaction", "red";
    /// Copied to a medium of the same kind.
    Refreshment = "refreshment", "ref";
    /// Made perceptible by software.
    Rendering = "rendering", "ren";
    /// An identical copy made.
    Replication = "replication", "rep";
    /// Moved to another custody or place.
    Transfer = "transfer", "tra";
    /// Packing undone.
    Unpacking = "unpacking", "unp";
    /// Let out of quarantine.
    Unquarantine = "unquarantine", "unq";
    /// Compared with a standard or profile.
    Validation = "validation", "val";
    /// Searched for malicious programs.
    VirusCheck = "virus check", "vir";
}

impl EventType {
    /// The term's URI, such as `http://id.loc.gov/vocabulary/preservation/eventType/fix`; none for local terms.
    pub fn uri(&self) -> Option<String> {
        self.key().map(|key| Term::listed(self.label(), "eventType", key).uri().unwrap_or_default())
    }

    pub(crate) fn term(&self) -> Term<'_> {
        match self.key() {
            Some(key) => Term::listed(self.label(), "eventType", key),
            None => Term::local(self.label()),
        }
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

impl FromStr for EventType {
    type Err = Infallible;

    fn from_str(label: &str) -> Result<Self, Infallible> {
        Ok(Self::from(label))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_vocabulary_has_fifty_terms_with_keys_of_their_own() {
        let keys: HashSet<_> = EventType::NAMED.iter().filter_map(EventType::key).collect();
        assert_eq!(keys.len(), 50);
        assert!(keys.iter().all(|key| key.len() == 3));
        assert_eq!(EventType::NAMED.iter().filter(|term| term.key().is_none()).count(), 2);
    }

    #[test]
    fn labels_lead_back_to_their_terms() {
        for term in EventType::NAMED {
            assert_eq!(&EventType::from(term.label()), term);
        }
        assert!(EventType::NAMED.is_sorted_by_key(EventType::label));
    }

    #[test]
    fn an_unknown_label_is_kept() {
        let term = EventType::from("transcription");
        assert_eq!(term.label(), "transcription");
        assert_eq!(term.uri(), None);
    }

    #[test]
    fn a_listed_term_has_its_uri() {
        let uri = EventType::FixityCheck.uri();
        assert_eq!(uri.as_deref(), Some("http://id.loc.gov/vocabulary/preservation/eventType/fix"));
    }
}
