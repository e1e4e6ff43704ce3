//! The bag declaration `bagit.txt` (RFC 8493 section 2.1.1): version and character encoding.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use crate::codes;
use crate::problem::Problem;
use crate::text::Charset;

/// The name of the declaration.
pub(crate) const FILE: &str = "bagit.txt";

/// More than this no declaration has.
const LARGEST: u64 = 64 * 1024;

/// A BagIt version, `M.N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    major: u32,
    minor: u32,
}

impl Version {
    /// 0.97, the last before the RFC.
    pub const V0_97: Self = Self { major: 0, minor: 97 };
    /// 1.0, RFC 8493.
    pub const V1_0: Self = Self { major: 1, minor: 0 };
    /// Every version that is read here.
    pub const KNOWN: [Self; 6] = [
        Self { major: 0, minor: 93 },
        Self { major: 0, minor: 94 },
        Self { major: 0, minor: 95 },
        Self { major: 0, minor: 96 },
        Self::V0_97,
        Self::V1_0,
    ];

    /// Whether the strict rules of RFC 8493 hold.
    pub fn is_strict(self) -> bool {
        self >= Self::V1_0
    }

    /// Name of the file with the bag's metadata: `package-info.txt` up to 0.95.
    pub fn bag_info_file(self) -> &'static str {
        if self < (Self { major: 0, minor: 96 }) { "package-info.txt" } else { "bag-info.txt" }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for Version {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (major, minor) = text.split_once('.').ok_or(())?;
        let number = |digits: &str| {
            let is_number =
                !digits.is_empty() && digits.len() <= 9 && digits.bytes().all(|digit| digit.is_ascii_digit());
            is_number.then(|| digits.parse().ok()).flatten().ok_or(())
        };
        Ok(Self { major: number(major)?, minor: number(minor)? })
    }
}

/// What a declaration says, as far as it can be made out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declaration {
    /// The version, also where other things are wrong.
    pub version: Option<Version>,
    /// The version as written.
    pub version_text: Option<String>,
    /// The encoding as written.
    pub encoding_text: Option<String>,
}

impl Declaration {
    /// The encoding of the other tag files; nothing if its label is not known. UTF-8 where none is declared.
    pub fn charset(&self) -> Option<Charset> {
        match &self.encoding_text {
            Some(label) => Charset::for_label(label),
            None => Some(Charset::UTF_8),
        }
    }

    /// Reads a declaration and reports all that is wrong with it.
    pub fn parse(reader: impl Read, report: &mut dyn FnMut(Problem)) -> io::Result<Self> {
        let mut raw = Vec::new();
        reader.take(LARGEST + 1).read_to_end(&mut raw)?;
        let mut wrong = |line: Option<u64>, message: String| {
            let problem = codes::BAGIT_DECLARATION.problem(message).in_file(FILE);
            report(Problem { line, ..problem });
        };
        if raw.len() as u64 > LARGEST {
            wrong(None, format!("the bag declaration is longer than {LARGEST} bytes"));
            return Ok(Self::default());
        }
        let raw = match raw.strip_prefix(&[0xEF, 0xBB, 0xBF]) {
            Some(rest) => {
                wrong(Some(1), "the bag declaration starts with a byte order mark".to_owned());
                rest
            }
            None => &raw,
        };
        let text = String::from_utf8_lossy(raw);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            wrong(None, "the bag declaration is not UTF-8".to_owned());
        }
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(&text).split('\n').collect();

