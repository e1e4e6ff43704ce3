//! Packages that are no bags: which files each deposit sends, in which form, with which faults of the web servers; and how they are
//! laid out on disk and at the servers when the deposit is made. What they send is chosen by the seed alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::{Cursor, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::bags::{noise, sha512};
use crate::chance::Chance;
use crate::web::{PERMANENT, TRANSIENT, Web, WebFault};

/// The objects that packages are of, where no local identifier says otherwise.
const OBJECTS: [(&str, Form); 8] = [
    ("scan.bin", Form::File),
    ("papers", Form::Folder),
    ("box", Form::Zip),
    ("crate", Form::TarGz),
    ("set", Form::Manifest),
    ("drawer", Form::Folder),
    ("shelf", Form::Folder),
    ("roll", Form::Zip),
];
/// How many of them, the last ones, are there from the beginning, so that people find something to delete.
const FIRST: usize = 3;
/// The local identifiers that deposits share.
const LOCAL_IDS: [&str; 2] = ["race 1", "race/2"];
/// The local identifiers that rows of batch manifests have.
const ROW_IDS: [&str; 3] = ["row 1", "row 2", "row 3"];
/// How the program names the objects of these.
const NAMES_OF_IDS: [&str; 5] = ["race 1", "race%2F2", "row 1", "row 2", "row 3"];
/// Every path that a package may have but a single file, with its size. None is a folder of another.
const PATHS: [(&str, usize); 6] = [
    ("a.bin", 70),
    ("b/c.bin", 900),
    ("b/d e.bin", 4_000),
    ("f/g/h.bin", 30_000),
    ("\u{e9}t\u{e9}.bin", 300),
    ("large.bin", 310_000),
];
/// How many bytes a single file has.
const SINGLE: usize = 5_000;
/// How many different bytes a path may have.
const VARIANTS: u64 = 3;
/// The profiles of manifests, by their ends.
const OBJECT: &str = "mrt-ingest-manifest";
const BATCH: &str = "mrt-batch-manifest";
const SINGLE_FILES: &str = "mrt-single-file-batch-manifest";

/// What a package is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    File,
    Folder,
    Zip,
    TarGz,
    Manifest,
    /// A manifest of manifests.
    Batch,
    /// A manifest of files that each are an object.
    Files,
}

/// What becomes of the files that the object has already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Replace,
    Merge,
}

/// A file that is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SentFile {
    pub(crate) path: String,
    size: usize,
    /// Which of its different bytes it has.
    variant: u64,
    /// Of its own URL, where it has one.
    fault: Option<WebFault>,
    /// Whether the manifest says its size and its MD5.
    is_stated: bool,
}

/// A deposit of a package, as it is planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) form: Form,
    /// The name of the package without its ending, or of the row's file.
    name: String,
    /// Whether it is at a web server itself.
    is_remote: bool,
    /// Of the package's own URL, where it has one.
    fault: Option<WebFault>,
    pub(crate) mode: Option<Mode>,
    /// The paths of its delete list.
    pub(crate) deleted: BTreeSet<String>,
    pub(crate) local_id: Option<String>,
    pub(crate) files: Vec<SentFile>,
    /// What a batch manifest names.
    pub(crate) rows: Vec<Package>,
}

/// One of some objects that packages are of, by its name; one of those that are there from the beginning is rare.
pub(crate) fn any_object(chance: &mut Chance) -> &'static str {
    let others = OBJECTS.len() - FIRST;
    if chance.percent(90) { chance.pick(&OBJECTS[..others]).0 } else { chance.pick(&OBJECTS[others..]).0 }
}

/// The name of one of the objects that packages are of, also of those that are named by a local identifier.
pub(crate) fn any_name(chance: &mut Chance) -> &'static str {
    match chance.below(10) {
        0..5 => chance.pick(&OBJECTS[OBJECTS.len() - FIRST..]).0,
        5..8 => any_object(chance),
        _ => NAMES_OF_IDS[usize::try_from(chance.below(5)).unwrap()],
    }
}

