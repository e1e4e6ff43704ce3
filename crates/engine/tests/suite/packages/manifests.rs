//! Manifests of files: what they state is compared, recorded and kept, and what is wrong with them is told as a whole.

use strongroom_digest::Algorithm;
use strongroom_engine::ingest::{DepositKind, DepositRequest};
use strongroom_registry::items::Item;
use strongroom_registry::{ItemId, ItemStatus};

use super::world::{BATCH, CONTAINERS, Files, OBJECT, SINGLE_FILES, World, contents, digest, manifest, md5};

const FILES: Files<'static> = &[("a.txt", b"alpha"), ("folder/b.txt", b"beta")];

fn failed<'i>(world: &World, items: &'i [Item]) -> &'i Item {
    let item = items.last().expect("an item");
    assert_eq!(item.status, ItemStatus::Failed, "{:?}", item.note);
    assert_eq!(world.objects(), Vec::<String>::new());
    item
}

#[test]
fn digests_of_every_algorithm_are_compared_also_in_capital_letters() {
    for (name, algorithm) in [
        ("Adler-32", Algorithm::Adler32),
        ("crc32", Algorithm::Crc32),
        ("MD2", Algorithm::Md2),
        ("md5", Algorithm::Md5),
        ("SHA-1", Algorithm::Sha1),
        ("sha256", Algorithm::Sha256),
        ("SHA-512", Algorithm::Sha512),
    ] {
        let world = World::new();
        world.serve(FILES);
        let rows = |bytes: &[u8]| {
            let digest = digest(bytes, algorithm).to_uppercase();
            [format!("{} | {name} | {digest} | 5 | | a.txt |", world.web.url("/a.txt"))]
        };
        let request = world.request(world.write("wrong.checkm", manifest(OBJECT, &rows(b"omega"))));
        let items = world.deposit(&request);
        let item = failed(&world, &items);
        let note = item.note.as_deref().unwrap_or_default();
        assert!(note.contains("a.txt") && note.contains("expected was"), "{name}: {note}");
        let object = world.ingest(&world.request(world.write("right.checkm", manifest(OBJECT, &rows(b"alpha")))));
        assert_eq!(world.deposited(&object, 1), contents(&FILES[..1]), "{name}");
    }
}

#[test]
fn a_size_that_is_not_that_of_the_file_fails_the_deposit() {
    for stated in [4, 6] {
        let world = World::new();
        world.serve(FILES);
        let rows = [format!("{} | | | {stated} | | a.txt |", world.web.url("/a.txt"))];
        let items = world.deposit(&world.request(world.write("one.checkm", manifest(OBJECT, &rows))));
        let note = failed(&world, &items).note.clone().unwrap_or_default();
        assert!(note.contains(&format!("{stated}")), "{note}");
    }
}

#[test]
fn columns_in_another_order_folders_percent_signs_and_dates_are_read_as_they_are_meant() {
    let world = World::new();
    world.web.put("/1", "alpha");
    world.web.put("/2", "beta");
    let text = format!(
        "#%checkm_0.7\n#%profile | http://uc3.cdlib.org/registry/ingest/manifest/mrt-ingest-manifest\n\
         #%prefix | mrt: | http://merritt.cdlib.org/terms#\n\
         #%prefix | nfo: | http://www.semanticdesktop.org/ontologies/2007/03/22/nfo#\n\
         #%fields | nfo:fileName | nfo:fileUrl | nfo:fileLastModified | nfo:fileSize | nfo:hashValue | nfo:hashAlgorithm\n\
         a%20b.txt | {} | 2009-09-01 | 5 | {} | md5\n\
         folder/c%7cd.txt | {} | 2009-09-01T01:02:03Z | 4 | {} | md5\n#%eof",
        world.web.url("/1"),
        md5(b"alpha"),
        world.web.url("/2"),
        md5(b"beta"),
    );
    let object = world.ingest(&world.request(world.write("odd.checkm", text.replace('\n', "\r\n"))));
    assert_eq!(world.deposited(&object, 1), contents(&[("a b.txt", b"alpha"), ("folder/c|d.txt", b"beta")]));
    let modified: Vec<_> = world
        .files(&object, 1, "deposit/")
        .into_iter()
        .map(|file| file.modified.map(|time| time.to_string()))
        .collect();
    assert_eq!(modified, [Some("2009-09-01T00:00:00Z".to_owned()), Some("2009-09-01T01:02:03Z".to_owned())]);
}

