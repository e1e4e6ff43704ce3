//! Listing and reading containers: sound ones, careless ones, and those made to hurt.

mod compound;
mod ole2;

use std::cell::RefCell;
use std::fs;
use std::io::{self, Cursor, ErrorKind, Read, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use strongroom_pronom::container::{ContainerError, visit_members};
use strongroom_pronom::{ContainerKind, Source};

use ::zip::ZipWriter;
use ::zip::write::SimpleFileOptions;
use compound::Compound;

/// What was found of a member: its path, whether it is a folder, its content as far as it could be read, and the trouble.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    path: String,
    is_folder: bool,
    content: Vec<u8>,
    trouble: Option<String>,
}

/// Reads no more of a member than this.
const MOST: u64 = 1 << 20;

/// Everything in a container, and how the visit ended.
fn read_all<S: Source + ?Sized>(kind: ContainerKind, source: &S) -> (Vec<Found>, Result<(), ContainerError>) {
    let mut found = Vec::new();
    let ended = visit_members(kind, &source, None, &mut |member| {
        let (path, is_folder) = (member.path().to_owned(), member.is_folder());
        let mut content = Vec::new();
        let trouble = match member.open() {
            Ok(reader) => reader.take(MOST).read_to_end(&mut content).err().map(|error| error.to_string()),
            Err(error) => Some(error.to_string()),
        };
        found.push(Found { path, is_folder, content, trouble });
        true
    });
    (found, ended)
}

/// The paths in a container that is in order.
fn paths<S: Source + ?Sized>(kind: ContainerKind, source: &S) -> Vec<String> {
    let (found, ended) = read_all(kind, source);
    ended.expect("a sound container");
    found.into_iter().map(|member| member.path).collect()
}

fn reason(ended: Result<(), ContainerError>) -> String {
    match ended.expect_err("a container that is not in order") {
        ContainerError::Malformed(reason) => reason,
        other => panic!("malformed was expected, and not: {other}"),
    }
}

/// Bytes followed by zeros up to a length, which keeps account of what is read.
struct Watched {
    bytes: Vec<u8>,
    size: u64,
    /// How many bytes were read, and the most at once.
    read: RefCell<(u64, usize)>,
}

impl Watched {
    fn new(bytes: Vec<u8>) -> Self {
        let size = bytes.len() as u64;
        Self { bytes, size, read: RefCell::default() }
    }

    fn of_size(bytes: Vec<u8>, size: u64) -> Self {
        Self { bytes, size, read: RefCell::default() }
    }
}

impl Source for Watched {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        assert!(offset < self.size, "a read beyond the end, at {offset}");
        let length = usize::try_from(self.size - offset).map_or(buffer.len(), |rest| rest.min(buffer.len()));
        buffer[..length].fill(0);
        if offset < self.bytes.len() as u64 {
            self.bytes[..].read_at(offset, &mut buffer[..length])?;
        }
        let mut read = self.read.borrow_mut();
        *read = (read.0 + length as u64, read.1.max(length));
        Ok(length)
    }
}

/// A source that fails.
struct Failing;

impl Source for Failing {
    fn size(&self) -> u64 {
        100_000
    }

    fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is on fire"))
    }
}

/// A stored archive of members by name; names that end in `/` are folders.
fn zip_of(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        if name.ends_with('/') {
            writer.add_directory(*name, SimpleFileOptions::default()).expect("a folder");
        } else {
            writer.start_file(*name, SimpleFileOptions::default()).expect("a member");
            writer.write_all(content).expect("its content");
        }
    }
    writer.finish().expect("an archive").into_inner()
}

fn small_zip() -> Vec<u8> {
    zip_of(&[("a.txt", b"alpha".as_slice()), ("b/", b""), ("b/c.bin", &[7; 3000])])
}

fn small_compound() -> Vec<u8> {
    Compound::new(9, &[("\u{1}CompObj", b"object".as_slice()), ("Store/Inner", &[9; 200]), ("Large", &[5; 9000])]).bytes
}

#[test]
fn a_visit_ends_when_the_visitor_has_seen_enough() {
    for (kind, bytes) in [(ContainerKind::Zip, small_zip()), (ContainerKind::Ole2, small_compound())] {
        let mut visited = 0;
        let mut visit_one = |_: &mut dyn strongroom_pronom::container::ContainerMember| {
            visited += 1;
            false
        };
        visit_members(kind, &bytes.as_slice(), None, &mut visit_one).expect("stopping is no error");
        assert_eq!(visited, 1);
    }
}

#[test]
fn a_visit_ends_when_its_time_is_spent() {
    for (kind, bytes) in [(ContainerKind::Zip, small_zip()), (ContainerKind::Ole2, small_compound())] {
        let ended = visit_members(kind, &bytes.as_slice(), Some(Instant::now()), &mut |_| panic!("no time for this"));
        assert!(matches!(ended, Err(ContainerError::TimeSpent)), "{ended:?}");
    }
}

#[test]
fn reading_a_member_of_a_zip_ends_when_its_time_is_spent() {
    let noise: Vec<u8> = (0..1_u32 << 18).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let deadline = Instant::now() + Duration::from_millis(50);
    let ended =
        visit_members(ContainerKind::Zip, &zip_of(&[("noise", &noise)]).as_slice(), Some(deadline), &mut |member| {
            // On a slow machine the time may be over before the member is opened.
            if let Ok(mut content) = member.open() {
                while Instant::now() < deadline {
                    std::hint::spin_loop();
                }
                let error = io::copy(&mut content, &mut io::sink()).expect_err("the time is over");
                assert_eq!(error.kind(), ErrorKind::TimedOut);
            }
            false
        });
    assert!(matches!(ended, Ok(()) | Err(ContainerError::TimeSpent)), "{ended:?}");
}

