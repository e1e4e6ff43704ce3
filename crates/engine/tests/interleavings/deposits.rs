//! What is deposited as the object, and what is deleted of it.

/// Paths and bytes.
pub(crate) type Payload = &'static [(&'static str, &'static [u8])];

/// Deposit n has the first n of these files.
const FILES: [(&str, &[u8]); 3] =
    [("data/letter.txt", b"by hand"), ("data/answer.txt", b"the answer"), ("data/last.txt", b"the last word")];

/// The payload of a deposit, counted from 1.
pub(crate) fn growing(deposit: usize) -> Payload {
    FILES.get(..deposit).unwrap_or(&FILES)
}

/// Paths whose files are deleted: one whose bytes no other path has, and one whose bytes a path of the second version has.
pub(crate) const DELETED: [&str; 2] = ["data/secret.txt", "data/draft.txt"];

const SECRET: (&str, &[u8]) = (DELETED[0], b"what is not to be read again");
const DRAFT: (&str, &[u8]) = (DELETED[1], b"dear reader, and so on");
const LETTER: (&str, &[u8]) = ("data/letter.txt", b"all that stays");
const COPY: (&str, &[u8]) = ("data/copy.txt", LETTER.1);
const FAIR_COPY: (&str, &[u8]) = ("data/fair.txt", DRAFT.1);
const ANSWER: (&str, &[u8]) = ("data/answer.txt", b"the answer");
const LAST: (&str, &[u8]) = ("data/last.txt", b"the last word");

/// The bytes of the first one of [`DELETED`].
pub(crate) fn bytes_of_deleted() -> &'static [u8] {
    SECRET.1
}

/// The payload of a deposit of an object of which something is deleted, counted from 1. The third deposit has again what is deleted.
pub(crate) fn with_deleted(deposit: usize) -> Payload {
    match deposit {
        1 => &[LETTER, COPY, SECRET, DRAFT],
        2 => &[LETTER, COPY, SECRET, DRAFT, FAIR_COPY, ANSWER],
        _ => &[LETTER, SECRET, FAIR_COPY, LAST],
    }
}