#[test]
fn everything_that_is_wrong_with_a_manifest_is_told_at_once_and_nothing_is_downloaded() {
    let world = World::new();
    world.serve(FILES);
    let rows = [
        "not a URL | | | | | a.txt |".to_owned(),
        format!("{} | md5 | zz | | | b.txt |", world.web.url("/a.txt")),
        format!("{} | | | five | | c.txt |", world.web.url("/a.txt")),
        format!("{} | | | | | ../d.txt |", world.web.url("/a.txt")),
    ];
    let items = world.deposit(&world.request(world.write("wrong.checkm", manifest(OBJECT, &rows))));
    let item = failed(&world, &items);
    let codes = world.codes(item.id);
    for code in ["url.malformed", "digest.malformed", "size.malformed", "name.unsafe"] {
        assert!(codes.iter().any(|known| known == code), "{code} is not in {codes:?}");
    }
    assert!(world.problems(item.id).iter().all(|problem| problem.line.is_some()));
    assert!(world.web.requests().is_empty(), "{:?}", world.web.requests());
    assert!(item.is_verdict);
}

#[test]
fn a_column_that_is_nearly_called_like_one_of_a_digest_or_a_size_is_an_error_and_another_one_a_warning() {
    let world = World::new();
    world.serve(FILES);
    let row = [format!("{} | md5 | {} | | | a.txt |", world.web.url("/a.txt"), "0".repeat(32))];
    let wrong = manifest(OBJECT, &row);
    for (column, misspelled) in
        [("nfo:hashValue", "nfo:hashVal"), ("nfo:hashAlgorithm", "hashAlgoritm"), ("nfo:fileSize", "nfo:fileSzie")]
    {
        let list = wrong.replace(column, misspelled);
        let items = world.deposit(&world.request(world.write("list.checkm", list)));
        let item = failed(&world, &items);
        assert!(world.codes(item.id).contains(&"fields.misspelled".to_owned()), "{:?}", world.problems(item.id));
        assert!(world.problems(item.id).iter().any(|problem| problem.message.contains(column)));
    }
    assert!(world.web.requests().is_empty(), "{:?}", world.web.requests());
    let list = manifest(OBJECT, &[format!("{} | | | | | a.txt | x", world.web.url("/a.txt"))]);
    let items = world.deposit(&world.request(world.write("other.checkm", list.replace("mrt:mimeType", "mrt:shelf"))));
    let last = items.last().expect("an item");
    assert_eq!(last.status, ItemStatus::Succeeded, "{:?}", last.note);
    assert_eq!(world.codes(last.id), ["fields.unknown"]);
}

#[test]
fn a_manifest_of_another_profile_than_is_stated_is_refused() {
    let kinds = [
        (DepositKind::Manifest, OBJECT),
        (DepositKind::BatchManifest, BATCH),
        (DepositKind::SingleFileBatchManifest, SINGLE_FILES),
        (DepositKind::ContainerBatchManifest, CONTAINERS),
    ];
    for (stated, _) in kinds {
        for (kind, profile) in kinds {
            if kind == stated {
                continue;
            }
            let world = World::new();
            world.serve(FILES);
            let rows = [format!("{} | | | | | a.txt |", world.web.url("/a.txt"))];
            let path = world.write("list.checkm", manifest(profile, &rows));
            let shown = format!("{profile} as {}", stated.as_str());
            let items = world.deposit(&DepositRequest { kind: stated, ..world.request(path) });
            assert_eq!(items.len(), 1, "{shown}");
            let item = failed(&world, &items);
            assert!(
                world.codes(item.id).contains(&"profile.mismatch".to_owned()),
                "{shown}: {:?}",
                world.problems(item.id)
            );
        }
    }
}

