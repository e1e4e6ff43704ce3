//! Weighs what was found: containers before bytes, bytes before text and extension, higher formats before those they
//! outrank; and says what is uncertain.

use std::sync::Arc;

use crate::answer::{Basis, Identification, Match, Method, Span, Warning};
use crate::knowledge::{Knowledge, Signature};
use crate::members::Told;
use crate::signatures::{ContainerKind, Format};
use crate::text;

/// The text test inspects so much of the beginning, as file(1) does.
const TEXT: usize = 64 << 10;

/// The part of a file's name that says something.
#[derive(Debug)]
pub(crate) struct FileName {
    /// What may be the extension, in lower case, the longest first: PRONOM knows some with a dot.
    extensions: Vec<String>,
}

/// What is known about a file.
#[derive(Debug)]
pub(crate) struct Evidence {
    name: FileName,
    pub(crate) size: u64,
    /// The text test's result about the beginning, where it was made.
    text: Option<text::Encoding>,
    hits: Vec<Hit>,
    inside: Contents,
    warnings: Vec<Warning>,
}

/// What is known of the inside.
#[derive(Debug)]
enum Contents {
    /// It is no container.
    None,
    /// It will be inspected.
    Expected,
    /// It was inspected.
    Told(Told),
}

#[derive(Debug)]
struct Hit {
    signature: u32,
    format: u32,
    stands_in: bool,
    spans: Vec<Span>,
}

impl FileName {
    pub(crate) fn new(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        let mut extensions = Vec::new();
        let mut parts = name.rsplitn(3, '.');
        // As for DROID and siegfried, `.pdf` is a name with an extension.
        if let (Some(last), Some(before)) = (parts.next().filter(|last| !last.is_empty()), parts.next()) {
            if !before.is_empty() && parts.next().is_some_and(|stem| !stem.is_empty()) {
                extensions.push(format!("{before}.{last}"));
            }
            extensions.push(last.to_owned());
        }
        Self { extensions }
    }

    fn fitting<'n>(&'n self, extensions: &[String]) -> Option<&'n str> {
        self.extensions.iter().find(|extension| extensions.contains(extension)).map(String::as_str)
    }
}

impl Evidence {
    pub(crate) fn new(name: FileName, size: u64) -> Self {
        Self { name, size, text: None, hits: Vec::new(), inside: Contents::None, warnings: Vec::new() }
    }

    /// Makes the text test on the first bytes, which may be all.
    pub(crate) fn keep_beginning(&mut self, head: &[u8], is_whole: bool) {
        let beginning = head.get(..TEXT.min(head.len())).unwrap_or_default();
        self.text = text::detect(beginning, is_whole && beginning.len() == head.len());
    }

    pub(crate) fn hit(&mut self, signature: &Signature, mut spans: Vec<Span>) {
        spans.sort_unstable_by_key(|span| (span.offset, span.length));
        let Signature { id, format, stands_in, .. } = *signature;
        self.hits.push(Hit { signature: id, format, stands_in, spans });
    }

    /// The kind of container to look into: as it begins, else as one of the formats found by bytes asks.
    pub(crate) fn container_kind(&self, knowledge: &Knowledge, beginning: &[u8]) -> Option<ContainerKind> {
        let mut triggered = self.hits.iter().filter_map(|hit| knowledge.triggered(hit.format));
        container_kind(beginning).or_else(|| triggered.next())
    }

    /// The inside is not known yet.
    pub(crate) fn expect_inside(&mut self) {
        self.inside = Contents::Expected;
    }

    pub(crate) fn inside(&mut self, told: Told) {
        if told.time_spent {
            self.warn(Warning::TimeSpent);
        }
        self.inside = Contents::Told(told);
    }

    pub(crate) fn warn(&mut self, warning: Warning) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Whether a match of this signature could still change the answer.
    pub(crate) fn could_use(&self, knowledge: &Knowledge, number: u32) -> bool {
        let Some(signature) = knowledge.signatures.get(number as usize) else { return false };
        let (may_stand_in, do_stand_in) = match &self.inside {
            Contents::None => (true, true),
            Contents::Expected => (true, false),
            Contents::Told(told) if !told.found.is_empty() => return false,
            Contents::Told(told) => (told.is_unreadable(), told.is_unreadable()),
        };
        if signature.stands_in && !may_stand_in {
            return false;
        }
        let mut certain = self.hits.iter().filter(|hit| !hit.stands_in || do_stand_in);
        !certain.any(|hit| hit.format == signature.format || knowledge.outranks(hit.format, signature.format))
    }
}

/// What kind of container bytes begin like: MS-CFB 2.2, APPNOTE 4.3.7.
fn container_kind(beginning: &[u8]) -> Option<ContainerKind> {
    if beginning.starts_with(&[0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1]) {
        Some(ContainerKind::Ole2)
    } else if beginning.starts_with(b"PK\x03\x04") {
        Some(ContainerKind::Zip)
    } else {
        None
    }
}

/// A format that was found, on its way to an answer.
struct Candidate {
    format: u32,
    basis: Vec<Basis>,
}

