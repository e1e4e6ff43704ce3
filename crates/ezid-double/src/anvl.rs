//! ANVL as EZID reads and writes it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Reads lines `NAME: VALUE`; the error is what EZID says of them.
pub(crate) fn read(text: &str) -> Result<BTreeMap<String, String>, &'static str> {
    let mut elements: BTreeMap<String, String> = BTreeMap::new();
    let mut last: Option<String> = None;
    for line in text.replace("\r\n", "\n").replace('\r', "\n").split('\n') {
        if line.is_empty() {
            last = None;
        } else if line.starts_with('#') {
        } else if line.starts_with(char::is_whitespace) {
            let value = last.as_ref().and_then(|name| elements.get_mut(name));
            let value = value.ok_or("no previous label for continuation line")?;
            let more = decoded(line)?;
            if !value.is_empty() && !more.trim().is_empty() {
                value.push(' ');
            }
            value.push_str(more.trim());
        } else {
            let (name, value) = line.split_once(':').ok_or("no colon in line")?;
            let (name, value) = (decoded(name)?.trim().to_owned(), decoded(value)?.trim().to_owned());
            if name.is_empty() {
                return Err("empty label");
            }
            if elements.insert(name.clone(), value).is_some() {
                return Err("repeated label");
            }
            last = Some(name);
        }
    }
    Ok(elements)
}

/// Writes lines `NAME: VALUE`.
pub(crate) fn write(elements: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    for (name, value) in elements {
        let _ = writeln!(text, "{}: {}", encoded(name, &['%', '\n', '\r', ':']), encoded(value, &['%', '\n', '\r']));
    }
    text
}

fn encoded(text: &str, escaped: &[char]) -> String {
    let mut encoded = String::new();
    for character in text.chars() {
        if escaped.contains(&character) {
            let _ = write!(encoded, "%{:02X}", u32::from(character));
        } else {
            encoded.push(character);
        }
    }
    encoded
}

fn decoded(text: &str) -> Result<String, &'static str> {
    let mut parts = text.split('%');
    let mut decoded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let code = code.and_then(|digits| u8::from_str_radix(digits, 16).ok()).ok_or("percent-decode error")?;
        decoded.push(char::from(code));
        decoded.push_str(part.get(2..).unwrap_or_default());
    }
    Ok(decoded)
}
