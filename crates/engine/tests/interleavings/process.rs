//! What is disturbed: each process with the state that it begins from, and how it should end.

use std::io::Read as _;
use std::time::Duration;

use strongroom_engine::backfill;
use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_engine::restoration::{RestoreRequest, request_object};
use strongroom_queue::tasks;
use strongroom_registry::items::Request;
use strongroom_registry::{ItemStatus, RegistryError, Scope, objects};
use strongroom_storage::{Key, PutOptions, Store};
use strongroom_storage_test::Loss;

use crate::deleting::{add_users, agree, expand};
use crate::deposits::{DELETED, bytes_of_deleted, growing, with_deleted};
use crate::expected::Expected;
use crate::house::{self, House, Kind, OBJECT, Subject, Template};
use crate::installation::KEPT_IN;
use crate::workers::{work, work_until};

/// A process of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Process {
    /// A deposit makes an object.
    FirstVersion,
    /// A deposit makes the second version of an object.
    SecondVersion,
    /// A deposit brings back a content of which every copy was lost.
    Healing,
    /// What a cancelled deposit had written is removed.
    Discarding,
    /// A copy with wrong bytes is repaired.
    Repair,
    /// An object is given back into the restoration store.
    Restoration,
    /// A store of the placement that lacks an object is given it.
    Filling,
    /// An object is deleted.
    ObjectDeletion,
    /// Files of an object are deleted.
    FileDeletion,
    /// An object is deleted that a store of its placement lacks.
    LackingObjectDeletion,
    /// Files are deleted of an object that a store of its placement lacks.
    LackingFileDeletion,
    /// An object is to be deleted that was deposited again since that was requested.
    ChangedObjectDeletion,
}

/// What happens at the chosen operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disturbance {
    /// The worker sleeps until its lease has run out and another has finished, and wakes.
    TakeOver,
    /// The same, and a later deposit has made the next version before it wakes.
    TakeOverAndDeposit,
    /// A person cancels while it sleeps, and another worker clears up.
    Cancel,
    /// A person cancels while it sleeps, clearing up fails in one store, the person requeues, and another worker finishes.
    CancelAndRequeue,
    /// A person requeues what was cancelled while it sleeps, and another worker finishes.
    Requeue,
    /// The operation fails once.
    Fail,
    /// The operation is done, and its answer is lost.
    LoseAnswer,
    /// A later deposit is made before another worker finishes, and waits for it.
    DepositAndTakeOver,
    /// Copies are damaged, and a check of everything repairs what it may, before the worker wakes.
    Check,
    /// A person asks for the object, and another worker restores it where it may, before the worker wakes.
    Restore,
    /// What the last store lacks is brought there, where that may be done, before the worker wakes.
    Backfill,
    /// Two users agree to delete the object, and another worker does it before the worker wakes.
    Delete,
    /// The same with files of the object.
    DeleteFiles,
    /// The power is cut: what was not synced is lost, and another worker finishes.
    PowerCut(Loss),
}

/// How the subject's item should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Succeeded,
    Cancelled,
    /// Cancelled, or succeeded where it was committed by then.
    Either,
    /// Failed, or cancelled where a person asked for it.
    Failed,
}

impl End {
    pub(crate) fn allows(self, status: ItemStatus) -> bool {
        match self {
            Self::Succeeded => status == ItemStatus::Succeeded,
            Self::Cancelled => status == ItemStatus::Cancelled,
            Self::Either => matches!(status, ItemStatus::Succeeded | ItemStatus::Cancelled),
            Self::Failed => matches!(status, ItemStatus::Failed | ItemStatus::Cancelled),
        }
    }
}

