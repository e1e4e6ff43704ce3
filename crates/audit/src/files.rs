//! Chains in files: in a preservation store, and where they were exported to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::names::{ENTRIES, HEADS, KEYS, key_name, number_of_head, numbers_of_entries};
use crate::{AuditError, Broken, Fault, Head, LONGEST_LINE, Link, NearDuplicates, PublicKey, RangeSum, Verifier};

/// Where a store has the chains.
const IN_STORE: &str = "_strongroom/audit";
/// No head, signature or key is near this long.
const LONGEST: u64 = 64 * 1024;

/// What verification found of the files of one chain in one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The folder, or the file.
    pub path: PathBuf,
    /// The name of the chain; none where nothing that can be read says it.
    pub chain: Option<String>,
    /// The number of the first entry there; 1 where the whole chain is there.
    pub first: u64,
    /// How many entries hold, from the first one on.
    pub entries: u64,
    /// The end of the chain as far as it holds.
    pub link: Option<Link>,
    /// With how many heads it was compared, from all paths.
    pub heads: u64,
    /// How many of these are signed, with a signature that is right.
    pub signed: u64,
    /// Entries that say the same as one shortly before them: no fault.
    pub near_duplicates: NearDuplicates,
    /// The first entry that does not hold, and why.
    pub fault: Option<Broken>,
}

/// Verifies chains by the files below `paths` alone. Each path is a folder with `entries` and `heads`, a folder of such folders (an
/// export), the folder of a store, a file of entries or a file of a head. Each chain in each place is compared with the heads of that chain
/// from all of them. Where `keys` are given, the last head has to be signed by one of these; else each that says it is signed, by the key that
/// is beside it.
///
/// # Errors
/// A path cannot be read, or no path has anything of a chain. What does not hold is no error.
pub fn verify(paths: &[PathBuf], keys: &[PublicKey]) -> Result<Vec<Verified>, AuditError> {
    let (mut places, mut stores, mut empty) = (Vec::new(), Vec::new(), Vec::new());
    for path in paths {
        let before = places.len();
        let root = find(path, &mut places)?;
        if places.len() == before && root.is_none() {
            empty.push(path);
        }
        stores.extend(root.map(|root| (root, before..places.len())));
    }
    if places.is_empty() {
        return Err(AuditError::Nothing(paths.first().cloned().unwrap_or_default()));
    }
    let mut heads: BTreeMap<String, Vec<ReadHead>> = BTreeMap::new();
    for place in &mut places {
        place.is_signed = !keys.is_empty();
        for (number, path) in std::mem::take(&mut place.heads) {
            match read_head(number, &path, keys)? {
                Ok(head) => {
                    place.chains.push(head.head.chain().to_owned());
                    place.least = place.least.min(head.head.range().first);
                    heads.entry(head.head.chain().to_owned()).or_default().push(head);
                }
                Err(broken) => place.broken.push(broken),
            }
        }
    }
    let mut unsigned = BTreeMap::new();
    for (chain, heads) in heads.iter().filter(|_| !keys.is_empty()) {
        // A signed head covers everything before it.
        let last = heads.iter().max_by_key(|read| (read.head.sequence(), read.is_signed));
        if let Some(last) = last.filter(|last| !last.is_signed) {
            unsigned.insert(chain.clone(), last.head.sequence());
        }
    }
    let with_entries: BTreeSet<String> =
        places.iter().filter(|place| !place.entries.is_empty()).flat_map(|place| place.chains.clone()).collect();
    // A place with heads alone is there to compare others with, unless there are no others of the chain.
    let is_compared = |place: &Place| {
        !place.entries.is_empty()
            || place.is_store
            || !place.broken.is_empty()
            || !place.chains.iter().any(|chain| with_entries.contains(chain))
    };
    let mut missing: Vec<Verified> =
        empty.into_iter().map(|path| Verified::nothing(path, None, Fault::Nothing)).collect();
    // Every store has every chain.
    let names: BTreeSet<String> =
        heads.keys().cloned().chain(places.iter().filter_map(|place| place.named.clone())).collect();
    for (root, of_store) in stores {
        let has = |name: &String| {
            places.get(of_store.clone()).is_some_and(|places| places.iter().any(|place| place.is_of(name)))
        };
        for name in names.iter().filter(|name| !has(name)) {
            let last = heads.get(name).and_then(|heads| heads.iter().map(|read| read.head.sequence()).max());
            missing.push(Verified::nothing(&root.join(name), Some(name), last.map_or(Fault::Nothing, Fault::Cut)));
        }
    }
    let found = places.into_iter().filter(is_compared).map(|place| place.verify(&heads, &unsigned));
    found.chain(missing.into_iter().map(Ok)).collect()
}

