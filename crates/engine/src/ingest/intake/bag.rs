//! What the name of a bag says, and which of its files belong to the submission rather than to the deposit.

use strongroom_bagit::split_part;
use strongroom_registry::Part;

/// File name endings that a bag's archive may have.
const ARCHIVE_ENDINGS: [&str; 7] = [".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tbz", ".tar", ".zip"];

/// The object's name of a bag: its file name without archive ending and without the suffix of a part (`.b01.of12`).
pub(crate) fn bag_name(file_name: &str) -> String {
    let name = without_ending(file_name);
    split_part(name).map_or(name, |(whole, ..)| whole).to_owned()
}

/// Which part of its object a bag is by its file name, where it is one; what is wrong with a name that says so and cannot be
/// right.
pub(crate) fn bag_part(file_name: &str) -> Result<Option<Part>, String> {
    let Some((_, number, total)) = split_part(without_ending(file_name)) else { return Ok(None) };
    let part = Part::new(number, total);
    part.map(Some).map_err(|fault| format!("it says that it is part {number} of {total}: {fault}"))
}

fn without_ending(file_name: &str) -> &str {
    let lower = file_name.to_ascii_lowercase();
    let ending = ARCHIVE_ENDINGS.iter().find(|ending| lower.ends_with(**ending)).map_or(0, |ending| ending.len());
    file_name.get(..file_name.len() - ending).unwrap_or(file_name)
}

/// Whether a path of a bag is kept as part of the submission: what describes the bag rather than the object, and is made
/// again when the object is restored.
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
        assert_eq!(bag_name("photos.B1.OF2.TAR"), "photos");
    }

    #[test]
    fn a_part_is_told_by_the_file_name_in_any_spelling() {
        let part = |number, total| Ok(Some(Part::new(number, total).expect("a part")));
        assert_eq!(bag_part("photos.b001.of200.tar"), part(1, 200));
        assert_eq!(bag_part("photos.b1.of200.tar.gz"), part(1, 200));
        assert_eq!(bag_part("Photos.B200.OF200.ZIP"), part(200, 200));
        assert_eq!(bag_part("photos.b3.of3"), part(3, 3));
        for name in ["photos.b2.tar", "photos.of2.tar", "photos.tar", "b1.of2.tar"] {
            assert_eq!(bag_part(name), Ok(None), "{name}");
        }
    }

    #[test]
    fn numbers_that_cannot_be_are_told_and_taken_for_no_other_name() {
        for (name, told) in [
            ("photos.b00.of03.tar", "part 0 of 3: parts are counted from 1"),
            ("photos.b1.of0.tar", "part 1 of 0: parts are counted from 1"),
            ("photos.b4.of3.tar", "part 4 of 3: its number is above the number of parts"),
            ("photos.b1.of10001.tar", "an object comes in 10000 parts at most"),
            ("photos.b1.of99999999999999999999.tar", "an object comes in 10000 parts at most"),
        ] {
            let fault = bag_part(name).expect_err("cannot be");
            assert!(fault.contains(told), "{name}: {fault}");
        }
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
