//! Servers that misbehave: what becomes of the work item, what it says, and that nothing of a failed one stays in staging.

use strongroom_download::Policy;
use strongroom_engine::ingest::{DepositKind, DepositRequest};
use strongroom_registry::items::{Item, Request};
use strongroom_registry::{BatchId, ItemStatus};
use strongroom_web_double::{Behaviour, Certificate, WebDouble};

use super::world::{Files, OBJECT, SINGLE_FILES, World, contents, gzip, manifest, tar};
use crate::fixture;

/// What is downloaded by itself or as a file of a manifest: large enough to be cut in its middle.
fn scan() -> Vec<u8> {
    (0_u32..200_000).flat_map(u32::to_le_bytes).collect()
}

/// In which way the file at `/scan.tif` is deposited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    File,
    Manifest,
    Row,
}

const WAYS: [Way; 3] = [Way::File, Way::Manifest, Way::Row];

fn request(world: &World, way: Way) -> DepositRequest {
    let url = world.web.url("/scan.tif");
    match way {
        Way::File => world.request("/scan.tif"),
        Way::Manifest => {
            world.request(world.write("scan.tif.checkm", manifest(OBJECT, &[format!("{url} | | | | | scan.tif |")])))
        }
        Way::Row => world.request(
            world.write("list.checkm", manifest(SINGLE_FILES, &[format!("{url} | | | | | scan.tif | | | | Scan |")])),
        ),
    }
}

/// Deposits `/scan.tif` with a behaviour of the server: the item of the object.
fn deposited(world: &World, way: Way, behaviours: &[Behaviour]) -> Item {
    world.web.put("/scan.tif", scan());
    for behaviour in behaviours {
        world.web.on("/scan.tif", behaviour.clone());
    }
    world.deposit(&request(world, way)).pop().expect("an item")
}

/// The item failed with a note, and nothing is kept; with the server mended, and requeued, it is completed.
fn check_failure(way: Way, behaviours: &[Behaviour], words: &[&str]) {
    let world = World::new();
    let item = deposited(&world, way, behaviours);
    let shown = format!("{behaviours:?} as {way:?}");
    assert_eq!(item.status, ItemStatus::Failed, "{shown}: {:?}", item.note);
    let note = item.note.clone().unwrap_or_default();
    for word in words {
        assert!(note.contains(word), "{shown}: {word:?} is not in {note}");
    }
    assert!(note.contains("/scan.tif"), "{shown}: {note}");
    assert_eq!(world.objects(), Vec::<String>::new(), "{shown}");
    world.web.mend("/scan.tif");
    world.web.put("/scan.tif", scan());
    world.ask(item.id, Request::Requeue(None));
    world.work(item.batch.expect("a batch"));
    let item = world.item(item.id);
    assert_eq!(item.status, ItemStatus::Succeeded, "{shown}: {:?}", item.note);
    assert_eq!(world.deposited(&world.object("scan.tif"), 1), contents(&[("scan.tif", &scan())]), "{shown}");
    assert!(world.is_nothing_staged(), "{shown}");
}

fn check_success(way: Way, behaviours: &[Behaviour]) -> World {
    let world = World::new();
    let item = deposited(&world, way, behaviours);
    let shown = format!("{behaviours:?} as {way:?}");
    assert_eq!(item.status, ItemStatus::Succeeded, "{shown}: {:?} {:?}", item.note, world.problems(item.id));
    assert_eq!(world.deposited(&world.object("scan.tif"), 1), contents(&[("scan.tif", &scan())]), "{shown}");
    assert!(world.is_nothing_staged(), "{shown}");
    world
}

#[test]
fn a_file_that_is_not_there_fails_the_item_and_a_requeue_completes_it_when_it_is() {
    for way in WAYS {
        check_failure(way, &[Behaviour::NotFound], &["404"]);
        check_failure(way, &[Behaviour::Status(403)], &["403"]);
    }
}

