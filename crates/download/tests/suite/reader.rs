//! A reader at a server that misbehaves.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use strongroom_digest::{Algorithm, MultiHasher};
use strongroom_download::{Client, DownloadError, Expected, Policy, Supervision};
use strongroom_web_double::Behaviour::{
    self, ChangedBetweenRanges, CutAfter, Cuts, Endless, FailTimes, IgnoresIfRange, NoETag, NoHead, NoLength, NoRanges,
    NoValidator, NotFound, RetryAfter, ShortRanges, Status, Unanswered, UntilClose, WeakETag, WrongLength, WrongStart,
};
use strongroom_web_double::{Certificate, WebDouble};

use crate::{bytes, client, policy, read, serving, word};

const SIZE: u32 = 100_000;

fn outcome(behaviours: &[Behaviour], expected: &Expected) -> (String, WebDouble) {
    let content = bytes(SIZE);
    let web = serving(&content, behaviours);
    let outcome = read(&client(&web), &web.url("/f"), expected);
    if let Ok(found) = &outcome {
        assert!(found.starts_with(&content[..found.len().min(content.len())]));
    }
    (word(&outcome), web)
}

fn sized(size: u64) -> Expected {
    Expected { size: Some(size), ..Expected::default() }
}

#[test]
fn each_fault_of_a_server_is_survived_or_named() {
    let cut = |times| CutAfter { bytes: 30_000, times };
    let known = sized(u64::from(SIZE));
    let cases: &[(&[Behaviour], &str)] = &[
        (&[], "read 100000"),
        (&[NotFound], "status 404"),
        (&[Status(403)], "status 403"),
        (&[Status(410)], "status 410"),
        (&[Status(204)], "status 204"),
        (&[Status(206)], "status 206"),
        (&[Status(501)], "status 501"),
        (&[Status(503)], "status 503, transient"),
        (&[FailTimes { times: 4, status: 500 }], "read 100000"),
        (&[FailTimes { times: 5, status: 500 }], "status 500, transient"),
        (&[FailTimes { times: 2, status: 408 }, FailTimes { times: 2, status: 425 }], "read 100000"),
        (&[RetryAfter { times: 2, value: "86400".into() }], "read 100000"),
        (&[RetryAfter { times: 2, value: "Fri, 31 Dec 2100 23:59:59 GMT".into() }], "read 100000"),
        (&[Unanswered(3)], "read 100000"),
        (&[Unanswered(9)], "transport, transient"),
        (&[cut(1)], "read 100000"),
        (&[cut(3)], "read 100000"),
        (&[cut(99), ShortRanges(1)], "broken at 30004, transient"),
        (&[cut(3), FailTimes { times: 1, status: 503 }], "read 100000"),
        (&[cut(2), NoETag], "read 100000"),
        (&[cut(2), NoRanges], "read 100000"),
        (&[cut(99), NoRanges], "broken at 30000, transient"),
        (&[cut(1), NoValidator], "broken at 30000, transient"),
        (&[cut(1), WeakETag], "read 100000"),
        (&[CutAfter { bytes: 0, times: 2 }, NoValidator], "read 100000"),
        (&[cut(1), WrongStart], "changed, transient"),
        (&[cut(1), ShortRanges(40_000)], "read 100000"),
        (&[WrongLength(100_001)], "length 100001"),
        (&[WrongLength(99_999)], "length 99999"),
        (&[NoLength], "read 100000"),
        (&[NoLength, cut(2)], "read 100000"),
        (&[UntilClose], "read 100000"),
        (&[UntilClose, cut(2)], "read 100000"),
        (&[UntilClose, NoValidator, cut(1)], "broken at 30000, transient"),
        (&[Endless], "more than 100000"),
    ];
    for (behaviours, expected) in cases {
        assert_eq!(outcome(behaviours, &known).0, *expected, "{behaviours:?}");
    }
}

