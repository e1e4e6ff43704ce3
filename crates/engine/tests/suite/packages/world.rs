//! A home, a web server and a folder of packages: what the tests of packages begin with.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use strongroom_download::{Policy, Retries, Timeouts};
use strongroom_engine::build_runtime;
use strongroom_engine::ingest::{DepositRequest, Deposited, PackageSource, deposit};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::workflow::Workflows;
use strongroom_engine::{Downloads, EngineError};
use strongroom_registry::items::{self, Item, ItemFilter, ItemProblem, Request};
use strongroom_registry::objects::{self, File, Object};
use strongroom_registry::{BatchId, ItemId, ItemStatus, Scope};
use strongroom_web_double::{Certificate, WebDouble};
use tempfile::TempDir;

use crate::fixture::{self, Engine, INSTITUTION, KEPT_IN, TestHome};

/// One attempt of each stage: what fails is seen at once.
pub(super) const ONE_ATTEMPT: &str = "[workers.default]\nmax_attempts = 1\n";

/// The profiles of manifests, by their ends.
pub(super) const OBJECT: &str = "mrt-ingest-manifest";
pub(super) const BATCH: &str = "mrt-batch-manifest";
pub(super) const SINGLE_FILES: &str = "mrt-single-file-batch-manifest";
pub(super) const CONTAINERS: &str = "mrt-container-batch-manifest";

/// A home, a web server from which it may download, and a folder of packages.
pub(super) struct World {
    pub(super) home: TestHome,
    pub(super) web: WebDouble,
    packages: TempDir,
}

/// What a deposit is made of in most tests.
pub(super) type Files<'f> = &'f [(&'f str, &'f [u8])];

impl World {
    pub(super) fn new() -> Self {
        Self::with(ONE_ATTEMPT)
    }

    /// The same with other settings, as TOML tables.
    pub(super) fn with(settings: &str) -> Self {
        Self::on(fixture::home_with(settings), WebDouble::start())
    }

    /// The same with a home that the test has made, before it is said how that downloads.
    pub(super) fn of(home: TestHome, web: WebDouble) -> Self {
        Self { home, web, packages: TempDir::new().expect("a folder") }
    }

    /// The same with a server of HTTPS.
    pub(super) fn with_tls(certificate: Certificate) -> Self {
        Self::on(fixture::home_with(ONE_ATTEMPT), WebDouble::start_tls(certificate))
    }

    /// The same with a registry in this database; none where its server is absent.
    pub(super) fn in_database(engine: Engine, settings: &str) -> Option<Self> {
        Some(Self::on(fixture::home_on(engine, settings)?, WebDouble::start()))
    }

    fn on(home: TestHome, web: WebDouble) -> Self {
        let mut world = Self::of(home, web);
        let policy = world.policy();
        world.download_within(policy);
        world
    }

    /// Bounds that a test reaches at once.
    pub(super) fn policy(&self) -> Policy {
        quick_policy(&self.web)
    }

    /// Downloads within these bounds from now on. The home is not shared yet.
    pub(super) fn download_within(&mut self, policy: Policy) {
        let home = Arc::get_mut(&mut self.home.home).expect("the home is not shared");
        home.downloads = Downloads::within(policy);
    }