#[test]
fn what_cannot_be_had_for_good_is_told_with_a_code_whatever_the_package_is() {
    for way in WAYS {
        let elsewhere = Behaviour::RedirectTo("http://10.0.0.1/scan.tif".into());
        for behaviour in [Behaviour::NotFound, Behaviour::WrongLength(500_000), Behaviour::Endless, elsewhere] {
            let world = World::new();
            let url = world.web.url("/scan.tif");
            let shown = format!("{behaviour:?} as {way:?}");
            world.web.put("/scan.tif", scan());
            world.web.on("/scan.tif", behaviour.clone());
            let request = match way {
                Way::Manifest => {
                    let row = format!("{url} | | | {} | | scan.tif |", scan().len());
                    world.request(world.write("scan.tif.checkm", manifest(OBJECT, &[row])))
                }
                _ => request(&world, way),
            };
            let item = world.deposit(&request).pop().expect("an item");
            let is_of_size =
                matches!(way, Way::Manifest) && matches!(behaviour, Behaviour::WrongLength(_) | Behaviour::Endless);
            let code = if is_of_size { "package.size_mismatch" } else { "package.not_fetched" };
            assert_eq!(world.codes(item.id), [code], "{shown}: {:?}", item.note);
            let message = &world.problems(item.id)[0].message;
            assert!(message.contains("scan.tif") && !message.contains("first:"), "{shown}: {message}");
            assert!(item.note.is_some_and(|note| note.contains("; first: ")), "{shown}");
        }
    }
}

#[test]
fn a_list_that_cannot_be_had_for_good_is_told_with_a_code() {
    let world = World::new();
    world.web.on("/list.checkm", Behaviour::NotFound);
    let item = world.deposit(&world.request("/list.checkm")).pop().expect("an item");
    assert_eq!(world.codes(item.id), ["package.not_fetched"], "{:?}", item.note);
}

#[test]
fn an_archive_or_a_list_of_another_length_or_without_an_end_fails_the_item() {
    let files: Files<'_> = &[("a.txt", b"alpha"), ("b.txt", b"beta")];
    let world = World::new();
    world.serve(files);
    let list = world.manifest_of(files).into_bytes();
    let batch =
        manifest(SINGLE_FILES, &[format!("{} | | | | | a.txt | | | | A |", world.web.url("/a.txt"))]).into_bytes();
    for (name, bytes) in [("pack.tar.gz", gzip(&tar(files))), ("list.checkm", list), ("batch.checkm", batch)] {
        let path = format!("/{name}");
        for behaviour in [Behaviour::WrongLength(bytes.len() as u64 - 10), Behaviour::Endless] {
            let shown = format!("{behaviour:?} of {name}");
            world.web.put(&path, &bytes);
            world.web.on(&path, behaviour);
            let items = world.deposit(&world.request(path.as_str()));
            // The list of the files of one object may become its item before it is read to its end.
            assert!(items.len() == 1 || name == "list.checkm", "{shown}: {items:?}");
            let item = items.last().expect("an item");
            assert_eq!(item.status, ItemStatus::Failed, "{shown}: {:?}", item.note);
            assert!(!world.codes(item.id).is_empty(), "{shown}: {:?}", item.note);
            assert_eq!(world.objects(), Vec::<String>::new(), "{shown}");
            world.web.mend(&path);
        }
    }
}

#[test]
fn a_server_that_fails_twice_is_asked_again() {
    for way in WAYS {
        check_success(way, &[Behaviour::FailTimes { times: 2, status: 500 }]);
        check_success(way, &[Behaviour::Unanswered(2)]);
        check_success(way, &[Behaviour::RetryAfter { times: 2, value: "0".to_owned() }]);
    }
}

#[test]
fn a_server_that_fails_on_and_on_fails_the_item() {
    for way in WAYS {
        check_failure(way, &[Behaviour::Status(503)], &["503"]);
    }
}

#[test]
fn a_connection_that_is_cut_in_the_middle_is_resumed_there() {
    for way in WAYS {
        let world = check_success(way, &[Behaviour::CutAfter { bytes: 300_000, times: 1 }]);
        let resumed = world.web.requests_of("/scan.tif").into_iter().find(|request| {
            request.header("range").is_some_and(|range| range.starts_with("bytes=") && range != "bytes=0-0")
        });
        assert!(resumed.is_some_and(|request| request.header("if-range").is_some()), "{way:?}");
    }
}

#[test]
fn a_connection_that_is_always_cut_fails_the_item() {
    for way in WAYS {
        check_failure(
            way,
            &[Behaviour::CutAfter { bytes: 1_000, times: 1_000 }, Behaviour::NoRanges],
            &["broke after"],
        );
    }
}