#[test]
fn a_file_of_unknown_size_is_read_to_the_end_that_the_server_marks() {
    let nothing = Expected::default();
    let cut = |times| CutAfter { bytes: 30_000, times };
    let cases: &[(&[Behaviour], &str)] = &[
        (&[NoLength], "read 100000"),
        (&[NoLength, cut(2)], "read 100000"),
        (&[NoLength, NoValidator, cut(1)], "broken at 30000, transient"),
        (&[UntilClose], "read 100000"),
        // It looks whole, and the server says that it is not.
        (&[UntilClose, cut(2)], "read 100000"),
        (&[UntilClose, cut(1), NoHead], "read 100000"),
        (&[UntilClose, cut(1), NoRanges], "read 100000"),
        (&[UntilClose, cut(99), NoRanges], "broken at 30000, transient"),
        (&[UntilClose, NoValidator, cut(1)], "broken at 30000, transient"),
        // Neither HEAD nor a range states a size.
        (&[UntilClose, NoHead, NoRanges], "read 100000"),
        (&[WrongLength(100_001)], "changed, transient"),
        (&[WrongLength(100_001), NoRanges], "broken at 100000, transient"),
        (&[cut(1)], "read 100000"),
    ];
    for (behaviours, expected) in cases {
        assert_eq!(outcome(behaviours, &nothing).0, *expected, "{behaviours:?}");
    }
}

#[test]
fn a_file_that_changes_while_it_is_read_is_an_error_and_never_a_mixture() {
    let cut = || CutAfter { bytes: 30_000, times: 1 };
    for new in [bytes(SIZE / 2), bytes(SIZE + 1), vec![7; SIZE as usize], bytes(10)] {
        for others in [&[][..], &[NoRanges], &[IgnoresIfRange], &[NoLength]] {
            let mut behaviours = vec![cut(), ChangedBetweenRanges(new.clone())];
            behaviours.extend_from_slice(others);
            assert_eq!(outcome(&behaviours, &Expected::default()).0, "changed, transient", "{others:?} {}", new.len());
        }
    }
}

#[test]
fn a_file_that_became_shorter_under_the_same_date_is_an_error() {
    let behaviours =
        [CutAfter { bytes: 30_000, times: 1 }, ChangedBetweenRanges(bytes(10)), NoETag, NoRanges, NoLength];
    assert_eq!(outcome(&behaviours, &Expected::default()).0, "changed, transient");
}

