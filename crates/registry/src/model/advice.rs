//! What texts of records advise: the note of a work item, the reason of a message, the text of a problem. They are one text in records, where
//! what to do next stands at the end; this is the one place that knows how.

/// What stands between what happened and what to do.
const NEXT: &str = "; next: ";

/// What a text says, and what it advises, where it does.
pub fn split(text: &str) -> (&str, Option<&str>) {
    text.split_once(NEXT).map_or((text, None), |(said, next)| (said, Some(next)))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn what_a_text_advises_stands_at_its_end() {
        assert_eq!(split("version 1 is published"), ("version 1 is published", None));
        let advised = "the manifest has no rows; next: correct the manifest and deposit it again";
        assert_eq!(split(advised), ("the manifest has no rows", Some("correct the manifest and deposit it again")));
        assert_eq!(split("a; next: b; or: c; next: d"), ("a", Some("b; or: c; next: d")));
    }
}