impl Process {
    /// The state that it begins from.
    pub(crate) fn prepare(self, kind: Kind) -> Template {
        let mut house = House::new(kind);
        house.subject = match self {
            Self::FirstVersion => house.deposit(1).into(),
            Self::SecondVersion => {
                ingest(&house, 1);
                house.deposit(2).into()
            }
            Self::Healing => {
                ingest(&house, 1);
                for store in KEPT_IN {
                    let key = key_of_letter(house.store(store));
                    house.store(store).delete(&key).expect("is lost");
                }
                house.deposit(1).into()
            }
            Self::Discarding => cancelled(&mut house),
            Self::Repair => {
                house.payload = with_deleted;
                ingest(&house, 1);
                let store = house.store("primary");
                let key = key_of(store, bytes_of_deleted()).expect("is kept");
                store.delete(&key).expect("removes");
                store.put(&key, &mut &b"other bytes"[..], &PutOptions::default()).expect("puts other bytes");
                due(&house)
            }
            Self::Restoration => {
                ingest(&house, 1);
                ingest(&house, 2);
                let home = house.engine(None, house.clock());
                let request = RestoreRequest::of_system(OBJECT);
                request_object(&home, &request).expect("asks").into()
            }
            Self::Filling => {
                house.payload = with_deleted;
                house.place_in_one_store();
                ingest(&house, 1);
                ingest(&house, 2);
                house.place_in_all_stores();
                lacking(&house)
            }
            Self::ObjectDeletion
            | Self::FileDeletion
            | Self::LackingObjectDeletion
            | Self::LackingFileDeletion
            | Self::ChangedObjectDeletion => self.prepare_deletion(&mut house),
        };
        house.into_template()
    }

    /// The paths that are deleted, none where all of the object is; none at all where this is no deletion.
    pub(crate) fn deletes(self) -> Option<&'static [&'static str]> {
        match self {
            Self::ObjectDeletion | Self::LackingObjectDeletion | Self::ChangedObjectDeletion => Some(&[]),
            Self::FileDeletion | Self::LackingFileDeletion => Some(&DELETED),
            _ => None,
        }
    }

    /// Whether a store lacks what the placement says that it has.
    pub(crate) fn lacks_copies(self) -> bool {
        matches!(self, Self::LackingObjectDeletion | Self::LackingFileDeletion)
    }

    fn prepare_deletion(self, house: &mut House) -> Subject {
        house.payload = with_deleted;
        add_users(house);
        if self.lacks_copies() {
            house.place_in_one_store();
        }
        ingest(house, 1);
        ingest(house, 2);
        let request = agree(house, self.deletes().unwrap_or_default()).expect("two users agree");
        if self == Self::ChangedObjectDeletion {
            ingest(house, 3);
        }
        expand(house, &request).into()
    }

    pub(crate) fn disturbances(self, kind: Kind) -> Vec<Disturbance> {
        use Disturbance::{
            Backfill, Cancel, CancelAndRequeue, Check, Delete, DeleteFiles, DepositAndTakeOver, Fail, LoseAnswer,
            PowerCut, Requeue, Restore, TakeOver, TakeOverAndDeposit,
        };
        let mut all = match self {
            Self::FirstVersion | Self::SecondVersion | Self::Healing => {
                vec![TakeOver, TakeOverAndDeposit, Cancel, CancelAndRequeue]
            }
            Self::Discarding => vec![TakeOver, TakeOverAndDeposit, Requeue],
            Self::Repair | Self::Filling => vec![TakeOver, TakeOverAndDeposit, Delete, DeleteFiles],
            Self::Restoration => vec![TakeOver, Cancel, CancelAndRequeue],
            Self::ObjectDeletion | Self::FileDeletion => {
                vec![TakeOver, TakeOverAndDeposit, DepositAndTakeOver, Cancel, Check, Restore]
            }
            Self::LackingObjectDeletion | Self::LackingFileDeletion => vec![TakeOver, Backfill],
            Self::ChangedObjectDeletion => vec![TakeOver, Cancel],
        };
        all.extend([Fail, LoseAnswer]);
        if kind == Kind::Folders {
            // What a bucket has taken is durable.
            all.extend([PowerCut(Loss::Undone), PowerCut(Loss::Torn)]);
        }
        all
    }

    /// How the item ends after a disturbance.
    pub(crate) fn end(self, disturbance: Disturbance) -> End {
        match (self, disturbance) {
            (Self::ChangedObjectDeletion, _) => End::Failed,
            (_, Disturbance::Cancel) => End::Either,
            (_, Disturbance::Requeue) => End::Succeeded,
            (Self::Discarding, _) => End::Cancelled,
            _ => End::Succeeded,
        }
    }

    /// The deposit that makes the next version.
    pub(crate) fn next_deposit(self) -> usize {
        match self {
            Self::Discarding => 1,
            Self::FirstVersion | Self::Healing | Self::Repair => 2,
            _ => 3,
        }
    }

    /// What the object should be in the end, where the item ended as it did.
    pub(crate) fn expected(self, status: Option<ItemStatus>, disturbance: Disturbance) -> Expected {
        let is_kept = status == Some(ItemStatus::Succeeded);
        let before = match self {
            Self::FirstVersion | Self::Discarding => usize::from(is_kept),
            Self::SecondVersion => 1 + usize::from(is_kept),
            Self::Healing | Self::Repair => 1,
            Self::ChangedObjectDeletion => 3,
            _ => 2,
        };
        let payload = match self {
            Self::Repair | Self::Filling => with_deleted,
            _ if self.deletes().is_some() => with_deleted,
            _ => growing,
        };
        let before = Expected::of_versions((1..=before).map(payload));
        let left = match self.deletes() {
            Some(paths) if is_kept => {
                if paths.is_empty() {
                    before.deleted()
                } else {
                    before.without_files()
                }
            }
            _ => before,
        };
        match disturbance {
            Disturbance::TakeOverAndDeposit | Disturbance::DepositAndTakeOver => {
                left.then(payload(self.next_deposit()))
            }
            _ => left,
        }
    }
}

