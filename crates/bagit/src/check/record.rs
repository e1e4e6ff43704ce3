//! The small binary records that are sorted and spilled: what is known of a file, and what a manifest lists.

use strongroom_digest::{Algorithm, Digest};

use super::FileFact;

/// A listing of `fetch.txt`, in place of the number of a manifest.
pub(crate) const FETCH: u8 = u8::MAX;

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*taken)
}

fn take_slice<'b>(bytes: &mut &'b [u8], length: usize) -> Option<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

/// Size, place and digests of a file; its path is the key, unless given here.
pub(crate) fn pack_fact(
    size: u64,
    location: u64,
    digests: impl IntoIterator<Item = (Algorithm, Digest)>,
    path: &str,
) -> Vec<u8> {
    let mut packed = Vec::with_capacity(96 + path.len());
    packed.extend_from_slice(&size.to_le_bytes());
    packed.extend_from_slice(&location.to_le_bytes());
    let counted = packed.len();
    packed.push(0);
    for (algorithm, digest) in digests {
        let number = Algorithm::ALL.iter().position(|known| *known == algorithm).unwrap_or_default();
        packed.push(number as u8);
        packed.push(digest.as_bytes().len() as u8);
        packed.extend_from_slice(digest.as_bytes());
        packed[counted] += 1;
    }
    packed.extend_from_slice(path.as_bytes());
    packed
}

/// A packed fact, and where the file lies.
pub(crate) fn unpack_fact(key: &[u8], mut packed: &[u8]) -> Option<(FileFact, u64)> {
    let packed = &mut packed;
    let size = u64::from_le_bytes(take(packed)?);
    let location = u64::from_le_bytes(take(packed)?);
    let [count] = take(packed)?;
    let mut digests = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        let [number, length] = take(packed)?;
        let digest = Digest::from_bytes(take_slice(packed, usize::from(length))?).ok()?;
        digests.push((*Algorithm::ALL.get(usize::from(number))?, digest));
    }
    let path = if packed.is_empty() { key } else { packed };
    Some((FileFact { path: String::from_utf8(path.to_vec()).ok()?, size, digests }, location))
}

/// One line of a manifest or of `fetch.txt`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listing {
    /// The number of the manifest, or [`FETCH`].
    pub(crate) source: u8,
    /// The line, from 1.
    pub(crate) line: u64,
    /// The digest, if it could be read.
    pub(crate) digest: Option<Digest>,
    /// The length, in `fetch.txt`.
    pub(crate) length: Option<u64>,
    /// The URL, in `fetch.txt`.
    pub(crate) url: Option<String>,
    /// The path as listed.
    pub(crate) path: String,
}

impl Listing {
    /// Sorts by manifest and line; leaves the path out where it is the key.
    pub(crate) fn pack(&self, key: &str) -> Vec<u8> {
        let mut packed = Vec::with_capacity(96);
        packed.push(self.source);
        packed.extend_from_slice(&self.line.to_be_bytes());
        match &self.digest {
            Some(digest) => {
                packed.push(digest.as_bytes().len() as u8);
                packed.extend_from_slice(digest.as_bytes());
            }
            None => packed.push(0),
        }
        packed.push(u8::from(self.length.is_some()));
        if let Some(length) = self.length {
            packed.extend_from_slice(&length.to_le_bytes());
        }
        // A line is far shorter than 4 GiB.
        let url = self.url.as_deref().unwrap_or_default();
        packed.extend_from_slice(&u32::try_from(url.len()).unwrap_or_default().to_le_bytes());
        packed.extend_from_slice(url.as_bytes());
        if self.path != key {
            packed.extend_from_slice(self.path.as_bytes());
        }
        packed
    }

    pub(crate) fn unpack(key: &[u8], mut packed: &[u8]) -> Option<Self> {
        let packed = &mut packed;
        let [source] = take(packed)?;
        let line = u64::from_be_bytes(take(packed)?);
        let [digest_length] = take(packed)?;
        let digest = match digest_length {
            0 => None,
            length => Some(Digest::from_bytes(take_slice(packed, usize::from(length))?).ok()?),
        };
        let [has_length] = take(packed)?;
        let length = if has_length == 1 { Some(u64::from_le_bytes(take(packed)?)) } else { None };
        let url_length = u32::from_le_bytes(take(packed)?);
        let url = String::from_utf8(take_slice(packed, usize::try_from(url_length).ok()?)?.to_vec()).ok()?;
        let url = Some(url).filter(|url| !url.is_empty());
        let path = if packed.is_empty() { key } else { packed };
        Some(Self { source, line, digest, length, url, path: String::from_utf8(path.to_vec()).ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_as_packed() {
        let md5 = "d41d8cd98f00b204e9800998ecf8427e".parse().unwrap();
        let fact = FileFact { path: "data/x".to_owned(), size: 7, digests: vec![(Algorithm::Md5, md5)] };
        assert_eq!(unpack_fact(b"data/x", &pack_fact(7, 9, fact.digests.clone(), "")), Some((fact.clone(), 9)));
        assert_eq!(unpack_fact(b"key", &pack_fact(7, 9, fact.digests.clone(), "data/x")), Some((fact, 9)));
        for (digest, length, url) in [(Some(md5), None, None), (None, Some(12), Some("http://h/a".to_owned()))] {
            let listing = Listing { source: 3, line: 300, digest, length, url, path: "data/%25".to_owned() };
            assert_eq!(Listing::unpack(b"data/%", &listing.pack("data/%")), Some(listing.clone()));
            assert_eq!(Listing::unpack(b"data/%25", &listing.pack("data/%25")), Some(listing));
        }
    }
}
