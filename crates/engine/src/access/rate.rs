//! How many bytes a second this process reads from a store and puts into it: one budget for all threads, kept by waiting after
//! each read of a body. It knows no store and no task.
//!
//! A read is shortened to what passes in [`SLICE`] and waits until its bytes have passed, behind those of the other threads.
//! It never waits longer than [`SLICE`] for each thread that reads at the same time, so that a reader which asks between two
//! reads whether it has to stop is asked soon. Nothing is held in memory for it.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What passes in this span is read at once, and as much passes without a wait after a pause.
const SLICE: Duration = Duration::from_millis(100);

/// A limit in bytes a second.
pub(super) struct ByteRate {
    per_second: u64,
    /// When all bytes that were read will have passed.
    passed_at: Mutex<Duration>,
    clock: Box<dyn Clock>,
}

/// The time by which bytes pass.
trait Clock: Send + Sync {
    /// The time since some fixed point.
    fn now(&self) -> Duration;

    /// Returns after this time.
    fn sleep(&self, span: Duration);
}

/// The clock of the system.
struct SystemClock(Instant);

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, span: Duration) {
        thread::sleep(span);
    }
}

impl ByteRate {
    /// A limit of so many bytes a second; none where that is 0.
    pub(super) fn new(per_second: u64) -> Option<Arc<Self>> {
        Self::with_clock(per_second, Box::new(SystemClock(Instant::now())))
    }

    fn with_clock(per_second: u64, clock: Box<dyn Clock>) -> Option<Arc<Self>> {
        (per_second > 0).then(|| Arc::new(Self { per_second, passed_at: Mutex::default(), clock }))
    }

    /// The most bytes of one read.
    fn most(&self) -> usize {
        let most = u128::from(self.per_second) * SLICE.as_millis() / 1_000;
        usize::try_from(most).unwrap_or(usize::MAX).max(1)
    }

    /// Waits until so many bytes that were read have passed.
    fn pass(&self, bytes: usize) {
        let nanoseconds = (bytes as u128 * 1_000_000_000).div_ceil(u128::from(self.per_second));
        let takes = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
        let now = self.clock.now();
        let wait = {
            let mut passed_at = self.passed_at.lock().unwrap_or_else(PoisonError::into_inner);
            *passed_at = (*passed_at).max(now.saturating_sub(SLICE)).saturating_add(takes);
            passed_at.saturating_sub(now)
        };
        if !wait.is_zero() {
            self.clock.sleep(wait);
        }
    }
}

/// A body that is read no faster than a limit allows.
pub(super) struct Limited<R> {
    body: R,
    rate: Option<Arc<ByteRate>>,
}

impl<R> Limited<R> {
    /// Limits the reading of a body; with no limit it is read as it is.
    pub(super) fn new(body: R, rate: Option<Arc<ByteRate>>) -> Self {
        Self { body, rate }
    }
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(rate) = &self.rate else { return self.body.read(buffer) };
        let most = buffer.len().min(rate.most());
        let length = self.body.read(buffer.get_mut(..most).unwrap_or_default())?;
        // A body that claims more than it was asked for is refused by its reader, who must not wait for it.
        rate.pass(length.min(most));
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock on which nothing but sleeping takes time.
    #[derive(Clone, Default)]
    struct TestClock(Arc<Mutex<Times>>);

    #[derive(Default)]
    struct Times {
        now: Duration,
        slept: Vec<Duration>,
    }

    impl TestClock {
        fn advance(&self, span: Duration) {
            self.0.lock().expect("no panic").now += span;
        }

        fn slept(&self) -> Vec<Duration> {
            self.0.lock().expect("no panic").slept.clone()
        }
    }

    impl Clock for TestClock {
        fn now(&self) -> Duration {
            self.0.lock().expect("no panic").now
        }

        fn sleep(&self, span: Duration) {
            let mut times = self.0.lock().expect("no panic");
            times.now += span;
            times.slept.push(span);
        }
    }

    /// A clock that stands while threads sleep, as it does for those that begin at the same time.
    #[derive(Clone, Default)]
    struct StoppedClock(TestClock);

    impl Clock for StoppedClock {
        fn now(&self) -> Duration {
            self.0.now()
        }

        fn sleep(&self, span: Duration) {
            self.0.0.lock().expect("no panic").slept.push(span);
        }
    }

    fn rate(per_second: u64, clock: &(impl Clock + Clone + 'static)) -> Option<Arc<ByteRate>> {
        ByteRate::with_clock(per_second, Box::new(clock.clone()))
    }

    fn read_all(body: &[u8], rate: Option<Arc<ByteRate>>) -> Vec<u8> {
        let mut read = Vec::new();
        Limited::new(body, rate).read_to_end(&mut read).expect("reads");
        read
    }

    #[test]
    fn a_body_passes_whole_in_the_time_that_the_limit_gives_it() {
        let clock = TestClock::default();
        let body: Vec<u8> = (0..50_000_u32).flat_map(u32::to_le_bytes).collect();
        assert_eq!(read_all(&body, rate(100_000, &clock)), body);
        assert_eq!(clock.now(), Duration::from_secs(2));
    }

    #[test]
    fn all_bodies_of_a_store_share_its_limit() {
        let clock = TestClock::default();
        let rate = rate(1_000, &clock);
        for _ in 0..5 {
            read_all(&[7; 1_000], rate.clone());
        }
        assert_eq!(clock.now(), Duration::from_secs(5));
    }

    #[test]
    fn no_read_waits_longer_than_a_slice_for_each_body_that_is_read_at_the_same_time() {
        let clock = StoppedClock::default();
        let rate = rate(1_000, &clock);
        let mut bodies: Vec<_> = (0..4).map(|_| Limited::new(&[7_u8; 1_000][..], rate.clone())).collect();
        for body in &mut bodies {
            let length = body.read(&mut [0; 1_000]).expect("reads");
            assert_eq!(length, 100, "a read is shortened to what passes in a slice");
        }
        assert_eq!(clock.0.slept(), [1, 2, 3, 4].map(|bodies| SLICE * bodies));
    }

    #[test]
    fn a_pause_saves_no_more_than_one_slice() {
        let clock = TestClock::default();
        let rate = rate(1_000, &clock);
        clock.advance(Duration::from_hours(1));
        let begun = clock.now();
        read_all(&[7; 1_000], rate);
        assert_eq!(clock.now(), begun + Duration::from_millis(900));
    }

    #[test]
    fn a_limit_of_fewer_bytes_than_slices_lets_one_byte_pass_at_a_time() {
        let clock = TestClock::default();
        assert_eq!(read_all(&[7; 3], rate(1, &clock)), [7; 3]);
        assert_eq!(clock.slept(), [Duration::from_secs(1); 3]);
    }

    #[test]
    fn without_a_limit_nothing_waits() {
        let clock = TestClock::default();
        assert!(rate(0, &clock).is_none());
        let mut body = Limited::new(&[7_u8; 5_000][..], None);
        assert_eq!(body.read(&mut [0; 5_000]).expect("reads"), 5_000);
    }

    #[test]
    fn what_was_not_read_takes_no_time() {
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("no"))
            }
        }
        let clock = TestClock::default();
        assert!(Limited::new(Failing, rate(1, &clock)).read(&mut [0; 10]).is_err());
        assert!(clock.slept().is_empty());
    }
}
