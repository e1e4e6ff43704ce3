//! Names and paths inside an object: what OCFL prescribes, and our convention for contents.

use std::cmp::Ordering;

use strongroom_digest::{Algorithm, Digest};

use crate::{OcflError, VersionNumber};

/// File name of an inventory.
pub(crate) const INVENTORY: &str = "inventory.json";
/// Name of the content directory where an inventory does not say otherwise.
pub(crate) const CONTENT: &str = "content";

/// File name of the sidecar of an inventory.
pub(crate) fn sidecar_name(algorithm: Algorithm) -> String {
    format!("{INVENTORY}.{algorithm}")
}

/// What a sidecar of our own says.
pub(crate) fn sidecar_text(digest: &Digest) -> String {
    format!("{digest} {INVENTORY}\n")
}

/// Where a content first kept in `version` lies, relative to the object root, in objects written before assemblies had ids
/// of their own: `vN/content/<2 hex>/<sha512>`.
pub fn content_path(version: VersionNumber, sha512: &Digest) -> String {
    format!("{version}/{CONTENT}/{}", content_name(sha512))
}

/// Where a content that the assembly `id` brought to `version` lies, relative to the object root:
/// `vN/content/<id>/<2 hex>/<sha512>`.
pub fn owned_content_path(version: VersionNumber, id: &str, sha512: &Digest) -> String {
    format!("{version}/{CONTENT}/{id}/{}", content_name(sha512))
}

/// Where a content lies below the content directory: `<2 hex>/<sha512>`.
pub(crate) fn content_name(sha512: &Digest) -> String {
    let hex = sha512.to_hex();
    format!("{}/{hex}", hex.get(..2).unwrap_or_default())
}

/// The OCFL id of an object: `urn:uuid:` and the UUID in its hyphenated lower-case form (RFC 9562 section 4).
pub fn object_id(uuid: &str) -> Result<String, OcflError> {
    if !is_uuid(uuid) {
        return Err(OcflError::unwritable("an object id", uuid, "it is not a UUID in hyphenated form"));
    }
    Ok(format!("urn:uuid:{}", uuid.to_ascii_lowercase()))
}

/// Whether a text is a UUID in hyphenated form.
fn is_uuid(text: &str) -> bool {
    let mut lengths = Vec::with_capacity(5);
    for part in text.split('-') {
        if !part.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return false;
        }
        lengths.push(part.len());
    }
    lengths == [8, 4, 4, 4, 12]
}

/// What is wrong with a logical or content path (OCFL 1.1 sections 3.5.2 and 3.5.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathFlaw {
    /// It begins or ends with `/`, or is empty.
    Edge,
    /// An element is empty, `.` or `..`.
    Element,
}

impl PathFlaw {
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Edge => "a path is not empty and neither begins nor ends with a slash",
            Self::Element => "an element of a path is not empty, . or ..",
        }
    }
}

/// The flaws of a path, if any.
pub(crate) fn path_flaws(path: &str) -> impl Iterator<Item = PathFlaw> {
    let edge = path.is_empty() || path.starts_with('/') || path.ends_with('/');
    let inner = path.trim_matches('/');
    let element = !inner.is_empty() && inner.split('/').any(|element| matches!(element, "" | "." | ".."));
    [edge.then_some(PathFlaw::Edge), element.then_some(PathFlaw::Element)].into_iter().flatten()
}

/// Orders paths so that a file is followed at once by what lies below a directory of its name.
pub(crate) fn by_element(left: &str, right: &str) -> Ordering {
    // Paths of one object begin alike for long; that part is compared in strides.
    const STRIDE: usize = 16;
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let strides = left.chunks_exact(STRIDE).zip(right.chunks_exact(STRIDE));
    let alike = strides.take_while(|(one, other)| one == other).count() * STRIDE;
    let rank = |byte: &u8| if *byte == b'/' { 0 } else { u16::from(*byte) + 1 };
    let (left, right) = (left.get(alike..).unwrap_or_default(), right.get(alike..).unwrap_or_default());
    left.iter().map(rank).cmp(right.iter().map(rank))
}

/// Whether `inner` lies below a directory named as the file `outer`.
pub(crate) fn lies_below(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_lies_under_its_version_and_digest() {
        let digest: Digest = "ab".repeat(64).parse().unwrap();
        let path = content_path(VersionNumber::new(3).unwrap(), &digest);
        assert_eq!(path, format!("v3/content/ab/{}", "ab".repeat(64)));
        let owned = owned_content_path(VersionNumber::new(3).unwrap(), "id", &digest);
        assert_eq!(owned, format!("v3/content/id/ab/{}", "ab".repeat(64)));
    }

    #[test]
    fn an_object_id_is_the_urn_of_its_uuid() {
        let id = object_id("0192F5E1-7C2B-7000-8000-0123456789AB").unwrap();
        assert_eq!(id, "urn:uuid:0192f5e1-7c2b-7000-8000-0123456789ab");
        for bad in ["", "x", "0192f5e17c2b700080000123456789ab", "0192f5e1-7c2b-7000-8000-0123456789ag"] {
            assert!(object_id(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_path_is_relative_and_has_no_empty_or_dot_elements() {
        assert_eq!(path_flaws("a/b.c/..d").count(), 0);
        for bad in ["", "/", "/a", "a/", "a//b", "./a", "a/..", "a/./b"] {
            assert!(path_flaws(bad).count() > 0, "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn the_order_by_element_is_that_of_element_lists(left in "[ab/!]{0,40}", right in "[ab/!]{0,40}") {
            let elements = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
            proptest::prop_assert_eq!(by_element(&left, &right), elements(&left).cmp(&elements(&right)));
        }
    }

    #[test]
    fn a_file_sorts_right_before_what_lies_below_its_name() {
        let mut paths = ["a-b", "a/b", "a", "a!", "a/b/c"];
        paths.sort_by(|left, right| by_element(left, right));
        assert_eq!(paths, ["a", "a/b", "a/b/c", "a!", "a-b"]);
        assert!(lies_below("a/b", "a") && !lies_below("a-b", "a") && !lies_below("a", "a"));
    }
}
