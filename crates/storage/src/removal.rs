//! What forbids that a key is removed from a store for good, as the store itself reports it.

use std::time::SystemTime;

use crate::Key;

/// How strictly a service keeps a retention (S3 Object Lock).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RetentionMode {
    /// Accounts with a special right may end it earlier. This program never uses that right.
    Governance,
    /// No account can end it earlier.
    Compliance,
}

/// A time before which a service removes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// From when on removal is permitted again, by the clock of the service.
    pub until: SystemTime,
    /// How strictly.
    pub mode: RetentionMode,
}

/// What a store reports against a removal. Of several versions or keys together, what forbids it for longest. A shortest
/// storage duration, before which services charge for what is removed, forbids nothing and is not reported by any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovalHold {
    /// The key that has it, or a version of it.
    pub key: Key,
    /// The retention that ends last; it may have ended.
    pub retention: Option<Retention>,
    /// Whether a legal hold of the service applies, which has no end.
    pub has_legal_hold: bool,
}

impl RemovalHold {
    /// Whether it forbids a removal at this time.
    pub fn forbids_at(&self, time: SystemTime) -> bool {
        self.has_legal_hold || self.retention.is_some_and(|retention| time < retention.until)
    }

    /// This one and another as one. The key is that of the one that lasts longer.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let lasts =
            |hold: &Self| (hold.has_legal_hold, hold.retention.map(|retention| (retention.until, retention.mode)));
        let (longer, shorter) = if lasts(&other) > lasts(&self) { (other, self) } else { (self, other) };
        let later = |one: Option<Retention>, two: Option<Retention>| match (one, two) {
            (Some(one), Some(two)) if (two.until, two.mode) > (one.until, one.mode) => Some(two),
            (Some(one), _) => Some(one),
            (None, two) => two,
        };
        Self {
            retention: later(longer.retention, shorter.retention),
            has_legal_hold: longer.has_legal_hold,
            key: longer.key,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn hold(key: &str, until: Option<u64>, has_legal_hold: bool) -> RemovalHold {
        let retention = until.map(|seconds| Retention { until: at(seconds), mode: RetentionMode::Governance });
        RemovalHold { key: Key::new(key).expect("a key"), retention, has_legal_hold }
    }

    #[test]
    fn a_retention_forbids_until_its_end_and_a_legal_hold_always() {
        assert!(hold("a", Some(10), false).forbids_at(at(9)));
        assert!(!hold("a", Some(10), false).forbids_at(at(10)));
        assert!(hold("a", Some(10), true).forbids_at(at(11)));
        assert!(hold("a", None, true).forbids_at(at(11)));
    }

    #[test]
    fn what_lasts_longest_remains_of_several() {
        let (short, long, legal) = (hold("a", Some(10), false), hold("b", Some(20), false), hold("c", Some(5), true));
        assert_eq!(short.clone().with(long.clone()), long);
        assert_eq!(long.clone().with(short), long);
        assert_eq!(long.clone().with(legal.clone()), hold("c", Some(20), true));
        assert_eq!(legal.with(long), hold("c", Some(20), true));
    }
}
