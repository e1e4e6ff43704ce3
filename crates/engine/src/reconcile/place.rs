//! What a key of a preservation store is, by the layout of the store.

/// What a key is, by its name alone.
pub(super) enum Place<'k> {
    /// Below the object root.
    Object(&'k str),
    /// Of a storage root, or of the store's own.
    Known,
    /// Nothing that belongs there.
    Foreign,
}

/// Reports objects by the layout: an institution, three folders of three hexadecimal digits, the digest of the id.
pub(super) fn place(key: &str) -> Place<'_> {
    let mut ends = key.match_indices('/').map(|(at, _)| at);
    let Some(top) = ends.next() else { return Place::Foreign };
    let (institution, rest) = (key.get(..top).unwrap_or_default(), key.get(top + 1..).unwrap_or_default());
    if institution == "_strongroom" {
        return Place::Known;
    }
    if !strongroom_registry::tenants::is_institution_identifier(institution) {
        return Place::Foreign;
    }
    if rest == "0=ocfl_1.1" || rest.starts_with("ocfl_") || rest.starts_with("extensions/") {
        return Place::Known;
    }
    let is_hex =
        |text: &str, length| text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let mut segments = rest.split('/');
    let is_root = segments.by_ref().take(3).filter(|segment| is_hex(segment, 3)).count() == 3
        && segments.next().is_some_and(|segment| is_hex(segment, 128));
    match ends.nth(3) {
        Some(end) if is_root => Place::Object(key.get(..end).unwrap_or_default()),
        _ => Place::Foreign,
    }
}
