//! What a server says about a file, however it says it.

use strongroom_download::{DownloadError, Probe, Supervision};
use strongroom_web_double::Behaviour::{
    self, FailTimes, NoHead, NoLength, NoRanges, NoValidator, NotFound, Status, Unanswered, UntilClose,
};

use crate::{bytes, client, serving};

fn probe(size: u32, behaviours: &[Behaviour]) -> (Result<Probe, DownloadError>, Vec<String>) {
    let web = serving(&bytes(size), behaviours);
    let probe = client(&web).probe(&web.url("/f"), &Supervision::default());
    (probe, web.requests().into_iter().map(|request| request.method).collect())
}

#[test]
fn size_and_version_are_found_by_head_or_by_the_first_byte() {
    /// How the server behaves; the size that is found, whether ranges are accepted, and the methods that are used.
    type Case<'c> = (&'c [Behaviour], Option<u64>, bool, &'c [&'c str]);
    let cases: &[Case<'_>] = &[
        (&[], Some(500), true, &["HEAD"]),
        (&[NoRanges], Some(500), false, &["HEAD"]),
        (&[UntilClose], Some(500), true, &["HEAD"]),
        (&[NoHead], Some(500), true, &["HEAD", "GET"]),
        (&[NoHead, NoRanges], Some(500), false, &["HEAD", "GET"]),
        (&[NoHead, NoRanges, NoLength], None, false, &["HEAD", "GET"]),
        (&[NoLength], Some(500), true, &["HEAD", "GET"]),
        (&[FailTimes { times: 1, status: 501 }], Some(500), true, &["HEAD", "GET"]),
        (&[FailTimes { times: 1, status: 403 }], Some(500), true, &["HEAD", "GET"]),
        (&[FailTimes { times: 2, status: 503 }], Some(500), true, &["HEAD", "HEAD", "HEAD"]),
        (&[Unanswered(1)], Some(500), true, &["HEAD", "HEAD"]),
    ];
    for (behaviours, size, accepts_ranges, methods) in cases {
        let (probe, asked) = probe(500, behaviours);
        let probe = probe.unwrap();
        assert_eq!((probe.size, probe.accepts_ranges), (*size, *accepts_ranges), "{behaviours:?}");
        assert!(probe.version().is_some_and(|version| version.starts_with('"')), "{behaviours:?}");
        assert_eq!(asked, *methods, "{behaviours:?}");
    }
}

#[test]
fn a_file_without_a_version_or_without_bytes_has_a_probe() {
    let (found, _) = probe(500, &[NoValidator]);
    assert_eq!(found.unwrap().version(), None);
    let (found, _) = probe(0, &[NoHead]);
    assert_eq!(found.unwrap().size, Some(0));
}

#[test]
fn what_is_not_there_has_none() {
    for (behaviour, status, requests) in
        [(NotFound, 404, 1), (Status(410), 410, 1), (Status(403), 403, 2), (Status(503), 503, 5)]
    {
        let (found, asked) = probe(500, &[behaviour]);
        assert!(matches!(found, Err(DownloadError::Status { status: found, .. }) if found == status), "{status}");
        assert_eq!(asked.len(), requests, "{status}");
    }
}
