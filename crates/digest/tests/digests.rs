//! What the crate promises: published digests, whatever the chunking, whatever the size.

use std::io::{self, Read};

use proptest::prelude::*;
use strongroom_digest::{Algorithm, Digest, DigestSet, HashingReader, MultiHasher, hash_reader};

fn hex(digests: &DigestSet, algorithm: Algorithm) -> String {
    digests.get(algorithm).map(|digest| digest.to_hex()).unwrap_or_default()
}

fn at_once(bytes: &[u8], algorithms: &[Algorithm]) -> DigestSet {
    let mut hasher = MultiHasher::new(algorithms);
    hasher.update(bytes);
    hasher.finish()
}

/// RFC 1321 appendix A.5; FIPS 180-4 and FIPS 202 example values of NIST's Cryptographic Standards and Guidelines.
#[test]
fn digests_of_abc_are_the_published_ones() {
    let digests = at_once(b"abc", &Algorithm::ALL);
    let published = [
        (Algorithm::Md5, "900150983cd24fb0d6963f7d28e17f72"),
        (Algorithm::Sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (Algorithm::Sha224, "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
        (Algorithm::Sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            Algorithm::Sha384,
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
        ),
        (
            Algorithm::Sha512,
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
             2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ),
        (Algorithm::Sha3_224, "e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf"),
        (Algorithm::Sha3_256, "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"),
        (
            Algorithm::Sha3_384,
            "ec01498288516fc926459f58e2c6ad8df9b473cb0fc08c2596da7cf0e49be4b298d88cea927ac7f539f1edf228376d25",
        ),
        (
            Algorithm::Sha3_512,
            "b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e\
             10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0",
        ),
    ];
    for (algorithm, expected) in published {
        assert_eq!(hex(&digests, algorithm), expected, "{algorithm}");
    }
    assert_eq!(digests.len(), Algorithm::ALL.len());
}

/// RFC 1319 appendix A.5; the check value of CRC-32/ISO-HDLC; the example of Adler-32 in RFC 1950 as widely published.
#[test]
fn digests_that_are_only_compared_are_the_published_ones() {
    let of = |bytes: &[u8], algorithm| hex(&at_once(bytes, &Algorithm::COMPARED_ONLY), algorithm);
    assert_eq!(of(b"abc", Algorithm::Md2), "da853b0d3f88d99b30283a69e6ded6bb");
    assert_eq!(of(b"123456789", Algorithm::Crc32), "cbf43926");
    assert_eq!(of(b"Wikipedia", Algorithm::Adler32), "11e60398");
    for algorithm in Algorithm::COMPARED_ONLY {
        let digests = at_once(&vec![0; 300_000], &[algorithm, Algorithm::Md5]);
        assert_eq!(digests.get(algorithm).map(|digest| digest.as_bytes().len()), Some(algorithm.length()));
        assert!(algorithm.name().parse::<Algorithm>().is_err(), "{algorithm} is no algorithm for new digests");
    }
}

/// As above: the empty message.
#[test]
fn digests_of_nothing_are_the_published_ones() {
    let (length, digests) = hash_reader(io::empty(), &Algorithm::RECORDED).unwrap();
    assert_eq!(length, 0);
    assert_eq!(hex(&digests, Algorithm::Md5), "d41d8cd98f00b204e9800998ecf8427e");
    assert_eq!(hex(&digests, Algorithm::Sha1), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    assert_eq!(hex(&digests, Algorithm::Sha256), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_eq!(
        hex(&digests, Algorithm::Sha512),
        "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce\
         47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"
    );
}

/// A million times `a` (FIPS 180 examples): long enough for the hashing threads.
#[test]
fn digests_of_a_million_a_are_the_published_ones() {
    let (length, digests) = hash_reader(io::repeat(b'a').take(1_000_000), &Algorithm::RECORDED).unwrap();
    assert_eq!(length, 1_000_000);
    assert_eq!(hex(&digests, Algorithm::Md5), "7707d6ae4e027c70eea2a935c2296f21");
    assert_eq!(hex(&digests, Algorithm::Sha1), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    assert_eq!(hex(&digests, Algorithm::Sha256), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    assert_eq!(
        hex(&digests, Algorithm::Sha512),
        "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb\
         de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b"
    );
}

#[test]
fn algorithms_are_answered_once_each_in_their_order() {
    let digests = at_once(b"x", &[Algorithm::Sha512, Algorithm::Md5, Algorithm::Sha512]);
    let names: Vec<_> = digests.iter().map(|(algorithm, _)| algorithm).collect();
    assert_eq!(names, [Algorithm::Md5, Algorithm::Sha512]);
    assert_eq!(digests.get(Algorithm::Sha1), None);
    assert!(at_once(b"x", &[]).is_empty());
}

#[test]
fn two_threads_and_one_give_the_same_digests() {
    let bytes: Vec<u8> = (0..5_300_001_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let together = hash_reader(bytes.as_slice(), &Algorithm::ALL).unwrap().1;
    for algorithm in Algorithm::ALL {
        assert_eq!(together.get(algorithm), at_once(&bytes, &[algorithm]).get(algorithm), "{algorithm}");
    }
}

#[test]
fn many_streams_at_once_do_not_mix() {
    let streams: Vec<Vec<u8>> = (0..24_u8).map(|n| vec![n; 700_000 + usize::from(n)]).collect();
    let hashed: Vec<Option<Digest>> = std::thread::scope(|scope| {
        let threads: Vec<_> = streams
            .iter()
            .map(|bytes| {
                scope.spawn(move || hash_reader(bytes.as_slice(), &Algorithm::RECORDED).unwrap().1.get(Algorithm::Sha1))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (bytes, digest) in streams.iter().zip(hashed) {
        assert_eq!(digest, at_once(bytes, &[Algorithm::Sha1]).get(Algorithm::Sha1));
    }
}

#[test]
fn a_stream_dropped_half_way_leaves_the_next_one_unharmed() {
    for _ in 0..3 {
        let mut hasher = MultiHasher::new(&Algorithm::RECORDED);
        hasher.update(&vec![1; 3_000_000]);
        drop(hasher);
    }
    let bytes = vec![2; 3_000_000];
    let digests = at_once(&bytes, &Algorithm::RECORDED);
    assert_eq!(digests.get(Algorithm::Md5), at_once(&bytes, &[Algorithm::Md5]).get(Algorithm::Md5));
}

#[test]
fn a_failing_reader_fails_the_hashing() {
    struct Failing(u32);
    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            match self.0 {
                1 => Err(io::ErrorKind::Interrupted.into()),
                2..40 => Ok(buffer.len()),
                _ => Err(io::Error::other("gone")),
            }
        }
    }
    let error = hash_reader(Failing(0), &Algorithm::RECORDED).unwrap_err();
    assert_eq!(error.to_string(), "gone");
}

#[test]
fn a_reader_that_claims_too_much_is_an_error() {
    struct Liar;
    impl Read for Liar {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            Ok(buffer.len() + 1)
        }
    }
    assert!(hash_reader(Liar, &[Algorithm::Md5]).is_err());
    assert!(HashingReader::new(Liar, &[Algorithm::Md5]).read(&mut [0; 8]).is_err());
}

#[test]
fn a_hashing_reader_passes_on_what_it_hashes() {
    let bytes: Vec<u8> = (0..2_000_000_u32).map(|n| (n % 251) as u8).collect();
    let mut reader = HashingReader::new(bytes.as_slice(), &Algorithm::RECORDED);
    let mut read = Vec::new();
    reader.read_to_end(&mut read).unwrap();
    assert_eq!(read, bytes);
    assert_eq!(reader.finish(), hash_reader(bytes.as_slice(), &Algorithm::RECORDED).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn chunking_does_not_matter(
        length in 0_usize..1_500_000,
        cuts in prop::collection::vec(1_usize..400_000, 1..40),
        seed: u8,
    ) {
        let bytes: Vec<u8> = (0..length).map(|n| (n as u8).wrapping_mul(31).wrapping_add(seed) ^ (n >> 8) as u8).collect();
        let mut hasher = MultiHasher::new(&Algorithm::RECORDED);
        let mut rest = bytes.as_slice();
        for cut in cuts.iter().cycle() {
            let (now, later) = rest.split_at((*cut).min(rest.len()));
            hasher.update(now);
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(hasher.length(), length as u64);
        let digests = hasher.finish();
        for algorithm in Algorithm::RECORDED {
            prop_assert_eq!(digests.get(algorithm), at_once(&bytes, &[algorithm]).get(algorithm));
        }
    }
}
