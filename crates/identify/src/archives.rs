//! Goes on into archives: every member of a ZIP, tar or gzip is identified like a file, and archives among them are opened
//! in turn, as deep as is wanted. What is unpacked is bounded, so that a bomb costs no more than a large archive.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use flate2::read::MultiGzDecoder;
use strongroom_archive::tar::{self, Reader, SourceInput};
use strongroom_archive::{MemberKind, Section, Source, SourceReader};
use strongroom_pronom::container::{ContainerMember, visit_members};
use strongroom_pronom::{ContainerKind, Identification};

use crate::entry::{Examined, IdentifiedFile, Unidentified, UnidentifiedKind};
use crate::examine::{Cause, Emit, Examiner};

/// How deep archives are opened unless it is said.
pub const DEPTH: u32 = 4;
/// Bytes of one member that are unpacked unless it is said: a film of two hours.
pub const MEMBER_BYTES: u64 = 4 << 30;
/// Bytes that all members of one file, those of archives within it included, are unpacked to unless it is said.
pub const ARCHIVE_BYTES: u64 = 16 << 30;

/// What is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArchiveKind {
    Zip,
    Tar,
    Gzip,
}

impl ArchiveKind {
    /// The scheme of URIs of its members, as DROID has them.
    pub(crate) fn scheme(self) -> &'static str {
        match self {
            Self::Zip => "zip",
            Self::Tar => "tar",
            Self::Gzip => "gz",
        }
    }
}

/// How far archives are opened. An archive may always be unpacked to as many bytes as it has itself.
#[derive(Debug, Clone, Copy)]
pub struct Archives {
    /// Archives within archives: with 1, only the outermost are opened.
    pub depth: u32,
    /// Most bytes of one member.
    pub member_bytes: u64,
    /// Most bytes of all members of a file.
    pub archive_bytes: u64,
}

/// The way down into one file.
struct Descent<'x> {
    examiner: &'x Examiner,
    depth: u32,
    member_bytes: u64,
    /// Bytes that may still be unpacked.
    left: u64,
}

/// Which kind of archive a format is, if it is one that is opened: the general ones, not those that documents come in.
pub(crate) fn kind(identification: &Identification) -> Option<ArchiveKind> {
    identification.matches.iter().find_map(|found| match found.format.puid.as_str() {
        "x-fmt/263" => Some(ArchiveKind::Zip),
        "x-fmt/265" => Some(ArchiveKind::Tar),
        "x-fmt/266" => Some(ArchiveKind::Gzip),
        _ => None,
    })
}

