//! What the rules of a collection say of the deposits in it: how urgent they are, and which are taken.

use strongroom_registry::tenants::Collection;

use super::kind::DepositKind;

/// The priority of the work items of a batch, lower is sooner: the one that the collection sets, or one that follows from how many
/// there are, 5 + 10 ln n, at most 99 (1: 5, 10: 28, 1,000: 74, from 12,089 on: 99).
pub(crate) fn priority(collection: Option<&Collection>, items: u64) -> i64 {
    let set = collection.and_then(|collection| collection.rules.priority);
    let by_number = || 5.0 + 10.0 * (items.max(1) as f64).ln();
    set.map_or_else(|| by_number().min(99.0) as i64, u64::cast_signed)
}

/// Why a submission is not taken because of what it is; none where it is taken.
pub(crate) fn refused_type(collection: &Collection, kind: DepositKind) -> Option<String> {
    let accepted = &collection.rules.accepted;
    let is_taken = accepted.is_empty()
        || matches!(kind, DepositKind::Auto | DepositKind::Metadata)
        || accepted.iter().any(|word| word == kind.as_str());
    (!is_taken).then(|| {
        format!(
            "the collection {} of {} takes submissions of the types {}, and this is a {}; next: deposit it in another collection, \
             or accept it, too: strongroom collection set {0} --institution {1} --accept {} --accept {3}",
            collection.identifier,
            collection.institution_identifier,
            accepted.join(", "),
            kind.as_str(),
            accepted.join(" --accept ")
        )
    })
}

/// Why a package is not taken because of its size; none where it is taken.
pub(crate) fn too_large(collection: &Collection, bytes: u64) -> Option<String> {
    let most = collection.rules.most_bytes.filter(|most| bytes > *most)?;
    Some(format!(
        "the package has {bytes} bytes, and the collection {} of {} takes {most} at most; next: deposit it in parts, or raise the \
         limit (strongroom collection set {0} --institution {1} --max-size SIZE) and have the batch take it (strongroom batches requeue \
         BATCH --new-rules)",
        collection.identifier, collection.institution_identifier
    ))
}

/// Why a batch manifest is not taken because of the number of its rows; none where it is taken.
pub(crate) fn too_many_rows(collection: &Collection, rows: u64) -> Option<String> {
    let most = collection.rules.most_rows.filter(|most| rows > *most)?;
    Some(format!(
        "the manifest has {rows} rows, and the collection {} of {} takes {most} at most; next: deposit it as several manifests, or \
         raise the limit (strongroom collection set {0} --institution {1} --max-rows N) and have the batch take it (strongroom batches \
         requeue BATCH --new-rules)",
        collection.identifier, collection.institution_identifier
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_priority_follows_from_the_number_of_items() {
        let found: Vec<i64> =
            [0, 1, 2, 3, 10, 100, 1_000, 12_088, 12_089, u64::MAX].map(|items| priority(None, items)).into();
        assert_eq!(found, [5, 5, 11, 15, 28, 51, 74, 98, 99, 99]);
    }
}
