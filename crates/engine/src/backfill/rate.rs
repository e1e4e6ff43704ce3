//! How much may be enqueued without a command: credit that grows with the time, up to what five minutes bring, and that is spent by what is
//! enqueued. It is kept in the registry, so that it is one for all processes and over restarts. A pause, or a clock that jumps, gives at
//! most those five minutes.

use std::fmt;
use std::str::FromStr;

use strongroom_registry::Time;

use crate::settings::Backfill;

/// The parts of an object in which credit is counted: low rates give less than an object from one run to the next.
const PARTS: i64 = 1_000_000;
/// The longest time that gives credit, in microseconds.
const LONGEST: i64 = 5 * 60 * 1_000_000;
/// The time that gives the first credit, in microseconds: one interval of the background task.
const FIRST: i64 = 60 * 1_000_000;
const HOUR: i128 = 3_600 * 1_000_000;

/// How much may be enqueued now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Credit {
    at: Time,
    /// Objects, in parts.
    objects: i64,
    /// Bytes; negative where more were enqueued than there was credit for.
    bytes: i64,
}

impl Credit {
    /// The credit of an installation in which nothing was enqueued yet.
    pub(super) fn first(now: Time, rate: &Backfill) -> Self {
        let begun = Self { at: Time(now.0.saturating_sub(FIRST)), objects: 0, bytes: 0 };
        let mut first = begun.at(now, rate);
        first.objects = first.objects.max(if rate.objects_per_hour == 0 { 0 } else { PARTS });
        first
    }

    /// The same later, or as it is where the clock was set back.
    #[must_use]
    pub(super) fn at(self, now: Time, rate: &Backfill) -> Self {
        let elapsed = now.0.saturating_sub(self.at.0).clamp(0, LONGEST);
        // Rates that bring less than one object in that time still reach one.
        let most_objects = gained(LONGEST, rate.objects_per_hour, PARTS).max(PARTS);
        let most_bytes = gained(LONGEST, rate.bytes_per_hour, 1).max(1);
        Self {
            at: now,
            objects: self.objects.saturating_add(gained(elapsed, rate.objects_per_hour, PARTS)).min(most_objects),
            bytes: self.bytes.saturating_add(gained(elapsed, rate.bytes_per_hour, 1)).min(most_bytes),
        }
    }

    /// How many objects may be enqueued, as far as their bytes allow it.
    pub(super) fn objects(&self, rate: &Backfill) -> usize {
        if rate.objects_per_hour == 0 || rate.bytes_per_hour > 0 && self.bytes <= 0 {
            return 0;
        }
        usize::try_from(self.objects / PARTS).unwrap_or(0)
    }

    /// Spends an object of so many bytes.
    pub(super) fn spend(&mut self, bytes: u64) {
        self.objects = self.objects.saturating_sub(PARTS);
        self.bytes = self.bytes.saturating_sub(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// Takes back that an object of so many bytes was spent.
    pub(super) fn restore(&mut self, bytes: u64) {
        self.objects = self.objects.saturating_add(PARTS);
        self.bytes = self.bytes.saturating_add(i64::try_from(bytes).unwrap_or(i64::MAX));
    }
}

/// What so many microseconds bring at so much an hour, in parts.
fn gained(elapsed: i64, per_hour: u64, parts: i64) -> i64 {
    let all = i128::from(elapsed).saturating_mul(i128::from(per_hour)).saturating_mul(i128::from(parts)) / HOUR;
    i64::try_from(all).unwrap_or(i64::MAX)
}

impl fmt::Display for Credit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.at.0, self.objects, self.bytes)
    }
}

impl FromStr for Credit {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut numbers = text.split(' ').map(|number| number.parse::<i64>().map_err(drop));
        let mut next = || numbers.next().ok_or(())?;
        let (at, objects, bytes) = (Time(next()?), next()?, next()?);
        Ok(Self { at, objects, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000_000;

    fn rate(objects_per_hour: u64, bytes_per_hour: u64) -> Backfill {
        Backfill { objects_per_hour, bytes_per_hour, max_queued: 1 }
    }

    /// Spends what there is; how many objects of so many bytes that were.
    fn spend_all(credit: &mut Credit, rate: &Backfill, bytes: u64) -> u64 {
        let mut spent = 0;
        while credit.objects(rate) > 0 {
            credit.spend(bytes);
            spent += 1;
        }
        spent
    }

    #[test]
    fn in_an_hour_of_runs_as_many_are_enqueued_as_the_rate_says() {
        for (per_hour, wanted) in [(1, 1..=2), (7, 7..=8), (60, 60..=61), (10_000, 9_990..=10_170)] {
            let rate = rate(per_hour, 0);
            let mut credit = Credit::first(Time(0), &rate);
            let mut spent = spend_all(&mut credit, &rate, 1 << 40);
            for run in 1..=60 {
                credit = credit.at(Time(run * MINUTE), &rate).to_string().parse().expect("as it was written");
                spent += spend_all(&mut credit, &rate, 1 << 40);
            }
            assert!(wanted.contains(&spent), "{per_hour}: {spent}");
        }
    }

    #[test]
    fn a_pause_and_a_clock_that_jumps_give_what_five_minutes_bring() {
        let rate = rate(1_200, 0);
        let mut credit = Credit::first(Time(0), &rate);
        assert_eq!(spend_all(&mut credit, &rate, 0), 20);
        credit = credit.at(Time(1_000_000 * MINUTE), &rate);
        assert_eq!(spend_all(&mut credit, &rate, 0), 100);
        credit = credit.at(Time(MINUTE), &rate);
        assert_eq!(spend_all(&mut credit, &rate, 0), 0, "the clock was set back");
        credit = credit.at(Time(2 * MINUTE), &rate);
        assert_eq!(spend_all(&mut credit, &rate, 0), 20, "from then on it counts as before");
        credit = credit.at(Time(i64::MIN), &rate).at(Time(i64::MAX), &rate);
        assert_eq!(spend_all(&mut credit, &rate, 0), 100);
    }

    #[test]
    fn a_large_object_is_enqueued_and_its_bytes_are_waited_for() {
        let rate = rate(10_000, 600);
        let mut credit = Credit::first(Time(0), &rate);
        assert_eq!(spend_all(&mut credit, &rate, 100), 1, "10 bytes of credit are enough to begin");
        assert_eq!(credit.at(Time(5 * MINUTE), &rate).objects(&rate), 0);
        let mut minutes = 0;
        while credit.objects(&rate) == 0 {
            minutes += 1;
            credit = credit.at(Time(minutes * MINUTE), &rate);
        }
        assert_eq!(minutes, 10, "90 bytes were too many, at 10 a minute");
    }

    #[test]
    fn without_a_rate_nothing_is_enqueued_and_what_is_no_credit_is_refused() {
        let none = rate(0, 0);
        assert_eq!(Credit::first(Time(0), &none).at(Time(i64::MAX), &none).objects(&none), 0);
        for text in ["", "1 2", "a b c"] {
            assert_eq!(text.parse::<Credit>(), Err(()), "{text}");
        }
        let most = rate(u64::MAX, u64::MAX);
        assert!(Credit::first(Time(0), &most).at(Time(i64::MAX), &most).objects(&most) > 0);
    }
}