#[test]
fn of_a_deposit_that_failed_and_is_deleted_nothing_stays_in_staging() {
    for way in WAYS {
        for behaviours in [
            vec![Behaviour::NotFound],
            vec![Behaviour::Status(503)],
            vec![Behaviour::CutAfter { bytes: 300_000, times: 1_000 }, Behaviour::NoRanges],
            vec![Behaviour::Endless],
        ] {
            let world = World::new();
            let item = deposited(&world, way, &behaviours);
            assert_eq!(item.status, ItemStatus::Failed, "{:?}", item.note);
            world.ask(item.id, Request::Delete);
            world.clear_up();
        }
    }
}

#[test]
fn a_file_without_a_length_or_a_validator_is_taken_as_it_comes() {
    for way in WAYS {
        check_success(way, &[Behaviour::NoLength, Behaviour::NoHead]);
        check_success(way, &[Behaviour::UntilClose, Behaviour::NoValidator]);
        check_success(way, &[Behaviour::NoRanges]);
    }
}

#[test]
fn a_length_that_the_file_does_not_have_fails_the_item() {
    for way in WAYS {
        check_failure(way, &[Behaviour::WrongLength(900_000), Behaviour::NoRanges], &[]);
    }
    // Of the files of a manifest no size is asked for: what the manifest does not state is what the server sends.
    for way in [Way::File, Way::Row] {
        check_failure(way, &[Behaviour::WrongLength(500_000)], &["800000", "500000"]);
    }
}

#[test]
fn a_file_without_an_end_fails_the_item() {
    for way in WAYS {
        check_failure(way, &[Behaviour::Endless], &["more than"]);
    }
}

#[test]
fn a_server_that_sends_a_byte_and_waits_fails_the_item() {
    for way in WAYS {
        check_failure(way, &[Behaviour::Slow], &["stalled"]);
    }
}

#[test]
fn a_file_that_changes_between_two_ranges_is_never_put_together_of_both() {
    for way in WAYS {
        let changed: Vec<u8> = scan().into_iter().rev().collect();
        let behaviours =
            [Behaviour::CutAfter { bytes: 300_000, times: 1 }, Behaviour::ChangedBetweenRanges(changed.clone())];
        check_failure(way, &behaviours, &["has changed"]);
        // With more attempts the new file is deposited, as a whole.
        let world = World::with("[workers.default]\nmax_attempts = 3\n");
        world.web.put("/scan.tif", scan());
        for behaviour in behaviours {
            world.web.on("/scan.tif", behaviour);
        }
        let made = world.submit(&request(&world, way)).expect("is submitted");
        // Its next attempt comes after a delay.
        world.work_until(&|| {
            let items = world.items(made.batch);
            let waits = items.iter().any(|item| item.retry_count > 0);
            if waits {
                world.home.clock.advance(std::time::Duration::from_mins(10));
            }
            waits || items.iter().all(|item| item.status.is_ended())
        });
        let item = world.work(made.batch).pop().expect("an item");
        assert_eq!(item.status, ItemStatus::Succeeded, "{way:?}: {:?}", item.note);
        assert_eq!(world.deposited(&world.object("scan.tif"), 1), contents(&[("scan.tif", &changed)]), "{way:?}");
    }
}

/// Works until an item waits for its next attempt, which is due then, or has ended.
fn work_once(world: &World, batch: BatchId) {
    world.work_until(&|| {
        let items = world.items(batch);
        let waits = items.iter().any(|item| item.retry_count > 0);
        if waits {
            world.home.clock.advance(std::time::Duration::from_mins(10));
        }
        waits || items.iter().all(|item| item.status.is_ended())
    });
}

