//! The files that both are asked about: those of the machine, in bounded number; those that its programs make; and some
//! that show one difference each.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Difference;

/// At most so many files of one extension, and of all.
const OF_ONE_EXTENSION: usize = 60;
const OF_ALL: usize = 4_000;
/// Larger files are left out, so that the test stays quick without optimisation.
const LARGEST: u64 = 20 << 20;
/// A folder of anybody's may be endless; no more entries than these are looked at below one.
const ENTRIES: usize = 400_000;

/// Files of this machine. For the same files the same choice: the first of each extension, then the second of each.
pub(super) fn of_this_machine() -> Vec<PathBuf> {
    let mut by_extension: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for root in roots() {
        let mut left = ENTRIES;
        walk(&root, &mut left, &mut by_extension);
    }
    let most = by_extension.values().map(Vec::len).max().unwrap_or(0);
    let in_turn = (0..most).flat_map(|index| by_extension.values().filter_map(move |paths| paths.get(index)));
    in_turn.take(OF_ALL).cloned().collect()
}

fn roots() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let of_home = |variable: &str, folder: &str| {
        std::env::var_os(variable).map(PathBuf::from).or_else(|| home.as_ref().map(|home| home.join(folder)))
    };
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures");
    let mut roots: Vec<PathBuf> = ["/usr", "/etc", "/opt"].map(PathBuf::from).into();
    roots.extend(of_home("CARGO_HOME", ".cargo").map(|folder| folder.join("registry/src")));
    roots.extend(of_home("RUSTUP_HOME", ".rustup"));
    roots.extend(of_home("GOMODCACHE", "go/pkg/mod"));
    roots.push(fixtures);
    roots
}

fn walk(folder: &Path, left: &mut usize, by_extension: &mut BTreeMap<String, Vec<PathBuf>>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut entries: Vec<fs::DirEntry> = entries.filter_map(Result::ok).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        if *left == 0 {
            return;
        }
        *left -= 1;
        // Links are not followed.
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            walk(&entry.path(), left, by_extension);
        } else if kind.is_file() {
            let path = entry.path();
            let extension = path.extension().map_or_else(String::new, |text| text.to_string_lossy().to_lowercase());
            let paths = by_extension.entry(extension).or_default();
            let is_wanted = paths.len() < OF_ONE_EXTENSION
                && entry.metadata().is_ok_and(|metadata| metadata.len() <= LARGEST)
                && fs::File::open(&path).is_ok();
            if is_wanted {
                paths.push(path);
            }
        }
    }
}

/// Files of which each shows one difference, or that there is none.
pub(super) fn make_telling(folder: &Path) -> Vec<(PathBuf, Option<Difference>)> {
    let text = "Six words that read as text.\n";
    let long_text = text.repeat(400);
    let pdf = "%PDF-1.4\n%%EOF\n";
    // A Java archive by its byte signature (199), whose central directory is nowhere.
    let archive = [b"PK\x03\x04".as_slice(), &[0; 20], b"META-INF/MANIFEST.MF", b"PK\x05\x06", &[0; 18]].concat();
    // A TIFF by signature 10 that is fmt/2095 by signature 3461, and no priority between the two.
    let image = b"MM\0*\0\0\0\x08\0\0\0\0\0\x05\0\x04\0\0".to_vec();
    let files: [(&str, Vec<u8>, Option<Difference>); 10] = [
        ("letter.txt", text.into(), None),
        ("letter.pdf", pdf.into(), None),
        ("report.xls", text.into(), Some(Difference::TextUnderExtension)),
        ("nothing", Vec::new(), None),
        ("nothing.txt", Vec::new(), Some(Difference::Empty)),
        ("long.txt", [long_text.as_bytes(), &[0]].concat(), Some(Difference::TextCutOff)),
        ("broken.jar", archive, Some(Difference::StandIn)),
        ("thermal.fff", image, Some(Difference::Tie)),
        ("question?.txt", text.into(), None),
        ("percent%2F.pdf", pdf.into(), None),
    ];
    let folder = folder.join("telling");
    fs::create_dir(&folder).unwrap();
    let write = |(name, bytes, difference): (&str, Vec<u8>, Option<Difference>)| {
        let path = folder.join(name);
        fs::write(&path, bytes).unwrap();
        (path, difference)
    };
    files.into_iter().map(write).collect()
}

/// What Python's own library writes.
const BY_PYTHON: &str = "
import bz2, gzip, lzma, plistlib, sqlite3, sys, tarfile, wave, zipfile
folder = sys.argv[1] + '/python.'
content = b'some content\\n' * 100
for form, name in (tarfile.USTAR_FORMAT, 'ustar.tar'), (tarfile.GNU_FORMAT, 'gnu.tar'), (tarfile.PAX_FORMAT, 'pax.tar'):
    with tarfile.open(folder + name, 'w', format=form) as tar:
        tar.add(sys.executable, 'a/program', recursive=False)
