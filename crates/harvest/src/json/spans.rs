//! Where values are in a text of JSON, so that a record has its exact bytes.

use std::ops::Range;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Deserializer;

/// Something that is no JSON, at a byte.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) byte: usize,
    pub(crate) reason: String,
    /// Whether the text ends there.
    pub(crate) is_cut: bool,
}

/// A text of JSON.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'t> {
    bytes: &'t [u8],
}

/// The place in an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Elements {
    at: usize,
    is_begun: bool,
}

impl<'t> Text<'t> {
    pub(crate) fn new(bytes: &'t [u8]) -> Self {
        Self { bytes }
    }

    /// The bytes of a value.
    pub(crate) fn slice(self, range: Range<usize>) -> &'t [u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    /// Where the value of a JSON Pointer begins (RFC 6901); none where there is none.
    pub(crate) fn find(self, pointer: &str) -> Result<Option<usize>, Broken> {
        let mut at = self.space(0);
        for token in pointer.split('/').skip(1) {
            let token = token.replace("~1", "/").replace("~0", "~");
            let found = match self.bytes.get(at) {
                Some(b'{') => self.member(at, &token)?,
                Some(b'[') => self.element(at, &token)?,
                _ => None,
            };
            match found {
                Some(found) => at = found,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// The elements of the array that begins at a byte; none where no array begins there.
    pub(crate) fn elements(self, at: usize) -> Option<Elements> {
        (self.bytes.get(at) == Some(&b'[')).then_some(Elements { at: at + 1, is_begun: false })
    }

    /// The next element of an array.
    pub(crate) fn next_element(self, elements: &mut Elements) -> Result<Option<Range<usize>>, Broken> {
        let Some(start) = self.next_in(elements, b']')? else { return Ok(None) };
        let (IgnoredAny, end) = self.value(start)?;
        elements.at = end;
        Ok(Some(start..end))
    }

    /// Where the next part of an array or object begins; none at its end.
    fn next_in(self, elements: &mut Elements, end: u8) -> Result<Option<usize>, Broken> {
        let at = self.space(elements.at);
        let is_begun = std::mem::replace(&mut elements.is_begun, true);
        match self.bytes.get(at) {
            Some(byte) if *byte == end => Ok(None),
            Some(b',') if is_begun => Ok(Some(self.space(at + 1))),
            Some(_) if !is_begun => Ok(Some(at)),
            found => {
                let reason = format!("there is no \",\" or {:?} after a value", char::from(end));
                Err(Broken { byte: at, reason, is_cut: found.is_none() })
            }
        }
    }

    /// The value of a member of an object; of the first one with this name. What comes after it is not looked at.
    fn member(self, at: usize, name: &str) -> Result<Option<usize>, Broken> {
        let mut members = Elements { at: at + 1, is_begun: false };
        while let Some(start) = self.next_in(&mut members, b'}')? {
            let (key, end): (String, usize) = self.value(start)?;
            let colon = self.space(end);
            match self.bytes.get(colon) {
                Some(b':') => {}
                byte => {
                    let reason = "there is no \":\" after a name".to_owned();
                    return Err(Broken { byte: colon, reason, is_cut: byte.is_none() });
                }
            }
            let value = self.space(colon + 1);
            if key == name {
                return Ok(Some(value));
            }
            let (IgnoredAny, end) = self.value(value)?;
            members.at = end;
        }
        Ok(None)
    }

    fn element(self, at: usize, token: &str) -> Result<Option<usize>, Broken> {
        let Ok(index) = token.parse::<usize>() else { return Ok(None) };
        let mut elements = Elements { at: at + 1, is_begun: false };
        for _ in 0..index {
            if self.next_element(&mut elements)?.is_none() {
                return Ok(None);
            }
        }
        self.next_in(&mut elements, b']')
    }

    /// The value at a byte, and where it ends.
    pub(crate) fn value<T: DeserializeOwned>(self, at: usize) -> Result<(T, usize), Broken> {
        let rest = self.bytes.get(at..).unwrap_or_default();
        let mut values = Deserializer::from_slice(rest).into_iter::<T>();
        let outcome = values.next();
        let end = at.saturating_add(values.byte_offset());
        match outcome {
            Some(Ok(value)) => Ok((value, end)),
            Some(Err(error)) => {
                let is_cut = error.is_eof();
                Err(Broken { byte: self.byte_of(at, &error), reason: reason_of(&error), is_cut })
            }
            None => Err(Broken { byte: at, reason: "a value is missing".to_owned(), is_cut: true }),
        }
    }

    /// The byte of an error of a value that begins at a byte.
    fn byte_of(self, at: usize, error: &serde_json::Error) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        let before = error.line().saturating_sub(1);
        let line = match before {
            0 => 0,
            _ => memchr::memchr_iter(b'\n', rest).nth(before - 1).map_or(0, |newline| newline + 1),
        };
        at.saturating_add(line).saturating_add(error.column().saturating_sub(1)).min(self.bytes.len())
    }

    fn space(self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        at + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count()
    }
}

/// The text of an error without its line and column, which are of a part.
pub(crate) fn reason_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let bare = text.rsplit_once(" at line ").map_or(text.as_str(), |(bare, _)| bare);
    format!("the JSON is malformed: {bare}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, pointer: &str) -> Result<Option<Vec<String>>, Broken> {
        let text = Text::new(text.as_bytes());
        let Some(at) = text.find(pointer)? else { return Ok(None) };
        let Some(mut elements) = text.elements(at) else { return Ok(None) };
        let mut found = Vec::new();
        while let Some(range) = text.next_element(&mut elements)? {
            found.push(String::from_utf8(text.slice(range).to_vec()).unwrap());
        }
        Ok(Some(found))
    }

    #[test]
    fn elements_have_their_exact_bytes() {
        let text = r#" {"a": [1], "d/e": {"~": [ {"x" : 1.50} , "s,]" ,[1, 2], null,1e400 ]}, "a": [2] } "#;
        let expected = ["{\"x\" : 1.50}", "\"s,]\"", "[1, 2]", "null", "1e400"].map(str::to_owned).to_vec();
        assert_eq!(all(text, "/d~1e/~0").unwrap(), Some(expected));
        assert_eq!(all(text, "/a").unwrap(), Some(vec!["1".to_owned()]));
        assert_eq!(all(text, "/d~1e/~0/2").unwrap(), Some(vec!["1".to_owned(), "2".to_owned()]));
        for pointer in ["/b", "/a/0", "/a/9", "/a/x", "", "/d~1e/~0/0/x/y"] {
            assert_eq!(all(text, pointer).unwrap(), None, "{pointer}");
        }
        assert_eq!(all("[]", "").unwrap(), Some(vec![]));
    }

    #[test]
    fn what_is_no_json_is_told_with_its_byte() {
        for (text, byte, is_cut) in [
            ("[1, 2", 5, true),
            ("[1 2]", 3, false),
            ("[1,]", 3, false),
            ("[1, {\"a\":\n tru}]", 14, false),
            ("[\"abc", 4, true),
            ("[", 1, true),
        ] {
            let broken = all(text, "").unwrap_err();
            assert_eq!((broken.byte, broken.is_cut), (byte, is_cut), "{text} {broken:?}");
        }
        assert!(all("{\"a\" 1}", "/a").is_err());
        assert!(all("{1: 1}", "/a").is_err());
    }
}