#[test]
fn an_encrypted_member_of_a_zip_is_named_and_not_read() {
    let mut bytes = zip_of(&[("secret", b"?????")]);
    let directory = memchr::memmem::find(&bytes, b"PK\x01\x02").expect("a directory");
    bytes[directory + 8] |= 1;
    let mut seen = Vec::new();
    visit_members(ContainerKind::Zip, &bytes.as_slice(), None, &mut |member| {
        let error = member.open().err();
        assert!(matches!(error, Some(ContainerError::Unsupported(_))), "{error:?}");
        seen.push((member.path().to_owned(), member.is_encrypted()));
        true
    })
    .expect("a sound archive");
    assert_eq!(seen, [("secret".to_owned(), true)]);
}

#[test]
fn a_zip_that_claims_more_members_than_it_has_ends_with_what_it_has() {
    let mut bytes = small_zip();
    let end = memchr::memmem::find(&bytes, b"PK\x05\x06").expect("an end record");
    (bytes[end + 8], bytes[end + 10]) = (9, 9);
    let (found, ended) = read_all(ContainerKind::Zip, bytes.as_slice());
    assert_eq!(found.len(), 3);
    assert_eq!(reason(ended), "the central directory ends after 3 of 9 members");
}

#[test]
fn what_fails_in_the_source_is_told_from_what_is_wrong_with_the_container() {
    for kind in [ContainerKind::Zip, ContainerKind::Ole2] {
        let ended = visit_members(kind, &Failing, None, &mut |_| true);
        assert!(matches!(ended, Err(ContainerError::Io(_))), "{ended:?}");
    }
}

#[test]
fn what_is_no_container_is_malformed() {
    let noise = vec![0xFF; 70_000];
    for bytes in [b"".as_slice(), b"PK", b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", &[0; 600], &noise] {
        for kind in [ContainerKind::Zip, ContainerKind::Ole2] {
            let (found, ended) = read_all(kind, bytes);
            assert_eq!(found, []);
            reason(ended);
        }
    }
}

#[test]
fn containers_cut_off_anywhere_come_to_an_end() {
    for (kind, bytes) in [(ContainerKind::Zip, small_zip()), (ContainerKind::Ole2, small_compound())] {
        let (whole, _) = read_all(kind, bytes.as_slice());
        for length in 0..bytes.len() {
            let (found, _) = read_all(kind, &bytes[..length]);
            assert!(found.len() <= whole.len(), "cut to {length} bytes it has more members");
        }
    }
}

#[test]
fn skeleton_containers_are_read_whole() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures/pronom/skeletons/containers");
    let Ok(files) = fs::read_dir(&folder) else {
        println!("SKIPPED: {} is not there", folder.display());
        return;
    };
    let mut read = 0;
    for file in files {
        let path = file.expect("an entry").path();
        let bytes = fs::read(&path).expect("a readable skeleton");
        let is_compound = bytes.starts_with(&[0xD0, 0xCF, 0x11, 0xE0]);
        let kind = if is_compound { ContainerKind::Ole2 } else { ContainerKind::Zip };
        let (found, ended) = read_all(kind, bytes.as_slice());
        ended.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(!found.is_empty(), "{}", path.display());
        for member in &found {
            assert_eq!(member.trouble, None, "{}: {}", path.display(), member.path);
        }
        if !is_compound {
            let archive = ::zip::ZipArchive::new(Cursor::new(&bytes)).expect("an archive");
            let names: Vec<_> = archive.file_names().map(|name| name.expect("a name")).collect();
            assert_eq!(found.len(), names.len(), "{}", path.display());
            assert!(found.iter().all(|member| names.iter().any(|name| *name == member.path)), "{}", path.display());
        }
        read += 1;
    }
    assert!(read > 200, "only {read} skeletons");
}

/// Bytes written over others, with a taste for the values that matter.
fn edits() -> impl Strategy<Value = Vec<(usize, Vec<u8>)>> {
    let value = prop_oneof![
        any::<u8>().prop_map(|byte| vec![byte]),
        prop_oneof![0..300_u32, 0xFFFF_FFF0..=0xFFFF_FFFF_u32, any::<u32>()]
            .prop_map(|number| number.to_le_bytes().to_vec()),
    ];
    proptest::collection::vec((any::<prop::sample::Index>().prop_map(|at| at.index(1 << 16)), value), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn damaged_containers_neither_panic_nor_grow(edits in edits(), is_compound in any::<bool>()) {
        let (kind, mut bytes) = if is_compound {
            (ContainerKind::Ole2, small_compound())
        } else {
            (ContainerKind::Zip, small_zip())
        };
        for (at, value) in edits {
            let at = at % bytes.len();
            for (byte, new) in bytes[at..].iter_mut().zip(value) {
                *byte = new;
            }
        }
        let (found, _) = read_all(kind, &Watched::new(bytes.clone()));
        prop_assert!(found.len() <= bytes.len() / 46, "{} members in {} bytes", found.len(), bytes.len());
    }
}
