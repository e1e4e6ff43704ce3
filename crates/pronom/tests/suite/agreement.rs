//! Our answers beside those of siegfried, which pygfried carries with the signatures that we ship, about real files of
//! the machine and files made for the occasion. Where the two differ, a rule must say why.

mod corpus;
mod witness;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread;

use strongroom_pronom::{FileSource, Identification, Identifier, Method, Options, Source, Warning, text};

use witness::{Kind, Witness};

/// siegfried makes its text test on so many bytes, we on so many.
const THEIR_TEXT: usize = 4 << 10;
const OUR_TEXT: usize = 64 << 10;

/// Why two answers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    /// Nothing is in the file; they conclude from its name, we do not.
    Empty,
    /// It reads as text under an extension that is not text's; they say nothing, we say text and extension mismatch.
    TextUnderExtension,
    /// Formats that nothing ranks; they leave some of them out.
    Tie,
    /// A container that cannot be read; its byte signatures stand in with us, and we say so.
    StandIn,
    /// It reads as text as far as they look, and no longer as far as we do.
    TextCutOff,
    /// None of these.
    Unexplained,
}

/// What both say about a file.
struct Pair<'p> {
    path: &'p Path,
    ours: &'p Identification,
    theirs: &'p [witness::Match],
}

impl Pair<'_> {
    fn our_puids(&self) -> Vec<&str> {
        let mut puids: Vec<&str> = self.ours.matches.iter().map(|found| found.format.puid.as_str()).collect();
        puids.sort_unstable();
        puids
    }

    fn their_puids(&self) -> Vec<&str> {
        let mut puids: Vec<&str> = self.theirs.iter().map(|found| found.puid.as_str()).collect();
        puids.sort_unstable();
        puids
    }

    /// Whether one of them names a format by more than an extension, or than text under a foreign extension.
    fn is_told_by_content(&self) -> bool {
        let ours = self.ours.matches.iter().any(|found| match found.method {
            Method::Container | Method::Signature => true,
            Method::Text => !found.extension_mismatch,
            Method::Extension => false,
        });
        let theirs = self.theirs.iter().any(|found| match found.kind {
            Kind::Container | Kind::Signature => true,
            Kind::Text => !found.is_extension_mismatch,
            Kind::Extension => false,
        });
        ours || theirs
    }

    fn difference(&self) -> Option<Difference> {
        let (ours, theirs) = (self.our_puids(), self.their_puids());
        if ours == theirs {
            return None;
        }
        let is_by = |methods: &[Method]| {
            !ours.is_empty() && self.ours.matches.iter().all(|found| methods.contains(&found.method))
        };
        let is_unreadable = |warning: &Warning| matches!(warning, Warning::ContainerUnreadable(_));
        let is_text_elsewhere =
            is_by(&[Method::Text]) && self.ours.matches.iter().all(|found| found.extension_mismatch);
        let is_part = !theirs.is_empty() && ours.len() > 1 && theirs.iter().all(|puid| ours.contains(puid));
        Some(if self.ours.warnings.contains(&Warning::Empty) {
            Difference::Empty
        } else if theirs.is_empty() && is_text_elsewhere {
            Difference::TextUnderExtension
        } else if is_by(&[Method::Signature]) && self.ours.warnings.iter().any(is_unreadable) {
            Difference::StandIn
        } else if is_by(&[Method::Signature, Method::Container]) && is_part {
            Difference::Tie
        } else if self.theirs.iter().all(|found| found.kind == Kind::Text)
            && !is_by(&[Method::Text])
            && self.is_cut_off()
        {
            Difference::TextCutOff
        } else {
            Difference::Unexplained
        })
    }

    /// Whether the text test ends differently over what they look at and what we look at.
    fn is_cut_off(&self) -> bool {
        let Ok(source) = File::open(self.path).and_then(FileSource::new) else { return false };
        let is_text = |most: usize| {
            let mut beginning = vec![0; most];
            let length = source.read_at(0, &mut beginning).unwrap();
            text::detect(&beginning[..length], length as u64 == source.size()).is_some()
        };
        is_text(THEIR_TEXT) && !is_text(OUR_TEXT)
    }
}

impl std::fmt::Display for Pair<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ours: Vec<String> =
            self.ours.matches.iter().map(|found| format!("{} by {}", found.format.puid, found.basis_text())).collect();
        let theirs: Vec<String> =
            self.theirs.iter().map(|found| format!("{} by {}", found.puid, found.basis)).collect();
        let warning = self.ours.warning().unwrap_or_default();
        write!(formatter, "{}: ours {ours:?} {warning}, theirs {theirs:?}", self.path.display())
    }
}

/// Identifies all files on two threads; `None` where a file cannot be read.
fn identify(identifier: &Identifier, paths: &[PathBuf]) -> Vec<Option<Identification>> {
    let identify_one = |path: &PathBuf| {
        let source = File::open(path).and_then(FileSource::new).ok()?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        identifier.identify(&name, &source, &Options::default()).ok()
    };
    let (first, second) = paths.split_at(paths.len() / 2);
    thread::scope(|scope| {
        let other = scope.spawn(|| second.iter().map(identify_one).collect::<Vec<_>>());
        let mut answers: Vec<_> = first.iter().map(identify_one).collect();
        answers.extend(other.join().unwrap());
        answers
    })
}

#[test]
fn answers_are_those_of_siegfried_but_for_differences_that_have_a_reason() {
    let identifier = Identifier::builtin().unwrap();
    let witness = match Witness::found(&identifier) {
        Ok(witness) => witness,
        Err(reason) => {
            println!("SKIPPED: identification beside siegfried: {reason}");
            return;
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let telling = corpus::make_telling(folder.path());
    let mut paths: Vec<PathBuf> = telling.iter().map(|(path, _)| path.clone()).collect();
    paths.extend(corpus::make_by_programs(folder.path(), witness.python()));
    paths.extend(corpus::of_this_machine());
    let theirs = witness.ask(&paths);
    let ours = identify(&identifier, &paths);
    assert_eq!(theirs.len(), paths.len());

    let (mut asked, mut told, mut agreed) = (0_usize, 0_usize, 0_usize);
    let mut differences: BTreeMap<Difference, Vec<String>> = BTreeMap::new();
    let mut classes = Vec::new();
    for ((path, ours), theirs) in paths.iter().zip(&ours).zip(&theirs) {
        let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
        let pair = Pair { path, ours, theirs };
        let difference = pair.difference();
        asked += 1;
        if pair.is_told_by_content() {
            told += 1;
            agreed += usize::from(difference.is_none());
        }
        if let Some(difference) = difference {
            differences.entry(difference).or_default().push(pair.to_string());
        }
        classes.push((path.clone(), difference));
    }

    println!("{asked} files; {told} told by content, of which {agreed} alike");
    for (difference, pairs) in &differences {
        println!("{difference:?}: {}", pairs.len());
        let shown = if *difference == Difference::Unexplained { usize::MAX } else { 2 };
        pairs.iter().take(shown).for_each(|pair| println!("  {pair}"));
    }
    for (path, expected) in &telling {
        let class = classes.iter().find(|(other, _)| other == path).and_then(|(_, class)| *class);
        assert_eq!(class, *expected, "{}", path.display());
    }
    let unexplained = differences.get(&Difference::Unexplained).map_or(0, Vec::len);
    assert!(agreed * 100 >= told * 99, "{agreed} of {told} are alike");
    assert!(unexplained * 1_000 <= asked, "{unexplained} of {asked} differ without a reason");
}
