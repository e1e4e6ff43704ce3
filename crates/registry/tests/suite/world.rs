//! What every case needs: a registry of some engine, two institutions, and short words for what workers and people do.

use std::sync::Arc;
use std::time::Duration;

use strongroom_digest::{Algorithm, MultiHasher};
use strongroom_queue::{LeaseRequest, TaskRecord, WorkerId, tasks};
use strongroom_registry::batches::{self, BatchAct, BatchRequest, NewBatch, Step};
use strongroom_registry::copies::{self, NewCopy};
use strongroom_registry::interim::InterimFile;
use strongroom_registry::items::{self, HistoryLine, Item, NewItem, Request};
use strongroom_registry::objects::{self, Object};
use strongroom_registry::tenants::{self, CollectionRules};
use strongroom_registry::versions::{self, NewContent, NewEntry, NewVersion, Version};
use strongroom_registry::work::{self, Assignment, Claim, Leasing, StageEnd};
use strongroom_registry::{
    Action, BatchId, CollectionId, ContentId, Description, Digests, FileId, Format, GenerationId, InstitutionId,
    ItemId, ItemStatus, ObjectId, Position, Registry, RegistryError, Scope, Stage, Subject as About, Time, Transaction,
    WaitKey, Workflows, holds,
};

/// An engine under test, with nothing in it.
pub(crate) trait Subject {
    /// The registry.
    fn registry(&self) -> Registry;

    /// Lets time pass.
    fn advance(&self, by: Duration);

    /// Sets the clock back.
    fn set_back(&self, by: Duration);
}

pub(crate) const LEASE: Duration = Duration::from_mins(1);
pub(crate) const MAX_ATTEMPTS: u32 = 3;
/// The stages of the items that most cases are about, in their order.
pub(crate) const INGEST: [Stage; 14] = [
    Stage::named("receive"),
    Stage::named("estimate"),
    Stage::named("provision"),
    Stage::named("fetch"),
    Stage::named("validate"),
    Stage::named("resolve"),
    Stage::named("compare"),
    Stage::named("gather"),
    Stage::named("characterize"),
    Stage::named("write"),
    Stage::named("verify"),
    Stage::named("record"),
    Stage::named("notify"),
    Stage::named("cleanup"),
];

/// The stage behind them, of items that a program has to confirm.
pub(crate) const CONFIRM: Stage = Stage::named("confirm");

/// The topic of a stage of [`INGEST`].
pub(crate) fn topic(stage: Stage) -> String {
    format!("ingest.{stage}")
}

/// Two workflows: deposits, and restorations of one stage.
pub(crate) struct Table;

impl Workflows for Table {
    fn stages(&self, action: Action) -> Vec<Stage> {
        match action.as_str() {
            "ingest" => INGEST.into_iter().chain([CONFIRM]).collect(),
            "restore_object" => vec![Stage::named("restore")],
            "restore_batch" | "expand_batch" => vec![Stage::named("expand")],
            _ => Vec::new(),
        }
    }

    fn position(&self, subject: About<'_>, stage: Stage) -> Position {
        let group = if subject.action.as_str() == "ingest" { "ingest" } else { "restoration" };
        let wait_key = match stage.as_str() {
            "receive" => Some(WaitKey::turn(subject.institution, subject.object_identifier)),
            "provision" => Some(WaitKey::staging()),
            "compare" | "write" | "record" => subject.object.map(WaitKey::object),
            "confirm" => Some(WaitKey::confirmation()),
            _ => None,
        };
        Position { stage, topic: format!("{group}.{stage}"), wait_key, is_inline: true }
    }

    fn restart(&self, _: &mut dyn Transaction, item: &Item, wanted: Stage) -> Result<Stage, RegistryError> {
        Ok(if item.is_committed { Stage::named("record") } else { wanted })
    }
}

/// A registry with two institutions.
pub(crate) struct World<'a> {
    pub(crate) subject: &'a dyn Subject,
    pub(crate) registry: Registry,
    pub(crate) ours: InstitutionId,
    pub(crate) theirs: InstitutionId,
    pub(crate) collection: CollectionId,
}

