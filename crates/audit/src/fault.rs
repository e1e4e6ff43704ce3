use thiserror::Error;

/// What does not hold of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It is no JSON object in the canonical form with the keys that every entry has.
    Form(String),
    /// What should be its file is a folder, a pipe or a device.
    NoFile,
    /// The file before it ends with another entry than its name says.
    FileName,
    /// It is longer than an entry may be.
    Long,
    /// The file ends within it.
    Incomplete,
    /// It is of another chain.
    Chain(String),
    /// It has another number than the one that comes next.
    Sequence(u64),
    /// It names another entry before it than the one that there is.
    Previous,
    /// A head that was published says another SHA-256 of it, or of the file that ends with it.
    Head,
    /// A head that was published says that there are so many entries: the chain ends before.
    Cut(u64),
    /// No head was published of it.
    NoHead,
    /// Heads that were published contradict each other.
    Heads,
    /// A head that was published cannot be read, or has the name of another one; why.
    Unreadable(String),
    /// A head that was published is not signed as it should be; why.
    Signature(String),
    /// A head that was published says other counts than the entries have.
    Counts,
    /// Nothing of an audit chain is there.
    Nothing,
}

/// The first entry that does not hold, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct Broken {
    /// The number that the entry has to have by its place.
    pub sequence: u64,
    /// What does not hold.
    pub fault: Fault,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sequence = self.sequence;
        match &self.fault {
            Fault::Form(why) => write!(f, "entry {sequence} is no entry in the canonical form of RFC 8785: {why}"),
            Fault::NoFile => write!(f, "what should be the file of entry {sequence} is no regular file"),
            Fault::FileName => write!(f, "the file before entry {sequence} has other entries than its name says"),
            Fault::Long => write!(f, "entry {sequence} has more than {} bytes", crate::LONGEST_LINE),
            Fault::Incomplete => write!(f, "entry {sequence} is not complete: its file ends within it"),
            Fault::Chain(found) => write!(f, "entry {sequence} is of the chain {found}"),
            Fault::Sequence(found) => write!(f, "entry {sequence} is not there: in its place is entry {found}"),
            Fault::Previous => {
                write!(f, "entry {sequence} names another entry before it: that one was changed, or this one")
            }
            Fault::Head => write!(f, "entry {sequence} is not the one of the head that was published"),
            Fault::Cut(entries) => {
                write!(f, "entry {sequence} is not there: a head was published of {entries} entries")
            }
            Fault::NoHead => write!(f, "no head was published of entry {sequence} and of what comes behind it"),
            Fault::Heads => write!(f, "two heads that were published of entry {sequence} contradict each other"),
            Fault::Unreadable(why) => {
                write!(f, "the head of entry {sequence} is not the one that was published: {why}")
            }
            Fault::Counts => write!(f, "the head of entry {sequence} says other counts than the entries have"),
            Fault::Nothing => {
                write!(f, "entry {sequence} is not there: there are no entries and no heads of audit chains")
            }
            Fault::Signature(why) => write!(f, "the head of entry {sequence} is not signed as it should be: {why}"),
        }
    }
}
