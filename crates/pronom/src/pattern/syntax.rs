//! The signature syntax: from text to links. What DROID's documentation calls container syntax (quoted strings, blanks,
//! sets of bytes) is allowed everywhere.

use super::chain::Chain;
use super::{ByteClass, ByteSet, Gap, Link, MAX_GAP, Piece};
use crate::error::PronomError;

/// How much of a pattern an error shows.
const SHOWN: usize = 80;

/// Parses a pattern, the whole syntax of binary and container signatures alike, into links in file order, of which there
/// is at least one. A gap at the pattern's end is returned apart. `signature` names it in errors.
pub fn parse_pattern(signature: &str, pattern: &str) -> Result<(Vec<Link>, Gap), PronomError> {
    parse_chain(signature, pattern).map(Chain::into_parts)
}

/// Parses a pattern into a chain with at least one link.
pub(crate) fn parse_chain(signature: &str, pattern: &str) -> Result<Chain, PronomError> {
    let characters: Vec<char> = pattern.chars().collect();
    let mut parser = Parser { characters: &characters, at: 0 };
    let chain = parser.pattern().map(chain).and_then(|chain| {
        let is_empty = chain.is_empty();
        if is_empty {
            Err(SyntaxFault { position: 0, reason: "there is no byte to search for".into() })
        } else {
            Ok(chain)
        }
    });
    chain.map_err(|SyntaxFault { position, reason }| {
        let mut shown: String = characters.iter().take(SHOWN).collect();
        if characters.len() > SHOWN {
            shown.push_str("...");
        }
        PronomError::Pattern { signature: signature.to_owned(), pattern: shown, reason, position }
    })
}

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Element {
    /// One byte.
    Byte(ByteClass),
    /// Bytes that are passed over.
    Gap(Gap),
    /// One of several runs of bytes.
    Alternatives(Vec<Piece>),
}

fn chain(elements: Vec<Element>) -> Chain {
    let mut chain = Chain::new();
    for element in elements {
        match element {
            Element::Byte(class) => chain.push_byte(class),
            Element::Gap(gap) => chain.push_gap(gap),
            Element::Alternatives(choices) => chain.push_choices(choices),
        }
    }
    chain
}

/// What is wrong, and at which character.
#[derive(Debug, PartialEq, Eq)]
struct SyntaxFault {
    position: usize,
    reason: String,
}

struct Parser<'a> {
    characters: &'a [char],
    at: usize,
}

