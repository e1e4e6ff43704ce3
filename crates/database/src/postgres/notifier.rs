//! Telling those who wait in other processes that there is work. A transaction that notifies takes a lock of the whole
//! server when it commits, which costs half of what many writers can do; so the notifier is rung after the commit, by a
//! transaction of its own, and at most every [`INTERVAL`] however many processes make work: whoever hears it ring after
//! his own commit need not ring it again. Behind it everybody looks once a second, in case it was not heard.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use postgres::fallible_iterator::FallibleIterator;

use crate::DatabaseError;

use super::Shared;
use super::connection::Connection;

/// The least time between two rings.
const INTERVAL: Duration = Duration::from_millis(25);
/// How often everybody looks without a ring.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// How often the listener looks whether it is still wanted.
const PATIENCE: Duration = Duration::from_millis(500);

/// The channel of the schema in use: other registries in the same database have others.
const CHANNEL: &str = "SELECT 'strongroom_' || current_schema()::regnamespace::oid";

/// The notifier of one database handle.
pub(super) struct Notifier {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    heard: AtomicU64,
    began: Instant,
    is_listening: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// When it last rang, by whomever.
    last: Option<Instant>,
    /// Somebody here has made work since.
    wanted: bool,
    has_ringer: bool,
    stopping: bool,
}

impl Notifier {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            inner: Arc::new(Inner {
                shared,
                heard: AtomicU64::new(0),
                began: Instant::now(),
                is_listening: AtomicBool::new(false),
                state: Mutex::default(),
                changed: Condvar::new(),
            }),
        }
    }

    /// A number that changes when it rang, and once a second. The first call begins to listen.
    pub(super) fn revision(&self) -> u64 {
        if !self.inner.is_listening.swap(true, Ordering::SeqCst) {
            let inner = Arc::downgrade(&self.inner);
            // Where no thread can be had, looking once a second does.
            let _ = std::thread::Builder::new().name("postgres-listener".into()).spawn(move || listen(&inner));
        }
        let looks = self.inner.began.elapsed().as_secs() / LOOK_INTERVAL.as_secs();
        self.inner.heard.load(Ordering::SeqCst).wrapping_add(looks)
    }

    /// Rings, now or in a moment.
    pub(super) fn notify(&self) {
        let mut state = self.inner.lock();
        if state.last.is_none_or(|last| last.elapsed() >= INTERVAL) {
            state.last = Some(Instant::now());
            drop(state);
            self.inner.notify_now();
            return;
        }
        state.wanted = true;
        if !state.has_ringer {
            let inner = self.inner.clone();
            let started =
                std::thread::Builder::new().name("postgres-ringer".into()).spawn(move || inner.notify_later());
            state.has_ringer = started.is_ok();
        }
        drop(state);
        self.inner.changed.notify_all();
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        let mut state = self.inner.lock();
        state.stopping = true;
        let is_owed = std::mem::take(&mut state.wanted);
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
        // Nobody has to hear it: it is a hint, and polling stays behind it.
        let _ = self.try_ring();
    }

    fn try_ring(&self) -> Result<(), DatabaseError> {
        let shown = &self.shared.pool.address.shown;
        let mut borrowed = self.shared.pool.borrow(super::pool::Use::Any).map_err(super::pool::Refusal::into_error)?;
        let rung = borrowed.get()?.first_row(shown, "ring", &format!("SELECT pg_notify(({CHANNEL}), '')"));
        if rung.is_err() {
            borrowed.discard();
        }
        rung.map(|_| ())
    }

    /// Rings for those who asked too soon after the last ring, until the handle is dropped.
    fn notify_later(&self) {
        let mut state = self.lock();
        while !state.stopping {
            if !state.wanted {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let left = state.last.map_or(Duration::ZERO, |last| INTERVAL.saturating_sub(last.elapsed()));
            if !left.is_zero() {
                state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            state.wanted = false;
            state.last = Some(Instant::now());
            drop(state);
            self.notify_now();
            state = self.lock();
        }
    }

    /// Notes that it rang. Who wanted it to has what he wanted.
    fn hear(&self) {
        self.heard.fetch_add(1, Ordering::SeqCst);
        let mut state = self.lock();
        state.last = Some(Instant::now());
        state.wanted = false;
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
        // What rang before may have been missed.
        present.heard.fetch_add(1, Ordering::SeqCst);
        drop(present);
        match connected {
            Ok(mut connection) => hear_all(inner, &mut connection),
            Err(_) => std::thread::sleep(PATIENCE),
        }
    }
}

/// Hears every ring until the connection ends or nobody is interested any more.
fn hear_all(inner: &Weak<Inner>, connection: &mut Connection) {
    loop {
        let rung = connection.client.notifications().timeout_iter(PATIENCE).next();
        let Some(present) = inner.upgrade() else { return };
        match rung {
            Ok(Some(_)) => present.hear(),
            Ok(None) if connection.client.is_closed() => return,
            Ok(None) => {}
            Err(_) => return,
        }
    }
}