/// Makes the answer.
pub(crate) fn weigh(knowledge: &Knowledge, mut evidence: Evidence) -> Identification {
    let (told, do_stand_in) = match std::mem::replace(&mut evidence.inside, Contents::None) {
        Contents::None => (Told::default(), true),
        Contents::Expected => (Told::default(), false),
        Contents::Told(told) => {
            let is_unreadable = told.is_unreadable();
            (told, is_unreadable)
        }
    };
    let mut found: Vec<Candidate> = Vec::new();
    let method = if told.found.is_empty() {
        for hit in evidence.hits.iter().filter(|hit| !hit.stands_in || do_stand_in) {
            let basis = Basis::Signature { signature: hit.signature, spans: hit.spans.clone() };
            add(&mut found, hit.format, basis);
        }
        Method::Signature
    } else {
        for one in told.found {
            add(&mut found, one.format, Basis::Container { signature: one.signature, members: one.members });
        }
        Method::Container
    };
    let formats: Vec<u32> = found.iter().map(|found| found.format).collect();
    found.retain(|found| !formats.iter().any(|higher| knowledge.outranks(*higher, found.format)));
    found.sort_by_key(|found| found.format);
    let stood_in = |found: &Candidate| {
        let mut hits = evidence.hits.iter().filter(|hit| hit.format == found.format);
        method == Method::Signature && hits.any(|hit| hit.stands_in)
    };
    match told.unreadable {
        Some(reason) => evidence.warn(Warning::ContainerUnreadable(reason)),
        None if found.iter().any(stood_in) => {
            evidence.warn(Warning::ContainerUnreadable("it is neither OLE2 nor ZIP".into()));
        }
        None => {}
    }
    let mut answer = Identification { warnings: evidence.warnings, ..Identification::default() };
    for found in found {
        answer.matches.extend(matched(knowledge, &evidence.name, found, method));
    }
    answer.matches.sort_by_key(|found| found.extension_mismatch);
    if answer.matches.is_empty() {
        by_name_and_text(knowledge, &evidence.name, evidence.size, evidence.text, &mut answer);
    }
    for format in told.possible {
        let known = knowledge.formats.get(format as usize);
        let is_named = |format: &Arc<_>| answer.matches.iter().any(|found| found.format == *format);
        if let Some(format) = known.filter(|format| !is_named(format) && !answer.candidates.contains(format)) {
            answer.candidates.push(Arc::clone(format));
        }
    }
    answer
}

fn add(found: &mut Vec<Candidate>, format: u32, basis: Basis) {
    match found.iter_mut().find(|found| found.format == format) {
        Some(found) => found.basis.push(basis),
        None => found.push(Candidate { format, basis: vec![basis] }),
    }
}

fn matched(knowledge: &Knowledge, name: &FileName, found: Candidate, method: Method) -> Option<Match> {
    let format = Arc::clone(knowledge.formats.get(found.format as usize)?);
    let has_extensions = !name.extensions.is_empty() && !format.extensions.is_empty();
    let extension_mismatch = has_extensions && name.fitting(&format.extensions).is_none();
    Some(Match { format, method, basis: found.basis, extension_mismatch })
}

/// Where nothing was found by signatures: what the text test and the extension tell. A format that has a signature of its
/// own, which has just failed, cannot be concluded from a name.
fn by_name_and_text(
    knowledge: &Knowledge,
    name: &FileName,
    size: u64,
    text: Option<text::Encoding>,
    answer: &mut Identification,
) {
    let with_extension = name.extensions.iter().map(|extension| knowledge.with_extension(extension));
    let suggested: Vec<u32> =
        with_extension.into_iter().find(|formats| !formats.is_empty()).unwrap_or_default().to_vec();
    let is_text = |format: u32| knowledge.plain_text == Some(format);
    let open: Vec<u32> =
        suggested.iter().copied().filter(|format| !knowledge.has_signature(*format) && !is_text(*format)).collect();
    let plain_text = knowledge.plain_text.zip(text);
    if size == 0 {
        answer.warnings.push(Warning::Empty);
        let text = suggested.iter().copied().filter(|format| is_text(*format));
        answer.candidates = formats(knowledge, text.chain(open));
        return;
    }
    let found = match (plain_text, open.as_slice()) {
        (Some((format, encoding)), _) if suggested.contains(&format) => {
            Some((Candidate { format, basis: vec![Basis::Text(encoding)] }, Method::Text))
        }
        (_, [only]) => {
            let extension = knowledge.formats.get(*only as usize).and_then(|format| name.fitting(&format.extensions));
            let basis = vec![Basis::Extension(extension.unwrap_or_default().to_owned())];
            Some((Candidate { format: *only, basis }, Method::Extension))
        }
        (Some((format, encoding)), _) => {
            answer.candidates = formats(knowledge, open.iter().copied());
            Some((Candidate { format, basis: vec![Basis::Text(encoding)] }, Method::Text))
        }
        (None, _) => {
            answer.candidates = formats(knowledge, open.iter().copied());
            None
        }
    };
    if let Some((found, method)) = found {
        answer.matches.extend(matched(knowledge, name, found, method));
    }
}

fn formats(knowledge: &Knowledge, indices: impl Iterator<Item = u32>) -> Vec<Arc<Format>> {
    indices.filter_map(|index| knowledge.formats.get(index as usize).map(Arc::clone)).collect()
}

#[cfg(test)]
mod tests {
    use super::FileName;

    #[test]
    fn an_extension_is_what_follows_the_last_dot_or_the_last_two() {
        let extensions = |name: &str| FileName::new(name).extensions;
        assert_eq!(extensions("a/b.c/Scan 1.TIF"), ["tif"]);
        assert_eq!(extensions("package.src.rpm"), ["src.rpm", "rpm"]);
        assert_eq!(extensions(".pdf"), ["pdf"]);
        assert_eq!(extensions("a?b#c%20.png"), ["png"]);
        assert!(extensions("v1.0/README").is_empty());
        assert!(extensions("name.").is_empty());
        assert!(extensions("").is_empty());
    }
}