    /// A file or folder of the folder of packages.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.packages.path().join(name)
    }

    /// Writes a file of the folder of packages.
    pub(super) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("makes the folder");
        std::fs::write(&path, bytes).expect("writes");
        path
    }

    /// Writes a folder of files.
    pub(super) fn folder(&self, name: &str, files: Files<'_>) -> PathBuf {
        let path = self.path(name);
        let _ = std::fs::remove_dir_all(&path);
        for (file, bytes) in files {
            self.write(&format!("{name}/{file}"), bytes);
        }
        path
    }

    /// Puts files at the server, each at `/<name>`.
    pub(super) fn serve(&self, files: Files<'_>) {
        for (name, bytes) in files {
            self.web.put(&format!("/{name}"), bytes);
        }
    }

    /// A manifest of files that the server has, with their MD5 and sizes.
    pub(super) fn manifest_of(&self, files: Files<'_>) -> String {
        let rows: Vec<String> = files
            .iter()
            .map(|(name, bytes)| {
                format!("{} | md5 | {} | {} | | {name} |", self.web.url(&format!("/{name}")), md5(bytes), bytes.len())
            })
            .collect();
        manifest(OBJECT, &rows)
    }

    pub(super) fn request(&self, source: impl Source) -> DepositRequest {
        DepositRequest { sources: vec![source.source(self)], ..DepositRequest::of_system(INSTITUTION) }
    }

    pub(super) fn submit(&self, request: &DepositRequest) -> Result<Deposited, EngineError> {
        deposit(&self.home, request)
    }

    /// Deposits and works until everything of the batch has ended, or waits for a person: its items in the order of their making.
    pub(super) fn deposit(&self, request: &DepositRequest) -> Vec<Item> {
        let made = self.submit(request).expect("is submitted");
        self.work(made.batch)
    }

    /// Deposits what becomes one object.
    pub(super) fn ingest(&self, request: &DepositRequest) -> Object {
        let items = self.deposit(request);
        let last = items.last().expect("an item");
        assert_eq!(
            last.status,
            ItemStatus::Succeeded,
            "{:?} at {}: {:?}",
            last.note,
            last.stage,
            self.problems(last.id)
        );
        self.object_of(last)
    }

    /// Works until everything of the batch has ended, or waits for a person.
    pub(super) fn work(&self, batch: BatchId) -> Vec<Item> {
        self.work_until(&|| {
            self.items(batch).iter().all(|item| item.status.is_ended() || item.status == ItemStatus::Held)
        });
        self.items(batch)
    }

    pub(super) fn work_until(&self, condition: &dyn Fn() -> bool) {
        build_runtime(&self.home, None).expect("a runtime").build().run_until(&Shutdown::new(), condition);
    }

    /// The items of a batch, in the order of their making.
    pub(super) fn items(&self, batch: BatchId) -> Vec<Item> {
        let filter = ItemFilter { batch: Some(batch), ..ItemFilter::default() };
        let mut items: Vec<Item> = Vec::new();
        loop {
            let after = items.last().map(|item| item.id);
            let page = self.home.registry.read(|tx| items::list(tx, Scope::System, &filter, after, 500));
            let page = page.expect("items");
            if page.is_empty() {
                return items;
            }
            items.extend(page);
        }
    }

    pub(super) fn item(&self, id: ItemId) -> Item {
        self.home.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item")
    }

    pub(super) fn problems(&self, id: ItemId) -> Vec<ItemProblem> {
        self.home.registry.read(|tx| items::problems(tx, Scope::System, id, 1_000)).expect("problems")
    }

    /// The codes of the problems of an item.
    pub(super) fn codes(&self, id: ItemId) -> Vec<String> {
        self.problems(id).into_iter().map(|problem| problem.code).collect()
    }

    /// Every note of an item's history.
    pub(super) fn notes(&self, id: ItemId) -> Vec<String> {
        let history = self.home.registry.read(|tx| items::history(tx, Scope::System, id)).expect("its history");
        history.into_iter().filter_map(|line| line.note).collect()
    }

    pub(super) fn ask(&self, id: ItemId, request: Request) {
        self.home
            .registry
            .write(move |tx| items::request(tx, &Workflows::standard(), Scope::System, id, request, "a person"))
            .expect("is done");
    }

    /// The object that an item is about.
    pub(super) fn object_of(&self, item: &Item) -> Object {
        self.home.registry.read(|tx| objects::find(tx, Scope::System, &item.object_identifier)).expect("the object")
    }

    pub(super) fn object(&self, name: &str) -> Object {
        self.home.object(name)
    }

    /// The identifiers of every object.
    pub(super) fn objects(&self) -> Vec<String> {
        let mut all: Vec<String> =
            crate::rebuild::all_objects(&self.home).into_iter().map(|object| object.identifier).collect();
        all.sort();
        all
    }

    pub(super) fn files(&self, object: &Object, version: u64, prefix: &str) -> Vec<File> {
        self.home.registry.read(|tx| objects::files(tx, object.id, version, prefix, "", 100_000)).expect("files")
    }

    /// What was deposited as of a version, as both stores have it: bytes by path.
    pub(super) fn deposited(&self, object: &Object, version: u64) -> BTreeMap<String, Vec<u8>> {
        self.below(object, version, "deposit/")
    }

    /// The files below a prefix of a version, as both stores have them: bytes by what follows the prefix.
    pub(super) fn below(&self, object: &Object, version: u64, prefix: &str) -> BTreeMap<String, Vec<u8>> {
        let files = self.files(object, version, prefix).into_iter();
        files
            .map(|file| {
                let copies = self.home.registry.read(|tx| objects::copies(tx, file.content)).expect("copies");
                let kept: Vec<&str> = copies.iter().map(|copy| copy.store.as_str()).collect();
                assert_eq!(kept, KEPT_IN, "{}", file.path);
                let read =
                    |copy: &objects::Copy| std::fs::read(self.home.file(&copy.store, &copy.key)).expect("a copy");
                let bytes = read(&copies[0]);
                assert!(bytes == read(&copies[1]), "{} differs between the stores", file.path);
                assert_eq!(md5(&bytes), file.digests.md5.to_hex(), "{}", file.path);
                (file.path[prefix.len()..].to_owned(), bytes)
            })
            .collect()
    }

    /// Nothing is staged for an item.
    pub(super) fn is_nothing_staged(&self) -> bool {
        self.home.keys("staging").is_empty()
    }

    /// Works on everything that is left, sweeps included, until nothing is staged.
    pub(super) fn clear_up(&self) {
        self.work_until(&|| self.is_nothing_staged());
    }
}

