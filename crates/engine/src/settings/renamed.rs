//! Settings that had other names. An old name is accepted with a warning, in the file and in the environment alike; both names
//! in one of these are an error.

use std::fmt;

use super::error::Origin;

/// Section, old name, name.
const RENAMED: &[(&str, &str, &str)] = &[
    ("receiving", "every", "scan_interval"),
    ("receiving", "settle", "quiet_period"),
    ("workers", "buffer", "prefetch"),
    ("workers", "grace", "shutdown_timeout"),
    ("fixity", "interval", "max_age"),
    ("fixity", "every", "poll_interval"),
    ("restoration", "thaw_days", "retrieval_days"),
    ("restoration", "thaw_tier", "retrieval_tier"),
    ("restoration", "thaw_poll", "retrieval_poll"),
];

/// The old name that this is, with the name that took its place.
pub(super) fn renamed(section: &str, name: &str) -> Option<(&'static str, &'static str)> {
    let found = RENAMED.iter().find(|(within, old, _)| *within == section && *old == name);
    found.map(|(_, old, new)| (*old, *new))
}

/// A setting that is given by its old name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldName {
    /// Where it stands.
    pub origin: Origin,
    /// As it is written there: a key or a variable.
    pub old: String,
    /// What takes its place.
    pub new: String,
}