impl Verified {
    /// Nothing of a chain is in a place.
    fn nothing(path: &Path, chain: Option<&String>, fault: Fault) -> Self {
        Self {
            path: path.to_owned(),
            chain: chain.cloned(),
            first: 1,
            entries: 0,
            link: None,
            heads: 0,
            signed: 0,
            near_duplicates: NearDuplicates::default(),
            fault: Some(Broken { sequence: 1, fault }),
        }
    }
}

/// A head, and whether it has a signature that is right.
struct ReadHead {
    head: Head,
    is_signed: bool,
}

/// The files of one chain in one folder, or a file alone.
struct Place {
    path: PathBuf,
    /// By the numbers of the first and the last entry, as the name says; none of a file with another name.
    entries: Vec<(Option<(u64, u64)>, PathBuf)>,
    heads: Vec<(Option<u64>, PathBuf)>,
    /// Heads that cannot be used, and why.
    broken: Vec<Broken>,
    /// The chains of which the heads are.
    chains: Vec<String>,
    /// The chain that it has to be, by the name of the folder.
    named: Option<String>,
    /// Whether it is a store, which has a chain from its first entry on.
    is_store: bool,
    /// Whether it is a file that was given alone.
    is_file: bool,
    /// Whether the last head has to be signed.
    is_signed: bool,
    /// The least entry that a head here names.
    least: u64,
}

impl Place {
    /// Whether it is the folder of the chain of this name.
    fn is_of(&self, name: &str) -> bool {
        self.named.as_deref() == Some(name)
    }

    fn of(path: &Path) -> Self {
        let (entries, heads, broken, chains) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self {
            path: path.to_owned(),
            entries,
            heads,
            broken,
            chains,
            named: None,
            is_store: false,
            is_file: false,
            is_signed: false,
            least: u64::MAX,
        }
    }