impl<'a> World<'a> {
    pub(crate) fn new(subject: &'a dyn Subject) -> Self {
        let registry = subject.registry().with_workflows(Arc::new(Table));
        let (ours, theirs, collection) = (InstitutionId::new(), InstitutionId::new(), CollectionId::new());
        registry
            .write(move |tx| {
                tenants::add_institution(tx, ours, "example.edu", "Ours")?;
                tenants::add_institution(tx, theirs, "example.org", "Theirs")?;
                let rules = CollectionRules { name: "Maps".into(), ..CollectionRules::default() };
                tenants::add_collection(tx, collection, ours, "maps", (&rules, "test"))
            })
            .expect("institutions");
        Self { subject, registry, ours, theirs, collection }
    }

    pub(crate) fn write<T: Send + 'static>(
        &self,
        job: impl FnMut(&mut dyn Transaction) -> Result<T, RegistryError> + Send + 'static,
    ) -> T {
        self.registry.write(job).expect("is written")
    }

    pub(crate) fn refused<T: Send + 'static>(
        &self,
        job: impl FnMut(&mut dyn Transaction) -> Result<T, RegistryError> + Send + 'static,
    ) -> RegistryError {
        self.registry.write(job).err().expect("is refused")
    }

    pub(crate) fn read<T>(&self, job: impl FnMut(&mut dyn Transaction) -> Result<T, RegistryError>) -> T {
        self.registry.read(job).expect("is read")
    }

    pub(crate) fn now(&self) -> Time {
        self.read(|tx| Ok(tx.now()?))
    }

    pub(crate) fn later(&self, by: Duration) -> Time {
        self.now().plus(by.as_micros() as i64)
    }

    /// An ingest of ours, waiting for its first stage.
    pub(crate) fn item(&self) -> ItemId {
        self.item_named("bag")
    }

    pub(crate) fn item_named(&self, name: &str) -> ItemId {
        self.make(&self.new_item(name))
    }

    pub(crate) fn make(&self, new: &NewItem) -> ItemId {
        let (id, new) = (new.id, new.clone());
        self.write(move |tx| items::create(tx, &Table, &new));
        id
    }

    pub(crate) fn new_item(&self, name: &str) -> NewItem {
        NewItem {
            collection: Some(self.collection),
            name: name.to_owned(),
            note: "submitted".into(),
            ..NewItem::new(Action::named("ingest"), self.ours, format!("example.edu/{name}"))
        }
    }

    /// A batch with so many items.
    pub(crate) fn batch(&self, count: usize) -> (BatchId, Vec<ItemId>) {
        let (id, institution) = (BatchId::new(), self.ours);
        self.write(move |tx| batches::create(tx, &new_batch(id, institution, Some(count as u64))));
        let items = (0..count).map(|number| NewItem { batch: Some(id), ..self.new_item(&format!("bag-{number}")) });
        (id, items.map(|new| self.make(&new)).collect())
    }

    /// What a worker of this number gets at a stage.
    pub(crate) fn lease(&self, worker: u32, stage: Stage, limit: usize) -> Leasing {
        let topic = if stage == Stage::named("restore") { "restoration.restore".to_owned() } else { topic(stage) };
        let request = LeaseRequest { topics: vec![topic], keys: None, limit, holder: holder(worker), duration: LEASE };
        self.write(move |tx| work::lease(tx, &Table, &request, &|_| MAX_ATTEMPTS))
    }

    /// The one assignment that waits at a stage.
    pub(crate) fn claim(&self, stage: Stage) -> (Claim, Item) {
        self.claim_as(1, stage)
    }

    pub(crate) fn claim_as(&self, worker: u32, stage: Stage) -> (Claim, Item) {
        let mut leased: Vec<Assignment> = self.lease(worker, stage, 1).assignments;
        let claimed = leased.pop().and_then(|one| one.claimed).expect("something waits at the stage");
        (claimed.0, *claimed.1)
    }

    /// Takes a new item on to a stage and claims it there.
    pub(crate) fn claimed_at(&self, stage: Stage) -> (Claim, Item) {
        let id = self.item();
        self.drive(id, stage);
        self.claim(stage)
    }

    /// Takes an item from its first stage to another, where it waits.
    pub(crate) fn drive(&self, id: ItemId, stage: Stage) {
        if stage == Stage::named("receive") {
            return;
        }
        let (claim, _) = self.claim(Stage::named("receive"));
        assert_eq!(claim.item, id, "the only one that waits");
        self.finish(&claim, &next(stage));
    }

    pub(crate) fn finish(&self, claim: &Claim, end: &StageEnd) -> Vec<String> {
        self.try_finish(claim, end).expect("the stage ends")
    }

    pub(crate) fn try_finish(&self, claim: &Claim, end: &StageEnd) -> Result<Vec<String>, RegistryError> {
        let (claim, end) = (claim.clone(), end.clone());
        self.registry.write(move |tx| work::finish(tx, &Table, &claim, &holder(1).to_string(), &end))
    }

    pub(crate) fn reclaim(&self) -> Vec<String> {
        self.write(|tx| work::reclaim(tx, 100)).topics
    }

    /// The worker that holds something stops without a word, and its lease runs out.
    pub(crate) fn crash(&self) -> Vec<String> {
        self.subject.advance(LEASE * 2);
        self.reclaim()
    }

    pub(crate) fn ask(&self, id: ItemId, request: Request) -> Result<Vec<String>, RegistryError> {
        let ask = move |tx: &mut dyn Transaction| items::request(tx, &Table, Scope::System, id, request, "a person");
        self.registry.write_as(request.isolation(), ask)
    }

    /// Asks something of a batch, step after step; where it is held or released, its items follow.
    pub(crate) fn ask_batch(&self, id: BatchId, request: Request) -> Result<BatchRequest, RegistryError> {
        let (mut all, mut next) = (BatchRequest::default(), Some(Step::Begin));
        while let Some(step) = next {
            let done = self.ask_step(id, request, step)?;
            all.items += done.items;
            all.permanent += done.permanent;
            all.has_changed |= done.has_changed;
            all.topics.extend(done.topics);
            next = done.next;
        }
        if all.has_changed && matches!(request, Request::Hold | Request::Release) {
            for status in holds::SETTLED_STATUSES {
                let found = self.read(|tx| holds::unsettled(tx, Some(id), status, None, 1_000)).items;
                let settle = move |tx: &mut dyn Transaction| holds::settle(tx, &Table, &found, "a person");
                let (items, topics) = self.registry.write_by_rows(settle)?;
                all.items += items;
                all.topics.extend(topics);
            }
        }
        all.topics.sort();
        all.topics.dedup();
        Ok(all)
    }

    /// One step of what is asked of a batch.
    pub(crate) fn ask_step(&self, id: BatchId, request: Request, step: Step) -> Result<BatchRequest, RegistryError> {
        let act = BatchAct { request, by: "a person".into(), step, takes_new_rules: false };
        let ask = move |tx: &mut dyn Transaction| batches::request(tx, &Table, Scope::System, id, act);
        self.registry.write_as(request.isolation(), ask)
    }

    pub(crate) fn find(&self, id: ItemId) -> Item {
        self.read(|tx| items::find(tx, Scope::System, id))
    }

    pub(crate) fn status(&self, id: ItemId) -> (Stage, ItemStatus) {
        let item = self.find(id);
        (item.stage, item.status)
    }

    pub(crate) fn history(&self, id: ItemId) -> Vec<HistoryLine> {
        self.read(|tx| items::history(tx, Scope::System, id))
    }

    /// The live tasks of an item.
    pub(crate) fn tasks(&self, id: ItemId) -> Vec<TaskRecord> {
        self.read(|tx| Ok(tasks::of_key(tx, &id.to_string())?))
    }

    pub(crate) fn topics(&self, id: ItemId) -> Vec<String> {
        self.tasks(id).into_iter().map(|task| task.topic).collect()
    }

    /// How many dead tasks a stage has.
    pub(crate) fn dead(&self, stage: Stage) -> usize {
        let topic = topic(stage);
        self.read(|tx| Ok(tasks::list(tx, &topic, strongroom_queue::TaskState::Dead, None, 100)?.tasks.len()))
    }

    pub(crate) fn object(&self, name: &str) -> Object {
        let (institution, collection, identifier) = (self.ours, self.collection, format!("example.edu/{name}"));
        let (id, generation) = (ObjectId::new(), GenerationId::new());
        self.write(move |tx| objects::find_or_make(tx, institution, Some(collection), &identifier, id, generation))
    }

    /// Begins the version after the head.
    pub(crate) fn prepare(&self, claim: &Claim, object: &Object) -> Version {
        let (claim, object) = (claim.clone(), object.clone());
        self.write(move |tx| versions::prepare(tx, &claim, &new_version(&object, &Description::default())))
    }

    /// Puts one file with these bytes into a version that is being prepared.
    pub(crate) fn put(&self, claim: &Claim, version: &Version, path: &str, bytes: &[u8]) -> (FileId, ContentId) {
        let (claim, version, file) = (claim.clone(), version.clone(), FileId::new());
        let content = new_content(bytes);
        let path = path.to_owned();
        self.write(move |tx| {
            let id = versions::put_content(tx, &version, &content)?;
            let entry = NewEntry { file, path: path.clone(), modified: None, content: id, format: Format::default() };
            versions::put_entries(tx, &claim, &version, &[entry])?;
            Ok((file, id))
        })
    }

    pub(crate) fn copy(&self, claim: &Claim, version: &Version, store: &'static str, contents: &[ContentId]) {
        let (claim, version, institution) = (claim.clone(), version.clone(), self.ours);
        let copies: Vec<NewCopy> = contents
            .iter()
            .map(|content| NewCopy { content: *content, key: format!("key/{content}"), class: None })
            .collect();
        let contents = contents.to_vec();
        self.write(move |tx| {
            copies::put_copies(tx, &claim, institution, &version, store, &copies)?;
            copies::set_verified(tx, &claim, &version, store, &contents)
        });
    }

    pub(crate) fn commit(&self, claim: &Claim, version: &Version) {
        let (claim, version) = (claim.clone(), version.clone());
        self.write(move |tx| versions::commit(tx, &claim, &version, digests(b"inventory").sha512));
    }

    pub(crate) fn publish(&self, claim: &Claim, stores: &[&str]) {
        let stores: Vec<String> = stores.iter().map(|store| (*store).to_owned()).collect();
        let (claim, institution, collection) = (claim.clone(), self.ours, self.collection);
        self.write(move |tx| versions::publish(tx, &claim, institution, Some(collection), &stores));
    }

    /// An item at `record` whose version, with one file, is being committed.
    pub(crate) fn committing(&self) -> (Claim, Version) {
        let object = self.object("bag");
        let (claim, _) = self.claimed_at(Stage::named("record"));
        let version = self.prepare(&claim, &object);
        self.put(&claim, &version, "deposit/data/a", b"a");
        self.commit(&claim, &version);
        (claim, version)
    }
}

