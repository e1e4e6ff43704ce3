//! Access rights of what a folder store makes.

use std::str::FromStr;

/// Access rights of the directories that a store makes; its files have the same without the right to execute. The umask of
/// the process may take rights away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderMode(u32);

impl FolderMode {
    /// All that the umask leaves.
    pub const ANY: Self = Self(0o777);
    /// The owner's only.
    pub const PRIVATE: Self = Self(0o700);

    /// These bits of a directory; none where the owner would lack a right.
    pub fn new(bits: u32) -> Option<Self> {
        (bits <= 0o777 && bits & 0o700 == 0o700).then_some(Self(bits))
    }

    /// The rights of what a store keeps for itself beside the keys: never everybody's, and the group's only where they were
    /// asked for. Read access to the lock is enough to hold it.
    pub(super) fn bookkeeping(self) -> Self {
        if self == Self::ANY { Self::PRIVATE } else { Self(self.0 & 0o770) }
    }

    /// The bits of a directory.
    pub fn directory(self) -> u32 {
        self.0
    }

    /// The bits of a file.
    pub fn file(self) -> u32 {
        self.0 & 0o666
    }
}

impl FromStr for FolderMode {
    type Err = &'static str;

    /// Octal digits, such as `0700`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_octal = (3..=4).contains(&text.len()) && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
        let bits = if is_octal { u32::from_str_radix(text, 8).ok() } else { None };
        bits.and_then(Self::new)
            .ok_or("access rights are three or four octal digits, with 7 for the owner, such as 0700")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_octal_and_leave_the_owner_every_right() {
        assert_eq!("0700".parse(), Ok(FolderMode::PRIVATE));
        let group: FolderMode = "750".parse().expect("a mode");
        assert_eq!((group.directory(), group.file()), (0o750, 0o640));
        for wrong in ["", "7", "0600", "0800", "1777", "rwx", "0x1c0", "+700", "00700"] {
            assert!(wrong.parse::<FolderMode>().is_err(), "{wrong}");
        }
    }
}
