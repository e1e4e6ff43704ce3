//! What lies inside a container: its members, held against the rules of the container signatures.

use std::collections::HashMap;
use std::io::{self, Read};
use std::time::Instant;

use crate::answer::Member;
use crate::container::{ContainerError, ContainerMember, visit_members};
use crate::matching::glob::Glob;
use crate::matching::open::{Open, Pattern, Run};
use crate::signatures::{ContainerKind, ContainerSignature};
use strongroom_archive::Source;

/// Of one member no more than this is searched, and of one container no more than [`MOST_BYTES`].
const MOST_BYTES_OF_A_MEMBER: u64 = 64 << 20;
const MOST_BYTES: u64 = 256 << 20;
/// A member is read in blocks of this size.
const BLOCK: usize = 32 << 10;

/// The container signatures of one kind, made ready.
#[derive(Debug, Default)]
pub(crate) struct Inside {
    signatures: Vec<Prepared>,
    rules: Vec<Rule>,
    /// Rules by the path of the member, where that is no glob.
    by_path: HashMap<String, Vec<u32>>,
    by_glob: Vec<(Glob, u32)>,
}

#[derive(Debug)]
struct Prepared {
    id: u32,
    format: u32,
    rules: std::ops::Range<usize>,
}

#[derive(Debug)]
struct Rule {
    /// Of these one must match; where there is none the name is enough.
    patterns: Vec<Pattern>,
}

/// A container signature that matched.
#[derive(Debug)]
pub(crate) struct ContainerMatch {
    pub(crate) signature: u32,
    pub(crate) format: u32,
    pub(crate) members: Vec<Member>,
}

/// What a look inside told.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) found: Vec<ContainerMatch>,
    /// Why it could not be read, or not all that mattered.
    pub(crate) unreadable: Option<String>,
    /// Formats with a signature of which some rule held, where the rest could not be read.
    pub(crate) possible: Vec<u32>,
    /// The time was spent.
    pub(crate) time_spent: bool,
}

impl Told {
    /// Whether it could not be read, or not far enough to say what it is.
    pub(crate) fn is_unreadable(&self) -> bool {
        self.found.is_empty() && (self.unreadable.is_some() || self.time_spent)
    }
}

impl Inside {
    /// Of the signatures of one kind of container.
    pub(crate) fn new(kind: ContainerKind, signatures: &[ContainerSignature]) -> Self {
        let mut inside = Self::default();
        for signature in signatures.iter().filter(|signature| signature.kind == kind) {
            let first = inside.rules.len();
            for rule in &signature.rules {
                let number = inside.rules.len() as u32;
                match Glob::new(&rule.path) {
                    Some(glob) => inside.by_glob.push((glob, number)),
                    None => inside.by_path.entry(rule.path.clone()).or_default().push(number),
                }
                let patterns = rule.signatures.iter().map(|sequences| Pattern::new(sequences)).collect();
                inside.rules.push(Rule { patterns });
            }
            let rules = first..inside.rules.len();
            inside.signatures.push(Prepared { id: signature.id, format: signature.format, rules });
        }
        inside
    }

    /// Looks into a container. The error is one of the source.
    pub(crate) fn look(&self, kind: ContainerKind, source: &dyn Source, deadline: Instant) -> io::Result<Told> {
        let mut look = Look {
            inside: self,
            held: (0..self.rules.len()).map(|_| None).collect(),
            unreadable: None,
            budget: MOST_BYTES,
            failure: None,
            time_spent: false,
        };
        let visited = visit_members(kind, source, Some(deadline), &mut |member| look.take(member));
        if let Some(failure) = look.failure {
            return Err(failure);
        }
        match visited {
            Ok(()) => {}
            Err(ContainerError::Io(error)) => return Err(error),
            Err(ContainerError::TimeSpent) => look.time_spent = true,
            Err(error) => look.unreadable = Some(error.to_string()),
        }
        Ok(look.finish())
    }

    fn rules_for(&self, path: &str) -> Vec<u32> {
        let mut rules = self.by_path.get(path).cloned().unwrap_or_default();
        rules.extend(self.by_glob.iter().filter(|(glob, _)| glob.matches(path)).map(|(_, rule)| *rule));
        rules
    }
}

/// A look into one container.
struct Look<'i> {
    inside: &'i Inside,
    /// The member by which each rule holds.
    held: Vec<Option<Member>>,
    unreadable: Option<String>,
    /// Bytes that may still be read.
    budget: u64,
    /// The source failed.
    failure: Option<io::Error>,
    time_spent: bool,
}