/// Something that can be deposited.
pub(super) trait Source {
    fn source(self, world: &World) -> PackageSource;
}

impl Source for PathBuf {
    fn source(self, _: &World) -> PackageSource {
        PackageSource::LocalPath(self)
    }
}

impl Source for &Path {
    fn source(self, _: &World) -> PackageSource {
        PackageSource::LocalPath(self.to_owned())
    }
}

/// A path of the server.
impl Source for &str {
    fn source(self, world: &World) -> PackageSource {
        PackageSource::parse(&world.web.url(self)).expect("a URL")
    }
}

/// Downloads from a server alone, with bounds that a test reaches at once.
pub(super) fn quick_policy(web: &WebDouble) -> Policy {
    Policy {
        hosts: vec![web.authority()],
        allow_private_networks: true,
        root_certificates: web.root_certificate().map(str::to_owned).into_iter().collect(),
        max_bytes: 8 << 20,
        timeouts: Timeouts { stall_window: Duration::from_millis(200), ..Timeouts::default() },
        retries: Retries {
            attempts: 3,
            first_delay: Duration::from_millis(1),
            max_delay: Duration::from_millis(2),
            ..Retries::default()
        },
        ..Policy::default()
    }
}

/// A manifest with the usual columns of its profile, and these rows.
pub(super) fn manifest(profile: &str, rows: &[String]) -> String {
    let more = match profile {
        OBJECT => "mrt:mimeType",
        _ => "mrt:primaryIdentifier | mrt:localIdentifier | mrt:creator | mrt:title | mrt:date",
    };
    let mut text = format!(
        "#%checkm_0.7\n#%profile | http://uc3.cdlib.org/registry/ingest/manifest/{profile}\n\
         #%prefix | mrt: | http://merritt.cdlib.org/terms#\n\
         #%prefix | nfo: | http://www.semanticdesktop.org/ontologies/2007/03/22/nfo#\n\
         #%fields | nfo:fileUrl | nfo:hashAlgorithm | nfo:hashValue | nfo:fileSize | nfo:fileLastModified | nfo:fileName | {more}\n"
    );
    for row in rows {
        writeln!(text, "{row}").expect("writes");
    }
    text + "#%eof\n"
}

pub(super) fn md5(bytes: &[u8]) -> String {
    digest(bytes, strongroom_digest::Algorithm::Md5)
}

pub(super) fn digest(bytes: &[u8], algorithm: strongroom_digest::Algorithm) -> String {
    let (_, digests) = strongroom_digest::hash_reader(bytes, &[algorithm]).expect("hashes");
    digests.get(algorithm).expect("computed").to_hex()
}

/// Bytes by path, as [`World::deposited`] has them.
pub(super) fn contents(files: Files<'_>) -> BTreeMap<String, Vec<u8>> {
    files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect()
}

pub(super) fn tar(files: Files<'_>) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, *bytes).expect("adds a file");
    }
    archive.into_inner().expect("ends")
}

/// One member of a tar whose header says whatever the test wants.
pub(super) fn raw_member(name: &[u8], kind: tar::EntryType, link: &str, bytes: &[u8]) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name);
    header.set_entry_type(kind);
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    if !link.is_empty() {
        header.set_link_name_literal(link).expect("a short name");
    }
    header.set_cksum();
    let mut member = header.as_bytes().to_vec();
    member.extend_from_slice(bytes);
    member.resize(member.len().next_multiple_of(512), 0);
    member
}

/// Members of a tar, and its end.
pub(super) fn raw_tar(members: &[Vec<u8>]) -> Vec<u8> {
    let mut archive = members.concat();
    archive.resize(archive.len() + 1_024, 0);
    archive
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("packs");
    encoder.finish().expect("ends")
}

pub(super) fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).expect("packs");
    encoder.finish().expect("ends")
}

pub(super) fn zip(files: Files<'_>) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        archive.start_file(*name, zip::write::SimpleFileOptions::default()).expect("begins a file");
        archive.write_all(bytes).expect("adds it");
    }
    archive.finish().expect("ends").into_inner()
}
