//! The acts that a run consists of.

use strongroom_ezid_double::Fault as EzidFault;
use strongroom_s3_double::{Fault, Operation};

use crate::deletion_plan::Planned;
use crate::hook::HookFault;
use crate::late::Late;
use crate::packages::Package;

/// What a person holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    Item,
    Batch,
    Collection,
}

/// What a person asks of a work item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    Cancel,
    Hold(Held),
    Release(Held),
    /// From a stage, or from where it stopped.
    Requeue(Option<&'static str>),
    /// Every failure of its batch.
    RequeueGroup,
    Delete,
    CancelBatch,
    DeleteBatch,
    /// To a priority.
    Move(u64),
    /// A report of its batch as it is now.
    Report,
}

/// How a copy is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Harm {
    /// One bit of it is turned.
    Flip,
    /// The last byte is cut off.
    Cut,
    /// It is gone.
    Delete,
}

/// One act.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Act {
    /// Starts a worker: `slow` are fail points; `largest` bounds the files it may write, in blocks of 512 bytes.
    Start {
        worker: usize,
        slow: String,
        largest: Option<u64>,
    },
    /// SIGKILL.
    Kill {
        worker: usize,
    },
    /// SIGTERM.
    Terminate {
        worker: usize,
    },
    /// SIGSTOP.
    Sleep {
        worker: usize,
    },
    /// SIGCONT.
    Wake {
        worker: usize,
    },
    Deposit {
        /// From 1, in the order of planning.
        number: u64,
        slot: usize,
        variant: usize,
    },
    /// Deposits a package that is no bag.
    Submit {
        /// Counted with the deposits of bags.
        number: u64,
        package: Box<Package>,
    },
    /// Lets slow files come.
    Release,
    /// So many of the next requests to EZID go wrong.
    Ezid {
        fault: EzidFault,
        times: usize,
    },
    /// Something goes wrong with the receiver of callbacks.
    Hook(HookFault),
    /// Puts a bag into the receiving store.
    Upload {
        slot: usize,
        variant: usize,
    },
    /// Asks something of the item of the deposit with this number, or else of the one made last before it.
    Ask {
        wish: Wish,
        deposit: u64,
    },
    /// One at a time.
    DropLate(Late),
    Pause {
        topic: String,
    },
    Resume {
        topic: String,
    },
    /// The store is out of reach.
    Away {
        store: &'static str,
    },
    /// The store can be read and not written: it is read-only, or full.
    Full {
        store: &'static str,
    },
    /// Ends `Away` and `Full`.
    Heal {
        store: &'static str,
    },
    /// One request that is still to come goes wrong.
    Flaw {
        store: &'static str,
        operation: Operation,
        nth: u64,
        fault: Fault,
    },
    /// A content in the store that this run damages.
    Damage {
        pick: u64,
        harm: Harm,
    },
    /// A root inventory, sidecar or declaration there.
    DamageInventory {
        pick: u64,
        harm: Harm,
    },
    Fixity,
    /// Runs a background task now.
    Background {
        task: &'static str,
    },
    Restore {
        object: String,
    },
    Reconcile,
    Backup,
    Delete(Box<Planned>),
}

/// An act with its time, in milliseconds after the beginning.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Timed<A = Act> {
    pub(crate) at: u64,
    pub(crate) act: A,
}
