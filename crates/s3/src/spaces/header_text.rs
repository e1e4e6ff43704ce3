//! Texts as values of headers. S3 keeps user metadata as headers, which are ASCII: it decodes encoded words of RFC 2047 when it
//! takes a value, and encodes what is not ASCII as such words when it gives it. Other services keep what they are given. In
//! both cases, what is written as encoded words is read as the same text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

/// Most bytes of text in one encoded word, whose limit is 75 characters (RFC 2047, section 2): `=?UTF-8?B?`, `?=` and Base64.
const MOST: usize = 45;
const BEGIN: &str = "=?";
const END: &str = "?=";

/// A text as a header has it: itself where it is plain, else encoded words with blanks between them.
pub(super) fn encoded(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if is_plain && text.trim() == text && !text.contains(BEGIN) {
        return text.to_owned();
    }
    let mut words: Vec<String> = vec![String::new()];
    for character in text.chars() {
        match words.last_mut() {
            Some(word) if word.len() + character.len_utf8() <= MOST => word.push(character),
            _ => words.push(character.to_string()),
        }
    }
    let words: Vec<String> = words.into_iter().map(|word| format!("=?UTF-8?B?{}?=", BASE64.encode(word))).collect();
    words.join(" ")
}

/// The text of a header. What looks like an encoded word and is none, or is of a charset that is not UTF-8 or ASCII, stays as it is.
pub(super) fn decoded(header: &str) -> String {
    let mut text = String::new();
    let mut bytes: Vec<u8> = Vec::new();
    let mut rest = header;
    let mut is_after_word = false;
    while let Some(at) = rest.find(BEGIN) {
        let (plain, word) = rest.split_at(at);
        let Some((content, length)) = word_of(word) else {
            flush(&mut bytes, &mut text);
            let past = at + BEGIN.len();
            text.push_str(rest.get(..past).unwrap_or_default());
            rest = rest.get(past..).unwrap_or_default();
            is_after_word = false;
            continue;
        };
        // Blanks between encoded words are no part of the text (RFC 2047, section 6.2).
        if !(is_after_word && plain.trim().is_empty()) {
            flush(&mut bytes, &mut text);
            text.push_str(plain);
        }
        // Some programs cut a character in two words.
        bytes.extend_from_slice(&content);
        rest = word.get(length..).unwrap_or_default();
        is_after_word = true;
    }
    flush(&mut bytes, &mut text);
    text.push_str(rest);
    text
}

fn flush(bytes: &mut Vec<u8>, text: &mut String) {
    text.push_str(&String::from_utf8_lossy(bytes));
    bytes.clear();
}

/// The bytes of the encoded word with which a text begins, and the length of the word.
fn word_of(text: &str) -> Option<(Vec<u8>, usize)> {
    let mut parts = text.strip_prefix(BEGIN)?.splitn(3, '?');
    let (charset, encoding, rest) = (parts.next()?, parts.next()?, parts.next()?);
    // A language may stand behind the charset (RFC 2231, section 5).
    let charset = charset.split('*').next().unwrap_or_default().to_ascii_lowercase();
    if !matches!(charset.as_str(), "utf-8" | "us-ascii") {
        return None;
    }
    let content = rest.get(..rest.find(END)?)?;
    let decoded = match encoding {
        "B" | "b" => BASE64.decode(content).ok()?,
        "Q" | "q" => quoted(content)?,
        _ => return None,
    };
    let length = text.len() - rest.len() + content.len() + END.len();
    Some((decoded, length))
}

/// The `Q` encoding: `_` for a blank, `=XX` for a byte.
fn quoted(content: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(content.len());
    let mut rest = content.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'_' => b' ',
            b'=' => {
                let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
                let (high, low) = (digit()?, digit()?);
                (high * 16 + low) as u8
            }
            b' ' => return None,
            other => other,
        });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_texts_stay_as_they_are() {
        for text in ["", "a b", "1+1=2", "%C3%A9", "?=", "=C3"] {
            assert_eq!((encoded(text), decoded(text)), (text.to_owned(), text.to_owned()));
        }
    }

    #[test]
    fn other_texts_come_back() {
        let long = "é日".repeat(300);
        for text in ["é", " a", "a ", " ", "=?", "=?UTF-8?B?eA==?=", "a\tb", long.as_str(), "日 本 =?"] {
            let header = encoded(text);
            assert!(header.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()), "{header}");
            assert!(header.split(' ').all(|word| word.len() <= 75), "{header}");
            assert_eq!(decoded(&header), text);
        }
    }

    #[test]
    fn words_of_others_are_read() {
        for (header, text) in [
            ("=?UTF-8?Q?caf=C3=A9_x?=", "café x"),
            ("a =?utf-8?q?b?= c", "a b c"),
            ("=?UTF-8?B?w6k=?= =?UTF-8?Q?=C3=A9?=", "éé"),
            ("=?UTF-8?B?ww==?= =?UTF-8?B?qQ==?=", "é"),
            ("=?UTF-8*en?B?eA==?=", "x"),
            ("=?ISO-8859-1?Q?=E9?=", "=?ISO-8859-1?Q?=E9?="),
            ("=?UTF-8?B?***?=", "=?UTF-8?B?***?="),
            ("=?UTF-8?X?a?=", "=?UTF-8?X?a?="),
            ("=?=?=?", "=?=?=?"),
        ] {
            assert_eq!(decoded(header), text, "{header}");
        }
    }
}