/// A path that a file of a package may have.
pub(crate) fn any_path(chance: &mut Chance) -> &'static str {
    chance.pick(&PATHS).0
}

impl Package {
    /// One package of each object that is there from the beginning; nothing is wrong with it.
    pub(crate) fn first(chance: &mut Chance) -> Vec<Self> {
        let first = OBJECTS.iter().skip(OBJECTS.len() - FIRST);
        first
            .map(|(name, form)| {
                let files = Self::files(chance, *form, name);
                Self {
                    is_remote: false,
                    fault: None,
                    deleted: BTreeSet::new(),
                    files,
                    ..Self::single(chance, name, *form)
                }
            })
            .collect()
    }

    /// Any package of an object of this name; none where no packages are of it.
    pub(crate) fn of(chance: &mut Chance, name: &str) -> Option<Self> {
        let (name, form) = *OBJECTS.iter().find(|(other, _)| *other == name)?;
        Some(Self::single(chance, name, form))
    }

    /// Any package.
    pub(crate) fn any(chance: &mut Chance) -> Self {
        match chance.below(100) {
            0..60 => {
                let name = any_object(chance);
                Self::of(chance, name).unwrap_or_else(|| Self::batch(chance, Form::Files))
            }
            60..85 => Self::batch(chance, Form::Files),
            _ => Self::batch(chance, Form::Batch),
        }
    }

    /// Packages of one local identifier, which are deposited at the same moment.
    pub(crate) fn racing(chance: &mut Chance) -> Vec<Self> {
        let local_id = (*chance.pick(&LOCAL_IDS)).to_owned();
        (0..chance.between(2, 4))
            .map(|_| {
                let (name, form) = *chance.pick(&OBJECTS);
                let mut package = Self::single(chance, name, form);
                package.local_id = Some(local_id.clone());
                package
            })
            .collect()
    }

    fn single(chance: &mut Chance, name: &str, form: Form) -> Self {
        let files = Self::files(chance, form, name);
        let mut package = Self {
            form,
            name: name.to_owned(),
            is_remote: form != Form::Folder && chance.percent(45),
            fault: None,
            mode: None,
            deleted: BTreeSet::new(),
            local_id: None,
            files,
            rows: Vec::new(),
        };
        package.mode = *chance.pick(&[None, Some(Mode::Replace), Some(Mode::Merge), Some(Mode::Merge)]);
        if package.mode == Some(Mode::Merge) && chance.percent(40) {
            let sent: BTreeSet<&str> = package.files.iter().map(|file| file.path.as_str()).collect();
            let others: Vec<&str> = PATHS.iter().map(|(path, _)| *path).filter(|path| !sent.contains(path)).collect();
            if !others.is_empty() {
                package.deleted.insert((*chance.pick(&others)).to_owned());
            }
        }
        if package.is_remote {
            package.fault = fault(chance, form);
        }
        package
    }

    fn batch(chance: &mut Chance, form: Form) -> Self {
        let of_rows = if form == Form::Batch { Form::Manifest } else { Form::File };
        let mode = *chance.pick(&[None, Some(Mode::Merge)]);
        let rows = (0..chance.between(2, 5))
            .map(|number| {
                let name = format!("row-{number}");
                let mut row = Self::single(chance, &name, of_rows);
                row.is_remote = true;
                (row.mode, row.deleted) = (mode, BTreeSet::new());
                row.fault = if chance.percent(35) { fault(chance, of_rows) } else { None };
                // Of those without one each is an object of its own.
                row.local_id = chance.percent(85).then(|| (*chance.pick(&ROW_IDS)).to_owned());
                row
            })
            .collect();
        let is_remote = chance.percent(50);
        let fault = if is_remote && chance.percent(35) { fault(chance, form) } else { None };
        let (deleted, files) = Default::default();
        Self { form, name: "list".to_owned(), is_remote, fault, mode, deleted, local_id: None, files, rows }
    }