/// Whether something that begins like this may be a container: OLE2 (MS-CFB section 2.2) or ZIP (APPNOTE section 4.3).
pub(crate) fn may_be_container(beginning: &[u8]) -> bool {
    beginning.starts_with(b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1")
        || [b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"].iter().any(|magic| beginning.starts_with(*magic))
}

/// Whether something that begins like this may be an archive that is no container: gzip (RFC 1952 section 2.3.1) or tar.
pub(crate) fn may_be(beginning: &[u8]) -> bool {
    beginning.starts_with(b"\x1F\x8B") || tar::is_header(beginning)
}

impl Archives {
    /// Reports every member of an archive.
    pub(crate) fn open(
        &self,
        examiner: &Examiner,
        kind: ArchiveKind,
        path: &OsStr,
        source: &dyn Source,
        emit: Emit<'_>,
    ) {
        let size = source.size();
        let mut descent = Descent {
            examiner,
            depth: self.depth,
            member_bytes: self.member_bytes.max(size),
            left: self.archive_bytes.max(size),
        };
        descent.open(kind, path, source, 1, emit);
    }
}

impl Descent<'_> {
    /// Opens an archive at a level; says whether to go on.
    fn open(&mut self, kind: ArchiveKind, path: &OsStr, source: &dyn Source, level: u32, emit: Emit<'_>) -> bool {
        let outcome = match kind {
            ArchiveKind::Zip => self.open_zip(path, source, level, emit),
            ArchiveKind::Tar => self.open_tar(path, source, level, emit),
            ArchiveKind::Gzip => self.open_gzip(path, source, level, emit),
        };
        outcome.unwrap_or_else(|error| {
            let reason = format!("not all members were read: {error}");
            emit(Examined::Unidentified(Unidentified::new(path, UnidentifiedKind::Incomplete, reason)))
        })
    }

    fn open_zip(&mut self, path: &OsStr, source: &dyn Source, level: u32, emit: Emit<'_>) -> io::Result<bool> {
        let mut outcome = Ok(true);
        visit_members(ContainerKind::Zip, source, None, &mut |member| {
            if !member.is_folder() {
                outcome = self.tell_zip_member(path, member, level, emit);
            }
            matches!(outcome, Ok(true))
        })?;
        outcome
    }

    fn tell_zip_member(
        &mut self,
        archive: &OsStr,
        member: &mut dyn ContainerMember,
        level: u32,
        emit: Emit<'_>,
    ) -> io::Result<bool> {
        let path = joined(archive, member.path().as_bytes());
        let size = member.size();
        let reason = if member.is_encrypted() {
            "it is encrypted".to_owned()
        } else {
            match member.open() {
                Ok(mut content) => return self.tell_stream(path, None, &mut content, level, emit),
                Err(error) => error.to_string(),
            }
        };
        let note = Some(format!("the member was not read: {reason}"));
        let identification = Identification::default();
        Ok(emit(Examined::IdentifiedFile(Box::new(IdentifiedFile {
            path,
            size,
            modified: None,
            digest: None,
            identification,
            note,
        }))))
    }

    fn open_tar(&mut self, path: &OsStr, source: &dyn Source, level: u32, emit: Emit<'_>) -> io::Result<bool> {
        let mut reader = Reader::new(SourceInput::new(source));
        while let Some(member) = reader.next_member()? {
            let goes_on = match member.kind {
                MemberKind::File => self.tell_tar_file(joined(path, &member.name), &member, source, level, emit)?,
                MemberKind::Sparse => {
                    let path = joined(path, &member.name);
                    let note = Some("the member was not read: it is stored as a sparse file".to_owned());
                    let (size, modified) = (member.size, member.modified);
                    let identification = Identification::default();
                    emit(Examined::IdentifiedFile(Box::new(IdentifiedFile {
                        path,
                        size,
                        modified,
                        digest: None,
                        identification,
                        note,
                    })))
                }
                _ => true,
            };
            if !goes_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn tell_tar_file(
        &mut self,
        path: OsString,
        member: &tar::Member,
        source: &dyn Source,
        level: u32,
        emit: Emit<'_>,
    ) -> io::Result<bool> {
        if member.offset.saturating_add(member.size) > source.size() {
            let reason = format!("the archive ends in the middle of the member at byte {}", member.offset);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, reason));
        }
        let content = Section::new(source, member.offset, member.size);
        let examiner = self.examiner;
        let identified = examiner.identifier.identify(&name_of(&path), &content, &examiner.options);
        Ok(match identified.and_then(|identification| Ok((identification, examiner.digest_of(&content)?))) {
            Ok((identification, digest)) => {
                let (size, modified) = (member.size, member.modified);
                let entry = IdentifiedFile { path, size, modified, digest, identification, note: None };
                self.tell(entry, Some(&content), level, emit)
            }
            Err(error) => {
                emit(Examined::Unidentified(Unidentified::new(&path, UnidentifiedKind::Unreadable, error.to_string())))
            }
        })
    }

    fn open_gzip(&mut self, path: &OsStr, source: &dyn Source, level: u32, emit: Emit<'_>) -> io::Result<bool> {
        let packed = io::BufReader::with_capacity(64 << 10, SourceReader::new(source));
        let mut content = MultiGzDecoder::new(packed);
        let header = content.header();
        let stated = header.and_then(|header| header.filename()).map(base_name).filter(|name| !name.is_empty());
        let name = stated.map_or_else(|| unpacked_name(path), <[u8]>::to_vec);
        let modified = header
            .map(flate2::GzHeader::mtime)
            .filter(|seconds| *seconds > 0)
            .and_then(|seconds| jiff::Timestamp::from_second(i64::from(seconds)).ok());
        self.tell_stream(joined(path, &name), modified, &mut content, level, emit)
    }

    /// Identifies a member while it is unpacked, and reports it.
    fn tell_stream(
        &mut self,
        path: OsString,
        modified: Option<jiff::Timestamp>,
        content: &mut dyn Read,
        level: u32,
        emit: Emit<'_>,
    ) -> io::Result<bool> {
        if self.left == 0 {
            let reason = "as many bytes were unpacked as one file may have, see --archive-bytes";
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, reason));
        }
        let most = self.member_bytes.min(self.left);
        let is_opened = level < self.depth;
        let streamed = match self.examiner.observe(&name_of(&path), content, most, is_opened) {
            Ok(streamed) => streamed,
            Err(error) => {
                let reason = format!("could not keep it to read it again: {error}");
                return Ok(emit(Examined::Unidentified(Unidentified::new(
                    &path,
                    UnidentifiedKind::Unreadable,
                    reason,
                ))));
            }
        };
        self.left = self.left.saturating_sub(streamed.size);
        let note = streamed.cause.map(|cause| match cause {
            Cause::TooLong => format!("cut off after {} bytes: the answer may be incomplete", streamed.size),
            Cause::Broken(error) => format!("damaged after {} bytes: {error}", streamed.size),
        });
        let (size, digest, identification) = (streamed.size, streamed.digest, streamed.identification);
        let entry = IdentifiedFile { path, size, modified, digest, identification, note };
        Ok(self.tell(entry, streamed.kept.as_deref(), level, emit))
    }

    /// Reports a member and, where it is an archive itself, what is in it.
    fn tell(&mut self, mut entry: IdentifiedFile, content: Option<&dyn Source>, level: u32, emit: Emit<'_>) -> bool {
        let kind = kind(&entry.identification);
        if kind.is_some() && level >= self.depth {
            entry.note(format!("not opened: archives are opened {} deep, see --depth", self.depth));
        } else if kind.is_some() && content.is_none() {
            entry.note("not opened: its content was not kept".to_owned());
        }
        let path = entry.path.clone();
        if !emit(Examined::IdentifiedFile(Box::new(entry))) {
            return false;
        }
        match (kind, content) {
            (Some(kind), Some(content)) if level < self.depth => self.open(kind, &path, content, level + 1, emit),
            _ => true,
        }
    }
}

