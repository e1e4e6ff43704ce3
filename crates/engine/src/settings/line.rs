//! The line of a settings file on which a key is, for errors.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The line of a key, from 1; that of the table that is nearest above it, where the file does not have the key itself. None
/// where the file has neither.
pub(super) fn line_of(text: &str, key: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let path = toml_edit::Key::parse(key).ok()?;
    let mut table: Option<&DeTable<'_>> = Some(document.get_ref());
    let mut found = None;
    for part in &path {
        let Some((name, value)) = table.and_then(|table| entry(table, part.get())) else { break };
        found = Some(name.span().start);
        table = match value.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => None,
        };
    }
    let before = text.get(..found?)?;
    Some(before.matches('\n').count() + 1)
}

fn entry<'t, 'd>(
    table: &'t DeTable<'d>,
    name: &str,
) -> Option<(&'t Spanned<std::borrow::Cow<'d, str>>, &'t Spanned<DeValue<'d>>)> {
    table.iter().find(|(key, _)| key.get_ref() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_the_line_of_itself_or_of_the_table_above_it() {
        let text = "# one\n[fixity]\nmax_age = \"0s\"\n\n[workers.\"ingest.fetch\"]\nlease = \"1s\"\n";
        assert_eq!(line_of(text, "fixity.max_age"), Some(3));
        assert_eq!(line_of(text, "fixity.poll_interval"), Some(2));
        assert_eq!(line_of(text, "workers.\"ingest.fetch\".lease"), Some(6));
        assert_eq!(line_of(text, "workers.\"ingest.fetch\""), Some(5));
        assert_eq!(line_of(text, "retention.history"), None);
        assert_eq!(line_of("fixity = { max_age = \"0s\" }", "fixity.max_age"), Some(1));
    }
}