    fn verify(
        mut self,
        heads: &BTreeMap<String, Vec<ReadHead>>,
        unsigned: &BTreeMap<String, u64>,
    ) -> Result<Verified, AuditError> {
        self.broken.sort_by_key(|broken| broken.sequence);
        self.entries.sort();
        let chain = match self.chains.first() {
            Some(chain) => Some(chain.clone()),
            None => self.entries.first().map(|(_, path)| chain_of(path)).transpose()?.flatten(),
        };
        let of_chain: &[ReadHead] = chain.as_ref().and_then(|chain| heads.get(chain)).map_or(&[], Vec::as_slice);
        let first = self.entries.first().and_then(|(numbers, _)| numbers.map(|(first, _)| first)).unwrap_or(1);
        let mut by_last = BTreeMap::new();
        for read in of_chain {
            by_last.entry(read.head.sequence()).or_insert(&read.head);
        }
        let mut verifier =
            Verifier::new(of_chain.iter().filter(|read| read.head.sequence() >= first).map(|read| read.head.clone()));
        if first > 1 {
            let before = of_chain.iter().find_map(|read| {
                let (head, before) = (&read.head, read.head.before());
                if head.sequence() + 1 == first {
                    Some(head.link())
                } else {
                    (before.sequence() + 1 == first).then_some(before)
                }
            });
            // Only the entry itself says what is before it.
            let before = before.or_else(|| named_before(&self.entries, first));
            if let Some(before) = before {
                verifier = verifier.behind(before);
            }
        } else if let Some(chain) = &chain {
            verifier = verifier.behind(Link::start(chain.clone()));
        }
        let mut fault = self.broken.first().cloned();
        if let Some(sequence) = chain.as_ref().and_then(|chain| unsigned.get(chain)) {
            let why = "none of the keys that were given has signed it, and none is behind it that one has signed";
            fault = fault.or(Some(Broken { sequence: *sequence, fault: Fault::Signature(why.to_owned()) }));
        }
        if let Some((named, chain)) = self.named.as_ref().zip(chain.as_ref()).filter(|(named, chain)| named != chain) {
            let why = format!("{chain:?}, in the folder of {named:?}");
            fault = Some(Broken { sequence: first, fault: Fault::Chain(why) });
        }
        if self.is_store {
            self.least = self.least.min(1);
        }
        if self.least < first && !self.entries.is_empty() {
            let sequence = self.least;
            fault = Some(Broken { sequence, fault: Fault::Sequence(first) });
        }
        if let Some(other) = self.chains.iter().find(|other| Some(*other) != chain.as_ref()) {
            fault = fault.or(Some(Broken { sequence: first, fault: Fault::Chain(other.clone()) }));
        }
        let broken = read_entries(&self.entries, &mut verifier, &by_last)?;
        // Entries are there with a head; only a file that is given alone has none beside it.
        let covered = by_last.keys().next_back().copied().unwrap_or(0);
        let behind = verifier.link().map_or(0, Link::sequence);
        let is_alone = self.is_file && !self.is_signed;
        let broken = broken
            .or((behind > covered && !is_alone)
                .then(|| Broken { sequence: first.max(covered + 1), fault: Fault::NoHead }));
        let near_duplicates = verifier.near_duplicates().clone();
        let link = verifier.link().cloned();
        let entries = link.as_ref().map_or(0, |link| (link.sequence() + 1).saturating_sub(first));
        let broken = broken.or_else(|| verifier.finish().err());
        // The first of them; where there are heads alone, what is the matter with them.
        let broken = broken.filter(|_| fault.is_none() || !self.entries.is_empty());
        let fault = [fault, broken].into_iter().flatten().min_by_key(|broken| broken.sequence);
        Ok(Verified {
            path: self.path,
            chain,
            first,
            entries,
            link,
            heads: by_last.len() as u64,
            signed: of_chain
                .iter()
                .filter(|read| read.is_signed)
                .map(|read| read.head.sequence())
                .collect::<BTreeSet<_>>()
                .len() as u64,
            near_duplicates,
            fault,
        })
    }
}

/// Finds what is at a path; of a store, the folder of its chains.
fn find(path: &Path, places: &mut Vec<Place>) -> Result<Option<PathBuf>, AuditError> {
    let unreadable = |source| AuditError::Read { path: path.to_owned(), source };
    if std::fs::metadata(path).map_err(unreadable)?.is_file() {
        let mut place = Place { is_file: true, ..Place::of(path) };
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.strip_suffix(".jsonl").is_some() {
            place.entries.push((numbers_of_entries(&name), path.to_owned()));
        } else {
            place.heads.push((number_of_head(&name), path.to_owned()));
        }
        places.push(place);
        return Ok(None);
    }
    let in_store = path.join(IN_STORE);
    let is_store = in_store.is_dir();
    let root = if is_store { in_store } else { path.to_owned() };
    if !take_folder(&root, places)? {
        for (name, folder) in names_in(&root)? {
            if folder.is_dir()
                && take_folder(&folder, places)?
                && let Some(place) = places.last_mut()
            {
                (place.named, place.is_store) = (Some(name), is_store);
            }
        }
    }
    Ok(is_store.then_some(root))
}

