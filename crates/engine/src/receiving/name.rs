//! What the name of an upload says before anything is read.

use strongroom_bagit::Serialization;

/// Endings under which clients keep what they have not uploaded to its end; they rename it then.
const UNFINISHED: [&str; 9] =
    [".part", ".filepart", ".partial", ".tmp", ".temp", ".crdownload", ".download", ".uploading", "~"];

/// The folder of an institution's place in which notices to it are put. No upload is looked for there.
pub(super) const NOTICES: &str = "notices";

/// Whether a name is one that an upload has only while it goes on. Hidden names are.
pub(super) fn is_unfinished(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    name.starts_with('.') || UNFINISHED.iter().any(|ending| lower.ends_with(ending))
}

/// Whether a file of this name may be a bag: an archive by its ending.
pub(super) fn is_archive(name: &str) -> bool {
    Serialization::detect(&[], name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_uploads_that_go_on_are_told_by_their_ends_and_by_a_dot() {
        for name in [".x.tar", "x.tar.part", "x.tar.FILEPART", "x.tar~", ".bag", "x.tmp", "x.tar.crdownload"] {
            assert!(is_unfinished(name), "{name}");
        }
        for name in ["x.tar", "part", "x.parts.tar", "bag.part.tar", "x"] {
            assert!(!is_unfinished(name), "{name}");
        }
    }

    #[test]
    fn archives_are_told_by_their_ending() {
        for name in ["x.tar", "x.TAR", "x.tar.gz", "x.tgz", "x.zip"] {
            assert!(is_archive(name), "{name}");
        }
        for name in ["x", ".tar", "x.gz", "x.rar", "x.tar.md5"] {
            assert!(!is_archive(name), "{name}");
        }
    }
}