    fn files(chance: &mut Chance, form: Form, name: &str) -> Vec<SentFile> {
        let is_at_server = form == Form::Manifest;
        let file = |chance: &mut Chance, path: &str, size| {
            let fault = if is_at_server && chance.percent(12) { fault(chance, Form::File) } else { None };
            let is_stated = chance.percent(60) && fault != Some(WebFault::Changed);
            let is_stated = is_stated || fault == Some(WebFault::WrongLength) || fault == Some(WebFault::Endless);
            SentFile { path: path.to_owned(), size, variant: chance.below(VARIANTS), fault, is_stated }
        };
        if form == Form::File {
            return vec![SentFile { is_stated: false, ..file(chance, name, SINGLE) }];
        }
        let first = chance.below(PATHS.len() as u64);
        let mut files = Vec::new();
        for (number, (path, size)) in (0..).zip(PATHS) {
            if number == first || chance.percent(45) {
                files.push(file(chance, path, size));
            }
        }
        // Slow ones come one byte at a time.
        for file in files.iter_mut().filter(|file| file.size > SINGLE && file.fault == Some(WebFault::Slow)) {
            file.fault = Some(WebFault::Cut);
        }
        files
    }

    /// The name of the package's file.
    pub(crate) fn file_name(&self) -> String {
        let ending = match self.form {
            Form::File | Form::Folder => "",
            Form::Zip => ".zip",
            Form::TarGz => ".tar.gz",
            Form::Manifest | Form::Batch | Form::Files => ".checkm",
        };
        format!("{}{ending}", self.name)
    }

    pub(crate) fn is_batch(&self) -> bool {
        matches!(self.form, Form::Batch | Form::Files)
    }

    /// Whether something is said of the object that goes with the manifest of one object only.
    fn is_named(&self) -> bool {
        self.local_id.is_some() || !self.deleted.is_empty()
    }

    /// Whether it can never be had, by what goes wrong with it and with its files.
    pub(crate) fn is_lost(&self) -> bool {
        let is_lost = |fault: Option<WebFault>| fault.is_some_and(WebFault::is_permanent);
        is_lost(self.fault) || self.files.iter().any(|file| is_lost(file.fault))
    }

    /// Whether it is an archive or a list of which other bytes come: what is wrong with these is told by the rules of archives and lists.
    pub(crate) fn is_distorted(&self) -> bool {
        self.form != Form::File && self.fault.is_some_and(WebFault::sends_other_bytes)
    }

    /// Whether its own URL can never be had. The list of the files of one object may become its item before it is read to its end.
    pub(crate) fn is_list_lost(&self) -> bool {
        let is_read_later = !self.is_batch() && self.is_distorted();
        self.fault.is_some_and(WebFault::is_permanent) && !is_read_later
    }

    pub(crate) fn mode(&self) -> Mode {
        self.mode.unwrap_or(Mode::Replace)
    }
}

/// What may go wrong with a URL at which such a package, or a file, is.
fn fault(chance: &mut Chance, form: Form) -> Option<WebFault> {
    let fault = match chance.below(100) {
        0..45 => return None,
        45..75 => *chance.pick(&TRANSIENT),
        _ => *chance.pick(&PERMANENT),
    };
    let is_list = matches!(form, Form::Manifest | Form::Batch | Form::Files);
    match fault {
        // A list that changes while it is read is refused.
        WebFault::Changed if is_list => Some(WebFault::NotFound),
        WebFault::Changed if matches!(form, Form::Zip | Form::TarGz) => Some(WebFault::Cut),
        // One byte at a time.
        WebFault::Slow if form != Form::File && !is_list => Some(WebFault::FailsTwice),
        fault => Some(fault),
    }
}