/// Takes the folder of a chain; whether it is one.
fn take_folder(folder: &Path, places: &mut Vec<Place>) -> Result<bool, AuditError> {
    let (entries, heads) = (folder.join(ENTRIES), folder.join(HEADS));
    if !entries.is_dir() && !heads.is_dir() && !folder.join(KEYS).is_dir() {
        return Ok(false);
    }
    let mut place = Place::of(folder);
    for (name, path) in if entries.is_dir() { names_in(&entries)? } else { Vec::new() } {
        // What is no file of entries is none of the chain.
        if let Some(numbers) = numbers_of_entries(&name) {
            place.entries.push((Some(numbers), path));
        }
    }
    for (name, path) in if heads.is_dir() { names_in(&heads)? } else { Vec::new() } {
        if name.strip_suffix(".json").is_some() {
            place.heads.push((number_of_head(&name), path));
        }
    }
    places.push(place);
    Ok(true)
}

fn names_in(folder: &Path) -> Result<Vec<(String, PathBuf)>, AuditError> {
    let unreadable = |source| AuditError::Read { path: folder.to_owned(), source };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        names.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
    }
    names.sort();
    Ok(names)
}

fn read_head(number: Option<u64>, path: &Path, keys: &[PublicKey]) -> Result<Result<ReadHead, Broken>, AuditError> {
    let sequence = number.unwrap_or(0);
    let broken = |fault| Ok(Err(Broken { sequence, fault }));
    if !is_regular(path)? {
        return broken(Fault::Unreadable(format!("{} is no regular file", path.display())));
    }
    let bytes = read_small(path)?.unwrap_or_default();
    let head = match std::str::from_utf8(&bytes)
        .map_err(|error| error.to_string())
        .and_then(|text| Head::read(text).map_err(|error| error.to_string()))
    {
        Ok(head) => head,
        Err(why) => return broken(Fault::Unreadable(format!("{}: {why}", path.display()))),
    };
    if number.is_some_and(|number| number != head.sequence()) {
        let why = format!("{} is the head of {} entries", path.display(), head.sequence());
        return broken(Fault::Unreadable(why));
    }
    let sequence = head.sequence();
    match check_signature(&head, &bytes, path, keys)? {
        Ok(is_signed) => Ok(Ok(ReadHead { head, is_signed })),
        Err(why) => Ok(Err(Broken { sequence, fault: Fault::Signature(why) })),
    }
}

/// Whether a head is signed; why its signature is not right.
fn check_signature(
    head: &Head,
    bytes: &[u8],
    path: &Path,
    keys: &[PublicKey],
) -> Result<Result<bool, String>, AuditError> {
    let wrong = |why: String| Ok(Err(why));
    let Some(fingerprint) = head.key() else { return Ok(Ok(false)) };
    let is_of = |key: &PublicKey| key.fingerprint().is_ok_and(|found| found == fingerprint);
    if !keys.is_empty() && !keys.iter().any(is_of) {
        return Ok(Ok(false));
    }
    let mut signature = path.as_os_str().to_owned();
    signature.push(".sig");
    let Some(signature) = read_small(Path::new(&signature))? else {
        return wrong(format!("its signature {} is not there", PathBuf::from(signature).display()));
    };
    let key = if keys.is_empty() {
        let beside =
            path.parent().and_then(Path::parent).unwrap_or(Path::new("")).join(KEYS).join(key_name(fingerprint));
        let pem = read_small(&beside)?.and_then(|pem| String::from_utf8(pem).ok());
        pem.and_then(|pem| PublicKey::from_pem(&pem).ok()).filter(is_of)
    } else {
        keys.iter().find(|key| is_of(key)).cloned()
    };
    let Some(key) = key else { return wrong(format!("the key {fingerprint} is none of those that are known")) };
    if key.verifies(bytes, &signature) { Ok(Ok(true)) } else { wrong("the signature is of something else".to_owned()) }
}

/// Whether it is a file that ends, and no pipe or device.
fn is_regular(path: &Path) -> Result<bool, AuditError> {
    let found = std::fs::metadata(path).map_err(|source| AuditError::Read { path: path.to_owned(), source })?;
    Ok(found.is_file())
}

