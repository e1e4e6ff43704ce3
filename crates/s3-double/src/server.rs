//! The server itself: a thread of its own, a loopback port, and the handle by which a test looks in and steers.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::bucket::Bucket;
use crate::faults::Plans;
use crate::listing::hex;
use crate::service::Service;
use crate::{Counts, Fault, Mode, Operation, Rules, Stored, VersionSeen};

/// The access key that the server knows.
pub const ACCESS_KEY: &str = "double-access-key";
/// Its secret.
pub const SECRET_KEY: &str = "double-secret-key";
/// The bucket that is there from the start.
pub const BUCKET: &str = "bucket";

/// Everything the server knows, shared with the handle.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) rules: Rules,
    pub(crate) bucket: Bucket,
    /// Other buckets, by name.
    pub(crate) others: BTreeMap<String, Bucket>,
    pub(crate) plans: Plans,
    pub(crate) counts: Counts,
}

impl State {
    pub(crate) fn has(&self, bucket: &str) -> bool {
        if bucket == BUCKET { !self.bucket.is_dropped } else { self.others.contains_key(bucket) }
    }

    /// A bucket that is there.
    pub(crate) fn at(&self, bucket: &str) -> &Bucket {
        self.others.get(bucket).unwrap_or(&self.bucket)
    }

    /// The same, to be changed.
    pub(crate) fn at_mut(&mut self, bucket: &str) -> &mut Bucket {
        self.others.get_mut(bucket).unwrap_or(&mut self.bucket)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let first = (!self.bucket.is_dropped).then(|| BUCKET.to_owned());
        let mut names: Vec<String> = first.into_iter().chain(self.others.keys().cloned()).collect();
        names.sort_unstable();
        names
    }

    /// Makes a bucket; whether there was none.
    pub(crate) fn create(&mut self, bucket: &str) -> bool {
        if self.has(bucket) {
            return false;
        }
        if bucket == BUCKET {
            self.bucket = Bucket::default();
        } else {
            self.others.insert(bucket.to_owned(), Bucket::default());
        }
        true
    }

    /// Removes a bucket in which nothing lies, no version either; whether that was so.
    pub(crate) fn remove(&mut self, bucket: &str) -> bool {
        if !self.at(bucket).versions().is_empty() {
            return false;
        }
        if bucket == BUCKET {
            self.bucket = Bucket { is_dropped: true, ..Bucket::default() };
        } else {
            self.others.remove(bucket);
        }
        true
    }
}

/// A running server. It stops when dropped.
#[derive(Debug)]
pub struct Double {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Double {
    /// A server as strict as AWS.
    pub fn start() -> std::io::Result<Self> {
        Self::start_with(Rules::AWS)
    }