/// A package as it was deposited.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) package: Package,
    /// Path to the SHA-512 of what may come.
    pub(crate) files: BTreeMap<String, Vec<String>>,
    /// Those of its rows, in their order.
    pub(crate) rows: Vec<Sent>,
    /// The bytes of the manifest, where it is one of files.
    pub(crate) manifest: Option<Vec<u8>>,
}

impl Sent {
    /// A folder that was sent, with what may have come of each of its files.
    pub(crate) fn of_files(files: &[(&str, &[&str])]) -> Self {
        let package = Package { files: Vec::new(), ..Package::single(&mut Chance::new(0), "papers", Form::Folder) };
        let package = Package { mode: None, deleted: BTreeSet::new(), ..package };
        let digests = |digests: &&[&str]| digests.iter().map(|digest| (*digest).to_owned()).collect();
        let files = files.iter().map(|(path, of_path)| ((*path).to_owned(), digests(of_path))).collect();
        Self { package, files, rows: Vec::new(), manifest: None }
    }
}

/// Where a package is laid out.
pub(crate) struct Layout<'w> {
    pub(crate) web: &'w Web,
    pub(crate) seed: u64,
    /// A new folder of the deposit.
    pub(crate) folder: &'w Path,
    /// What begins every path at the servers that is the deposit's.
    pub(crate) prefix: String,
}

impl Layout<'_> {
    /// Lays a package out; with what `deposit` is asked to deposit, and how.
    pub(crate) fn lay(&self, package: &Package) -> Result<(Sent, Vec<String>)> {
        fs::create_dir_all(self.folder)?;
        let (sent, source) = self.package(package, &self.prefix)?;
        let mut arguments = vec![source];
        let mut add = |name: &str, value: &str| arguments.extend([name.to_owned(), value.to_owned()]);
        if let Some(mode) = package.mode {
            add("--mode", if mode == Mode::Replace { "replace" } else { "merge" });
        }
        if let Some(id) = &package.local_id {
            add("--local-id", id);
        }
        if package.form == Form::Manifest && package.is_remote && package.is_named() {
            add("--type", "manifest");
        }
        if !package.deleted.is_empty() {
            let list = self.folder.join("delete-list.txt");
            fs::write(&list, package.deleted.iter().fold(String::new(), |text, path| text + path + "\n"))?;
            add("--delete-list", &list.to_string_lossy());
        }
        Ok((sent, arguments))
    }

    fn bytes(&self, package: &Package, file: &SentFile) -> Vec<u8> {
        let says = format!("{} {} {}", package.name, file.path, file.variant);
        noise(self.seed, &says, file.size as u64)
    }

    /// Lays a package out below a path of the servers; with its path or URL.
    fn package(&self, package: &Package, prefix: &str) -> Result<(Sent, String)> {
        let contents: Vec<(&SentFile, Vec<u8>)> =
            package.files.iter().map(|file| (file, self.bytes(package, file))).collect();
        let mut files: BTreeMap<String, Vec<String>> =
            contents.iter().map(|(file, bytes)| (file.path.clone(), vec![sha512(bytes)])).collect();
        let (mut rows, mut manifest) = (Vec::new(), None);
        let bytes = match package.form {
            Form::File => contents[0].1.clone(),
            Form::Folder => {
                let folder = self.folder.join(&package.name);
                for (file, bytes) in &contents {
                    let path = folder.join(&file.path);
                    fs::create_dir_all(path.parent().context("a file without a folder")?)?;
                    fs::write(path, bytes)?;
                }
                let sent = Sent { package: package.clone(), files, rows, manifest };
                return Ok((sent, folder.to_string_lossy().into_owned()));
            }
            Form::Zip => zip(&contents)?,
            Form::TarGz => tar_gz(&contents)?,
            Form::Manifest => {
                let mut text = Vec::new();
                for (number, (file, bytes)) in contents.iter().enumerate() {
                    let (url, digests) = self.web.lay(&format!("{prefix}/{number}.bin"), bytes, file.fault);
                    files.insert(file.path.clone(), digests);
                    let size = if file.is_stated { bytes.len().to_string() } else { String::new() };
                    text.push(format!("{url} | | | {size} | | {} |", file.path));
                }
                let text = manifest_of(OBJECT, &text).into_bytes();
                manifest = Some(text.clone());
                text
            }
            Form::Batch | Form::Files => {
                let mut lines = Vec::new();
                for (number, row) in package.rows.iter().enumerate() {
                    let (sent, url) = self.package(row, &format!("{prefix}/{number}"))?;
                    let local_id = row.local_id.as_deref().unwrap_or_default();
                    lines.push(format!("{url} | | | | | {} | | {local_id} | | |", row.file_name()));
                    rows.push(sent);
                }
                manifest_of(if package.form == Form::Batch { BATCH } else { SINGLE_FILES }, &lines).into_bytes()
            }
        };
        let source = if package.is_remote {
            let (url, digests) = self.web.lay(&format!("{prefix}/{}", package.file_name()), &bytes, package.fault);
            if package.form == Form::File {
                files.insert(package.name.clone(), digests);
            }
            url
        } else {
            let path = self.folder.join(package.file_name());
            fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
            path.to_string_lossy().into_owned()
        };
        Ok((Sent { package: package.clone(), files, rows, manifest }, source))
    }
}