/// The bytes of a small file; none where there is none.
fn read_small(path: &Path) -> Result<Option<Vec<u8>>, AuditError> {
    let unreadable = |source| AuditError::Read { path: path.to_owned(), source };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(Some(bytes))
}

/// Reads entries in order; the first one that does not hold.
fn read_entries(
    files: &[(Option<(u64, u64)>, PathBuf)],
    verifier: &mut Verifier,
    heads: &BTreeMap<u64, &Head>,
) -> Result<Option<Broken>, AuditError> {
    for (numbers, path) in files {
        let before = verifier.link().map_or(0, Link::sequence);
        if !is_regular(path)? {
            return Ok(Some(Broken { sequence: before + 1, fault: Fault::NoFile }));
        }
        let mut lines = Lines::open(path)?;
        let mut sum = verifier.link().cloned().map(RangeSum::behind);
        while let Some(line) = lines.next()? {
            let sequence = verifier.link().map_or(0, Link::sequence) + 1;
            let Some(line) = line.strip_suffix(b"\n") else {
                let fault = if line.len() > LONGEST_LINE { Fault::Long } else { Fault::Incomplete };
                return Ok(Some(Broken { sequence, fault }));
            };
            if let Err(broken) = verifier.take(line) {
                return Ok(Some(broken));
            }
            if let Some(sum) = &mut sum {
                sum.take(line);
            }
        }
        let sequence = verifier.link().map_or(0, Link::sequence);
        if numbers.is_some_and(|(_, last)| last != sequence) {
            return Ok(Some(Broken { sequence: sequence + 1, fault: Fault::FileName }));
        }
        let Some((range, link)) = sum.map(RangeSum::finish) else { continue };
        let sequence = link.sequence();
        if heads.get(&sequence).is_some_and(|head| *head.range() != range) {
            return Ok(Some(Broken { sequence, fault: Fault::Head }));
        }
    }
    Ok(None)
}

/// The lines of a file in the memory of one.
struct Lines<'p> {
    path: &'p Path,
    reader: BufReader<File>,
    line: Vec<u8>,
}

impl<'p> Lines<'p> {
    fn open(path: &'p Path) -> Result<Self, AuditError> {
        let file = File::open(path).map_err(|source| AuditError::Read { path: path.to_owned(), source })?;
        Ok(Self { path, reader: BufReader::with_capacity(128 * 1024, file), line: Vec::new() })
    }

    /// The next line with its end; without one where the file ends before, or the line is too long.
    fn next(&mut self) -> Result<Option<&[u8]>, AuditError> {
        self.line.clear();
        let mut bounded = (&mut self.reader).take(LONGEST_LINE as u64 + 1);
        let read = bounded.read_until(b'\n', &mut self.line);
        let read = read.map_err(|source| AuditError::Read { path: self.path.to_owned(), source })?;
        Ok((read > 0).then_some(self.line.as_slice()))
    }
}

/// What the first entry of a file says of itself, unverified.
fn first_entry(path: &Path) -> Result<Option<serde_json::Value>, AuditError> {
    let mut lines = Lines::open(path)?;
    Ok(lines.next()?.and_then(|line| serde_json::from_slice(line).ok()))
}

fn chain_of(path: &Path) -> Result<Option<String>, AuditError> {
    let entry = first_entry(path)?;
    Ok(entry.and_then(|entry| entry.get("chain")?.as_str().map(str::to_owned)))
}

/// The link before the first entry, as that says itself.
fn named_before(files: &[(Option<(u64, u64)>, PathBuf)], first: u64) -> Option<Link> {
    let entry = files.first().and_then(|(_, path)| first_entry(path).ok().flatten())?;
    let previous = crate::Sha256::read(entry.get("previous")?.as_str()?).ok()?;
    Some(Link::at(entry.get("chain")?.as_str()?, first - 1, previous))
}