impl<'i> Look<'i> {
    /// Takes a member; says whether to go on.
    fn take(&mut self, member: &mut dyn ContainerMember) -> bool {
        let path = member.path().to_owned();
        let rules = self.inside.rules_for(&path);
        let asks_for_manifest = path == OPEN_DOCUMENT_MANIFEST;
        if rules.is_empty() && !asks_for_manifest {
            return true;
        }
        let mut open = Vec::new();
        for number in rules {
            let (Some(rule), Some(held)) = (self.inside.rules.get(number as usize), self.held.get_mut(number as usize))
            else {
                continue;
            };
            if held.is_some() {
                continue;
            }
            if rule.patterns.is_empty() {
                *held = Some(Member { path: path.clone(), spans: Vec::new() });
            } else if !member.is_folder() {
                open.extend(rule.patterns.iter().map(|pattern| Open::new(number, pattern)));
            }
        }
        if open.is_empty() && !asks_for_manifest {
            return true;
        }
        if member.is_encrypted() {
            self.cannot_read(format!("the member {path:?} is encrypted"));
            return true;
        }
        self.read(&path, member, open);
        self.failure.is_none() && !self.time_spent
    }

    fn cannot_read(&mut self, why: String) {
        self.unreadable.get_or_insert(why);
    }

    fn read(&mut self, path: &str, member: &mut dyn ContainerMember, open: Vec<Open<'i>>) {
        let mut content = match member.open() {
            Ok(content) => content,
            Err(ContainerError::Io(error)) => return self.failure = Some(error),
            Err(ContainerError::TimeSpent) => return self.time_spent = true,
            Err(error) => return self.cannot_read(format!("the member {path:?}: {error}")),
        };
        let mut encryption = (path == OPEN_DOCUMENT_MANIFEST).then(EncryptionMark::default);
        let mut run = Run::new(open, &[], true);
        let mut block = vec![0; BLOCK];
        let mut left = MOST_BYTES_OF_A_MEMBER.min(self.budget);
        while !run.is_empty() || encryption.is_some() {
            if left == 0 {
                self.cannot_read(format!("the member {path:?} is too large to be searched"));
                break;
            }
            let wanted = usize::try_from(left).map_or(BLOCK, |left| left.min(BLOCK));
            let buffer = block.get_mut(..wanted).unwrap_or_default();
            match content.read(buffer) {
                Ok(0) => break,
                Ok(length) => {
                    left -= length as u64;
                    self.budget -= length as u64;
                    let bytes = buffer.get(..length).unwrap_or_default();
                    run.update(bytes, None);
                    for (rule, spans) in run.take_matched() {
                        self.hold(rule, path, spans);
                    }
                    run.retain(|rule| self.held.get(rule as usize).is_some_and(Option::is_none));
                    if let Some(mark) = &mut encryption {
                        if mark.is_in(bytes) {
                            self.cannot_read("its content is encrypted (META-INF/manifest.xml)".into());
                            encryption = None;
                        } else if run.position() >= MANIFEST_BYTES {
                            encryption = None;
                        }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => match error.kind() {
                    io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof | io::ErrorKind::Unsupported => {
                        return self.cannot_read(format!("the member {path:?}: {error}"));
                    }
                    io::ErrorKind::TimedOut => return self.time_spent = true,
                    _ => return self.failure = Some(error),
                },
            }
        }
        for (rule, spans) in run.finish() {
            self.hold(rule, path, spans);
        }
    }

    fn hold(&mut self, rule: u32, path: &str, mut spans: Vec<crate::answer::Span>) {
        spans.sort_unstable_by_key(|span| (span.offset, span.length));
        if let Some(held) = self.held.get_mut(rule as usize) {
            held.get_or_insert(Member { path: path.to_owned(), spans });
        }
    }

    fn finish(mut self) -> Told {
        let mut told = Told { unreadable: self.unreadable, time_spent: self.time_spent, ..Told::default() };
        for signature in &self.inside.signatures {
            let held = self.held.get_mut(signature.rules.clone()).unwrap_or_default();
            if held.iter().all(Option::is_some) {
                let members = held.iter_mut().filter_map(Option::take).collect();
                told.found.push(ContainerMatch { signature: signature.id, format: signature.format, members });
            } else if held.iter().flatten().any(|member| !member.spans.is_empty()) {
                told.possible.push(signature.format);
            }
        }
        if told.found.is_empty() && told.unreadable.is_some() {
            told.possible.sort_unstable();
            told.possible.dedup();
        } else {
            told.unreadable = None;
            told.possible.clear();
        }
        told
    }
}

/// Where a package of OASIS `OpenDocument` says which of its members are encrypted (version 1.3, part 2, 4.8).
const OPEN_DOCUMENT_MANIFEST: &str = "META-INF/manifest.xml";
/// The mark is looked for in so many bytes.
const MANIFEST_BYTES: u64 = 256 << 10;

/// Looks for `encryption-data` across blocks.
#[derive(Default)]
struct EncryptionMark {
    end: Vec<u8>,
}

impl EncryptionMark {
    const MARK: &'static [u8] = b":encryption-data";

    fn is_in(&mut self, bytes: &[u8]) -> bool {
        self.end.extend_from_slice(bytes);
        let found = memchr::memmem::find(&self.end, Self::MARK).is_some();
        let surplus = self.end.len().saturating_sub(Self::MARK.len() - 1);
        self.end.drain(..surplus);
        found
    }
}
