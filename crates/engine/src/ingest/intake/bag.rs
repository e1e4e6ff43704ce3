//! What the name of a bag says, and which of its files belong to the submission rather than to the deposit.

/// File name endings that a bag's archive may have.
const ARCHIVE_ENDINGS: [&str; 4] = [".tar.gz", ".tgz", ".tar", ".zip"];

/// The object's name of a bag: its file name without archive ending and without the suffix of a part (`.b01.of12`).
pub(crate) fn bag_name(file_name: &str) -> String {
    split_name(file_name).0.to_owned()
}

/// Which part of how many a bag is by its file name, where it is one.
pub(crate) fn bag_part(file_name: &str) -> Option<(u64, u64)> {
    split_name(file_name).1
}

fn split_name(file_name: &str) -> (&str, Option<(u64, u64)>) {
    let lower = file_name.to_ascii_lowercase();
    let ending = ARCHIVE_ENDINGS.iter().find(|ending| lower.ends_with(**ending)).map_or(0, |ending| ending.len());
    let name = file_name.get(..file_name.len() - ending).unwrap_or(file_name);
    let part = || {
        let (head, total) = name.rsplit_once(".of")?;
        let (base, number) = head.rsplit_once(".b")?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_part = is_number(total) && is_number(number) && !base.is_empty();
        // A number too large to hold is one all the same.
        is_part.then(|| (base, number.parse().unwrap_or(u64::MAX), total.parse().unwrap_or(u64::MAX)))
    };
    part().map_or((name, None), |(base, number, total)| (base, Some((number, total))))
}

/// Whether a path of a bag is kept as part of the submission: what describes the bag rather than the object, and is made
/// anew when the object is given back.
pub(crate) fn is_submission_file(path: &str) -> bool {
    let is_manifest = |prefix: &str| {
        path.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(".txt")).is_some_and(|algorithm| {
            !algorithm.is_empty() && algorithm.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        })
    };
    path == "bagit.txt" || path == "fetch.txt" || is_manifest("manifest-") || is_manifest("tagmanifest-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bag_is_named_by_its_file_without_ending_and_part() {
        assert_eq!(bag_name("example.edu.photos.tar"), "example.edu.photos");
        assert_eq!(bag_name("photos.b001.of200.tar"), "photos");
        assert_eq!(bag_name("photos.TAR.GZ"), "photos");
        assert_eq!(bag_name("of.b1.tar"), "of.b1");
        assert_eq!(bag_name("photos"), "photos");
        assert_eq!(bag_part("photos.b001.of200.tar"), Some((1, 200)));
        assert_eq!(bag_part("photos.b2.tar"), None);
    }

    #[test]
    fn manifests_belong_to_the_submission_and_look_alikes_to_the_deposit() {
        for path in ["bagit.txt", "fetch.txt", "manifest-sha256.txt", "tagmanifest-md5.txt"] {
            assert!(is_submission_file(path), "{path}");
        }
        for path in
            ["bag-info.txt", "manifest-of-goods.txt", "data/manifest-md5.txt", "tags/bagit.txt", "manifest-.txt"]
        {
            assert!(!is_submission_file(path), "{path}");
        }
    }
}
