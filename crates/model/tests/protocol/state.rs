//! The state of the model: rows of the registry, bytes in two stores, and what two workers are about to do.
//!
//! One object, two deposits of it, two workers. Store 0 is a folder (assemblies are renamed in), store 1 is object storage
//! (keys are final from the first put). Each version brings one content. A worker that sleeps is a worker that takes no
//! step for a while: its next step is taken from the state it had when it fell asleep.

/// Versions that one run of the model may begin.
pub(crate) const MOST_VERSIONS: usize = 3;

/// Where a version is in the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Standing {
    Preparing,
    Dropping,
    Dropped,
    Committing,
    Published,
}

/// A row of `versions`, with its rows in `copies`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Version {
    pub(crate) item: usize,
    pub(crate) number: usize,
    pub(crate) standing: Standing,
    /// Whether its bytes were removed after it was dropped.
    pub(crate) is_swept: bool,
    /// Whether rows of its contents exist.
    pub(crate) has_rows: bool,
    /// In which stores a copy of its content is recorded as proved.
    pub(crate) copies: [bool; 2],
    /// Whether it was ever to be dropped. Not a row: for the rules.
    pub(crate) was_dropped: bool,
}

impl Version {
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.standing, Standing::Preparing | Standing::Committing)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Status {
    Pending,
    Started,
    Cancelled,
    Succeeded,
}

/// A work item: one deposit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Item {
    pub(crate) status: Status,
    /// The worker whose fence is the newest.
    pub(crate) holder: Option<usize>,
    /// Whether the lease has run out.
    pub(crate) is_expired: bool,
}

/// A version directory of the folder store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Directory {
    pub(crate) version: usize,
    pub(crate) has_content: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Store {
    /// Names of assemblies that hold the content, one bit each; in object storage, names that are known to be open.
    pub(crate) assemblies: u8,
    /// Final content keys in object storage, one bit each.
    pub(crate) keys: u8,
    /// Version directories of the folder, by number.
    pub(crate) directories: [Option<Directory>; MOST_VERSIONS + 1],
    /// The version that the root inventory names as the head.
    pub(crate) root: Option<usize>,
}

/// What a worker is going to do next for a version that it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Next {
    /// Transaction: find or begin the version, under the object's lease.
    Prepare,
    /// Store: put the content out of sight.
    Put(usize),
    /// Transaction: record the copy.
    Record(usize),
    /// Store: list what lies there under the version's name.
    List(usize),
    /// Transaction: forget a copy that the listing did not show.
    Forget(usize),
    /// Transaction: from here only forward.
    Commit,
    /// Store: put what was lost from the assembly again.
    Remake(usize),
    /// Store: make the assembly visible.
    Rename(usize),
    /// Store: look at the root inventory, to replace it unconditionally by the next step. Only with fault 4.
    Look(usize),
    /// Store: replace the root inventory.
    Root(usize),
    /// Transaction: make it the head for readers.
    Publish,
}

/// What a worker is going to do next for a version that it discards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Discard {
    /// Transaction: mark it as to be dropped.
    Mark,
    /// Transaction: remove its rows, and mark it as dropped.
    Rows,
    /// Store: remove its bytes.
    Remove(usize),
    /// Transaction: its bytes are gone, its number is free.
    Swept,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Worker {
    Idle,
    /// Takes a deposit in.
    Ingest {
        item: usize,
        version: usize,
        next: Next,
    },
    /// Discards a version: for a deposit that needs its number, or for nobody behind a deposit that ended.
    Drop {
        claim: Option<usize>,
        version: usize,
        next: Discard,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) versions: Vec<Version>,
    pub(crate) items: [Item; 2],
    /// The deposit that has the object's lease.
    pub(crate) lease: Option<usize>,
    pub(crate) workers: [Worker; 2],
    pub(crate) stores: [Store; 2],
    /// Disturbances that may still come: failures, crashes, leases that run out, what people do.
    pub(crate) disturbances: usize,
}

impl State {
    pub(crate) fn new(disturbances: usize) -> Self {
        let item = Item { status: Status::Pending, holder: None, is_expired: false };
        Self {
            versions: Vec::new(),
            items: [item.clone(), item],
            lease: None,
            workers: [Worker::Idle; 2],
            stores: [Store::default(), Store::default()],
            disturbances,
        }
    }

    /// Number of the newest published version.
    pub(crate) fn head(&self) -> usize {
        self.published().map(|(_, version)| version.number).max().unwrap_or_default()
    }

    pub(crate) fn published(&self) -> impl Iterator<Item = (usize, &Version)> {
        self.versions.iter().enumerate().filter(|(_, version)| version.standing == Standing::Published)
    }

    /// The version before this one, whose root inventory it replaces.
    pub(crate) fn before(&self, version: usize) -> Option<usize> {
        let number = self.versions[version].number;
        self.published().find(|(_, older)| older.number + 1 == number).map(|(id, _)| id)
    }

    /// The version of an item that was not dropped.
    pub(crate) fn of_item(&self, item: usize) -> Option<usize> {
        let is_of_item = |version: &Version| version.item == item && !version.was_dropped;
        self.versions.iter().rposition(is_of_item)
    }

    pub(crate) fn has_ended(&self, item: usize) -> bool {
        matches!(self.items[item].status, Status::Cancelled | Status::Succeeded)
    }

    /// Whether a worker's fence for an item is still the newest.
    pub(crate) fn holds(&self, worker: usize, item: usize) -> bool {
        self.items[item].status == Status::Started && self.items[item].holder == Some(worker)
    }
}