#[test]
fn files_that_cannot_be_had_are_all_told_of_with_their_lines_and_a_requeue_completes_the_deposit() {
    let world = World::new();
    let files: Files<'_> = &[("a.txt", b"alpha"), ("b.txt", b"beta"), ("c.txt", b"gamma"), ("d.txt", b"delta")];
    world.serve(files);
    for lost in ["/b.txt", "/d.txt"] {
        world.web.on(lost, strongroom_web_double::Behaviour::NotFound);
    }
    let items = world.deposit(&world.request(world.write("some.checkm", world.manifest_of(files))));
    let item = failed(&world, &items).clone();
    let found: Vec<_> =
        world.problems(item.id).into_iter().map(|problem| (problem.code, problem.path, problem.line)).collect();
    let expected = |path: &str, line| ("package.not_fetched".to_owned(), Some(path.to_owned()), Some(line));
    assert_eq!(found, [expected("b.txt", 7), expected("d.txt", 9)]);
    for mended in ["/b.txt", "/d.txt"] {
        world.web.mend(mended);
    }
    world.ask(item.id, strongroom_registry::items::Request::Requeue(None));
    let items = world.work(item.batch.expect("a batch"));
    assert_eq!(items[0].status, ItemStatus::Succeeded, "{:?}", items[0].note);
    assert_eq!(world.deposited(&world.object("some"), 1), contents(files));
    assert_eq!(world.problems(item.id), []);
}

#[test]
fn many_files_of_one_manifest_are_kept_in_their_order_and_downloaded_several_at_a_time() {
    let world = World::new();
    let names: Vec<(String, Vec<u8>)> =
        (0..300).map(|number| (format!("{number:03}.bin"), vec![7; 200 * number])).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    world.serve(&files);
    let object = world.ingest(&world.request(world.write("many.checkm", world.manifest_of(&files))));
    assert_eq!(world.deposited(&object, 1), contents(&files));
}

#[test]
fn a_digest_or_size_that_is_stated_for_a_manifest_is_compared() {
    let world = World::new();
    world.serve(FILES);
    let list = world.manifest_of(FILES);
    world.web.put("/letters.checkm", list.clone());
    let url = world.web.url("/letters.checkm");
    let (right, zeros) = (md5(list.as_bytes()), "0".repeat(32));
    for (checksum, size) in [(zeros.as_str(), list.len()), (right.as_str(), 7)] {
        let rows = [format!("{url} | md5 | {checksum} | {size} | | letters.checkm | | | | |")];
        let items = world.deposit(&world.request(world.write("wrong.checkm", manifest(BATCH, &rows))));
        let item = failed(&world, &items);
        assert_eq!(world.codes(item.id), ["package.digest_mismatch"], "{:?}", item.note);
    }
    let rows = [format!("{url} | md5 | {right} | {} | | letters.checkm | | | | |", list.len())];
    let items = world.deposit(&world.request(world.write("right.checkm", manifest(BATCH, &rows))));
    assert!(items.iter().all(|item| item.status == ItemStatus::Succeeded), "{items:#?}");
}

#[test]
fn a_digest_of_a_list_of_files_is_compared_by_every_algorithm() {
    for (name, algorithm) in [("crc32", Algorithm::Crc32), ("Adler-32", Algorithm::Adler32)] {
        let right = digest(b"alpha", algorithm);
        for (stated, expected) in [(right.as_str(), ItemStatus::Succeeded), ("00000000", ItemStatus::Failed)] {
            let world = World::new();
            world.serve(FILES);
            let rows = [format!("{} | {name} | {stated} | | | a.txt | | | | |", world.web.url("/a.txt"))];
            let items = world.deposit(&world.request(world.write("list.checkm", manifest(SINGLE_FILES, &rows))));
            let item = items.last().expect("an item");
            assert_eq!(item.status, expected, "{name} {stated}: {:?}", item.note);
        }
    }
}

/// Deposits that are fetched at the same time from one host, of more files than there are connections.
#[test]
fn deposits_from_one_host_at_the_same_time_do_not_wait_for_each_other() {
    let world = World::with("[workers.\"ingest.fetch\"]\nworkers = 3\n");
    for number in 0..12 {
        world.web.put(&format!("/{number}.bin"), vec![number; 4 << 20]);
    }
    let rows: Vec<String> = (0..12)
        .map(|number| format!("{} | | | {} | | {number}.bin |", world.web.url(&format!("/{number}.bin")), 4 << 20))
        .collect();
    let ids: Vec<ItemId> = (0..3)
        .map(|number| {
            let path = world.write(&format!("list-{number}.checkm"), manifest(OBJECT, &rows));
            world.submit(&world.request(path)).expect("is submitted").items[0]
        })
        .collect();
    world.work_until(&|| ids.iter().all(|id| world.item(*id).status.is_ended()));
    for id in ids {
        assert_eq!(world.item(id).status, ItemStatus::Succeeded, "{:?}", world.item(id).note);
    }
}