#[test]
fn the_rest_is_asked_for_with_a_range_and_the_validator() {
    let (_, web) = outcome(&[Cuts(vec![30_000, 20_000])], &Expected::default());
    let requests = web.requests();
    let asked: Vec<_> = requests.iter().map(|request| (request.range(), request.header("if-range"))).collect();
    let tag = asked[1].1;
    assert!(tag.is_some_and(|tag| tag.starts_with('"')));
    assert_eq!(asked, [(None, None), (Some("bytes=30000-"), tag), (Some("bytes=50000-"), tag)]);
    assert_eq!(requests[0].header("accept-encoding"), Some("identity"));
    assert!(requests[0].header("user-agent").is_some_and(|agent| agent.starts_with("strongroom/")));

    let (_, web) = outcome(&[Cuts(vec![30_000]), WeakETag], &Expected::default());
    assert_eq!(web.requests()[1].header("if-range"), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
}

#[test]
fn what_is_expected_is_compared() {
    let content = bytes(SIZE);
    let digests = |content: &[u8]| {
        let mut hasher = MultiHasher::new(&[Algorithm::Md5, Algorithm::Sha256]);
        hasher.update(content);
        hasher.finish()
    };
    let whole = Expected { digests: digests(&content), ..sized(u64::from(SIZE)) };
    assert_eq!(outcome(&[CutAfter { bytes: 77, times: 2 }], &whole).0, "read 100000");
    let other = Expected { digests: digests(b"other"), ..Expected::default() };
    assert_eq!(outcome(&[], &other).0, "digest");
    assert_eq!(outcome(&[], &sized(99_999)).0, "length 100000");
    assert_eq!(outcome(&[], &sized(100_001)).0, "length 100000");
    assert_eq!(outcome(&[NoLength], &sized(99_999)).0, "more than 99999");
    assert_eq!(outcome(&[NoLength], &sized(100_001)).0, "length 100000");
    let earlier = Expected { version: Some("\"earlier\"".into()), ..Expected::default() };
    assert_eq!(outcome(&[], &earlier).0, "changed, transient");
    assert_eq!(outcome(&[NoETag], &earlier).0, "read 100000");
    let dated = Expected { version: Some("Sun, 06 Nov 1994 08:49:36 GMT".into()), ..Expected::default() };
    assert_eq!(outcome(&[], &dated).0, "changed, transient");
}

#[test]
fn an_error_of_digests_names_both() {
    let content = bytes(10);
    let web = serving(&content, &[]);
    let mut hasher = MultiHasher::new(&[Algorithm::Md5]);
    hasher.update(b"abc");
    let expected = Expected { digests: hasher.finish(), ..Expected::default() };
    let text = read(&client(&web), &web.url("/f"), &expected).unwrap_err().to_string();
    assert!(text.contains("md5:900150983cd24fb0d6963f7d28e17f72"), "{text}");
    assert_eq!(text.matches("md5:").count(), 2, "{text}");
}

#[test]
fn a_download_has_at_most_as_many_bytes_as_the_policy_says() {
    for behaviours in [&[][..], &[NoLength], &[Endless]] {
        let web = serving(&bytes(SIZE), behaviours);
        let client = Client::new(Policy { max_bytes: 50_000, ..policy(&web) }).unwrap();
        assert_eq!(word(&read(&client, &web.url("/f"), &Expected::default())), "more than 50000", "{behaviours:?}");
        assert_eq!(word(&read(&client, &web.url("/f"), &sized(u64::from(SIZE)))), "more than 50000", "{behaviours:?}");
    }
}

#[test]
fn an_empty_file_is_read() {
    for behaviours in [&[][..], &[NoLength], &[UntilClose]] {
        let web = serving(b"", behaviours);
        assert_eq!(word(&read(&client(&web), &web.url("/f"), &sized(0))), "read 0", "{behaviours:?}");
    }
}

#[test]
fn nothing_comes_after_a_failed_read() {
    let web = serving(&bytes(SIZE), &[CutAfter { bytes: 30_000, times: 1 }, NoValidator]);
    let mut body = client(&web).open(&web.url("/f"), Expected::default(), Supervision::default()).unwrap();
    let mut found = Vec::new();
    assert!(body.read_to_end(&mut found).is_err());
    assert!(body.read_to_end(&mut found).is_err());
    assert_eq!(found.len(), 30_000);
    assert_eq!(web.requests().len(), 1);
}

#[test]
fn a_body_can_be_given_to_another_thread_and_says_what_it_is() {
    let web = serving(&bytes(SIZE), &[]);
    let body = client(&web).open(&web.url("/f"), Expected::default(), Supervision::default()).unwrap();
    let mut reader: Box<dyn Read + Send> = {
        assert_eq!(body.size(), Some(u64::from(SIZE)));
        assert_eq!(body.etag(), body.version());
        Box::new(body)
    };
    let read = std::thread::spawn(move || reader.read_to_end(&mut Vec::new()).unwrap());
    assert_eq!(read.join().unwrap(), SIZE as usize);
}

#[test]
fn bytes_are_counted_once_although_they_are_sent_twice() {
    let web = serving(&bytes(SIZE), &[CutAfter { bytes: 30_000, times: 2 }, NoRanges]);
    let counted = std::sync::atomic::AtomicU64::new(0);
    let supervision = Supervision::default().counting(|bytes| {
        counted.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
    });
    let mut body = client(&web).open(&web.url("/f"), Expected::default(), supervision).unwrap();
    body.read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(counted.load(std::sync::atomic::Ordering::Relaxed), u64::from(SIZE));
}

#[test]
fn a_broken_connection_of_tls_is_resumed() {
    let content = bytes(SIZE);
    let web = WebDouble::start_tls(Certificate::Good);
    web.put("/f", &content);
    web.on("/f", CutAfter { bytes: 30_000, times: 3 });
    assert_eq!(read(&client(&web), &web.url("/f"), &Expected::default()).unwrap(), content);
    assert_eq!(web.requests().len(), 4);
}

#[test]
fn errors_name_the_url_without_its_query() {
    let web = serving(b"", &[NotFound]);
    let error = read(&client(&web), &web.url("/f?token=secret"), &Expected::default()).unwrap_err();
    assert_eq!(error.to_string(), format!("{} was answered with status 404", web.url("/f?...")));
    assert_eq!(web.requests()[0].query, "token=secret");
    assert!(matches!(error, DownloadError::Status { status: 404, .. }));
}

#[test]
fn bytes_in_a_content_coding_are_refused_unless_the_name_or_a_digest_says_that_they_are_the_file() {
    let content = bytes(SIZE);
    let read_at = |path: &str, coding: &'static str, expected: &Expected| {
        let web = WebDouble::start();
        web.put(path, &content);
        web.on(path, Behaviour::Encoded(coding));
        let outcome = read(&client(&web), &web.url(path), expected);
        (word(&outcome), outcome.err().map(|error| error.to_string()).unwrap_or_default())
    };
    let nothing = Expected::default();
    for path in ["/letter.txt", "/a.gz/letter.txt"] {
        let (word, text) = read_at(path, "gzip", &nothing);
        assert_eq!(word, "encoded");
        assert!(text.contains("Content-Encoding \"gzip\"") && text.contains("letter.txt"), "{text}");
    }
    assert_eq!(
        read_at("/letters.tar.gz", "x-gzip", &nothing).0,
        "read 100000",
        "servers say so of files that are packed"
    );
    assert_eq!(read_at("/letters.tgz", "br", &nothing).0, "encoded");
    assert_eq!(read_at("/letter.txt", "identity", &nothing).0, "read 100000");
    assert_eq!(read_at("/letter.txt", "gzip", &sized(u64::from(SIZE))).0, "encoded");
    let mut hasher = MultiHasher::new(&[Algorithm::Sha256]);
    hasher.update(&content);
    let expected = Expected { digests: hasher.finish(), ..Expected::default() };
    assert_eq!(read_at("/letter.txt", "gzip", &expected).0, "read 100000", "these bytes are wanted");
}