fn joined(archive: &OsStr, member: &[u8]) -> OsString {
    OsString::from_vec([archive.as_bytes(), b"#", member].concat())
}

/// The last part of a path, as far as an identification cares.
fn name_of(path: &OsStr) -> String {
    String::from_utf8_lossy(base_name(path.as_bytes())).into_owned()
}

fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| matches!(byte, b'/' | b'#')).next().unwrap_or_default()
}

/// What a gzip without a name of its own unpacks to.
fn unpacked_name(path: &OsStr) -> Vec<u8> {
    let name = base_name(path.as_bytes());
    let lower = name.to_ascii_lowercase();
    let stem = |extension: &[u8]| name.get(..name.len() - extension.len()).unwrap_or_default();
    if lower.ends_with(b".tgz") {
        return [stem(b".tgz"), b".tar"].concat();
    }
    if lower.ends_with(b".gz") && name.len() > 3 { stem(b".gz").to_vec() } else { name.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_gzip_unpacks_to_is_named_after_it() {
        for (packed, unpacked) in [
            ("a/letters.tar.gz", "letters.tar"),
            ("letters.TGZ", "letters.tar"),
            ("outer.zip#inner.txt.gz", "inner.txt"),
            (".gz", ".gz"),
            ("plain", "plain"),
        ] {
            assert_eq!(unpacked_name(OsStr::new(packed)), unpacked.as_bytes(), "{packed}");
        }
    }
}
