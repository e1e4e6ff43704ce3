//! Which part of the service is a space: a first-level prefix, or a bucket by the pattern of its name.

use std::borrow::Cow;

use aws_sdk_s3::types::{BucketLocationConstraint, CreateBucketConfiguration};
use strongroom_spaces::{Removal, SpaceName};
use strongroom_storage::StorageError;

use crate::S3Settings;
use crate::store::Inner;

/// How many characters the name of a bucket has (S3: bucket naming rules).
const LENGTHS: std::ops::RangeInclusive<usize> = 3..=63;

/// What the spaces of a store are.
#[derive(Debug, Clone)]
pub(super) enum Form {
    /// First-level prefixes of a bucket, or of a part of one.
    Prefixes,
    /// Buckets.
    Buckets(BucketPattern),
}

/// Names of buckets of which a part is the name of the space, such as `archive-*`.
#[derive(Debug, Clone)]
pub(super) struct BucketPattern {
    pub(super) before: String,
    after: String,
}

impl Form {
    pub(super) fn of(settings: &S3Settings) -> Result<Self, String> {
        let Some((before, after)) = settings.bucket.split_once('*') else { return Ok(Self::Prefixes) };
        if after.contains('*') {
            return Err("bucket has more than one *, and one * stands for the name of a space".to_owned());
        }
        if !settings.prefix.is_empty() {
            return Err("prefix is set together with a * in bucket: each bucket is a space as a whole".to_owned());
        }
        Ok(Self::Buckets(BucketPattern { before: before.to_owned(), after: after.to_owned() }))
    }
}

impl BucketPattern {
    /// The bucket of a space, or why there can be none.
    pub(super) fn bucket_of(&self, space: &SpaceName) -> Result<String, String> {
        let bucket = format!("{}{space}{}", self.before, self.after);
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
        let is_end = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        let is_name = LENGTHS.contains(&bucket.len())
            && bucket.bytes().all(is_plain)
            && is_end(bucket.bytes().next())
            && is_end(bucket.bytes().next_back())
            && !bucket.contains("..");
        if is_name {
            return Ok(bucket);
        }
        Err(format!(
            "the space {space} would be the bucket {bucket}, which can be none: names of buckets have 3 to 63 of the characters \
             a-z, 0-9, - and ., and begin and end with a letter or a digit"
        ))
    }

    /// The name of the space that a bucket is; nothing where its name does not match.
    pub(super) fn space_of<'n>(&self, bucket: &'n str) -> Option<&'n str> {
        let space = bucket.strip_prefix(self.before.as_str())?.strip_suffix(self.after.as_str())?;
        (!space.is_empty()).then_some(space)
    }
}

/// Makes the bucket of a space; whether there was none.
pub(super) fn create_bucket(inner: &Inner, space: &SpaceName) -> Result<bool, StorageError> {
    // AWS has to be told the region of the bucket, unless it is the oldest one, which must not be named.
    let region = inner.client.config().region().map(|region| Cow::Owned(region.as_ref().to_owned()));
    let region: Option<Cow<'_, str>> = region.filter(|region| inner.settings.is_aws() && region != "us-east-1");
    let configuration = region.map(|region| {
        let constraint = BucketLocationConstraint::from(region.as_ref());
        CreateBucketConfiguration::builder().location_constraint(constraint).build()
    });
    let bucket = &inner.settings.bucket;
    let request = inner.client.create_bucket().bucket(bucket).set_create_bucket_configuration(configuration);
    match inner.ask(request.send()) {
        Ok(_) => Ok(true),
        Err(failure) if failure.is("BucketAlreadyOwnedByYou") => Ok(false),
        Err(failure) if failure.is("BucketAlreadyExists") => {
            let reason = format!(
                "the space {space} cannot be made: the bucket {bucket} belongs to another account; use another name or pattern"
            );
            Err(inner.unusable(reason))
        }
        Err(failure) => Err(inner.failed(failure, "make the bucket of", space.as_key())),
    }
}

/// Removes the bucket of a space, which the service does only where nothing lies in it.
pub(super) fn delete_bucket(inner: &Inner, space: &SpaceName) -> Result<Removal, StorageError> {
    match inner.ask(inner.client.delete_bucket().bucket(&inner.settings.bucket).send()) {
        Ok(_) => Ok(Removal::Removed),
        Err(failure) if failure.is("BucketNotEmpty") => Ok(Removal::Changed),
        Err(failure) if failure.is("NoSuchBucket") || failure.is_not_found() => Ok(Removal::Absent),
        Err(failure) => Err(inner.failed(failure, "delete the bucket of", space.as_key())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(bucket: &str) -> BucketPattern {
        match Form::of(&S3Settings { bucket: bucket.into(), ..S3Settings::default() }) {
            Ok(Form::Buckets(pattern)) => pattern,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_star_of_a_pattern_is_the_name_of_the_space() {
        let pattern = pattern("arch-*-x");
        assert_eq!(pattern.space_of("arch-maps-x"), Some("maps"));
        for other in ["arch--x", "arch-x", "arch-maps", "maps-x", "arch-"] {
            assert_eq!(pattern.space_of(other), None, "{other}");
        }
        let name = |text: &str| SpaceName::new(text).expect("a name");
        assert_eq!(pattern.bucket_of(&name("maps")), Ok("arch-maps-x".to_owned()));
        for none in ["Maps", "a_b", "a..b", "é", &"a".repeat(60)] {
            let reason = pattern.bucket_of(&name(none)).expect_err(none);
            assert!(reason.contains("3 to 63"), "{reason}");
        }
    }

    #[test]
    fn patterns_that_name_no_space_are_refused() {
        for (bucket, prefix) in [("a*b*", ""), ("a-*", "p")] {
            let settings = S3Settings { bucket: bucket.into(), prefix: prefix.into(), ..S3Settings::default() };
            assert!(Form::of(&settings).is_err(), "{bucket} {prefix}");
        }
    }
}
