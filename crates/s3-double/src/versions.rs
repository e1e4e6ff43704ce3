//! Versions of what lies in the bucket, markers of deletions, and what keeps a version from being removed.

use std::time::SystemTime;

use s3s::dto::Timestamp;
use s3s::{S3Result, s3_error};

use crate::Rules;
use crate::bucket::{Bucket, Stored};

/// The name of a version that came while the bucket kept none.
const NULL: &str = "null";

/// How strictly a retention is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Who may bypass it can end it.
    Governance,
    /// No one can.
    Compliance,
}

impl Mode {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Governance => "GOVERNANCE",
            Self::Compliance => "COMPLIANCE",
        }
    }
}

/// A version as a test sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionSeen {
    /// The key.
    pub key: String,
    /// The name of the version.
    pub version: String,
    /// Whether it is a marker of a deletion.
    pub is_marker: bool,
    /// Whether it is the newest of its key.
    pub is_latest: bool,
}

/// Object Lock of a version.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lock {
    pub(crate) retention: Option<(Mode, Timestamp)>,
    pub(crate) is_held: bool,
}

impl Lock {
    /// What a put asks for.
    pub(crate) fn asked(
        rules: &Rules,
        mode: Option<&str>,
        until: Option<Timestamp>,
        legal_hold: Option<&str>,
    ) -> S3Result<Self> {
        let is_asked = mode.is_some() || until.is_some() || legal_hold.is_some();
        if is_asked && !rules.locks {
            return Err(s3_error!(InvalidRequest, "Bucket is missing Object Lock Configuration"));
        }
        let retention = match (mode, until) {
            (None, None) => None,
            (Some("GOVERNANCE"), Some(until)) => Some((Mode::Governance, until)),
            (Some("COMPLIANCE"), Some(until)) => Some((Mode::Compliance, until)),
            _ => return Err(s3_error!(InvalidArgument)),
        };
        Ok(Self { retention, is_held: legal_hold == Some("ON") })
    }

    fn forbids_at(&self, now: SystemTime) -> bool {
        self.is_held || self.retention.as_ref().is_some_and(|(_, until)| Timestamp::from(now) < *until)
    }
}

/// What lies behind the newest version of a key, or is a marker.
#[derive(Debug, Clone)]
pub(crate) enum Older {
    Object(Box<Stored>),
    Marker(String),
}

impl Older {
    fn version(&self) -> &str {
        match self {
            Self::Object(stored) => name(stored),
            Self::Marker(version) => version,
        }
    }
}

/// What a deletion did.
#[derive(Debug, Default)]
pub(crate) struct Removed {
    /// Whether a marker was made or removed.
    pub(crate) is_marker: bool,
    pub(crate) version: Option<String>,
}

fn name(stored: &Stored) -> &str {
    stored.version.as_deref().unwrap_or(NULL)
}

impl Bucket {
    /// Lays an object under a key; what lay there is kept behind it where the bucket keeps versions.
    pub(crate) fn put(&mut self, rules: &Rules, key: &str, mut stored: Stored) -> Stored {
        self.before.insert(key.to_owned(), self.objects.get(key).cloned());
        if rules.keeps_versions {
            stored.version = Some(self.next_version());
            if let Some(before) = self.objects.remove(key) {
                self.older.entry(key.to_owned()).or_default().push(Older::Object(Box::new(before)));
            }
        }
        if rules.locks && stored.lock.retention.is_none() {
            stored.lock.retention =
                self.default_retention.map(|(mode, time)| (mode, Timestamp::from(self.now() + time)));
        }
        self.objects.insert(key.to_owned(), stored.clone());
        stored
    }

    fn next_version(&mut self) -> String {
        self.versions_made += 1;
        format!("v{:06}", self.versions_made)
    }

    /// Removes a key, which leaves a marker where the bucket keeps versions; or one version of it for good.
    pub(crate) fn remove(&mut self, rules: &Rules, key: &str, version: Option<&str>) -> S3Result<Removed> {
        if let Some(version) = version {
            return self.remove_version(key, version);
        }
        let before = self.objects.remove(key);
        self.before.insert(key.to_owned(), before.clone());
        if !rules.keeps_versions {
            return Ok(Removed::default());
        }
        let marker = self.next_version();
        let older = self.older.entry(key.to_owned()).or_default();
        older.extend(before.map(|stored| Older::Object(Box::new(stored))));
        older.push(Older::Marker(marker.clone()));
        Ok(Removed { is_marker: true, version: Some(marker) })
    }

    fn remove_version(&mut self, key: &str, version: &str) -> S3Result<Removed> {
        let now = self.now();
        let check = |stored: &Stored| {
            let is_locked = stored.lock.forbids_at(now);
            if is_locked {
                Err(s3_error!(AccessDenied, "Access Denied because object protected by object lock."))
            } else {
                Ok(())
            }
        };
        let removed = Removed { is_marker: false, version: Some(version.to_owned()) };
        if let Some(stored) = self.objects.get(key).filter(|stored| name(stored) == version) {
            check(stored)?;
            self.objects.remove(key);
            self.show_newest(key);
            return Ok(removed);
        }
        let Some(older) = self.older.get_mut(key) else { return Ok(removed) };
        let Some(at) = older.iter().position(|older| older.version() == version) else { return Ok(removed) };
        let is_marker = match &older[at] {
            Older::Object(stored) => check(stored).map(|()| false)?,
            Older::Marker(_) => true,
        };
        older.remove(at);
        self.show_newest(key);
        Ok(Removed { is_marker, ..removed })
    }

    /// Where the newest version was removed, the one before it takes its place.
    fn show_newest(&mut self, key: &str) {
        let Some(older) = self.older.get_mut(key) else { return };
        if !self.objects.contains_key(key)
            && let Some(Older::Object(stored)) = older.pop_if(|newest| matches!(newest, Older::Object(_)))
        {
            self.objects.insert(key.to_owned(), *stored);
        }
        if older.is_empty() {
            self.older.remove(key);
        }
    }

    /// Every version and marker, by key, the newest first.
    pub(crate) fn versions(&self) -> Vec<VersionSeen> {
        let keys: std::collections::BTreeSet<&String> = self.objects.keys().chain(self.older.keys()).collect();
        let mut all = Vec::new();
        for key in keys {
            let newest = self.objects.get(key).map(|stored| (name(stored).to_owned(), false));
            let older = self.older.get(key).into_iter().flatten().rev();
            let older = older.map(|older| (older.version().to_owned(), matches!(older, Older::Marker(_))));
            all.extend(newest.into_iter().chain(older).enumerate().map(|(nth, (version, is_marker))| VersionSeen {
                key: key.clone(),
                version,
                is_marker,
                is_latest: nth == 0,
            }));
        }
        all
    }

    /// A version of which Object Lock is asked.
    pub(crate) fn lockable(&self, rules: &Rules, key: &str, version: Option<&str>) -> S3Result<&Stored> {
        if !rules.locks {
            return Err(s3_error!(InvalidRequest, "Bucket is missing Object Lock Configuration"));
        }
        let Some(version) = version else { return self.object(key) };
        if let Some(stored) = self.objects.get(key).filter(|stored| name(stored) == version) {
            return Ok(stored);
        }
        match self.older.get(key).into_iter().flatten().find(|older| older.version() == version) {
            Some(Older::Object(stored)) => Ok(stored),
            Some(Older::Marker(_)) => Err(s3_error!(MethodNotAllowed)),
            None => Err(s3_error!(NoSuchVersion)),
        }
    }
}
