//! A pull reader of JSON (RFC 8259) that holds one text at a time and keeps to limits, whatever it is fed.

use std::io::{self, Read};

use crate::OcflError;

/// How much of a hostile document is read before it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one inventory. A version of 300,000 files takes about 110 million.
    pub inventory_bytes: u64,
    /// Bytes of one key or text in an inventory.
    pub text_bytes: usize,
    /// Arrays and objects within each other. An inventory needs 5.
    pub depth: usize,
    /// Versions of one object.
    pub versions: usize,
    /// Problems reported of one object; more are counted, not kept.
    pub problems: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { inventory_bytes: 16 << 30, text_bytes: 1 << 20, depth: 32, versions: 100_000, problems: 1_000 }
    }
}

/// One step of a document.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    ObjectStart,
    ObjectEnd,
    ArrayStart,
    ArrayEnd,
    Key(&'a str),
    Text(&'a str),
    Other,
    End,
}

/// The step before its text is lent out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    ObjectStart,
    ObjectEnd,
    ArrayStart,
    ArrayEnd,
    Key,
    Text,
    Other,
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Container {
    Object,
    Array,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    FirstValueOrEnd,
    FirstKeyOrEnd,
    CommaOrEnd,
    Nothing,
}

/// Reads a document step by step.
pub(crate) struct JsonReader<R> {
    input: R,
    limits: Limits,
    buffer: Box<[u8]>,
    position: usize,
    filled: usize,
    /// Bytes of the document before the buffer.
    before: u64,
    containers: Vec<Container>,
    expect: Expect,
    text: Vec<u8>,
}

impl<R: Read> JsonReader<R> {
    pub(crate) fn new(input: R, limits: Limits) -> Self {
        Self {
            input,
            limits,
            buffer: vec![0; 64 * 1024].into_boxed_slice(),
            position: 0,
            filled: 0,
            before: 0,
            containers: Vec::new(),
            expect: Expect::Value,
            text: Vec::new(),
        }
    }

    /// The input, to read what lies behind the document or to learn what was read.
    pub(crate) fn into_input(self) -> R {
        self.input
    }

    /// The next step.
    pub(crate) fn next(&mut self) -> Result<Token<'_>, OcflError> {
        Ok(match self.step()? {
            Step::ObjectStart => Token::ObjectStart,
            Step::ObjectEnd => Token::ObjectEnd,
            Step::ArrayStart => Token::ArrayStart,
            Step::ArrayEnd => Token::ArrayEnd,
            Step::Key => Token::Key(self.text()?),
            Step::Text => Token::Text(self.text()?),
            Step::Other => Token::Other,
            Step::End => Token::End,
        })
    }

    /// Reads over the rest of the array or object begun last.
    pub(crate) fn skip(&mut self) -> Result<(), OcflError> {
        let depth = self.containers.len();
        while self.containers.len() >= depth && depth > 0 {
            self.step()?;
        }
        Ok(())
    }

    fn text(&self) -> Result<&str, OcflError> {
        str::from_utf8(&self.text).map_err(|_| self.fault("a text is not UTF-8"))
    }

    fn step(&mut self) -> Result<Step, OcflError> {
        let byte = self.skip_space()?;
        match (self.expect, byte) {
            (Expect::Nothing, None) => Ok(Step::End),
            (Expect::Nothing, Some(_)) => Err(self.fault("something follows the document")),
            (_, None) => Err(self.fault("the document ends too early")),
            (Expect::FirstValueOrEnd, Some(b']')) => Ok(self.close(Step::ArrayEnd)),
            (Expect::Value | Expect::FirstValueOrEnd, Some(byte)) => self.value(byte),
            (Expect::FirstKeyOrEnd, Some(b'}')) => Ok(self.close(Step::ObjectEnd)),
            (Expect::FirstKeyOrEnd, Some(byte)) => self.key(byte),
            (Expect::CommaOrEnd, Some(byte)) => match (self.containers.last(), byte) {
                (Some(Container::Object), b'}') => Ok(self.close(Step::ObjectEnd)),
                (Some(Container::Array), b']') => Ok(self.close(Step::ArrayEnd)),
                (Some(Container::Object), b',') => {
                    self.advance();
                    let byte = self.skip_space()?.ok_or_else(|| self.fault("the document ends too early"))?;
                    self.key(byte)
                }
                (Some(Container::Array), b',') => {
                    self.advance();
                    let byte = self.skip_space()?.ok_or_else(|| self.fault("the document ends too early"))?;
                    self.value(byte)
                }
                _ => Err(self.fault("neither a comma nor an end follows a value")),
            },
        }
    }

    fn key(&mut self, byte: u8) -> Result<Step, OcflError> {
        if byte != b'"' {
            return Err(self.fault("a key is not a text"));
        }
        self.read_text()?;
        if self.skip_space()? != Some(b':') {
            return Err(self.fault("no colon follows a key"));
        }
        self.advance();
        self.expect = Expect::Value;
        Ok(Step::Key)
    }

    fn value(&mut self, byte: u8) -> Result<Step, OcflError> {
        match byte {
            b'{' => self.open(Container::Object, Expect::FirstKeyOrEnd, Step::ObjectStart),
            b'[' => self.open(Container::Array, Expect::FirstValueOrEnd, Step::ArrayStart),
            b'"' => {
                self.read_text()?;
                self.after_value();
                Ok(Step::Text)
            }
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            b'-' | b'0'..=b'9' => self.number(),
            _ => Err(self.fault("no value begins like this")),
        }
    }

    fn open(&mut self, container: Container, expect: Expect, step: Step) -> Result<Step, OcflError> {
        if self.containers.len() >= self.limits.depth {
            return Err(self.fault("arrays and objects are nested too deeply"));
        }
        self.advance();
        self.containers.push(container);
        self.expect = expect;
        Ok(step)
    }

    fn close(&mut self, step: Step) -> Step {
        self.advance();
        self.containers.pop();
        self.after_value();
        step
    }

    fn after_value(&mut self) {
        self.expect = if self.containers.is_empty() { Expect::Nothing } else { Expect::CommaOrEnd };
    }

    fn word(&mut self, word: &[u8]) -> Result<Step, OcflError> {
        for wanted in word {
            if self.peek()? != Some(*wanted) {
                return Err(self.fault("no value is spelled like this"));
            }
            self.advance();
        }
        self.after_value();
        Ok(Step::Other)
    }

    fn number(&mut self) -> Result<Step, OcflError> {
        if self.peek()? == Some(b'-') {
            self.advance();
        }
        let leading_zero = self.peek()? == Some(b'0');
        let whole = self.digits()?;
        if whole == 0 || (leading_zero && whole > 1) {
            return Err(self.fault("not a number"));
        }
        if self.peek()? == Some(b'.') {
            self.advance();
            if self.digits()? == 0 {
                return Err(self.fault("not a number"));
            }
        }
        if matches!(self.peek()?, Some(b'e' | b'E')) {
            self.advance();
            if matches!(self.peek()?, Some(b'+' | b'-')) {
                self.advance();
            }
            if self.digits()? == 0 {
                return Err(self.fault("not a number"));
            }
        }
        self.after_value();
        Ok(Step::Other)
    }

    fn digits(&mut self) -> Result<usize, OcflError> {
        let mut count = 0;
        while self.peek()?.is_some_and(|byte| byte.is_ascii_digit()) {
            self.advance();
            count += 1;
        }
        Ok(count)
    }

    /// Reads a text into `self.text`; the position is at its opening quote.
    fn read_text(&mut self) -> Result<(), OcflError> {
        self.advance();
        self.text.clear();
        loop {
            if self.peek()?.is_none() {
                return Err(self.fault("a text does not end"));
            }
            let ahead = self.buffer.get(self.position..self.filled).unwrap_or_default();
            let plain = ahead.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)).unwrap_or(ahead.len());
            self.text.extend_from_slice(ahead.get(..plain).unwrap_or_default());
            let stop = ahead.get(plain).copied();
            self.position += plain;
            if self.text.len() > self.limits.text_bytes {
                return Err(self.fault("a text is too long"));
            }
            match stop {
                None => {}
                Some(b'"') => {
                    self.advance();
                    return Ok(());
                }
                Some(b'\\') => {
                    self.advance();
                    self.escape()?;
                }
                Some(_) => return Err(self.fault("a text has a control character")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), OcflError> {
        let byte = self.peek()?.ok_or_else(|| self.fault("a text does not end"))?;
        self.advance();
        let plain = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let character = self.unicode()?;
                let mut encoded = [0; 4];
                self.text.extend_from_slice(character.encode_utf8(&mut encoded).as_bytes());
                return Ok(());
            }
            _ => return Err(self.fault("no such escape")),
        };
        self.text.push(plain);
        Ok(())
    }

    /// The character of `\u` escapes, of two where the first is half of a surrogate pair.
    fn unicode(&mut self) -> Result<char, OcflError> {
        let first = self.hex4()?;
        let code = if (0xd800..0xdc00).contains(&first) {
            for wanted in b"\\u" {
                if self.peek()? != Some(*wanted) {
                    return Err(self.fault("half a surrogate pair"));
                }
                self.advance();
            }
            let second = self.hex4()?;
            if !(0xdc00..0xe000).contains(&second) {
                return Err(self.fault("half a surrogate pair"));
            }
            0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
        } else {
            first
        };
        char::from_u32(code).ok_or_else(|| self.fault("half a surrogate pair"))
    }

    fn hex4(&mut self) -> Result<u32, OcflError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek()?.and_then(|byte| char::from(byte).to_digit(16));
            code = code * 16 + digit.ok_or_else(|| self.fault("not a hexadecimal digit"))?;
            self.advance();
        }
        Ok(code)
    }

    fn skip_space(&mut self) -> Result<Option<u8>, OcflError> {
        loop {
            match self.peek()? {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.advance(),
                other => return Ok(other),
            }
        }
    }

    fn advance(&mut self) {
        self.position += 1;
    }

    fn peek(&mut self) -> Result<Option<u8>, OcflError> {
        if self.position >= self.filled && !self.fill()? {
            return Ok(None);
        }
        Ok(self.buffer.get(self.position).copied())
    }

    fn fill(&mut self) -> Result<bool, OcflError> {
        self.before += self.filled as u64;
        self.position = 0;
        self.filled = 0;
        if self.before > self.limits.inventory_bytes {
            return Err(self.fault("the document is too long"));
        }
        loop {
            match self.input.read(&mut self.buffer) {
                Ok(count) => {
                    self.filled = count;
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(OcflError::Io { act: "read an inventory", source }),
            }
        }
    }

    fn fault(&self, reason: &'static str) -> OcflError {
        OcflError::Json { offset: self.before + self.position as u64, reason }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Yields one byte at a time, so that every boundary of the buffer is met.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
            buffer[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    /// Rebuilds a value, with numbers, booleans and null as null.
    fn read(text: &[u8]) -> Result<Vec<String>, OcflError> {
        let mut reader = JsonReader::new(Trickle(text), Limits::default());
        let mut steps = Vec::new();
        loop {
            match reader.next()? {
                Token::End => return Ok(steps),
                token => steps.push(format!("{token:?}")),
            }
        }
    }

    #[test]
    fn a_document_is_read_step_by_step() {
        let steps = read(br#" {"a":["x",1,true,null,{}],"b":-1.5e+3,"c":[]} "#).unwrap();
        assert_eq!(
            steps,
            [
                "ObjectStart",
                "Key(\"a\")",
                "ArrayStart",
                "Text(\"x\")",
                "Other",
                "Other",
                "Other",
                "ObjectStart",
                "ObjectEnd",
                "ArrayEnd",
                "Key(\"b\")",
                "Other",
                "Key(\"c\")",
                "ArrayStart",
                "ArrayEnd",
                "ObjectEnd"
            ]
        );
    }

    #[test]
    fn escapes_become_characters() {
        let steps = read(br#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00""#).unwrap();
        assert_eq!(steps, [format!("Text({:?})", "\"\\/\u{8}\u{c}\n\r\té😀")]);
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for bad in [
            "",
            " ",
            "{",
            "[",
            "[1,]",
            "{,}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "[1 2]",
            "]",
            "tru",
            "truth",
            "01",
            "-",
            "1.",
            "1e",
            "+1",
            ".5",
            "\"",
            "\"\\x\"",
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "\"\\udc00\"",
            "\"\\u12g4\"",
            "\"\n\"",
            "{} {}",
            "[}",
            "{]",
            "\u{feff}{}",
            "NaN",
            "'a'",
        ] {
            assert!(matches!(read(bad.as_bytes()), Err(OcflError::Json { .. })), "{bad}");
        }
        assert!(read(b"\"\xff\"").is_err());
        assert!(read(b"\"\xed\xa0\x80\"").is_err());
    }

    #[test]
    fn a_document_beyond_a_limit_is_refused() {
        let limits = Limits { depth: 3, text_bytes: 5, ..Limits::default() };
        let last = |text: String| {
            let mut reader = JsonReader::new(text.as_bytes(), limits);
            loop {
                match reader.next() {
                    Ok(Token::End) => return Ok(()),
                    Ok(_) => {}
                    Err(error) => return Err(error.to_string()),
                }
            }
        };
        assert_eq!(last("[[[\"12345\"]]]".to_owned()), Ok(()));
        assert!(last("[[[[".to_owned()).unwrap_err().contains("too deep"));
        assert!(last("[".repeat(1_000_000)).unwrap_err().contains("too deep"));
        assert!(last("\"123456\"".to_owned()).unwrap_err().contains("too long"));
        let mut endless = JsonReader::new(io::repeat(b' '), Limits { inventory_bytes: 1 << 20, ..limits });
        assert!(endless.next().unwrap_err().to_string().contains("too long"));
    }

    #[test]
    fn a_value_can_be_skipped_whole() {
        let mut reader = JsonReader::new(&b"{\"a\":{\"b\":[1,{}]},\"c\":2}"[..], Limits::default());
        assert_eq!(reader.next().unwrap(), Token::ObjectStart);
        assert_eq!(reader.next().unwrap(), Token::Key("a"));
        assert_eq!(reader.next().unwrap(), Token::ObjectStart);
        reader.skip().unwrap();
        assert_eq!(reader.next().unwrap(), Token::Key("c"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused_as_another_reader_does(bytes in proptest::collection::vec(
            prop_oneof![Just(b'{'), Just(b'}'), Just(b'['), Just(b']'), Just(b'"'), Just(b','), Just(b':'), Just(b'1'),
                Just(b'\\'), Just(b'u'), Just(b' '), Just(b'a'), any::<u8>()], 0..40)) {
            let other = serde_json::from_slice::<serde_json::Value>(&bytes);
            prop_assert_eq!(read(&bytes).is_ok(), other.is_ok());
        }

        #[test]
        fn any_text_survives_writing_and_reading(text in ".*") {
            let written = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(read(written.as_bytes()).unwrap(), [format!("Text({text:?})")]);
        }
    }
}
