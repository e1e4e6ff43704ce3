//! Fields of an XML document, by paths from its root. The document is read once and is never held as a tree.

use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion, escape};

use super::{Fields, VALUE_CHARACTERS, add};

/// Most elements that are open at one time.
const MOST_DEPTH: usize = 128;

/// Steps from the root element, and the attribute at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    steps: Vec<Step>,
    attribute: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    /// The local name; none for every element.
    name: Option<String>,
    /// An attribute that the element has, and its value.
    condition: Option<(String, String)>,
}

impl Path {
    pub(super) fn parse(path: &str) -> Result<Self, String> {
        let mut steps = Vec::new();
        let mut attribute = None;
        let mut rest = Some(path);
        while let Some(from) = rest {
            if attribute.is_some() {
                return Err(format!("{path:?} continues after an attribute"));
            }
            // A value in quotes may have a slash.
            let end = from.find('/').filter(|slash| from.find('[').is_none_or(|bracket| *slash < bracket));
            let end = end.or_else(|| from.find("']/").map(|position| position + 2));
            let (step, after) = end.map_or((from, None), |end| (&from[..end], Some(&from[end + 1..])));
            match step.strip_prefix('@') {
                Some(name) => attribute = Some(name.to_owned()),
                None => steps.push(Step::parse(step).ok_or_else(|| format!("{step:?} in {path:?} is no step"))?),
            }
            rest = after;
        }
        if steps.is_empty() {
            return Err(format!("{path:?} names no element"));
        }
        Ok(Self { steps, attribute })
    }
}

impl Step {
    fn parse(step: &str) -> Option<Self> {
        let (name, condition) = match step.split_once('[') {
            None => (step, None),
            Some((name, condition)) => {
                let (attribute, value) = condition.strip_prefix('@')?.strip_suffix("']")?.split_once("='")?;
                (name, Some((attribute.to_owned(), value.to_owned())))
            }
        };
        let is_name = !name.is_empty() && !name.contains(['@', ':', '\'', ']']);
        is_name.then(|| Self { name: (name != "*").then(|| name.to_owned()), condition })
    }

    fn fits(&self, start: &BytesStart<'_>) -> Result<bool, String> {
        if self.name.as_deref().is_some_and(|name| name != start.local_name().into_inner()) {
            return Ok(false);
        }
        match &self.condition {
            None => Ok(true),
            Some((name, value)) => Ok(attribute(start, name)?.as_deref() == Some(value)),
        }
    }
}

/// How far the open elements fit a path, and the text of the element at its end.
#[derive(Default)]
struct Match {
    fitting: usize,
    text: Option<String>,
}

pub(super) fn read(bytes: &[u8], paths: &[(String, Path)], fields: &mut Fields) -> Result<(), String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("the output is no XML in UTF-8: {error}"))?;
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let mut matches: Vec<Match> = paths.iter().map(|_| Match::default()).collect();
    let mut depth = 0;
    let mut has_root = false;
    loop {
        let event = reader.read_event().map_err(|error| malformed(reader.error_position(), &error.to_string()))?;
        let add_text = |matches: &mut Vec<Match>, text: &str| {
            for captured in matches.iter_mut().filter_map(|found| found.text.as_mut()) {
                if captured.len() < 4 * VALUE_CHARACTERS {
                    captured.extend(text.chars().take(VALUE_CHARACTERS + 1));
                }
            }
        };
        match event {
            Event::Start(start) => {
                if depth == MOST_DEPTH {
                    return Err(format!("the output has more than {MOST_DEPTH} elements in each other"));
                }
                if depth == 0 && has_root {
                    return Err("the output has a second root element".to_owned());
                }
                has_root = true;
                for (found, (name, path)) in matches.iter_mut().zip(paths) {
                    let Some(step) = path.steps.get(depth) else { continue };
                    if found.fitting != depth || !step.fits(&start)? {
                        continue;
                    }
                    found.fitting = depth + 1;
                    if found.fitting == path.steps.len() {
                        match &path.attribute {
                            None => found.text = Some(String::new()),
                            Some(attribute) => {
                                if let Some(value) = self::attribute(&start, attribute)? {
                                    add(fields, name, &value);
                                }
                            }
                        }
                    }
                }
                depth += 1;
            }
            Event::End(_) => {
                depth = depth.saturating_sub(1);
                for (found, (name, path)) in matches.iter_mut().zip(paths) {
                    if found.fitting != depth + 1 {
                        continue;
                    }
                    if found.fitting == path.steps.len()
                        && let Some(text) = found.text.take()
                    {
                        add(fields, name, &text);
                    }
                    found.fitting = depth;
                }
            }
            Event::Text(text) => {
                let text = text.xml10_content();
                if depth == 0 && !text.trim().is_empty() {
                    return Err("the output has text outside of its root element".to_owned());
                }
                add_text(&mut matches, &text);
            }
            Event::CData(text) => add_text(&mut matches, &text.xml10_content()),
            Event::GeneralRef(reference) => add_text(&mut matches, &resolved(&reference)?),
            Event::Eof if depth > 0 => return Err("the output ends within an element".to_owned()),
            Event::Eof if !has_root => return Err("the output has no element".to_owned()),
            Event::Eof => return Ok(()),
            Event::Decl(_) | Event::DocType(_) | Event::Empty(_) | Event::Comment(_) | Event::PI(_) => {}
        }
    }
}

