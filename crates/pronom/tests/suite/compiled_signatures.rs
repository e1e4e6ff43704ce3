//! The compact form gives back what went in, and refuses what is damaged or hostile.

use proptest::prelude::*;
use sha2::{Digest as _, Sha256};
use strongroom_pronom::{PronomError, SignatureSet, compiled};

use crate::signature_files::{self, changes, mutated};

fn set() -> SignatureSet {
    signature_files::read_both(signature_files::CONTAINERS).expect("it is right")
}

/// A compiled file whose body is this.
fn sealed(plain: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut deflate = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    deflate.write_all(plain).expect("memory");
    let body = deflate.finish().expect("memory");
    let header = compiled::encode(&set()).expect("it is right")[..8].to_vec();
    [header, Sha256::digest(&body).to_vec(), body].concat()
}

fn refused(bytes: &[u8]) -> String {
    match compiled::decode(bytes) {
        Err(error @ PronomError::Compiled { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_compact_form_gives_back_what_went_in() {
    let set = set();
    let bytes = compiled::encode(&set).expect("it is right");
    assert_eq!(compiled::decode(&bytes).expect("it is whole"), set);
    assert_eq!(compiled::encode(&set).expect("it is right"), bytes);
    assert_eq!(compiled::decode(&sealed(&postcard::to_stdvec(&set).expect("memory"))).expect("it is whole"), set);
}

#[test]
fn a_damaged_compact_form_is_refused() {
    let bytes = compiled::encode(&set()).expect("it is right");
    for length in 0..bytes.len() {
        refused(&bytes[..length]);
    }
    for index in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[index] ^= 0x10;
        refused(&damaged);
    }
    let mut newer = bytes.clone();
    newer[7] += 1;
    assert!(refused(&newer).contains("another version"));
    assert!(refused(b"<?xml version='1.0'?><FFSignatureFile/>").contains("these are none"));
    let mut longer = postcard::to_stdvec(&set()).expect("memory");
    longer.push(0);
    assert!(refused(&sealed(&longer)).contains("something follows"));
}

#[test]
fn a_compact_form_that_inflates_without_bound_is_refused() {
    assert!(refused(&sealed(&vec![0; 40 << 20])).contains("more than 16777216 bytes"));
}

#[test]
fn a_compact_form_of_a_set_that_contradicts_itself_is_refused() {
    type Change = fn(&mut SignatureSet);
    let changes: [(Change, &str); 9] = [
        (|set| set.signatures[0].format = 3, "signature 10"),
        (|set| set.signatures[0].sequences.clear(), "signature 10"),
        (|set| set.signatures[0].sequences[0].links.clear(), "signature 10"),
        (|set| set.signatures[0].sequences[0].links[0].choices.clear(), "signature 10"),
        (|set| set.signatures[0].sequences[0].links[0].choices[0].0.clear(), "signature 10"),
        (|set| set.signatures[0].sequences[0].links[0].gap.max = Some(u64::MAX), "signature 10"),
        (|set| set.containers[0].rules.clear(), "container signature 1000"),
        (|set| set.triggers[0].1 = u32::MAX, "triggers"),
        (|set| set.formats[2].outranks.push(1), "lead back"),
    ];
    for (change, expected) in changes {
        let mut set = set();
        change(&mut set);
        let reason = refused(&sealed(&postcard::to_stdvec(&set).expect("memory")));
        assert!(reason.contains(expected), "{reason}");
        assert!(compiled::encode(&set).is_err(), "{reason}");
    }
}

proptest! {
    #[test]
    fn a_mutated_compact_form_is_read_or_refused(changes in changes()) {
        let plain = mutated(&postcard::to_stdvec(&set()).expect("memory"), &changes);
        if let Ok(set) = compiled::decode(&sealed(&plain)) {
            prop_assert!(compiled::encode(&set).is_ok());
        }
    }
}