impl fmt::Display for OldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, old, new } = self;
        let place = origin.place();
        write!(f, "{place} sets {old}, which is now {new}; the old name is accepted until the next release")
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::super::document::starting_file;
    use super::super::{Loaded, Settings};
    use super::RENAMED;

    fn load(text: &str, environment: &[(&str, &str)]) -> Result<Loaded, String> {
        let environment = environment.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let text = format!("{}\n{text}", without_headings());
        Settings::read(Path::new("strongroom.toml"), &text, environment).map_err(|error| error.to_string())
    }

    /// A test may then have sections of its own.
    fn without_headings() -> String {
        let mut text = starting_file();
        for heading in ["[receiving]", "[workers.default]", "[fixity]", "[restoration]"] {
            text = text.replace(heading, "");
        }
        text
    }

    #[test]
    fn an_old_name_in_the_file_is_taken_with_a_warning() {
        let text = "[receiving]\nevery = \"7s\"\nsettle = \"8s\"\n\
                    [workers.default]\nbuffer = 3\ngrace = \"9s\"\n[workers.\"ingest.fetch\"]\nbuffer = 4\n\
                    [fixity]\ninterval = \"60d\"\nevery = \"1h 30m\"\n\
                    [restoration]\nthaw_days = 4\nthaw_tier = \"Bulk\"\nthaw_poll = \"2h\"\n";
        let Loaded { settings, entries, old_names } = load(text, &[]).unwrap();
        assert_eq!(settings.receiving.scan_interval, Duration::from_secs(7));
        assert_eq!(settings.receiving.quiet_period, Duration::from_secs(8));
        assert_eq!(settings.pool("ingest.write").prefetch, 3);
        assert_eq!(settings.pool("ingest.fetch").prefetch, 4);
        assert_eq!(settings.pool("ingest.fetch").shutdown_timeout, Duration::from_secs(9));
        assert_eq!(settings.fixity.max_age, Duration::from_hours(60 * 24));
        assert_eq!(settings.fixity.poll_interval, Duration::from_mins(90));
        assert_eq!(settings.restoration.retrieval_days, 4);
        assert_eq!(settings.restoration.retrieval_tier, "Bulk");
        assert_eq!(settings.restoration.retrieval_poll, Duration::from_hours(2));
        let told: Vec<String> = old_names.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 10, "{told:?}");
        for (old, new) in [
            ("receiving.every", "receiving.scan_interval"),
            ("workers.\"ingest.fetch\".buffer", "workers.\"ingest.fetch\".prefetch"),
            ("fixity.interval", "fixity.max_age"),
        ] {
            let wanted = format!("strongroom.toml sets {old}, which is now {new}; ");
            assert!(told.iter().any(|line| line.starts_with(&wanted)), "{wanted} in {told:?}");
            assert!(entries.iter().any(|entry| entry.key == new) && !entries.iter().any(|entry| entry.key == old));
        }
    }

    #[test]
    fn an_old_name_in_the_environment_is_taken_with_a_warning() {
        let environment = [
            ("STRONGROOM_FIXITY__INTERVAL", "60d"),
            ("STRONGROOM_WORKERS__INGEST_FETCH__GRACE", "9s"),
            ("STRONGROOM_RESTORATION__THAW_DAYS", "4"),
        ];
        let Loaded { settings, old_names, .. } = load("[fixity]\nmax_age = \"5d\"", &environment).unwrap();
        assert_eq!(settings.fixity.max_age, Duration::from_hours(60 * 24), "the environment wins over the file");
        assert_eq!(settings.pool("ingest.fetch").shutdown_timeout, Duration::from_secs(9));
        assert_eq!(settings.restoration.retrieval_days, 4);
        let told: Vec<String> = old_names.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 3, "{told:?}");
        for (old, new) in [
            ("STRONGROOM_FIXITY__INTERVAL", "STRONGROOM_FIXITY__MAX_AGE"),
            ("STRONGROOM_WORKERS__INGEST_FETCH__GRACE", "STRONGROOM_WORKERS__INGEST_FETCH__SHUTDOWN_TIMEOUT"),
        ] {
            let wanted = format!("the environment sets {old}, which is now {new}; ");
            assert!(told.iter().any(|line| line.starts_with(&wanted)), "{wanted} in {told:?}");
        }
        let loaded = load("[fixity]\ninterval = \"5d\"", &[("STRONGROOM_FIXITY__MAX_AGE", "60d")]).unwrap();
        assert_eq!(loaded.settings.fixity.max_age, Duration::from_hours(60 * 24));
        assert_eq!(loaded.old_names.len(), 1, "the file has the old name still: {:?}", loaded.old_names);
        assert_eq!(load("", &[]).unwrap().old_names, []);
    }

    #[test]
    fn both_names_in_one_place_are_refused() {
        for text in [
            "[fixity]\ninterval = \"5d\"\nmax_age = \"5d\"",
            "[workers.default]\nbuffer = 1\nprefetch = 2",
            "[restoration]\nthaw_tier = \"Bulk\"\nretrieval_tier = \"Bulk\"",
        ] {
            let (section, old, new) = RENAMED.iter().find(|(_, old, _)| text.contains(&format!("\n{old} ="))).unwrap();
            let section = if *section == "workers" { "workers.default" } else { section };
            let error = load(text, &[]).unwrap_err();
            assert!(error.contains(&format!(" sets both {section}.{old} and {section}.{new}")), "{error}");
        }
        let both = [("STRONGROOM_FIXITY__MAX_AGE", "5d"), ("STRONGROOM_FIXITY__INTERVAL", "5d")];
        let error = load("", &both).unwrap_err();
        let wanted = "the environment sets both STRONGROOM_FIXITY__INTERVAL and STRONGROOM_FIXITY__MAX_AGE";
        assert!(error.contains(wanted), "{error}");
    }

    #[test]
    fn a_wrong_value_is_told_of_with_the_name_that_was_written() {
        let error = load("[fixity]\ninterval = 90", &[]).unwrap_err();
        assert!(error.contains("sets fixity.interval to 90") && error.contains("fixity.max_age = \"30m\""), "{error}");
    }

    #[test]
    fn every_old_name_leads_to_a_setting() {
        for (section, old, new) in RENAMED {
            let section = super::super::tree::SECTIONS.iter().find(|one| one.key == *section).unwrap();
            assert!(section.settings.iter().any(|setting| setting.name == *new), "{new}");
            assert!(!section.settings.iter().any(|setting| setting.name == *old), "{old}");
        }
    }
}