#[test]
fn an_archive_that_was_replaced_by_one_of_equal_size_is_never_put_together_of_both() {
    // More than is staged at a time, of members of which each has a size that it keeps.
    let archive = |byte: u8, names: std::ops::Range<usize>| {
        let files: Vec<(String, Vec<u8>)> =
            names.map(|number| (format!("{number:03}.bin"), vec![byte; 100_000])).collect();
        tar(&files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect::<Vec<_>>())
    };
    // Other bytes, and other names beside bytes that stayed.
    for (second, names) in [(archive(2, 0..250), 0..250), (archive(1, 100..350), 100..350)] {
        let mut world = World::with("[workers.default]\nmax_attempts = 5\n");
        let policy = Policy { max_bytes: 1 << 30, ..world.policy() };
        world.download_within(policy);
        world.web.put("/pack.tar", archive(1, 0..250));
        for behaviour in [Behaviour::NoValidator, Behaviour::NoRanges, Behaviour::Cuts(vec![20_000_000])] {
            world.web.on("/pack.tar", behaviour);
        }
        let request = DepositRequest { kind: DepositKind::Container, ..world.request("/pack.tar") };
        let batch = world.submit(&request).expect("is submitted").batch;
        work_once(&world, batch);
        assert_eq!(
            world.items(batch)[0].status,
            ItemStatus::Pending,
            "the first attempt was cut short: {:?}",
            world.items(batch)[0].note
        );
        world.web.put("/pack.tar", &second);
        let item = world.work(batch).pop().expect("an item");
        assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
        let kept = world.deposited(&world.object("pack"), 1);
        let found: Vec<&str> = kept.keys().map(String::as_str).collect();
        let expected: Vec<String> = names.map(|number| format!("{number:03}.bin")).collect();
        assert_eq!(found, expected);
        let byte = if second == archive(2, 0..250) { 2 } else { 1 };
        assert!(kept.values().all(|bytes| *bytes == vec![byte; 100_000]));
    }
}

#[test]
fn a_file_that_is_another_one_in_every_answer_fails_the_item() {
    let world = World::with("[workers.default]\nmax_attempts = 3\n");
    world.web.put("/scan.tif", scan());
    world.web.on("/scan.tif", Behaviour::NewETags);
    let item = world.deposit(&world.request("/scan.tif")).pop().expect("an item");
    let note = item.note.unwrap_or_default();
    assert_eq!((item.status, item.needs_review), (ItemStatus::Failed, true), "{note}");
    assert!(note.contains("changed since it was received") && note.contains("items requeue"), "{note}");
    world.web.mend("/scan.tif");
    world.ask(item.id, Request::Requeue(None));
    let item = world.work(item.batch.expect("a batch")).pop().expect("an item");
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
}

#[test]
fn a_redirect_is_followed_to_an_allowed_host_only() {
    for way in WAYS {
        let world = World::new();
        world.web.put("/elsewhere", scan());
        world.web.on("/scan.tif", Behaviour::RedirectTo("/elsewhere".into()));
        let item = world.deposit(&request(&world, way)).pop().expect("an item");
        assert_eq!(item.status, ItemStatus::Succeeded, "{way:?}: {:?}", item.note);
        let other = WebDouble::start();
        other.put("/scan.tif", scan());
        check_failure(way, &[Behaviour::RedirectTo(other.url("/scan.tif"))], &["ingest.url_hosts"]);
        assert!(other.requests().is_empty(), "nothing was asked of a host that is not allowed");
    }
}

#[test]
fn a_host_that_is_not_allowed_fails_its_item_and_nothing_is_asked_of_it() {
    for way in WAYS {
        for is_private in [false, true] {
            let home = fixture::home_with(super::world::ONE_ATTEMPT);
            let mut world = World::of(home, WebDouble::start());
            let hosts = if is_private { vec![world.web.authority()] } else { Vec::new() };
            let policy = Policy { hosts, allow_private_networks: false, ..world.policy() };
            world.download_within(policy);
            let item = deposited(&world, way, &[]);
            assert_eq!(item.status, ItemStatus::Failed, "{way:?}");
            let note = item.note.clone().unwrap_or_default();
            assert!(note.contains("is not fetched"), "{way:?}: {note}");
            assert!(
                note.contains("ingest.url_hosts") && note.contains("ingest.allow_private_addresses"),
                "{way:?}: {note}"
            );
            assert!(world.web.requests().is_empty(), "{way:?}");
        }
    }
}

#[test]
fn a_certificate_that_is_not_right_fails_the_item() {
    for certificate in [Certificate::OtherHost, Certificate::Expired, Certificate::SelfSigned] {
        for way in WAYS {
            let world = World::with_tls(certificate);
            let item = deposited(&world, way, &[]);
            let note = item.note.clone().unwrap_or_default();
            assert_eq!(item.status, ItemStatus::Failed, "{certificate:?} as {way:?}");
            assert!(note.contains("cannot be trusted"), "{certificate:?} as {way:?}: {note}");
            assert!(world.is_nothing_staged());
        }
    }
    for way in WAYS {
        let world = World::with_tls(Certificate::Good);
        let item = deposited(&world, way, &[]);
        assert_eq!(item.status, ItemStatus::Succeeded, "{way:?}: {:?}", item.note);
    }
}