/// Makes a deposit, counted from 1, and works until it is kept.
pub(crate) fn ingest(house: &House, number: usize) {
    let subject = Subject::from(house.deposit(number));
    let home = house.engine(None, house.clock());
    work(house, &home, &subject).expect("works");
    let item = house::item(&home, subject.item.expect("an item"));
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
}

/// A deposit that was cancelled when everything was written and proved.
fn cancelled(house: &mut House) -> Subject {
    let subject = Subject::from(house.deposit(1));
    let id = subject.item.expect("an item");
    house.subject = subject.clone();
    let home = house.engine(None, house.clock());
    let is_written = || house::item(&home, id).stage == strongroom_registry::Stage::named("record");
    work_until(house, &home, |topic| topic != "ingest.record", is_written).expect("works");
    assert!(house.request(&home, Request::Cancel));
    assert_eq!(house::item(&home, id).status, ItemStatus::Cancelled);
    subject
}

/// The check of everything in the first store, which is due.
fn due(house: &House) -> Subject {
    house.pass_time(Duration::from_hours(24 * 1_000));
    let home = house.engine(None, house.clock());
    let request = FixityRequest { store: Some("primary".into()), ..FixityRequest::default() };
    assert_eq!(fixity::enqueue_due(&home, &request).expect("enqueues"), 1);
    let object = home.registry.read(|tx| objects::find(tx, Scope::System, OBJECT)).expect("the object");
    let key = format!("{}/primary", object.id);
    let tasks = home.registry.read(|tx| Ok::<_, RegistryError>(tasks::of_key(tx, &key)?));
    assert_eq!(tasks.expect("reads").len(), 1);
    Subject { item: None, keys: vec![key] }
}

/// What a store lacks, which is to be brought there.
fn lacking(house: &House) -> Subject {
    let home = house.engine(None, house.clock());
    assert_eq!(backfill::enqueue(&home, KEPT_IN[1]).expect("enqueues"), 1);
    let object = home.registry.read(|tx| objects::find(tx, Scope::System, OBJECT)).expect("the object");
    Subject { item: None, keys: vec![format!("{}/{}", object.id, KEPT_IN[1])] }
}

/// Where these bytes lie.
pub(crate) fn key_of(store: &dyn Store, wanted: &[u8]) -> Option<Key> {
    let mut keys = store.list(&Key::ROOT).expect("lists").map(|line| line.expect("a line").key);
    keys.find(|key| {
        let mut bytes = Vec::new();
        store.open(key, 0, None).expect("opens").read_to_end(&mut bytes).expect("reads");
        bytes == wanted
    })
}

/// Where the first file of the payload lies.
fn key_of_letter(store: &dyn Store) -> Key {
    key_of(store, growing(1)[0].1).expect("the letter is kept")
}
