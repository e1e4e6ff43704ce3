//! One header block of a tar, and the extended headers before it: ustar and pax (POSIX.1-2001), GNU long names.

/// A tar consists of blocks of this size.
pub(super) const BLOCK: usize = 512;

/// A header block.
pub(super) struct Header<'b>(pub(super) &'b [u8; BLOCK]);

impl Header<'_> {
    fn field(&self, start: usize, length: usize) -> &[u8] {
        self.0.get(start..start + length).unwrap_or_default()
    }

    fn text(&self, start: usize, length: usize) -> &[u8] {
        self.field(start, length).split(|byte| *byte == 0).next().unwrap_or_default()
    }

    /// A number in octal digits, or in base 256 where the first bit is set; nothing if it is neither, or negative.
    fn number(&self, start: usize, length: usize) -> Option<u64> {
        let field = self.field(start, length);
        let (first, rest) = field.split_first()?;
        if first & 0x80 != 0 {
            if first & 0x40 != 0 {
                return None;
            }
            return rest.iter().try_fold(u64::from(first & 0x3F), |value, byte| {
                value.checked_mul(256)?.checked_add(u64::from(*byte))
            });
        }
        let text = std::str::from_utf8(field).ok()?;
        let digits = text.trim_matches([' ', '\0']);
        if digits.is_empty() {
            Some(0)
        } else {
            digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| u64::from_str_radix(digits, 8).ok())?
        }
    }

    /// Whether the sum of the bytes is as stated; some old writers summed signed bytes.
    pub(super) fn is_intact(&self) -> bool {
        let blanked = self.0.iter().enumerate().map(|(at, byte)| if (148..156).contains(&at) { b' ' } else { *byte });
        let (unsigned, signed) = blanked.fold((0_u64, 0_i64), |(unsigned, signed), byte| {
            (unsigned + u64::from(byte), signed + i64::from(byte.cast_signed()))
        });
        self.number(148, 8).is_some_and(|stated| stated == unsigned || i64::try_from(stated) == Ok(signed))
    }

    pub(super) fn name(&self) -> Vec<u8> {
        let name = self.text(0, 100);
        if self.field(257, 6) == b"ustar\0" {
            let prefix = self.text(345, 155);
            if !prefix.is_empty() {
                return [prefix, b"/", name].concat();
            }
        }
        name.to_vec()
    }

    pub(super) fn size(&self) -> Option<u64> {
        self.number(124, 12)
    }

    pub(super) fn modified(&self) -> Option<jiff::Timestamp> {
        let seconds = self.number(136, 12)?;
        jiff::Timestamp::from_second(i64::try_from(seconds).ok()?).ok()
    }

    pub(super) fn type_flag(&self) -> u8 {
        self.0[156]
    }

    /// Whether more blocks with the map of a sparse file follow this header (GNU).
    pub(super) fn has_extended_sparse_map(&self) -> bool {
        self.type_flag() == b'S' && self.0[482] != 0
    }
}

/// What extended headers say of the next member.
#[derive(Debug, Default)]
pub(super) struct Extension {
    pub(super) path: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    pub(super) modified: Option<jiff::Timestamp>,
    pub(super) is_sparse: bool,
}

impl Extension {
    /// Reads the records of a pax header (POSIX.1-2001, pax): `LENGTH KEY=VALUE\n`; `None` where they are malformed.
    pub(super) fn read(&mut self, mut records: &[u8]) -> Option<()> {
        while !records.is_empty() {
            let blank = records.iter().position(|byte| *byte == b' ')?;
            let length: usize = std::str::from_utf8(records.get(..blank)?).ok()?.parse().ok()?;
            let record = records.get(blank + 1..length)?.strip_suffix(b"\n")?;
            let equals = record.iter().position(|byte| *byte == b'=')?;
            let (key, value) = (record.get(..equals)?, record.get(equals + 1..)?);
            records = records.get(length..)?;
            let text = std::str::from_utf8(value).ok();
            match key {
                b"path" => self.path = Some(value.to_vec()),
                b"size" => self.size = Some(text?.parse().ok()?),
                b"mtime" => self.modified = text.and_then(timestamp),
                key if key.starts_with(b"GNU.sparse.") => self.is_sparse = true,
                _ => {}
            }
        }
        Some(())
    }
}

fn timestamp(text: &str) -> Option<jiff::Timestamp> {
    jiff::Timestamp::from_second(text.split('.').next()?.parse().ok()?).ok()
}
