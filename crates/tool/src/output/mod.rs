//! How the output of a tool is read: into fields, each a name with values.

mod json;
mod xml;

use std::collections::BTreeMap;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::printable;
use xml::Path;

/// Most names of fields of a tool.
const MOST_FIELDS: usize = 64;
/// Most values of one field; what comes after them is left out.
pub(crate) const MOST_VALUES: usize = 100;
/// Most characters of a value; longer ones are cut.
pub(crate) const VALUE_CHARACTERS: usize = 1_000;

/// What a tool said of a file: names, each with the values that were found, in the order of the output.
pub type Fields = BTreeMap<String, Vec<String>>;

/// How the output of a tool is read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Output {
    /// The form of the output.
    pub format: Format,
    /// Where it is.
    pub stream: Stream,
    /// With `json`, names and JSON Pointers (RFC 6901), in which a step `*` means every element of an array or object. With
    /// `xml`, names and paths such as `report/track[@type='Video']/Format` or `report/item/@size`, from the root element, by
    /// local names; a step `*` means every element.
    pub fields: BTreeMap<String, String>,
    /// With `pattern`, a regular expression. Its named groups are the fields; each place where it matches gives a value.
    pub pattern: Option<String>,
    /// The field whose first value is the message of the run.
    pub message: Option<String>,
}

/// The form of an output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Text without fields.
    #[default]
    Text,
    /// One JSON value.
    Json,
    /// One XML document in UTF-8.
    Xml,
    /// Text with fields by a regular expression.
    Pattern,
}

/// One of the two outputs of a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output.
    #[default]
    Stdout,
    /// Standard error.
    Stderr,
}

/// An [`Output`] that was checked.
#[derive(Debug, Clone)]
pub(crate) enum Reader {
    Text,
    Json(Vec<(String, String)>),
    Xml(Vec<(String, Path)>),
    Pattern(Regex),
}

impl Reader {
    pub(crate) fn new(output: &Output) -> Result<Self, String> {
        let has_fields = !output.fields.is_empty();
        if output.fields.len() > MOST_FIELDS {
            return Err(format!("it has more than {MOST_FIELDS} fields"));
        }
        if output.pattern.is_some() != (output.format == Format::Pattern) {
            return Err("`pattern` goes with the format \"pattern\", and only with it".to_owned());
        }
        if has_fields && !matches!(output.format, Format::Json | Format::Xml) {
            return Err("`fields` go with the formats \"json\" and \"xml\"".to_owned());
        }
        let reader = match output.format {
            Format::Text => Self::Text,
            Format::Json => {
                let pointers = output.fields.iter().map(|(name, pointer)| {
                    let is_pointer = pointer.is_empty() || pointer.starts_with('/');
                    is_pointer.then(|| (name.clone(), pointer.clone())).ok_or_else(|| {
                        format!("the JSON Pointer {pointer:?} of the field {name} does not begin with `/`")
                    })
                });
                Self::Json(pointers.collect::<Result<_, _>>()?)
            }
            Format::Xml => {
                let paths = output.fields.iter().map(|(name, path)| {
                    let read = Path::parse(path).map_err(|reason| format!("the path of the field {name}: {reason}"))?;
                    Ok::<_, String>((name.clone(), read))
                });
                Self::Xml(paths.collect::<Result<_, _>>()?)
            }
            Format::Pattern => {
                let pattern = pattern(output.pattern.as_deref().unwrap_or_default())?;
                if pattern.capture_names().flatten().count() > MOST_FIELDS {
                    return Err(format!("its pattern has more than {MOST_FIELDS} named groups"));
                }
                Self::Pattern(pattern)
            }
        };
        if let Some(name) = output.message.as_ref().filter(|name| !reader.has(name)) {
            return Err(format!("its message is the field {name:?}, which it does not have"));
        }
        Ok(reader)
    }

    /// Whether there is such a field.
    pub(crate) fn has(&self, name: &str) -> bool {
        match self {
            Self::Text => false,
            Self::Json(fields) => fields.iter().any(|(known, _)| known == name),
            Self::Xml(fields) => fields.iter().any(|(known, _)| known == name),
            Self::Pattern(pattern) => pattern.capture_names().flatten().any(|known| known == name),
        }
    }

