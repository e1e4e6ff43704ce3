//! Simple paths to a value within an element.

use crate::error::{HarvestError, shown};
use crate::xml::{Node, Start};

/// Most steps of a path.
const MOST_STEPS: usize = 16;

/// A path to a value below an element: names of elements without prefixes, with slashes between them, at the end perhaps `@` and the name
/// of an attribute. A step may ask for the value of an attribute: `controlfield[@tag='001']`, `header/identifier`, `titleInfo/@ID`,
/// `@id`. The first element on the path counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElementPath {
    steps: Vec<Step>,
    attribute: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    name: String,
    condition: Option<(String, String)>,
}

impl ElementPath {
    /// Reads a path.
    pub fn parse(text: &str) -> Result<Self, HarvestError> {
        let fault = |reason: &str| HarvestError::Setting {
            what: "the path within a record",
            value: shown(text),
            reason: reason.to_owned(),
        };
        let mut path = Self { steps: Vec::new(), attribute: None };
        let mut rest = text;
        while !rest.is_empty() {
            if path.attribute.is_some() {
                return Err(fault("an attribute has nothing below it"));
            }
            let (step, following) = first_step(rest).ok_or_else(|| fault("a condition has no end"))?;
            rest = following;
            match step.strip_prefix('@') {
                Some(name) if is_name(name) => path.attribute = Some(name.to_owned()),
                Some(_) => return Err(fault("the name of an attribute is malformed")),
                None => path.steps.push(Step::parse(step).ok_or_else(|| fault("a step is malformed"))?),
            }
        }
        if path.steps.is_empty() && path.attribute.is_none() {
            return Err(fault("it is empty"));
        }
        if path.steps.len() > MOST_STEPS {
            return Err(fault("it has too many steps"));
        }
        Ok(path)
    }
}

/// The text up to the next slash outside of a condition, and what comes after the slash.
fn first_step(text: &str) -> Option<(&str, &str)> {
    let end = match (text.find('['), text.find('/')) {
        (Some(open), Some(slash)) if open < slash => open + text.get(open..)?.find(']')? + 1,
        (Some(open), None) => open + text.get(open..)?.find(']')? + 1,
        (_, Some(slash)) => slash,
        (None, None) => text.len(),
    };
    let (step, rest) = text.split_at(end);
    match rest.strip_prefix('/') {
        Some("") => None,
        Some(rest) => Some((step, rest)),
        None if rest.is_empty() => Some((step, rest)),
        None => None,
    }
}

fn is_name(text: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | ':');
    !text.is_empty() && text.chars().all(is_part)
}

impl Step {
    fn parse(text: &str) -> Option<Self> {
        let Some((name, condition)) = text.split_once('[') else {
            return is_name(text).then(|| Self { name: text.to_owned(), condition: None });
        };
        let (attribute, value) = condition.strip_suffix(']')?.strip_prefix('@')?.split_once('=')?;
        let value = ['\'', '"'].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote))?;
        let is_right = is_name(name) && is_name(attribute);
        is_right.then(|| Self { name: name.to_owned(), condition: Some((attribute.to_owned(), value.to_owned())) })
    }

    fn matches(&self, start: &Start) -> bool {
        let is_met = |(name, value): &(String, String)| start.attribute(name) == Some(value.as_str());
        self.name == start.local && self.condition.as_ref().is_none_or(is_met)
    }
}

/// Follows a path while the nodes of a record are read.
#[derive(Debug)]
pub(crate) struct Finder<'p> {
    path: &'p ElementPath,
    /// Elements that are open below the record, and how many of them are on the path.
    depth: usize,
    matched: usize,
    most: usize,
    text: String,
    is_ended: bool,
    found: Option<String>,
}

impl<'p> Finder<'p> {
    /// `most` is how many bytes of the value are kept, and a few more where it is too long.
    pub(crate) fn new(path: &'p ElementPath, most: usize) -> Self {
        Self { path, depth: 0, matched: 0, most, text: String::new(), is_ended: false, found: None }
    }