fn zip(contents: &[(&SentFile, Vec<u8>)]) -> Result<Vec<u8>> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (file, bytes) in contents {
        archive.start_file(file.path.as_str(), zip::write::SimpleFileOptions::default())?;
        archive.write_all(bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}

fn tar_gz(contents: &[(&SentFile, Vec<u8>)]) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    for (file, bytes) in contents {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, &file.path, bytes.as_slice())?;
    }
    Ok(archive.into_inner()?.finish()?)
}

/// A manifest with the usual columns of its profile.
fn manifest_of(profile: &str, rows: &[String]) -> String {
    let more = match profile {
        OBJECT => "mrt:mimeType",
        _ => "mrt:primaryIdentifier | mrt:localIdentifier | mrt:creator | mrt:title | mrt:date",
    };
    let mut text = format!(
        "#%checkm_0.7\n#%profile | http://uc3.cdlib.org/registry/ingest/manifest/{profile}\n\
         #%prefix | mrt: | http://merritt.cdlib.org/terms#\n\
         #%prefix | nfo: | http://www.semanticdesktop.org/ontologies/2007/03/22/nfo#\n\
         #%fields | nfo:fileUrl | nfo:hashAlgorithm | nfo:hashValue | nfo:fileSize | nfo:fileLastModified | nfo:fileName | {more}\n"
    );
    for row in rows {
        let _ = writeln!(text, "{row}");
    }
    text + "#%eof\n"
}

#[test]
fn some_hundred_packages_have_every_form_and_every_fault() {
    let mut chance = Chance::new(1);
    let mut packages: Vec<Package> = (0..500).map(|_| Package::any(&mut chance)).collect();
    packages.extend((0..100).flat_map(|_| Package::racing(&mut chance)));
    let rows: Vec<Package> = packages.iter().flat_map(|package| package.rows.clone()).collect();
    packages.extend(rows);
    let forms = [Form::File, Form::Folder, Form::Zip, Form::TarGz, Form::Manifest, Form::Batch, Form::Files];
    for form in forms {
        assert!(packages.iter().any(|package| package.form == form), "{form:?}");
    }
    for wanted in TRANSIENT.into_iter().chain(PERMANENT) {
        let of_files = |package: &Package| package.files.iter().any(|file| file.fault == Some(wanted));
        assert!(packages.iter().any(|package| package.fault == Some(wanted)), "{wanted:?} of packages");
        assert!(packages.iter().any(of_files), "{wanted:?} of files of manifests");
    }
    assert!(packages.iter().any(|package| package.mode == Some(Mode::Merge) && !package.deleted.is_empty()));
    assert!(packages.iter().any(|package| package.local_id.is_some()));
}