        let mut declaration = Self::default();
        let mut loose = Vec::new();
        let mut seen = Vec::new();
        for (number, line) in (1_u64..).zip(&lines) {
            let Some((label, value)) = line.split_once(':') else {
                if line.trim().is_empty() && number > 2 {
                    loose.push((number, "the bag declaration has a blank line".to_owned()));
                } else {
                    wrong(Some(number), format!("{:?} is not a label, a colon and a value", shorten(line)));
                }
                continue;
            };
            let known = ["BagIt-Version", "Tag-File-Character-Encoding"]
                .into_iter()
                .find(|known| known.eq_ignore_ascii_case(label.trim()));
            let Some(known) = known else {
                wrong(
                    Some(number),
                    format!("the bag declaration has only two lines, and {:?} is neither", shorten(label)),
                );
                continue;
            };
            if label.trim() != known {
                wrong(Some(number), format!("the label has to be written {known:?}, not {:?}", shorten(label.trim())));
            } else if label != known {
                loose.push((number, format!("there is white space around the label {known:?}")));
            }
            if value.strip_prefix(' ') != Some(value.trim()) {
                loose.push((number, "the colon is not followed by exactly one space and the value".to_owned()));
            }
            let value = value.trim();
            if seen.contains(&known) {
                wrong(Some(number), format!("{known} is declared more than once"));
                continue;
            }
            seen.push(known);
            if known == "BagIt-Version" {
                declaration.version = value.parse().ok();
                declaration.version_text = Some(value.to_owned());
                if declaration.version.is_none() {
                    wrong(
                        Some(number),
                        format!("the version {:?} is not two numbers with a full stop between them", shorten(value)),
                    );
                }
            } else if value.is_empty() {
                wrong(Some(number), "no character encoding is named".to_owned());
            } else {
                declaration.encoding_text = Some(value.to_owned());
            }
        }
        if seen == ["Tag-File-Character-Encoding", "BagIt-Version"] {
            wrong(None, "the two lines of the bag declaration are in the wrong order".to_owned());
        }
        for label in ["BagIt-Version", "Tag-File-Character-Encoding"] {
            if !seen.contains(&label) {
                wrong(None, format!("the bag declaration has no line {label:?}"));
            }
        }
        let is_strict = declaration.version.is_none_or(Version::is_strict);
        let rule = if is_strict { codes::BAGIT_DECLARATION } else { codes::BAGIT_DECLARATION_LOOSE };
        for (number, message) in loose {
            report(rule.problem(message).in_file(FILE).at_line(number));
        }
        Ok(declaration)
    }
}

/// Enough of a text to recognise it.
pub(crate) fn shorten(text: &str) -> String {
    if text.chars().count() <= 100 {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(100).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> (Declaration, Vec<String>) {
        let mut codes = Vec::new();
        let declaration = Declaration::parse(text.as_bytes(), &mut |problem| codes.push(problem.code)).unwrap();
        (declaration, codes)
    }

    #[test]
    fn the_two_lines_are_read_with_any_line_end() {
        for text in [
            "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
            "BagIt-Version: 1.0\r\nTag-File-Character-Encoding: UTF-8",
            "BagIt-Version: 1.0\rTag-File-Character-Encoding: UTF-8\r",
        ] {
            let (declaration, codes) = parse(text);
            assert_eq!(
                (declaration.version, declaration.encoding_text.as_deref()),
                (Some(Version::V1_0), Some("UTF-8"))
            );
            assert!(codes.is_empty(), "{text:?}: {codes:?}");
        }
    }

    #[test]
    fn every_departure_is_an_error_in_1_0() {
        for text in [
            "",
            "\n",
            "BagIt-Version: 1.0\n",
            "Tag-File-Character-Encoding: UTF-8\nBagIt-Version: 1.0\n",
            "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\nExtra: line\n",
            "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n\n",
            "BagIt-Version:1.0\nTag-File-Character-Encoding: UTF-8\n",
            "BagIt-Version:  1.0\nTag-File-Character-Encoding: UTF-8\n",
            "BagIt-Version : 1.0\nTag-File-Character-Encoding: UTF-8\n",
            "BagIt-Version: 1.0 \nTag-File-Character-Encoding: UTF-8\n",
            "BagIt-Version:\t1.0\nTag-File-Character-Encoding: UTF-8\n",
            "bagit-version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
            "\u{feff}BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
            "BagIt-Version: .97\nTag-File-Character-Encoding: UTF-8\n",
            "BagIt-Version: 1.0\nBagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
            "BagIt-Version: 1.0\nTag-File-Character-Encoding: \n",
        ] {
            let (_, codes) = parse(text);
            assert!(codes.iter().any(|code| code == "bagit.declaration"), "{text:?}: {codes:?}");
        }
    }

    #[test]
    fn loose_white_space_is_a_warning_before_1_0() {
        let (_, codes) = parse("BagIt-Version : 0.97\nTag-File-Character-Encoding:  UTF-8\n\n");
        assert_eq!(codes, ["bagit.declaration_loose"; 3]);
    }
}