    /// Sees the start tag of the record itself.
    pub(crate) fn begin(&mut self, start: &Start) {
        if self.path.steps.is_empty() {
            self.take_attribute(start);
        }
    }

    /// Sees a node within the record.
    pub(crate) fn see(&mut self, node: &Node) {
        let length = self.path.steps.len();
        match node {
            Node::Start(start) => {
                let is_next = self.matched == self.depth;
                self.depth += 1;
                if !self.is_ended
                    && is_next
                    && self.path.steps.get(self.matched).is_some_and(|step| step.matches(start))
                {
                    self.matched += 1;
                    if self.matched == length {
                        self.take_attribute(start);
                    }
                }
            }
            Node::Text(text) => {
                let is_inside = length > 0 && self.matched == length && self.path.attribute.is_none();
                if is_inside && !self.is_ended && self.text.len() <= self.most {
                    self.text.push_str(text);
                }
            }
            Node::End => {
                if self.matched == self.depth && self.matched > 0 {
                    if self.matched == length && self.path.attribute.is_none() && !self.is_ended {
                        self.is_ended = true;
                        self.found = Some(std::mem::take(&mut self.text));
                    }
                    self.matched -= 1;
                }
                self.depth = self.depth.saturating_sub(1);
            }
            Node::Eof => {}
        }
    }

    fn take_attribute(&mut self, start: &Start) {
        if let Some(name) = &self.path.attribute
            && let Some(value) = start.attribute(name)
            && !self.is_ended
        {
            self.is_ended = true;
            self.found = Some(value.to_owned());
        }
    }

    /// The value, without white space around it; none where it is absent or empty.
    pub(crate) fn found(&self) -> Option<String> {
        self.found.as_deref().map(str::trim).filter(|found| !found.is_empty()).map(str::to_owned)
    }

    /// The value as it is.
    pub(crate) fn exact(&self) -> Option<&str> {
        self.found.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::{Bounds, Xml};

    fn value(path: &str, document: &str) -> Option<String> {
        let path = ElementPath::parse(path).unwrap();
        let bounds = Bounds { record_bytes: 1000, depth: 10, ignores_encoding: false };
        let mut xml = Xml::new(document.as_bytes(), bounds);
        let mut finder = Finder::new(&path, 100);
        let Ok(Node::Start(root)) = xml.next() else { panic!("no root") };
        finder.begin(&root);
        while xml.depth() > 0 {
            let node = xml.next().unwrap_or_else(|error| panic!("{error:?}"));
            if xml.depth() > 0 {
                finder.see(&node);
            }
        }
        finder.found()
    }

    #[test]
    fn values_are_found_by_their_paths() {
        let document = "<r id='7' xmlns:p='urn:p'><f tag='002'>x</f><p:f tag='001'> a<i>b</i>&amp;c </p:f><f tag='001'>d</f>\
                        <g><f tag='003' n='9'/><h>e</h></g><g><h>f</h></g><o/></r>";
        for (path, expected) in [
            ("f[@tag='001']", Some("ab&c")),
            ("f[@tag=\"002\"]", Some("x")),
            ("f", Some("x")),
            ("@id", Some("7")),
            ("g/h", Some("e")),
            ("g/f/@n", Some("9")),
            ("g/f[@tag='003']/@tag", Some("003")),
            ("g/x/h", None),
            ("h", None),
            ("o", None),
            ("@none", None),
            ("f[@tag='009']", None),
        ] {
            assert_eq!(value(path, document).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn paths_that_are_none_are_refused() {
        for text in
            ["", "/", "a/", "/a", "a//b", "@", "@a/b", "a[", "a[@b]", "a[@b='c'", "a[@b=c]", "a[1]", "a[@b='c']d", "*"]
        {
            assert!(ElementPath::parse(text).is_err(), "{text}");
        }
        assert!(ElementPath::parse(&"a/".repeat(40)).is_err());
        assert!(ElementPath::parse("a[@b='c/d']/e").is_ok());
    }
}