#[test]
fn a_manifest_that_is_not_there_fails_the_item_and_a_requeue_completes_it() {
    for kind in [DepositKind::Auto, DepositKind::Manifest] {
        let world = World::new();
        world.serve(&[("a.txt", b"alpha")]);
        world.web.put("/list.checkm", world.manifest_of(&[("a.txt", b"alpha")]));
        world.web.on("/list.checkm", Behaviour::NotFound);
        let items = world.deposit(&DepositRequest { kind, ..world.request("/list.checkm") });
        let [item] = items.as_slice() else { panic!("one item: {items:?}") };
        assert_eq!(item.status, ItemStatus::Failed);
        assert!(item.note.as_deref().is_some_and(|note| note.contains("404")), "{:?}", item.note);
        world.web.mend("/list.checkm");
        world.ask(item.id, Request::Requeue(None));
        let items = world.work(item.batch.expect("a batch"));
        assert!(items.iter().all(|item| item.status == ItemStatus::Succeeded), "{items:?}");
        assert_eq!(world.deposited(&world.object("list"), 1), contents(&[("a.txt", b"alpha")]));
    }
}

#[test]
fn a_file_of_a_manifest_that_fails_for_a_while_leaves_those_that_came_where_they_are() {
    let world = World::new();
    let large = scan();
    let files: super::world::Files<'_> = &[("1.bin", &large), ("2.bin", &large[4..]), ("3.bin", b"gamma")];
    world.serve(files);
    world.web.on("/3.bin", Behaviour::Status(503));
    let item =
        world.deposit(&world.request(world.write("some.checkm", world.manifest_of(files)))).pop().expect("an item");
    assert_eq!(item.status, ItemStatus::Failed, "{:?}", item.note);
    world.web.mend("/3.bin");
    world.ask(item.id, Request::Requeue(None));
    let item = world.work(item.batch.expect("a batch")).pop().expect("an item");
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    assert_eq!(world.deposited(&world.object("some"), 1), contents(files));
}

#[test]
fn a_file_that_is_sent_in_a_content_coding_is_refused() {
    for way in WAYS {
        check_failure(way, &[Behaviour::Encoded("gzip")], &["Content-Encoding \"gzip\""]);
    }
}

#[test]
fn a_packed_file_that_is_sent_with_its_own_coding_is_kept_as_it_is() {
    let world = World::new();
    let packed = gzip(b"packed");
    world.web.put("/letter.txt.gz", &packed);
    world.web.on("/letter.txt.gz", Behaviour::Encoded("x-gzip"));
    world.ingest(&DepositRequest { kind: DepositKind::File, ..world.request("/letter.txt.gz") });
    let files = [("letter.txt.gz", packed.as_slice())];
    assert_eq!(world.deposited(&world.object("letter.txt.gz"), 1), contents(&files));
}

/// Nothing that the server says proves that a file is whole.
const UNPROVED: [Behaviour; 3] = [Behaviour::NoLength, Behaviour::UntilClose, Behaviour::NoRanges];

#[test]
fn a_file_whose_end_nothing_proves_is_published_with_a_warning() {
    for way in WAYS {
        let world = check_success(way, &UNPROVED);
        let items = world.home.registry.read(|tx| {
            let all = strongroom_registry::items::ItemFilter::default();
            strongroom_registry::items::list(tx, strongroom_registry::Scope::System, &all, None, 9)
        });
        let item = items.expect("items").into_iter().find(|item| item.action.as_str() == "ingest").expect("an item");
        let problems = world.problems(item.id);
        let shown: Vec<_> = problems.iter().map(|one| (one.severity.as_str(), one.code.as_str())).collect();
        assert_eq!(shown, [("warning", "package.end_not_proved")], "{way:?}");
        assert_eq!(problems[0].path.as_deref(), Some("scan.tif"), "{way:?}");
    }
}