/// A batch of bags.
pub(crate) fn new_batch(id: BatchId, institution: InstitutionId, row_count: Option<u64>) -> NewBatch<'static> {
    let (kind, submitted_by) = ("bag", "someone");
    NewBatch { id, institution, collection: None, kind, submitted_by, note: None, row_count, notify_to: &[] }
}

pub(crate) fn holder(worker: u32) -> WorkerId {
    WorkerId::new("test.invalid", worker, "0-0-1")
}

pub(crate) fn new_version<'v>(object: &Object, description: &'v Description) -> NewVersion<'v> {
    NewVersion {
        object: object.id,
        generation: object.generation,
        number: object.head + 1,
        message: "a deposit",
        user: "someone",
        harvested_from: None,
        description,
    }
}

pub(crate) fn new_content(bytes: &[u8]) -> NewContent {
    NewContent { id: ContentId::new(), size: bytes.len() as u64, digests: digests(bytes) }
}

pub(crate) fn interim_file(path: &str, bytes: &[u8]) -> InterimFile {
    InterimFile {
        path: path.to_owned(),
        size: bytes.len() as u64,
        digests: digests(bytes),
        modified: None,
        staging_key: format!("staging/{path}"),
        staging_offset: 0,
        format: Format::default(),
        decision: None,
        file: None,
        content: None,
    }
}

pub(crate) fn digests(bytes: &[u8]) -> Digests {
    let mut hasher = MultiHasher::new(&Algorithm::RECORDED);
    hasher.update(bytes);
    let digests = hasher.finish();
    let of = |algorithm| digests.get(algorithm).expect("is calculated");
    Digests {
        md5: of(Algorithm::Md5),
        sha1: of(Algorithm::Sha1),
        sha256: of(Algorithm::Sha256),
        sha512: of(Algorithm::Sha512),
    }
}

pub(crate) fn next(stage: Stage) -> StageEnd {
    StageEnd::Next { next: stage, note: format!("on to {stage}") }
}

pub(crate) fn fatal() -> StageEnd {
    StageEnd::Fatal { note: "a fatal error".into(), problems: Vec::new() }
}

pub(crate) fn succeeded() -> StageEnd {
    StageEnd::Succeeded { note: "done".into() }
}