impl Parser<'_> {
    fn pattern(&mut self) -> Result<Vec<Element>, SyntaxFault> {
        let mut elements = Vec::new();
        while let Some(next) = self.peek_past_space() {
            match next {
                '*' => {
                    self.at += 1;
                    elements.push(Element::Gap(Gap::at_least(0)));
                }
                '{' => elements.push(Element::Gap(self.gap()?)),
                '(' => elements.push(Element::Alternatives(self.alternatives()?)),
                _ => elements.extend(self.bytes()?.into_iter().map(Element::Byte)),
            }
        }
        Ok(elements)
    }

    /// `{n}`, `{n-m}`, `{n-*}`
    fn gap(&mut self) -> Result<Gap, SyntaxFault> {
        let open = self.take();
        let (min, _) = self.number(open)?;
        let gap = match self.peek_past_space() {
            Some('-') => {
                self.at += 1;
                if self.peek_past_space() == Some('*') {
                    self.at += 1;
                    Gap::at_least(min)
                } else {
                    let (max, position) = self.number(open)?;
                    if max < min {
                        return fault(position, format!("the gap ends at {max}, before it begins at {min}"));
                    }
                    Gap { min, max: Some(max) }
                }
            }
            _ => Gap::exactly(min),
        };
        match self.peek_past_space() {
            Some('}') => self.at += 1,
            Some(other) => return fault(self.at, format!("unexpected {other:?} in a gap")),
            None => return fault(open, "the brace is not closed"),
        }
        Ok(gap)
    }

    /// A decimal number and where it stands.
    fn number(&mut self, open: usize) -> Result<(u64, usize), SyntaxFault> {
        if self.peek_past_space().is_none() {
            return fault(open, "the brace is not closed");
        }
        let position = self.at;
        let mut number: u64 = 0;
        while let Some(digit) = self.peek().and_then(|next| next.to_digit(10)) {
            number = number.saturating_mul(10).saturating_add(u64::from(digit));
            self.at += 1;
        }
        if self.at == position {
            return fault(position, "a number of bytes is expected here");
        }
        if number > MAX_GAP {
            return fault(position, format!("the number is larger than {MAX_GAP}"));
        }
        Ok((number, position))
    }

    /// `(a|b)`
    fn alternatives(&mut self) -> Result<Vec<Piece>, SyntaxFault> {
        let open = self.take();
        let mut choices = Vec::new();
        let mut piece = Vec::new();
        loop {
            match self.peek_past_space() {
                Some(next @ ('|' | ')')) => {
                    if piece.is_empty() {
                        return fault(self.at, "the alternative is empty");
                    }
                    self.at += 1;
                    choices.push(Piece(std::mem::take(&mut piece)));
                    if next == ')' {
                        return Ok(choices);
                    }
                }
                Some('(') => return fault(self.at, "alternatives cannot be nested"),
                Some('{' | '*') => return fault(self.at, "alternatives cannot hold a gap"),
                Some(_) => piece.extend(self.bytes()?),
                None => return fault(open, "the parenthesis is not closed"),
            }
        }
    }

    /// What stands for a fixed number of bytes: a hex byte, `??`, a set, or a string.
    fn bytes(&mut self) -> Result<Vec<ByteClass>, SyntaxFault> {
        match self.peek() {
            Some('?') => {
                self.at += 1;
                if self.peek() != Some('?') {
                    return fault(self.at, "any byte is written with two question marks");
                }
                self.at += 1;
                Ok(vec![ByteClass::Any])
            }
            Some('[') => Ok(vec![self.set()?]),
            Some('\'') => Ok(self.string()?.into_iter().map(ByteClass::Is).collect()),
            _ => Ok(vec![ByteClass::Is(self.hex()?)]),
        }
    }

    /// `[a:b]`, `[!a:b]`, `[&m]`, `['a'-'z' 00 'aeiou']`
    fn set(&mut self) -> Result<ByteClass, SyntaxFault> {
        let open = self.take();
        let is_inverted = self.peek_past_space() == Some('!');
        if is_inverted {
            self.at += 1;
        }
        let mut set = ByteSet::default();
        let mut is_blank = true;
        loop {
            match self.peek_past_space() {
                Some(']') => break self.at += 1,
                Some(_) => self.members(&mut set)?,
                None => return fault(open, "the bracket is not closed"),
            }
            is_blank = false;
        }
        let set = if is_inverted { set.inverted() } else { set };
        match (set.len(), set.iter().next()) {
            _ if is_blank => fault(open, "the set is empty"),
            (256, _) => Ok(ByteClass::Any),
            (1, Some(byte)) => Ok(ByteClass::Is(byte)),
            (_, Some(_)) => Ok(ByteClass::In(set)),
            (_, None) => fault(open, "no byte is in the set"),
        }
    }

    /// A byte, a range, a mask, or the characters of a string, within a set.
    fn members(&mut self, set: &mut ByteSet) -> Result<(), SyntaxFault> {
        let position = self.at;
        if self.peek() == Some('&') {
            self.at += 1;
            let mask = self.hex()?;
            (0..=u8::MAX).filter(|byte| byte & mask == mask).for_each(|byte| set.insert(byte));
            return Ok(());
        }
        let bytes = self.member()?;
        if !matches!(self.peek_past_space(), Some(':' | '-')) {
            for byte in bytes {
                set.insert(byte);
            }
            return Ok(());
        }
        let separator = self.take();
        let last_position = self.peek_past_space().map(|_| self.at);
        let last = self.member()?;
        let (&[first], &[last]) = (bytes.as_slice(), last.as_slice()) else {
            let wrong = if bytes.len() == 1 { last_position.unwrap_or(separator) } else { position };
            return fault(wrong, "a range runs between single bytes");
        };
        if last < first {
            return fault(position, format!("the range runs backwards, from {first:02X} to {last:02X}"));
        }
        (first..=last).for_each(|byte| set.insert(byte));
        Ok(())
    }

    fn member(&mut self) -> Result<Vec<u8>, SyntaxFault> {
        if self.peek() == Some('\'') { self.string() } else { Ok(vec![self.hex()?]) }
    }

    /// A string of Latin-1 characters, each of which is one byte.
    fn string(&mut self) -> Result<Vec<u8>, SyntaxFault> {
        let open = self.take();
        let mut bytes = Vec::new();
        loop {
            match self.peek() {
                Some('\'') if bytes.is_empty() => return fault(open, "the string is empty"),
                Some('\'') => break self.at += 1,
                Some(character) => match u8::try_from(u32::from(character)) {
                    Ok(byte) => bytes.push(byte),
                    Err(_) => return fault(self.at, format!("{character:?} is not in latin-1")),
                },
                None => return fault(open, "the string is not closed"),
            }
            self.at += 1;
        }
        Ok(bytes)
    }

    /// Two hex digits.
    fn hex(&mut self) -> Result<u8, SyntaxFault> {
        let digit = |character: Option<char>| character.and_then(|character| character.to_digit(16));
        let Some(high) = digit(self.peek()) else {
            return match self.peek() {
                Some(')' | ']' | '}') => fault(self.at, "nothing is open that could be closed here"),
                Some('|') => fault(self.at, "alternatives are written in parentheses"),
                Some(other) => fault(self.at, format!("unexpected {other:?}")),
                None => fault(self.at, "a byte is expected here"),
            };
        };
        self.at += 1;
        let Some(low) = digit(self.peek()) else {
            return fault(self.at, "a byte has two hex digits");
        };
        self.at += 1;
        Ok((high * 16 + low) as u8)
    }

    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn peek_past_space(&mut self) -> Option<char> {
        while matches!(self.peek(), Some(' ' | '\t' | '\r' | '\n')) {
            self.at += 1;
        }
        self.peek()
    }

    /// Steps over a character that has been inspected; returns where it stands.
    fn take(&mut self) -> usize {
        self.at += 1;
        self.at - 1
    }
}

fn fault<T>(position: usize, reason: impl Into<String>) -> Result<T, SyntaxFault> {
    Err(SyntaxFault { position, reason: reason.into() })
}

#[cfg(test)]
mod tests;
