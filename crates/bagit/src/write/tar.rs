//! Writes a tar archive as a stream: ustar headers, and PAX records (POSIX.1-2001) for what they cannot say.

use std::io::{self, Write};
use std::time::SystemTime;

use ::tar::{EntryType, Header};

use super::sink::{FileHeader, Output, Sink, unix_seconds};

const BLOCK: u64 = 512;
/// The longest name that fits the header without the prefix field, which not every reader joins alike.
const NAME_LENGTH: usize = 100;
/// The largest size that eleven octal digits can say.
const OCTAL_LIMIT: u64 = 0o777_7777_7777;

pub(super) struct TarSink<'w> {
    output: Box<dyn Output + 'w>,
    base_directory: String,
    padding: u64,
}

impl<'w> TarSink<'w> {
    /// Begins the archive with the bag's directory and its `data/`, which may otherwise stay empty.
    pub(super) fn new(output: Box<dyn Output + 'w>, base_directory: &str, modified: SystemTime) -> io::Result<Self> {
        let mut sink = Self { output, base_directory: base_directory.to_owned(), padding: 0 };
        for directory in ["", "data/"] {
            let name = format!("{base_directory}/{directory}");
            sink.header(&name, EntryType::Directory, 0o755, 0, unix_seconds(modified))?;
        }
        Ok(sink)
    }

    fn header(&mut self, name: &str, kind: EntryType, mode: u32, size: u64, modified: i64) -> io::Result<()> {
        let mut records = Vec::new();
        if name.len() > NAME_LENGTH || !name.is_ascii() {
            record(&mut records, "path", name.as_bytes());
        }
        if size > OCTAL_LIMIT {
            record(&mut records, "size", size.to_string().as_bytes());
        }
        let fits = u64::try_from(modified).is_ok_and(|seconds| seconds <= OCTAL_LIMIT);
        if !fits {
            record(&mut records, "mtime", modified.to_string().as_bytes());
        }
        let seconds = if fits { modified.unsigned_abs() } else { 0 };
        if !records.is_empty() {
            let length = records.len() as u64;
            let header = ustar(&format!("PaxHeaders/{name}"), EntryType::XHeader, 0o644, length, seconds);
            self.output.write_all(header.as_bytes())?;
            self.output.write_all(&records)?;
            self.pad(length)?;
        }
        self.output.write_all(ustar(name, kind, mode, size, seconds).as_bytes())
    }

    fn pad(&mut self, length: u64) -> io::Result<()> {
        let padding = (BLOCK - length % BLOCK) % BLOCK;
        self.output.write_all(&[0; BLOCK as usize][..padding as usize])
    }
}

/// One header. A name that does not fit is cut, and carried by a PAX record before it.
fn ustar(name: &str, kind: EntryType, mode: u32, size: u64, modified: u64) -> Header {
    let mut header = Header::new_ustar();
    let plain: Vec<u8> = name.chars().map(|c| if c.is_ascii() { c as u8 } else { b'_' }).take(NAME_LENGTH).collect();
    if let Some(ustar) = header.as_ustar_mut() {
        for (to, from) in ustar.name.iter_mut().zip(plain) {
            *to = from;
        }
    }
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(size);
    header.set_mtime(modified);
    header.set_cksum();
    header
}

/// A PAX record states its own length, digits included.
fn record(records: &mut Vec<u8>, key: &str, value: &[u8]) {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    records.extend_from_slice(format!("{length} {key}=").as_bytes());
    records.extend_from_slice(value);
    records.push(b'\n');
}

impl Sink for TarSink<'_> {
    fn begin(&mut self, entry: &FileHeader<'_>) -> io::Result<()> {
        let name = format!("{}/{}", self.base_directory, entry.path);
        self.padding = entry.size;
        self.header(&name, EntryType::Regular, 0o644, entry.size, unix_seconds(entry.modified))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.output.write_all(bytes)
    }

    fn end(&mut self) -> io::Result<()> {
        self.pad(self.padding)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.output.write_all(&[0; 2 * BLOCK as usize])?;
        self.output.close()
    }
}

#[cfg(test)]
mod tests {
    use super::record;

    #[test]
    fn a_pax_record_counts_its_own_digits() {
        for (value, expected) in [(1, 9), (2, 11), (90, 99), (91, 101), (989, 999), (990, 1001)] {
            let mut records = Vec::new();
            record(&mut records, "path", &vec![b'a'; value]);
            let text = String::from_utf8(records).unwrap();
            assert_eq!(text.len(), expected, "{value}");
            assert_eq!(text.split(' ').next().unwrap().parse(), Ok(expected));
        }
    }
}
