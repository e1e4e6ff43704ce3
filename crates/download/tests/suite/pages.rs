//! Answers as a whole: bounded, with headers of the caller's, asked for again where they break off.

use std::io::Read;

use strongroom_download::{Client, DownloadError, Page, PageRequest, Supervision};
use strongroom_web_double::{Behaviour, WebDouble};

use crate::{bytes, client, policy, serving};

fn page(web: &WebDouble, request: &PageRequest<'_>) -> Result<(Page, Vec<u8>), DownloadError> {
    let mut page = client(web).page(request, &Supervision::default())?;
    let mut found = Vec::new();
    page.read_to_end(&mut found).unwrap();
    assert_eq!(page.length(), found.len() as u64);
    Ok((page, found))
}

#[test]
fn an_answer_is_whole_in_memory_and_beyond_it() {
    let web = serving(&bytes(100_000), &[]);
    for memory_bytes in [0, 10, 1 << 20] {
        let url = web.url("/f?page=2");
        let headers = [("User-Agent", "harvester/1"), ("From", "archive@example.org")];
        let request = PageRequest { memory_bytes, headers: &headers, ..PageRequest::new(&url) };
        let (page, found) = page(&web, &request).unwrap();
        assert_eq!(found, bytes(100_000));
        assert_eq!((page.status(), page.url()), (200, url.as_str()));
        let asked = web.requests().pop().unwrap();
        assert_eq!((asked.header("user-agent"), asked.header("from")), (Some(headers[0].1), Some(headers[1].1)));
        assert_eq!(asked.query, "page=2");
    }
}

#[test]
fn answers_that_break_off_are_asked_for_again_from_their_beginning() {
    for behaviour in [
        Behaviour::Cuts(vec![0, 5]),
        Behaviour::FailTimes { times: 2, status: 503 },
        Behaviour::FailTimes { times: 2, status: 429 },
        Behaviour::RetryAfter { times: 2, value: "3600".into() },
        Behaviour::RetryAfter { times: 2, value: "Sun, 06 Nov 2994 08:49:37 GMT".into() },
        Behaviour::Unanswered(2),
    ] {
        let web = serving(&bytes(10), std::slice::from_ref(&behaviour));
        let (_, found) = page(&web, &PageRequest::new(&web.url("/f"))).unwrap();
        assert_eq!(found, bytes(10), "{behaviour:?}");
        assert!(web.requests().iter().all(|request| request.range().is_none()));
    }
}

#[test]
fn attempts_are_bounded() {
    let web = serving(&bytes(10), &[Behaviour::Status(503)]);
    let outcome = page(&web, &PageRequest::new(&web.url("/f")));
    assert!(matches!(outcome, Err(DownloadError::Status { status: 503, .. })), "{outcome:?}");
    assert_eq!(web.requests().len(), 5);
}

#[test]
fn refusals_are_answers_and_are_not_repeated() {
    let web = serving(&bytes(10), &[Behaviour::Status(422)]);
    assert_eq!(page(&web, &PageRequest::new(&web.url("/f"))).unwrap().0.status(), 422);
    assert_eq!(web.requests().len(), 1);
}

#[test]
fn answers_are_bounded_also_where_they_state_no_length() {
    for behaviours in
        [vec![], vec![Behaviour::NoLength], vec![Behaviour::Endless], vec![Behaviour::WrongLength(1 << 40)]]
    {
        let web = serving(&bytes(100), &behaviours);
        let outcome = page(&web, &PageRequest { max_bytes: 99, ..PageRequest::new(&web.url("/f")) });
        assert!(matches!(outcome, Err(DownloadError::TooLong { most: 99, .. })), "{outcome:?}");
    }
}

#[test]
fn hosts_are_judged_after_each_redirect_and_the_last_url_is_named() {
    let web = serving(&bytes(10), &[]);
    web.on("/there", Behaviour::RedirectTo("/f?a=b".into()));
    let (page, _) = page(&web, &PageRequest::new(&web.url("/there"))).unwrap();
    assert_eq!(page.url(), web.url("/f?a=b"));
    web.on("/away", Behaviour::RedirectTo("http://elsewhere.example/".into()));
    let refused = client(&web).page(&PageRequest::new(&web.url("/away")), &Supervision::default());
    assert!(matches!(refused, Err(DownloadError::Refused { .. })));
    let private = Client::new(strongroom_download::Policy { allow_private_networks: false, ..policy(&web) }).unwrap();
    let refused = private.page(&PageRequest::new(&web.url("/f")), &Supervision::default());
    assert!(matches!(refused, Err(DownloadError::Refused { .. })));
}
