//! Datestamps, and windows of them (sections 2.7.1 and 3.3).

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// The finest datestamps of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Granularity {
    /// `YYYY-MM-DD`.
    Day,
    /// `YYYY-MM-DDThh:mm:ssZ`.
    Second,
}

impl Granularity {
    /// As `Identify` writes it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "YYYY-MM-DD" => Some(Self::Day),
            "YYYY-MM-DDThh:mm:ssZ" => Some(Self::Second),
            _ => None,
        }
    }

    /// A time, with what is finer left out.
    pub fn format(self, time: Timestamp) -> String {
        let form = match self {
            Self::Day => "%Y-%m-%d",
            Self::Second => "%Y-%m-%dT%H:%M:%SZ",
        };
        time.to_zoned(TimeZone::UTC).strftime(form).to_string()
    }

    /// A datestamp of a record, as it may be asked for; none where it is malformed.
    pub(crate) fn of_record(self, datestamp: &str) -> Option<String> {
        let time = match datestamp.len() {
            10 => format!("{datestamp}T00:00:00Z").parse::<Timestamp>(),
            _ => datestamp.parse(),
        };
        time.ok().map(|time| self.format(time))
    }
}

/// Which records are asked for, by when they were changed. Both ends belong to it. A provider whose datestamps are days gets the days in
/// which the times are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// Not those that were changed before.
    pub from: Option<Timestamp>,
    /// Not those that were changed after.
    pub until: Option<Timestamp>,
}

impl Window {
    pub(crate) fn is_open(&self) -> bool {
        self.from.is_none() && self.until.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_both_granularities() {
        let time: Timestamp = "2024-05-06T23:59:58.5Z".parse().unwrap();
        assert_eq!(Granularity::Day.format(time), "2024-05-06");
        assert_eq!(Granularity::Second.format(time), "2024-05-06T23:59:58Z");
    }

    #[test]
    fn datestamps_of_records_are_asked_for_as_the_provider_wants_them() {
        for (granularity, datestamp, expected) in [
            (Granularity::Day, "2024-05-06T23:59:58Z", Some("2024-05-06")),
            (Granularity::Day, "2024-05-06", Some("2024-05-06")),
            (Granularity::Second, "2024-05-06", Some("2024-05-06T00:00:00Z")),
            (Granularity::Second, "2024-05-06T23:59:58Z", Some("2024-05-06T23:59:58Z")),
            (Granularity::Second, "2024-13-06", None),
            (Granularity::Second, "yesterday", None),
            (Granularity::Second, "", None),
        ] {
            assert_eq!(granularity.of_record(datestamp).as_deref(), expected, "{datestamp}");
        }
    }
}
