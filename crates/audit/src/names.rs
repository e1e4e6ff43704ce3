//! The names of the files of a chain in its directory. Numbers are written with twelve digits, so that names sort as numbers do.

/// The folder of the entries.
pub const ENTRIES: &str = "entries";
/// The folder of the heads, with their signatures.
pub const HEADS: &str = "heads";
/// The folder of the public keys.
pub const KEYS: &str = "keys";

/// The name of the file with the entries of these numbers.
pub fn entries_name(first: u64, last: u64) -> String {
    format!("{first:012}-{last:012}.jsonl")
}

/// The name of the head of so many entries.
pub fn head_name(sequence: u64) -> String {
    format!("{sequence:012}.json")
}

/// The name of its signature.
pub fn signature_name(sequence: u64) -> String {
    format!("{sequence:012}.json.sig")
}

/// The name of the public key of this fingerprint.
pub fn key_name(fingerprint: &str) -> String {
    format!("{fingerprint}.pem")
}

/// The numbers of the first and the last entry in a file of this name; none where it is no name of entries.
pub fn numbers_of_entries(name: &str) -> Option<(u64, u64)> {
    let (first, last) = name.strip_suffix(".jsonl")?.split_once('-')?;
    let (first, last) = (number(first)?, number(last)?);
    (first >= 1 && first <= last).then_some((first, last))
}

/// The number of the last entry of the head of this name; none where it is no name of a head.
pub fn number_of_head(name: &str) -> Option<u64> {
    // A head is of one entry at least.
    number(name.strip_suffix(".json")?).filter(|last| *last >= 1)
}

fn number(text: &str) -> Option<u64> {
    let is_number = text.len() >= 12 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}