fn malformed(position: u64, reason: &str) -> String {
    format!("the output is no XML: {reason} (byte {position})")
}

/// A reference to a character or to one of the five entities of XML; others are not read.
fn resolved(reference: &BytesRef<'_>) -> Result<String, String> {
    if let Some(character) = reference.resolve_char_ref().map_err(|error| error.to_string())? {
        return Ok(character.into());
    }
    let text = escape::resolve_predefined_entity(reference);
    text.map(str::to_owned).ok_or_else(|| "the output refers to an entity that is not known".to_owned())
}

/// The value of an attribute, by its local name.
fn attribute(start: &BytesStart<'_>, name: &str) -> Result<Option<String>, String> {
    // The parser's own search for doubles takes quadratic time.
    for attribute in start.attributes().with_checks(false) {
        let attribute = attribute.map_err(|error| format!("an attribute of the output is malformed: {error}"))?;
        if attribute.key.local_name().into_inner() == name {
            let value = attribute.normalized_value(XmlVersion::Implicit1_0);
            return value.map(|value| Some(value.into_owned())).map_err(|error| error.to_string());
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str, path: &str) -> Result<Vec<String>, String> {
        let mut fields = Fields::new();
        read(text.as_bytes(), &[("f".to_owned(), Path::parse(path)?)], &mut fields)?;
        Ok(fields.remove("f").unwrap_or_default())
    }

    const TEXT: &str = "<?xml version='1.0'?><!DOCTYPE r><m:r xmlns:m='u'><t k='a/b'><f> one &amp; <i>two</i></f></t>\
        <t k='V'><f>three</f><x><f>no</f></x><f n='4'/></t><f>no</f></m:r>";

    #[test]
    fn paths_name_elements_and_attributes() {
        assert_eq!(values(TEXT, "r/t/f").unwrap(), ["one & two", "three"]);
        assert_eq!(values(TEXT, "r/t[@k='V']/f").unwrap(), ["three"]);
        assert_eq!(values(TEXT, "r/t[@k='a/b']/f").unwrap(), ["one & two"]);
        assert_eq!(values(TEXT, "*/*/@k").unwrap(), ["a/b", "V"]);
        assert_eq!(values(TEXT, "r/t/f/@n").unwrap(), ["4"]);
        assert_eq!(values(TEXT, "t").unwrap(), [""; 0]);
    }

    #[test]
    fn paths_that_are_not_understood_are_refused() {
        for path in ["", "/r", "r//t", "@k", "r/@k/x", "r[k]", "r[@k=v]", "r[@k='v'", "m:r"] {
            assert!(Path::parse(path).is_err(), "{path}");
        }
    }

    #[test]
    fn what_is_no_xml_is_an_error() {
        for text in ["", "text", "<r>", "<r></s>", "<r/><r/>", "<r/>x", "<r>&x;</r>", "<r", &"<r>".repeat(1_000)] {
            assert!(values(text, "r").is_err(), "{text}");
        }
    }
}
