//! Notifications between processes that there is work, by NOTIFY and LISTEN. A transaction that notifies takes a lock of the
//! whole server when it commits, which halves the throughput of many writers. So the notification is sent after the commit, in a
//! transaction of its own, and at most once per [`INTERVAL`] over all processes: one that was received after the own commit
//! makes another unnecessary. A notification may be lost: every process also polls once a second.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::DatabaseError;

use super::Shared;
use super::connection::Connection;

/// The least time between two notifications.
const INTERVAL: Duration = Duration::from_millis(25);
/// How often a process polls without a notification.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How often the listener checks whether its handle still exists.
const LISTEN_TIMEOUT: Duration = Duration::from_millis(500);

/// The channel of the schema in use: other registries in the same database have others.
const CHANNEL: &str = "SELECT 'strongroom_' || current_schema()::regnamespace::oid";

/// The notifier of one database handle.
pub(super) struct Notifier {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    received: AtomicU64,
    began: Instant,
    is_listening: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// When the last notification was sent or received.
    last: Option<Instant>,
    /// This process has made work since.
    is_owed: bool,
    has_sender: bool,
    stopping: bool,
}

impl Notifier {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            inner: Arc::new(Inner {
                shared,
                received: AtomicU64::new(0),
                began: Instant::now(),
                is_listening: AtomicBool::new(false),
                state: Mutex::default(),
                changed: Condvar::new(),
            }),
        }
    }

    /// A number that changes with every notification, and once a second. The first call starts the listener.
    pub(super) fn revision(&self) -> u64 {
        if !self.inner.is_listening.swap(true, Ordering::SeqCst) {
            let inner = Arc::downgrade(&self.inner);
            // Without a thread, polling once a second is enough.
            let _ = std::thread::Builder::new().name("postgres-listener".into()).spawn(move || listen(&inner));
        }
        let polls = self.inner.began.elapsed().as_secs() / POLL_INTERVAL.as_secs();
        self.inner.received.load(Ordering::SeqCst).wrapping_add(polls)
    }

    /// Notifies the other processes, at the latest after [`INTERVAL`].
    pub(super) fn notify(&self) {
        let mut state = self.inner.lock();
        if state.last.is_none_or(|last| last.elapsed() >= INTERVAL) {
            state.last = Some(Instant::now());
            drop(state);
            self.inner.notify_now();
            return;
        }
        state.is_owed = true;
        if !state.has_sender {
            let inner = self.inner.clone();
            let started =
                std::thread::Builder::new().name("postgres-notifier".into()).spawn(move || inner.notify_later());
            state.has_sender = started.is_ok();
        }
        drop(state);
        self.inner.changed.notify_all();
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        let mut state = self.inner.lock();
        state.stopping = true;
        let is_owed = std::mem::take(&mut state.is_owed);
        drop(state);
        self.inner.changed.notify_all();
        if is_owed {
            self.inner.notify_now();
        }
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify_now(&self) {
        // A notification is a hint: processes that miss it poll.
        let _ = self.try_notify();
    }

    fn try_notify(&self) -> Result<(), DatabaseError> {
        let shown = &self.shared.pool.address.shown;
        let mut borrowed = self.shared.pool.borrow(super::pool::Use::Any).map_err(super::pool::Refusal::into_error)?;
        let sent = borrowed.get()?.first_row(shown, "notify", &format!("SELECT pg_notify(({CHANNEL}), '')"));
        if sent.is_err() {
            borrowed.discard();
        }
        sent.map(|_| ())
    }

    /// Sends what was asked for too soon after the last notification, until the handle is dropped.
    fn notify_later(&self) {
        let mut state = self.lock();
        while !state.stopping {
            if !state.is_owed {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let left = state.last.map_or(Duration::ZERO, |last| INTERVAL.saturating_sub(last.elapsed()));
            if !left.is_zero() {
                state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            state.is_owed = false;
            state.last = Some(Instant::now());
            drop(state);
            self.notify_now();
            state = self.lock();
        }
    }

    /// Counts a received notification; one that this process still owes is no longer necessary.
    fn receive(&self) {
        self.received.fetch_add(1, Ordering::SeqCst);
        let mut state = self.lock();
        state.last = Some(Instant::now());
        state.is_owed = false;
    }
}

/// Listens until the handle is dropped, connecting anew whenever the connection ends.
fn listen(inner: &Weak<Inner>) {
    while let Some(present) = inner.upgrade() {
        let pool = &present.shared.pool;
        let connected = Connection::open(&pool.address, &pool.connector).and_then(|mut connection| {
            let row = connection.first_row(&pool.address.shown, "listen", CHANNEL)?;
            let channel = row.into_iter().next().flatten().unwrap_or_default();
            connection.first_row(&pool.address.shown, "listen", &format!("LISTEN \"{channel}\""))?;
            Ok(connection)
        });
        // Notifications before the connection may have been missed.
        present.received.fetch_add(1, Ordering::SeqCst);
        drop(present);
        match connected {
            Ok(mut connection) => receive_all(inner, &mut connection),
            Err(_) => std::thread::sleep(LISTEN_TIMEOUT),
        }
    }
}

/// Receives notifications until the connection ends or the handle is dropped.
fn receive_all(inner: &Weak<Inner>, connection: &mut Connection) {
    loop {
        let received = connection.client.wait_for_notification(LISTEN_TIMEOUT);
        let Some(present) = inner.upgrade() else { return };
        match received {
            Ok(true) => present.receive(),
            Ok(false) if connection.client.is_closed() => return,
            Ok(false) => {}
            Err(_) => return,
        }
    }
}