    /// A server with these rules.
    pub fn start_with(rules: Rules) -> std::io::Result<Self> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let state = Arc::new(Mutex::new(State { rules, ..State::default() }));
        let mut builder = S3ServiceBuilder::new(Service::new(Arc::clone(&state)));
        builder.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        let service = builder.build();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new().name("s3-double".to_owned()).spawn(move || {
            runtime.block_on(async move {
                tokio::select! {
                    () = accept(listener, service) => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(Self { address, state, stop: Some(stop), thread: Some(thread) })
    }

    /// The URL of the server. It knows the bucket by the path only.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Changes what the server honours.
    pub fn set_rules(&self, rules: Rules) {
        self.lock().rules = rules;
    }

    /// Plans a fault for the `nth` request of an operation from now on; 1 is the next.
    pub fn plan(&self, operation: Operation, nth: u64, fault: Fault) {
        self.lock().plans.plan(operation, nth, fault);
    }

    /// Makes a fault happen at every request of an operation for which no other is planned; `None` ends that.
    pub fn always(&self, operation: Operation, fault: Option<Fault>) {
        self.lock().plans.always(operation, fault);
    }

    /// Makes a fault happen at the first read of each key from now on.
    pub fn at_first_reads(&self, fault: Fault) {
        self.lock().plans.at_first_reads(fault);
    }

    /// Ends all faults that were planned.
    pub fn end_faults(&self) {
        self.lock().plans.forget();
    }

    /// What the server was asked for so far.
    pub fn counts(&self) -> Counts {
        self.lock().counts.clone()
    }

    /// Turns the server's clock on.
    pub fn turn_clock(&self, by: Duration) {
        self.lock().bucket.turned += by;
    }

    /// Every key of the bucket, in byte order.
    pub fn keys(&self) -> Vec<String> {
        self.lock().bucket.objects.keys().cloned().collect()
    }

    /// An object as it lies in the bucket.
    pub fn stored(&self, key: &str) -> Option<Stored> {
        self.lock().bucket.objects.get(key).cloned()
    }

    /// Makes a bucket beside the one that is there from the start.
    pub fn create_bucket(&self, bucket: &str) {
        self.lock().create(bucket);
    }

    /// An object as it lies in a bucket.
    pub fn stored_in(&self, bucket: &str, key: &str) -> Option<Stored> {
        self.lock().at(bucket).objects.get(key).cloned()
    }

    /// Lays bytes into the bucket as someone else would, under any key.
    pub fn lay(&self, key: &str, bytes: &[u8]) {
        self.lay_in(BUCKET, key, bytes);
    }

    /// The same, into a bucket that is there.
    pub fn lay_in(&self, bucket: &str, key: &str, bytes: &[u8]) {
        use md5::{Digest, Md5};
        let mut state = self.lock();
        let stored = Stored {
            pieces: vec![Bytes::copy_from_slice(bytes)],
            etag: hex(&Md5::digest(bytes)),
            sha256: None,
            class: None,
            encryption: None,
            metadata: BTreeMap::new(),
            content_type: None,
            content_encoding: None,
            modified: state.bucket.now(),
            restoration: None,
            version: None,
            lock: crate::versions::Lock::default(),
        };
        let rules = state.rules;
        state.at_mut(bucket).put(&rules, key, stored);
    }

    /// Lays an object into the bucket as it lay in another one.
    pub fn lay_stored(&self, key: &str, stored: Stored) {
        self.lock().bucket.objects.insert(key.to_owned(), stored);
    }

    /// Takes an object out of the bucket.
    pub fn take(&self, key: &str) -> Option<Stored> {
        self.lock().bucket.objects.remove(key)
    }

    /// Every version and every marker of a deletion in the bucket, by key, the newest of a key first.
    pub fn versions(&self) -> Vec<VersionSeen> {
        self.lock().bucket.versions()
    }

    /// Retains the newest version of a key until so long from now, by the server's own clock.
    pub fn retain(&self, key: &str, mode: Mode, time: Duration) {
        let mut state = self.lock();
        let until = s3s::dto::Timestamp::from(state.bucket.now() + time);
        if let Some(stored) = state.bucket.objects.get_mut(key) {
            stored.lock.retention = Some((mode, until));
        }
    }

    /// Lays a legal hold on the newest version of a key, or takes it off.
    pub fn hold(&self, key: &str, is_held: bool) {
        if let Some(stored) = self.lock().bucket.objects.get_mut(key) {
            stored.lock.is_held = is_held;
        }
    }

    /// Retains what is put from now on for so long, where the put says nothing else.
    pub fn retain_by_default(&self, retention: Option<(Mode, Duration)>) {
        self.lock().bucket.default_retention = retention;
    }

    /// Drops every multipart upload under way, as a lifecycle rule would.
    pub fn drop_uploads(&self) {
        self.lock().bucket.uploads.clear();
    }

    /// Removes the bucket with all that lies in it.
    pub fn drop_bucket(&self) {
        let mut state = self.lock();
        state.bucket = Bucket { is_dropped: true, ..Bucket::default() };
    }

    /// Keys of multipart uploads under way.
    pub fn uploads(&self) -> Vec<String> {
        self.lock().bucket.uploads.values().map(|upload| upload.key.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: std::net::TcpListener, service: S3Service) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    loop {
        let Ok((connection, _)) = listener.accept().await else { continue };
        let _ = connection.set_nodelay(true);
        let service = service.clone();
        tokio::spawn(async move {
            // A connection that was cut is the client's to notice.
            let _ =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(connection), service).await;
        });
    }
}