#[test]
fn a_stated_size_or_digest_proves_the_end_of_a_file() {
    let world = World::new();
    world.web.put("/scan.tif", scan());
    for behaviour in UNPROVED {
        world.web.on("/scan.tif", behaviour);
    }
    let url = world.web.url("/scan.tif");
    let md5 = super::world::md5(&scan());
    for (name, row) in [
        ("size", format!("{url} | | | {} | | scan.tif |", scan().len())),
        ("digest", format!("{url} | md5 | {md5} | | | scan.tif |")),
    ] {
        let item = world.deposit(&world.request(world.write(&format!("{name}.checkm"), manifest(OBJECT, &[row]))));
        assert_eq!(item[0].status, ItemStatus::Succeeded, "{name}: {:?}", item[0].note);
        assert_eq!(world.codes(item[0].id), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn of_more_files_than_are_told_of_the_first_are_and_how_many_more_there_are() {
    let world = World::new();
    world.web.put("/there.txt", b"there");
    let row = |number: usize| {
        let name = if number == 3 { "there".to_owned() } else { format!("missing{number}") };
        format!("{} | | | | | {name}.txt |", world.web.url(&format!("/{name}.txt")))
    };
    let rows: Vec<String> = (0..1_101).map(row).collect();
    let item =
        world.deposit(&world.request(world.write("many.checkm", manifest(OBJECT, &rows)))).pop().expect("an item");
    let note = item.note.clone().unwrap_or_default();
    assert_eq!(item.status, ItemStatus::Failed, "{note}");
    assert!(
        note.starts_with("1100 files of the manifest cannot be fetched") && note.contains("/missing0.txt"),
        "{note}"
    );
    let problems = world.problems(item.id);
    let paths: Vec<_> = problems.iter().filter_map(|problem| problem.path.as_deref()).collect();
    assert_eq!((problems.len(), paths[0], paths[3]), (1_000, "missing0.txt", "missing4.txt"));
    let last = problems.last().expect("a problem");
    assert!(last.message.ends_with("and 100 more files cannot be fetched, behind this one"), "{}", last.message);
    assert!(problems.iter().all(|problem| problem.code == "package.not_fetched"));
}

const SECRET: &str = "open-sesame";

#[test]
fn a_url_with_a_user_name_or_a_password_is_refused_before_anything_is_kept() {
    let world = World::new();
    world.web.put("/scan.tif", scan());
    let url = world.web.url("/scan.tif");
    for user in [format!("ann:{SECRET}"), format!("{SECRET}:"), SECRET.to_owned()] {
        let url = url.replace("http://", &format!("http://{user}@"));
        let source = strongroom_engine::ingest::PackageSource::parse(&url).expect("a URL");
        let request = DepositRequest { sources: vec![source], ..world.request("/scan.tif") };
        let error = world.submit(&request).expect_err("is refused");
        let text = format!("{error} {error:?}");
        assert!(text.contains("user name or a password") && !text.contains(SECRET), "{text}");
    }
    let items = world.home.registry.read(|tx| {
        let all = strongroom_registry::items::ItemFilter::default();
        strongroom_registry::items::list(tx, strongroom_registry::Scope::System, &all, None, 9)
    });
    assert!(items.expect("items").is_empty() && world.web.requests().is_empty());
}

#[test]
fn a_manifest_that_names_a_user_or_a_password_is_refused_and_its_secret_is_not_kept() {
    let world = World::new();
    world.web.put("/scan.tif", scan());
    let url = world.web.url("/scan.tif").replace("http://", &format!("http://ann:{SECRET}@"));
    let rows = [
        (OBJECT, format!("{url} | | | | | scan.tif |")),
        (OBJECT, format!("{url}|x | | | | | scan.tif |")),
        (SINGLE_FILES, format!("{url} | | | | | scan.tif | | | | Scan |")),
    ];
    for (number, (profile, row)) in rows.into_iter().enumerate() {
        let list = world.write(&format!("{number}.checkm"), manifest(profile, &[row]));
        let items = world.deposit(&world.request(list));
        assert_eq!((items.len(), items[0].status), (1, ItemStatus::Failed), "no work item is made of a row");
        let problems = world.problems(items[0].id);
        let kept = format!("{:?} {:?} {problems:?}", items[0].note, world.notes(items[0].id));
        assert!(
            problems.iter().any(|problem| problem.code == "url.credentials" && problem.severity == "error"),
            "{kept}"
        );
        assert!(!kept.contains(SECRET), "{kept}");
    }
    assert!(world.web.requests().is_empty() && world.is_nothing_staged());
}