#[test]
fn an_end_that_nothing_proves_is_noted() {
    let content = bytes(SIZE);
    let is_noted = |behaviours: &[Behaviour], expected: &Expected| {
        let web = serving(&content, behaviours);
        let flag = Arc::new(AtomicBool::new(false));
        let supervision = Supervision::default().noting_unproved_end(flag.clone());
        let mut found = Vec::new();
        client(&web).open(&web.url("/f"), expected.clone(), supervision).unwrap().read_to_end(&mut found).unwrap();
        assert_eq!(found.len(), content.len(), "{behaviours:?}");
        flag.load(Ordering::Acquire)
    };
    let nothing = Expected::default();
    let silent = [NoLength, UntilClose, NoRanges];
    assert!(is_noted(&silent, &nothing));
    assert!(!is_noted(&silent, &sized(u64::from(SIZE))), "the size is stated");
    let mut hasher = MultiHasher::new(&[Algorithm::Sha256]);
    hasher.update(&content);
    assert!(!is_noted(&silent, &Expected { digests: hasher.finish(), ..Expected::default() }), "a digest is compared");
    for behaviours in [&[][..], &[UntilClose], &[NoLength], &[NoLength, NoRanges], &[NoLength, UntilClose]] {
        assert!(!is_noted(behaviours, &nothing), "{behaviours:?}");
    }
}
