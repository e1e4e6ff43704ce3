//! MediaInfo of Debian, on a small sound file that is made here.

use strongroom_tool::{Outcome, ready};

use crate::place::{Place, debian, with_libraries};

/// A WAVE file of one second of silence: 8,000 samples of 16 bits, mono.
fn wave() -> Vec<u8> {
    let data = vec![0; 16_000];
    let mut bytes = Vec::new();
    bytes.extend(b"RIFF");
    bytes.extend((36 + 16_000_u32).to_le_bytes());
    bytes.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    bytes.extend(8_000_u32.to_le_bytes());
    bytes.extend(16_000_u32.to_le_bytes());
    bytes.extend(b"\x02\0\x10\0data");
    bytes.extend(16_000_u32.to_le_bytes());
    bytes.extend(data);
    bytes
}

#[test]
fn mediainfo_says_what_is_in_a_sound_file() {
    let Some(root) = debian("MediaInfo") else { return };
    let place = Place::new();
    place.write("file", wave());
    let run = place.run(with_libraries(ready::tool("mediainfo").unwrap(), &root));
    assert_eq!(run.outcome, Outcome::Pass, "{run:?}");
    for (name, value) in [
        ("size", "16044"),
        ("format", "Wave"),
        ("audio_format", "PCM"),
        ("channels", "1"),
        ("sampling_rate", "8000"),
        ("bit_depth", "16"),
        ("duration_seconds", "1.000"),
    ] {
        assert_eq!(run.fields[name], [value], "{name}: {run:?}");
    }
    assert_eq!(Some(&run.fields["library_version"][0]), run.version.as_ref());
    assert!(run.stdout.starts_with(b"<?xml"));
}

#[test]
fn mediainfo_passes_what_is_no_media_file_with_its_size_alone() {
    let Some(root) = debian("MediaInfo") else { return };
    let place = Place::new();
    let run = place.run(with_libraries(ready::tool("mediainfo").unwrap(), &root));
    assert_eq!((run.outcome, run.fields.get("format")), (Outcome::Pass, None), "{run:?}");
}
