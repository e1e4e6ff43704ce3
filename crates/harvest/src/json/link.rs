//! The header `Link` (RFC 8288).

/// The target of the first link with the relation `next`, of the values of the header.
pub(crate) fn next_link(values: &[String]) -> Option<String> {
    values.iter().find_map(|value| next_of(value))
}

fn next_of(value: &str) -> Option<String> {
    let mut rest = value;
    loop {
        let (_, after) = rest.split_once('<')?;
        let (target, parameters) = after.split_once('>')?;
        let (found, following) = is_next(parameters);
        if found {
            return Some(target.trim().to_owned());
        }
        rest = following;
    }
}

/// Whether the parameters of a link have the relation, and what comes after them.
fn is_next(parameters: &str) -> (bool, &str) {
    let (mut own, following) = split_unquoted(parameters, ',');
    let mut found = false;
    while !own.is_empty() {
        let (parameter, rest) = split_unquoted(own, ';');
        found |= is_relation(parameter);
        own = rest;
    }
    (found, following)
}

fn is_relation(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else { return false };
    let mut relations = value.trim().trim_matches('"').split_ascii_whitespace();
    name.trim().eq_ignore_ascii_case("rel") && relations.any(|relation| relation.eq_ignore_ascii_case("next"))
}

/// A text up to a character outside of quotes, and what comes after it.
fn split_unquoted(text: &str, wanted: char) -> (&str, &str) {
    let mut is_quoted = false;
    for (at, character) in text.char_indices() {
        is_quoted ^= character == '"';
        if character == wanted && !is_quoted {
            let (before, after) = text.split_at(at);
            return (before, after.strip_prefix(wanted).unwrap_or_default());
        }
    }
    (text, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_link_is_found_among_others() {
        for (values, expected) in [
            (vec!["</a?p=2>; rel=\"next\""], Some("/a?p=2")),
            (vec!["</a>; rel=prev, </b>; rel=next"], Some("/b")),
            (vec!["</a,b>; title=\"x, <y>; rel=next\"; rel=\"prev\", </c>; rel=\"last next\""], Some("/c")),
            (vec!["</a>; rel=\"last\"", "</b>; REL=NEXT"], Some("/b")),
            (vec!["</a>; rel=\"nextish\""], None),
            (vec!["</a"], None),
            (vec!["rel=next"], None),
            (vec![""], None),
        ] {
            let values: Vec<String> = values.into_iter().map(str::to_owned).collect();
            assert_eq!(next_link(&values).as_deref(), expected, "{values:?}");
        }
    }
}
