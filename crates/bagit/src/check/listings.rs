//! Reads all manifests and `fetch.txt`, judges each line by itself, and sorts what they list for the join.

use strongroom_listing::{Sorted, Sorter};

use super::Check;
use super::record::{FETCH as FETCH_SOURCE, Listing};
use super::survey::Survey;
use crate::codes::{self, Rule};
use crate::declaration::{Version, shorten};
use crate::error::BagError;
use crate::manifest::{self, FETCH, ManifestKind, ManifestName, PAYLOAD};
use crate::path;
use crate::tag_file::report_mark;
use crate::text::{Charset, LineFault, Lines};

pub(super) fn read(check: &Check<'_>, survey: &Survey, charset: Charset, version: Version) -> Result<Sorted, BagError> {
    let limits = &check.options.limits;
    let mut sorter = Sorter::new(limits.memory / 4, limits.temporary_directory.as_deref());
    for (number, manifest) in survey.manifests.iter().enumerate() {
        read_manifest(check, manifest, number as u8, charset, version, &mut sorter)?;
    }
    if survey.has_fetch {
        read_fetch(check, charset, version, &mut sorter)?;
    }
    sorter.finish().map_err(BagError::Spill)
}

/// Reads the lines of a file and hands on those that can be used.
fn each_line(
    check: &Check<'_>,
    file: &str,
    charset: Charset,
    version: Version,
    take: &mut dyn FnMut(u64, &str) -> Result<(), BagError>,
) -> Result<(), BagError> {
    // Trouble with spilling is ours, trouble with reading is the bag's.
    let mut failure = None;
    check.read_with(file, |reader| {
        let mut lines = Lines::new(reader, charset)?;
        report_mark(file, lines.mark(), version, &mut |problem| check.report(problem));
        while let Some(line) = lines.next()? {
            let fault = match line.fault {
                None => {
                    if let Err(error) = take(line.number, &line.text) {
                        failure = Some(error);
                        return Ok(());
                    }
                    continue;
                }
                Some(LineFault::Malformed) => codes::ENCODING_MALFORMED.problem("the line cannot be decoded"),
                Some(LineFault::TooLong) => codes::FILE_TOO_LARGE.problem("the line is too long to be read"),
            };
            check.report(fault.in_file(file).at_line(line.number));
        }
        Ok(())
    })?;
    failure.map_or(Ok(()), Err)
}

fn read_manifest(
    check: &Check<'_>,
    manifest: &ManifestName,
    number: u8,
    charset: Charset,
    version: Version,
    sorter: &mut Sorter,
) -> Result<(), BagError> {
    each_line(check, &manifest.file, charset, version, &mut |line, text| {
        let say =
            |rule: Rule, message: String| check.report(rule.problem(message).in_file(&manifest.file).at_line(line));
        let mut path = None;
        let mut notes = Vec::new();
        let parsed = manifest::parse_line(text, manifest.algorithm, &mut |rule, message| notes.push((rule, message)));
        if let Some(parsed) = &parsed {
            path = Some(parsed.path.clone());
        }
        for (rule, message) in notes {
            let problem = rule.problem(message).in_file(&manifest.file).at_line(line);
            check.report(match &path {
                Some(path) => problem.about(path.clone()),
                None => problem,
            });
        }
        let Some(parsed) = parsed else { return Ok(()) };
        let listed = parsed.path;
        let about = |rule: Rule, message: String| {
            check.report(rule.problem(message).in_file(&manifest.file).at_line(line).about(listed.clone()));
        };
        if let Some(reason) = path::too_long_reason(listed.as_bytes()) {
            about(codes::PATH_TOO_LONG, reason);
            return Ok(());
        }
        if listed.ends_with('/') {
            say(
                codes::MANIFEST_LINE_MALFORMED,
                format!("{:?} is a directory; only files are listed", shorten(&listed)),
            );
            return Ok(());
        }
        if let Some(reason) = manifest::unsafe_listing(&listed) {
            about(codes::PATH_UNSAFE, format!("the listed path is not safe: {reason}"));
            return Ok(());
        }
        let is_payload = listed.starts_with(PAYLOAD);
        match manifest.kind {
            ManifestKind::Payload if !is_payload => {
                about(codes::MANIFEST_OUTSIDE_PAYLOAD, "a payload manifest lists files in data/ only".to_owned());
                return Ok(());
            }
            ManifestKind::Tag if is_payload => {
                about(codes::TAG_MANIFEST_LISTS_PAYLOAD, "a tag manifest lists no payload files".to_owned());
                return Ok(());
            }
            ManifestKind::Tag if ManifestName::parse(&listed).is_some_and(|name| name.kind == ManifestKind::Tag) => {
                about(codes::TAG_MANIFEST_LISTS_TAG_MANIFEST, "a tag manifest lists no tag manifest".to_owned());
                return Ok(());
            }
            _ => {}
        }
        push(sorter, &Listing { source: number, line, digest: parsed.digest, length: None, url: None, path: listed })
    })
}

fn read_fetch(check: &Check<'_>, charset: Charset, version: Version, sorter: &mut Sorter) -> Result<(), BagError> {
    each_line(check, FETCH, charset, version, &mut |line, text| {
        let say = |rule: Rule, message: String| check.report(rule.problem(message).in_file(FETCH).at_line(line));
        let Some(parsed) = manifest::parse_fetch_line(text, &mut |rule, message| say(rule, message)) else {
            return Ok(());
        };
        let listed = parsed.path;
        let about = |rule: Rule, message: String| {
            check.report(rule.problem(message).in_file(FETCH).at_line(line).about(listed.clone()));
        };
        if let Some(reason) = path::too_long_reason(listed.as_bytes()) {
            about(codes::PATH_TOO_LONG, reason);
            return Ok(());
        }
        if let Some(reason) = manifest::unsafe_listing(&listed) {
            about(codes::PATH_UNSAFE, format!("the path to fetch to is not safe: {reason}"));
            return Ok(());
        }
        if !listed.starts_with(PAYLOAD) {
            about(codes::FETCH_TAG_FILE, "only payload files may be fetched".to_owned());
            return Ok(());
        }
        let (length, url) = (parsed.length, Some(parsed.url));
        push(sorter, &Listing { source: FETCH_SOURCE, line, digest: None, length, url, path: listed })
    })
}

fn push(sorter: &mut Sorter, listing: &Listing) -> Result<(), BagError> {
    let key = path::join_key(&listing.path);
    sorter.push(key.as_bytes(), &listing.pack(&key)).map_err(BagError::Spill)
}