    /// The fields of an output; the error says why it has not the form that it should have.
    pub(crate) fn read(&self, bytes: &[u8]) -> Result<Fields, String> {
        let mut fields = Fields::new();
        match self {
            Self::Text => {}
            Self::Json(pointers) => json::read(bytes, pointers, &mut fields)?,
            Self::Xml(paths) => xml::read(bytes, paths, &mut fields)?,
            Self::Pattern(pattern) => {
                let text = String::from_utf8_lossy(bytes);
                for captures in pattern.captures_iter(&text).take(MOST_VALUES) {
                    for name in pattern.capture_names().flatten() {
                        if let Some(value) = captures.name(name) {
                            add(&mut fields, name, value.as_str());
                        }
                    }
                }
            }
        }
        Ok(fields)
    }
}

/// Compiles a regular expression.
pub(crate) fn pattern(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| format!("the pattern {text:?} is not valid: {error}"))
}

/// Adds a value, within the limits. Empty values are left out.
fn add(fields: &mut Fields, name: &str, value: &str) {
    let value = printable::line(value, VALUE_CHARACTERS);
    if value.is_empty() {
        return;
    }
    let values = fields.entry(name.to_owned()).or_default();
    if values.len() < MOST_VALUES {
        values.push(value);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reader(format: Format, field: &str) -> Reader {
        let fields = [("f".to_owned(), field.to_owned())].into();
        Reader::new(&Output { format, fields, ..Output::default() }).unwrap()
    }

    fn is_bounded(fields: &Fields) -> bool {
        fields.values().all(|values| {
            values.len() <= MOST_VALUES && values.iter().all(|value| value.chars().count() <= VALUE_CHARACTERS)
        })
    }

    /// Pieces of documents, so that what is made of them often is nearly right.
    fn pieces(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(pieces), 0..40).prop_map(|chosen| chosen.concat())
    }

    const XML: [&str; 18] = [
        "<a>",
        "</a>",
        "<b c='d'>",
        "</b>",
        "<a/>",
        "<b c=\"",
        "'",
        "&amp;",
        "&#0;",
        "&#x41;",
        "&e;",
        "<![CDATA[",
        "]]>",
        "<!--",
        "-->",
        "<!DOCTYPE a [",
        "<?xml version='1.0'?>",
        "text é",
    ];
    const JSON: [&str; 12] = ["{", "}", "[", "]", "\"a\"", ":", ",", "1e999", "null", "true", "\"\\ud800\"", " "];

    proptest! {
        #[test]
        fn any_output_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for reader in [reader(Format::Xml, "*/*"), reader(Format::Json, "/*"), reader(Format::Json, "")] {
                prop_assert!(reader.read(&bytes).is_ok_and(|fields| is_bounded(&fields)) || reader.read(&bytes).is_err());
            }
        }

        #[test]
        fn what_is_nearly_xml_is_read_or_refused(text in pieces(&XML)) {
            for path in ["a", "a/b", "*/*/@c", "a/b[@c='d']/a"] {
                prop_assert!(reader(Format::Xml, path).read(text.as_bytes()).is_ok_and(|fields| is_bounded(&fields))
                    || reader(Format::Xml, path).read(text.as_bytes()).is_err());
            }
        }

        #[test]
        fn what_is_nearly_json_is_read_or_refused(text in pieces(&JSON)) {
            for pointer in ["", "/a", "/*/*", "/0/a"] {
                prop_assert!(reader(Format::Json, pointer).read(text.as_bytes()).is_ok_and(|fields| is_bounded(&fields))
                    || reader(Format::Json, pointer).read(text.as_bytes()).is_err());
            }
        }

        #[test]
        fn any_path_is_understood_or_refused(path in "[a-z/@\\[\\]='*:é]{0,20}") {
            let fields = [("f".to_owned(), path)].into();
            let output = Output { format: Format::Xml, fields, ..Output::default() };
            if let Ok(reader) = Reader::new(&output) {
                let _ = reader.read(b"<a><b c='d'>e</b></a>");
            }
        }
    }

    #[test]
    fn the_number_and_the_length_of_values_are_bounded() {
        let text = format!("<r>{}<v>{}</v></r>", "<v>x</v>".repeat(99), "y".repeat(100_000) + "&amp;");
        let fields = reader(Format::Xml, "r/v").read(text.as_bytes()).unwrap();
        assert_eq!((fields["f"].len(), fields["f"][99].chars().count()), (MOST_VALUES, VALUE_CHARACTERS));
        let text = format!("[{}1]", "1,".repeat(100_000));
        let fields = reader(Format::Json, "/*").read(text.as_bytes()).unwrap();
        assert_eq!(fields["f"].len(), MOST_VALUES);
    }
}
