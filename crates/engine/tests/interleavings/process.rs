//! What is disturbed: each process with the state that it begins from, and how it should end.

use std::io::Read as _;
use std::time::Duration;

use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_engine::restoration::{RestoreRequest, request_object};
use strongroom_queue::tasks;
use strongroom_registry::items::Request;
use strongroom_registry::{ItemStatus, RegistryError, Scope, objects};
use strongroom_storage::{Key, PutOptions, Store};
use strongroom_storage_test::Loss;

use crate::house::{self, House, Kind, OBJECT, Subject, Template, payload};
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
}

impl End {
    pub(crate) fn allows(self, status: ItemStatus) -> bool {
        match self {
            Self::Succeeded => status == ItemStatus::Succeeded,
            Self::Cancelled => status == ItemStatus::Cancelled,
            Self::Either => matches!(status, ItemStatus::Succeeded | ItemStatus::Cancelled),
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
                ingest(&house, 1);
                let store = house.store("primary");
                let key = key_of_letter(store);
                store.delete(&key).expect("removes");
                store.put(&key, &mut &b"alettere"[..], &PutOptions::default()).expect("puts other bytes");
                due(&house)
            }
            Self::Restoration => {
                ingest(&house, 1);
                ingest(&house, 2);
                let home = house.engine(None, house.clock());
                let request = RestoreRequest::of_system(OBJECT);
                request_object(&home, &request).expect("asks").into()
            }
        };
        house.into_template()
    }

    pub(crate) fn disturbances(self, kind: Kind) -> Vec<Disturbance> {
        use Disturbance::{
            Cancel, CancelAndRequeue, Fail, LoseAnswer, PowerCut, Requeue, TakeOver, TakeOverAndDeposit,
        };
        let mut all = match self {
            Self::FirstVersion | Self::SecondVersion | Self::Healing => {
                vec![TakeOver, TakeOverAndDeposit, Cancel, CancelAndRequeue]
            }
            Self::Discarding => vec![TakeOver, TakeOverAndDeposit, Requeue],
            Self::Repair => vec![TakeOver, TakeOverAndDeposit],
            Self::Restoration => vec![TakeOver, Cancel, CancelAndRequeue],
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
            Self::SecondVersion | Self::Restoration => 3,
        }
    }

    /// The head in the end, where the item ended as it did.
    pub(crate) fn head(self, status: Option<ItemStatus>, disturbance: Disturbance) -> u64 {
        let is_kept = status == Some(ItemStatus::Succeeded);
        let before = match self {
            Self::FirstVersion | Self::Discarding => u64::from(is_kept),
            Self::SecondVersion => 1 + u64::from(is_kept),
            Self::Healing | Self::Repair => 1,
            Self::Restoration => 2,
        };
        before + u64::from(disturbance == Disturbance::TakeOverAndDeposit)
    }
}

/// Deposits the first files and works until they are kept.
pub(crate) fn ingest(house: &House, files: usize) {
    let subject = Subject::from(house.deposit(files));
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

/// Where the first file of the payload lies.
fn key_of_letter(store: &dyn Store) -> Key {
    let wanted = payload(1)[0].1;
    let keys = store.list(&Key::ROOT).expect("lists").map(|line| line.expect("a line").key);
    keys.into_iter()
        .find(|key| {
            let mut bytes = Vec::new();
            store.open(key, 0, None).expect("opens").read_to_end(&mut bytes).expect("reads");
            bytes == wanted
        })
        .expect("the letter is kept")
}
