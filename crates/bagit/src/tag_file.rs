//! Text tag files of labels and values, such as `bag-info.txt` (RFC 8493 section 2.2.2): strict from 1.0 on, tolerant before.

use std::io::{self, Read};

use serde::{Deserialize, Serialize};

use crate::codes;
use crate::declaration::{Version, shorten};
use crate::problem::Problem;
use crate::text::{ByteOrderMark, Charset, LineFault, Lines};

/// Most bytes of labels and values that are kept of one file.
pub(crate) const LARGEST: usize = 8 << 20;
/// Bytes that a tag counts for beside its text, so that many short ones cost no more memory than a long one.
const TAG_COST: usize = 200;

/// One tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// The tag file, relative to the bag.
    pub file: String,
    /// The label as written, without white space around it.
    pub label: String,
    /// The value; continuation lines are joined with one space.
    pub value: String,
    /// The line of the label, from 1.
    pub line: u64,
}

/// How a tag file is read.
#[derive(Debug, Clone, Copy)]
pub struct TagFile<'a> {
    /// The file, relative to the bag.
    pub name: &'a str,
    /// Its character encoding.
    pub charset: Charset,
    /// The version whose rules hold.
    pub version: Version,
}

impl Tag {
    /// Bytes that the tag counts for.
    pub(crate) fn cost(&self) -> usize {
        self.label.len() + self.value.len() + TAG_COST
    }
}

impl TagFile<'_> {
    /// Reads the tags in order, and reports every line that is not as the version asks.
    pub fn parse<'r>(&self, reader: impl Read + 'r, report: &mut dyn FnMut(Problem)) -> io::Result<Vec<Tag>> {
        let mut tags: Vec<Tag> = Vec::new();
        let mut kept = 0;
        let mut lines = Lines::new(Box::new(reader), self.charset)?;
        report_mark(self.name, lines.mark(), self.version, report);
        let is_strict = self.version.is_strict();
        while let Some(line) = lines.next()? {
            let mut say = |rule: codes::Rule, message: String| {
                report(rule.problem(message).in_file(self.name).at_line(line.number));
            };
            match line.fault {
                Some(LineFault::Malformed) => say(codes::ENCODING_MALFORMED, "the line cannot be decoded".to_owned()),
                Some(LineFault::TooLong) => {
                    say(codes::FILE_TOO_LARGE, "the line is too long to be read".to_owned());
                    continue;
                }
                None => {}
            }
            let text = line.text.as_ref();
            kept += text.len() + TAG_COST;
            if kept > LARGEST {
                say(
                    codes::FILE_TOO_LARGE,
                    format!("the file has more than {LARGEST} bytes of tags; the rest is not read"),
                );
                break;
            }
            let blame = if is_strict { codes::BAG_INFO_MALFORMED } else { codes::BAG_INFO_WHITESPACE };
            if text.trim().is_empty() {
                if !text.is_empty() || is_strict {
                    say(codes::BAG_INFO_WHITESPACE, "the line is blank".to_owned());
                }
                continue;
            }
            if text.starts_with([' ', '\t']) {
                match tags.last_mut() {
                    Some(tag) => {
                        if !tag.value.is_empty() {
                            tag.value.push(' ');
                        }
                        tag.value.push_str(text.trim());
                    }
                    None => say(codes::BAG_INFO_MALFORMED, "the file starts with a continuation line".to_owned()),
                }
                continue;
            }
            let Some((label, value)) = text.split_once(':') else {
                say(codes::BAG_INFO_MALFORMED, format!("{:?} has no colon after a label", shorten(text)));
                continue;
            };
            if label.trim().is_empty() {
                say(codes::BAG_INFO_MALFORMED, "there is no label before the colon".to_owned());
                continue;
            }
            if label.trim_end() != label && is_strict {
                say(blame, format!("the label {:?} ends with white space", shorten(label)));
            }
            if !value.starts_with([' ', '\t']) && is_strict {
                say(blame, format!("the colon after {:?} is not followed by a space or tab", shorten(label)));
            } else if is_strict
                && !value.trim().is_empty()
                && value.get(1..).is_some_and(|rest| rest.starts_with([' ', '\t']))
            {
                say(
                    codes::BAG_INFO_WHITESPACE,
                    format!("the colon after {:?} is followed by more than one space or tab", shorten(label)),
                );
            }
            tags.push(Tag {
                file: self.name.to_owned(),
                label: label.trim().to_owned(),
                value: value.trim().to_owned(),
                line: line.number,
            });
        }
        Ok(tags)
    }
}

/// Reports a byte order mark that should not be, or lacks.
pub(crate) fn report_mark(file: &str, mark: ByteOrderMark, version: Version, report: &mut dyn FnMut(Problem)) {
    match mark {
        ByteOrderMark::AsExpected => {}
        ByteOrderMark::Unwanted => {
            report(codes::ENCODING_BOM.problem("the file starts with a byte order mark").in_file(file).at_line(1));
        }
        ByteOrderMark::Missing => {
            let rule = if version.is_strict() { codes::ENCODING_BOM_MISSING } else { codes::ENCODING_BOM_ASSUMED };
            report(rule.problem("the file has no byte order mark").in_file(file).at_line(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &[u8], version: Version) -> (Vec<(String, String)>, Vec<String>) {
        let mut codes = Vec::new();
        let file = TagFile { name: "bag-info.txt", charset: Charset::UTF_8, version };
        let tags = file.parse(text, &mut |problem| codes.push(problem.code)).unwrap();
        (tags.into_iter().map(|tag| (tag.label, tag.value)).collect(), codes)
    }

    #[test]
    fn order_repeats_and_continuations_are_kept() {
        let (tags, codes) = parse(
            b"Contact-Name: Ada\nExternal-Description: one\n  two\n\tthree\nContact-Name: Bo: b\n",
            Version::V1_0,
        );
        let expected = [("Contact-Name", "Ada"), ("External-Description", "one two three"), ("Contact-Name", "Bo: b")];
        assert_eq!(tags, expected.map(|(label, value)| (label.to_owned(), value.to_owned())));
        assert!(codes.is_empty(), "{codes:?}");
    }

    #[test]
    fn white_space_around_the_colon_is_free_before_1_0_and_not_after() {
        let text = b"Test-Tag: 1\nTest-Tag : 3\nTest-Tag:4\n";
        assert_eq!(parse(text, Version::V0_97), (parse(text, Version::V1_0).0, Vec::new()));
        assert_eq!(parse(text, Version::V1_0).1, ["bag_info.malformed"; 2]);
    }

    #[test]
    fn what_is_no_tag_is_reported_in_every_version() {
        for version in Version::KNOWN {
            assert_eq!(
                parse(b"  start\nno colon\n: no label\n\xFF: x\n", version).1,
                ["bag_info.malformed", "bag_info.malformed", "bag_info.malformed", "encoding.malformed"]
            );
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_the_end(raw in prop::collection::vec(any::<u8>(), 0..300)) {
            parse(&raw, Version::V1_0);
            parse(&raw, Version::V0_97);
        }
    }
}
