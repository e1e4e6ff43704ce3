//! Arguments with placeholders. Each becomes exactly one argument of the program, and no shell sees it.

use std::ffi::OsString;

/// The placeholders that have the same meaning for every run.
pub(crate) const OWN: [&str; 2] = ["file", "folder"];
/// Those whose values the caller gives.
pub(crate) const GIVEN: [&str; 8] = ["name", "puid", "mime", "size", "object", "institution", "version", "record"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Text(String),
    Placeholder(String),
}

/// An argument, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template(Vec<Part>);

impl Template {
    /// Reads `{name}` as a placeholder; `{{` and `}}` are braces.
    pub(crate) fn parse(argument: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = argument;
        while let Some(position) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(position);
            text.push_str(before);
            if from.starts_with("{{") || from.starts_with("}}") {
                text.push_str(&from[..1]);
                rest = &from[2..];
                continue;
            }
            let name = from.strip_prefix('{').and_then(|from| from.split_once('}'));
            let Some((name, after)) = name else {
                return Err(format!("the argument {argument:?} has a single brace; write {{{{ or }}}} for a brace"));
            };
            if !OWN.contains(&name) && !GIVEN.contains(&name) {
                let known = OWN.iter().chain(&GIVEN).map(|name| format!("{{{name}}}")).collect::<Vec<_>>().join(", ");
                return Err(format!("the placeholder {{{name}}} in {argument:?} is not known; known are {known}"));
            }
            // A value such as `-x` would be read as an option.
            if parts.is_empty() && text.is_empty() && GIVEN.contains(&name) {
                return Err(format!(
                    "the argument {argument:?} begins with {{{name}}}, whose value may begin with `-`"
                ));
            }
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text)));
            }
            parts.push(Part::Placeholder(name.to_owned()));
            rest = after;
        }
        text.push_str(rest);
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        Ok(Self(parts))
    }

    /// The argument with the values in it. What has no value is empty.
    pub(crate) fn expand(&self, value: impl Fn(&str) -> Option<OsString>) -> OsString {
        let mut argument = OsString::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => argument.push(text),
                Part::Placeholder(name) => argument.push(value(name).unwrap_or_default()),
            }
        }
        argument
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(argument: &str) -> String {
        let value = |name: &str| match name {
            "file" => Some("/a file".into()),
            "name" => Some("-x; {puid} $(id)".into()),
            _ => None,
        };
        Template::parse(argument).unwrap().expand(value).into_string().unwrap()
    }

    #[test]
    fn values_are_put_in_as_they_are() {
        assert_eq!(expanded("{file}"), "/a file");
        assert_eq!(expanded("--name={name}={puid}."), "--name=-x; {puid} $(id)=.");
        assert_eq!(expanded("{{file}}"), "{file}");
        assert_eq!(expanded(""), "");
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for argument in ["{", "}", "a{file", "{nothing}", "{}", "{name}", "{name}.txt"] {
            assert!(Template::parse(argument).is_err(), "{argument}");
        }
    }
}