for compression, name in (0, 'stored.zip'), (8, 'deflated.zip'), (12, 'bzip2.zip'), (14, 'lzma.zip'):
    with zipfile.ZipFile(folder + name, 'w', compression) as archive:
        archive.writestr('a/content.txt', content)
zipfile.ZipFile(folder + 'empty.zip', 'w').close()
open(folder + 'gz', 'wb').write(gzip.compress(content))
open(folder + 'bz2', 'wb').write(bz2.compress(content))
open(folder + 'xz', 'wb').write(lzma.compress(content))
open(folder + 'lzma', 'wb').write(lzma.compress(content, lzma.FORMAT_ALONE))
for form, name in (plistlib.FMT_XML, 'xml.plist'), (plistlib.FMT_BINARY, 'binary.plist'):
    open(folder + name, 'wb').write(plistlib.dumps({'key': [1, 2.5, 'text']}, fmt=form))
with sqlite3.connect(folder + 'sqlite3') as database:
    database.execute('create table letters (name text)')
with wave.open(folder + 'wav', 'wb') as sound:
    sound.setnchannels(1)
    sound.setsampwidth(2)
    sound.setframerate(8000)
    sound.writeframes(bytes(16000))
";

/// Files that programs make, as far as they are there.
pub(super) fn make_by_programs(folder: &Path, python: &Path) -> Vec<PathBuf> {
    let folder = folder.join("made");
    fs::create_dir(&folder).unwrap();
    let source = |name: &str, content: String| fs::write(folder.join(name), content).unwrap();
    source("table.csv", "row,value,12.5\n".repeat(20));
    source("page.html", "<!DOCTYPE html>\n<html><body><h1>Title</h1><p>Some words.</p></body></html>\n".to_owned());
    source("image.ppm", format!("P3\n8 8\n255\n{}", "255 128 0\n".repeat(64)));

    let run = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&folder).env("HOME", &folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // A program that is not there, or cannot write one of its formats, makes nothing.
        command.status().is_ok_and(|status| status.success())
    };
    assert!(run(&python.to_string_lossy(), &["-c", BY_PYTHON, "."]), "python makes its files");
    run("tar", &["-cf", "tar.tar", "table.csv", "page.html"]);
    run("zip", &["-q", "zip.zip", "table.csv", "page.html"]);
    run("7z", &["a", "7z.7z", "table.csv"]);
    run("zstd", &["-q", "table.csv", "-o", "zstd.zst"]);
    let magick = if run("magick", &["-version"]) { "magick" } else { "convert" };
    for form in
        ["png", "jpg", "tif", "gif", "bmp", "webp", "jp2", "pdf", "psd", "ico", "svg", "tga", "pcx", "sgi", "heic"]
    {
        run(magick, &["image.ppm", &format!("magick.{form}")]);
    }
    for form in ["wav", "mp3", "flac", "ogg", "opus", "aiff", "au", "m4a", "caf"] {
        let sound = "sine=frequency=440:duration=1";
        run("ffmpeg", &["-nostdin", "-y", "-f", "lavfi", "-i", sound, &format!("sound.{form}")]);
    }
    for form in ["mp4", "mkv", "avi", "mov", "webm", "mpg", "ts", "flv", "mxf", "asf"] {
        let film = "testsrc=duration=1:size=320x240:rate=25";
        run("ffmpeg", &["-nostdin", "-y", "-f", "lavfi", "-i", film, &format!("film.{form}")]);
    }
    // An installation of its own: another one may be in use.
    let installation = format!("-env:UserInstallation=file://{}", folder.join("office").display());
    let office = |form: &str, from: &str| {
        run("soffice", &[&installation, "--headless", "--convert-to", form, "--outdir", "documents", from])
    };
    if office("odt", "page.html") {
        for form in ["docx", "doc", "rtf", "pdf", "epub", "fodt"] {
            office(form, "documents/page.odt");
        }
        for form in ["ods", "xlsx", "xls", "dbf"] {
            office(form, "table.csv");
        }
        for form in ["odg", "odp", "pptx", "ppt"] {
            office(form, "image.ppm");
        }
    }
    let _ = fs::remove_dir_all(folder.join("office"));

    let mut by_extension = BTreeMap::new();
    walk(&folder, &mut usize::MAX.clone(), &mut by_extension);
    by_extension.into_values().flatten().collect()
}
