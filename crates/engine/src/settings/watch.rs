//! A settings file that is inspected again while a program runs.

use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::Settings;
use crate::event::Event;

/// Enough to tell that a file is not the one that was read: device, inode, size, and when it changed.
type Stamp = (u64, u64, u64, i64, i64);

/// Knows which settings were read last.
pub struct Watch {
    file: PathBuf,
    environment: Vec<(OsString, OsString)>,
    seen: Mutex<Option<Stamp>>,
}

impl Watch {
    /// Watches a file, over which this environment wins. The first look reads it in any case: it may have changed since the
    /// program read it.
    pub fn new(file: &Path, environment: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { file: file.to_owned(), environment: environment.into_iter().collect(), seen: Mutex::default() }
    }

    /// The settings, where the file is another one than at the last look. One that cannot be read is reported once and
    /// passed over: it may be half written.
    pub fn changed(&self) -> Option<Settings> {
        let now = stamp(&self.file);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if now.is_none() || *seen == now {
            return None;
        }
        *seen = now;
        match Settings::load(&self.file, self.environment.iter().cloned()) {
            Ok(loaded) => Some(loaded.settings),
            Err(error) => {
                Event::SettingsNotTakenUp { error: &error }.emit();
                None
            }
        }
    }
}

fn stamp(file: &Path) -> Option<Stamp> {
    let of = |found: Metadata| (found.dev(), found.ino(), found.size(), found.ctime(), found.ctime_nsec());
    std::fs::metadata(file).ok().map(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changed_is_read_once_and_one_that_is_wrong_not_at_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("strongroom.toml");
        let put = |text: &str| {
            // As editors do it, so that it is another file however fast this is.
            let beside = folder.path().join("new");
            std::fs::write(&beside, text).expect("is written");
            std::fs::rename(&beside, &file).expect("is put there");
        };
        let beginning = crate::settings::starting_file();
        let with = |more: &str| format!("{beginning}\n{more}\n");
        put(&beginning);
        let watch = Watch::new(&file, []);
        assert!(watch.changed().is_some(), "it may have changed before");
        assert!(watch.changed().is_none(), "nothing changed");
        put(&with("[workers.\"ingest.fetch\"]\nworkers = 7"));
        let settings = watch.changed().expect("it changed");
        assert_eq!(settings.pool("ingest.fetch").workers, 7);
        assert!(watch.changed().is_none(), "it was read");
        put(&with("[workers.\"ingest.fetch\"]\nworkers = \"many\""));
        assert!(watch.changed().is_none(), "it is wrong");
        std::fs::remove_file(&file).expect("is removed");
        assert!(watch.changed().is_none(), "it is gone");
        put(&beginning);
        assert!(watch.changed().is_some(), "it is right again");
    }
}
