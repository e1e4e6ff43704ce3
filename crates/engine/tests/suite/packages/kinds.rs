//! Every type of package: recognized and stated, from a path and from a URL.

use strongroom_engine::ingest::{DepositKind, DepositRequest, GivenDescription};
use strongroom_registry::{ItemStatus, Layout};

use super::world::{BATCH, CONTAINERS, Files, SINGLE_FILES, World, bzip2, contents, gzip, manifest, tar, zip};

const PHOTOS: Files<'static> = &[("a.txt", b"alpha"), ("folder/b.txt", b"beta"), ("folder/empty", b"")];

/// A package as a file, with what it is and the files of its object.
struct Case {
    name: &'static str,
    kind: DepositKind,
    bytes: Vec<u8>,
    object: &'static str,
    files: Files<'static>,
}

fn single_objects(world: &World) -> Vec<Case> {
    world.serve(PHOTOS);
    let container = |name, bytes| Case { name, kind: DepositKind::Container, bytes, object: "photos", files: PHOTOS };
    vec![
        Case {
            name: "photo.tif",
            kind: DepositKind::File,
            bytes: b"II*\0 and so on".to_vec(),
            object: "photo.tif",
            files: &[("photo.tif", b"II*\0 and so on")],
        },
        container("photos.zip", zip(PHOTOS)),
        container("photos.tar", tar(PHOTOS)),
        container("photos.tar.gz", gzip(&tar(PHOTOS))),
        container("photos.tgz", gzip(&tar(PHOTOS))),
        container("photos.tar.bz2", bzip2(&tar(PHOTOS))),
        Case {
            name: "photos.checkm",
            kind: DepositKind::Manifest,
            bytes: world.manifest_of(PHOTOS).into_bytes(),
            object: "photos",
            files: PHOTOS,
        },
    ]
}

/// Deposits a package and compares the object with what it should be.
fn check(world: &World, request: &DepositRequest, case: &Case) {
    let shown = format!("{} as {}", case.name, request.kind.as_str());
    let items = world.deposit(request);
    let last = items.last().expect("an item");
    assert_eq!(last.status, ItemStatus::Succeeded, "{shown}: {:?}: {:?}", last.note, world.problems(last.id));
    let object = world.object(case.object);
    assert_eq!((object.head, object.description.layout), (1, Layout::Files), "{shown}");
    assert_eq!(world.deposited(&object, 1), contents(case.files), "{shown}");
    let bytes: usize = case.files.iter().map(|(_, bytes)| bytes.len()).sum();
    assert_eq!((object.files, object.bytes), (case.files.len() as u64, bytes as u64), "{shown}");
    let submitted = world.below(&object, 1, "submission/v1/");
    let expected = match case.kind {
        DepositKind::Manifest => [("manifest.checkm".to_owned(), case.bytes.clone())].into(),
        _ => std::collections::BTreeMap::new(),
    };
    assert_eq!(submitted, expected, "{shown}");
    let described = world.below(&object, 1, "metadata/v1/");
    assert!(
        described.contains_key("erc.txt") && described.contains_key("record.jsonl"),
        "{shown}: {:?}",
        described.keys()
    );
    assert!(world.is_nothing_staged(), "{shown}: {:?}", world.home.keys("staging"));
}

#[test]
fn a_folder_is_not_taken_for_a_file_nor_a_file_for_a_folder() {
    let world = World::new();
    let folder = world.folder("letters", PHOTOS);
    let bag = world.folder("bag", &[("bagit.txt", b"")]);
    let refused = |kind, path: &std::path::Path, words: &[&str]| {
        let told = world.submit(&DepositRequest { kind, ..world.request(path) }).expect_err("is refused").chain();
        for word in words.iter().chain(&["package.other_type"]) {
            assert!(told.contains(word), "{kind:?}: {word:?} is not in {told}");
        }
    };
    for kind in [
        DepositKind::File,
        DepositKind::Container,
        DepositKind::Manifest,
        DepositKind::BatchManifest,
        DepositKind::SingleFileBatchManifest,
        DepositKind::ContainerBatchManifest,
    ] {
        refused(kind, &folder, &["is a folder", kind.as_str(), "--type folder"]);
        refused(kind, &bag, &["is a folder", kind.as_str(), "--type bag"]);
    }
    let cases =
        [("a.zip", zip(PHOTOS), "container"), ("a.tar", tar(PHOTOS), "container"), ("a.txt", b"one".to_vec(), "file")];
    for (name, bytes, fitting) in cases {
        refused(DepositKind::Folder, &world.write(name, bytes), &["is a file", &format!("--type {fitting}")]);
    }
    let request = DepositRequest { kind: DepositKind::Folder, ..world.request("/a.zip") };
    let told = world.submit(&request).expect_err("is refused").chain();
    assert!(told.contains("package.other_type") && told.contains("--type container"), "{told}");
    // What is replaced after it was submitted is not taken for what it is now.
    let made = world.submit(&DepositRequest { kind: DepositKind::Folder, ..world.request(folder.clone()) });
    std::fs::remove_dir_all(&folder).expect("removes it");
    std::fs::write(&folder, zip(PHOTOS)).expect("writes");
    let item = world.work(made.expect("is submitted").batch).pop().expect("an item");
    assert_eq!((item.status, item.is_verdict), (ItemStatus::Failed, true), "{:?}", item.note);
    assert_eq!(world.codes(item.id), ["package.other_type"], "{:?}", item.note);
}

#[test]
fn every_package_that_is_one_object_is_recognized_and_can_be_stated_from_a_path() {
    let cases = single_objects(&World::new()).len();
    for number in 0..cases {
        for is_stated in [false, true] {
            let world = World::new();
            let case = single_objects(&world).swap_remove(number);
            let path = world.write(case.name, &case.bytes);
            let kind = if is_stated { case.kind } else { DepositKind::Auto };
            check(&world, &DepositRequest { kind, ..world.request(path) }, &case);
        }
    }
}

#[test]
fn every_package_that_is_one_object_is_recognized_and_can_be_stated_from_a_url() {
    let cases = single_objects(&World::new()).len();
    for number in 0..cases {
        for is_stated in [false, true] {
            let world = World::new();
            let case = single_objects(&world).swap_remove(number);
            world.web.put(&format!("/packages/{}", case.name), &case.bytes);
            let kind = if is_stated { case.kind } else { DepositKind::Auto };
            let request = world.request(format!("/packages/{}", case.name).as_str());
            check(&world, &DepositRequest { kind, ..request }, &case);
        }
    }
}

#[test]
fn a_folder_is_recognized_and_can_be_stated() {
    for kind in [DepositKind::Auto, DepositKind::Folder] {
        let world = World::new();
        let folder = world.folder("photos", PHOTOS);
        let case =
            Case { name: "photos", kind: DepositKind::Folder, bytes: Vec::new(), object: "photos", files: PHOTOS };
        check(&world, &DepositRequest { kind, ..world.request(folder) }, &case);
    }
}

#[test]
fn a_bag_is_recognized_from_a_path_and_from_a_url_also_where_it_is_named_as_a_container() {
    for is_url in [false, true] {
        let world = World::new();
        let bag = world.home.bag("letters", &[("a.txt", b"one")]);
        let request = if is_url {
            world.web.put("/letters.tar", std::fs::read(bag).expect("reads"));
            world.request("/letters.tar")
        } else {
            world.request(bag)
        };
        let object = world.ingest(&request);
        assert_eq!((object.head, object.description.layout), (1, Layout::Bag));
        assert_eq!(world.deposited(&object, 1)["data/a.txt"], b"one");
    }
}

#[test]
fn the_digest_that_is_stated_of_a_package_is_compared_wherever_it_comes_from() {
    use strongroom_digest::Algorithm::Sha256;
    let right = |bytes: &[u8]| super::world::digest(bytes, Sha256).to_uppercase().parse().expect("hexadecimal digits");
    let wrong = right(b"something else");
    let cases = single_objects(&World::new()).len();
    for number in 0..cases {
        for is_url in [false, true] {
            let world = World::new();
            let case = single_objects(&world).swap_remove(number);
            let request = if is_url {
                world.web.put(&format!("/packages/{}", case.name), &case.bytes);
                world.request(format!("/packages/{}", case.name).as_str())
            } else {
                world.request(world.write(case.name, &case.bytes))
            };
            let items = world.deposit(&DepositRequest { digest: Some((Sha256, wrong)), ..request.clone() });
            assert!(
                items.iter().any(|item| item.status == ItemStatus::Failed
                    && item.note.as_deref().is_some_and(|note| note.contains("sha256:"))),
                "{} from a URL: {is_url}: {items:?}",
                case.name
            );
            let failed = items.iter().find(|item| item.status == ItemStatus::Failed).expect("one that failed");
            assert_eq!(world.codes(failed.id), ["package.digest_mismatch"], "{} from a URL: {is_url}", case.name);
            assert!(failed.is_verdict, "{}: it cannot be requeued", case.name);
            assert_eq!(world.objects(), Vec::<String>::new(), "{}", case.name);
            let digest = Some((Sha256, right(&case.bytes)));
            check(&world, &DepositRequest { digest, ..request }, &case);
        }
    }
}

const ONE: Files<'static> = &[("1.tif", b"one")];
const TWO: Files<'static> = &[("2.tif", b"two")];
const THREE: Files<'static> = &[("3.tif", b"three")];

/// A list, what it is, and the objects that it makes with their files.
type List = (&'static str, DepositKind, String, [(&'static str, Files<'static>); 3]);

/// A manifest whose rows become three objects: its name, its text, and the files of each object by its title.
fn lists(world: &World) -> [List; 3] {
    let url = |path: &str| world.web.url(path);
    world.serve(&[("1.tif", b"one"), ("2.tif", b"two"), ("3.tif", b"three")]);
    let row = |file: &str, title: &str| {
        format!("{} | | | | | {file} | | | A creator of {title} | {title} | 1999", url(&format!("/{file}")))
    };
    let files = [("1.tif", "One"), ("2.tif", "Two"), ("3.tif", "Three")].map(|(file, title)| row(file, title));
    for (name, files) in [("1", ONE), ("2", TWO), ("3", THREE)] {
        world.web.put(&format!("/{name}.zip"), zip(files));
        world.web.put(&format!("/{name}.checkm"), world.manifest_of(files));
    }
    let of = |ending: &str| {
        [("1", "One"), ("2", "Two"), ("3", "Three")].map(|(name, title)| row(&format!("{name}.{ending}"), title))
    };
    let objects = [("One", ONE), ("Two", TWO), ("Three", THREE)];
    [
        ("files.checkm", DepositKind::SingleFileBatchManifest, manifest(SINGLE_FILES, &files), objects),
        ("containers.checkm", DepositKind::ContainerBatchManifest, manifest(CONTAINERS, &of("zip")), objects),
        ("manifests.checkm", DepositKind::BatchManifest, manifest(BATCH, &of("checkm")), objects),
    ]
}

#[test]
fn a_list_of_three_makes_three_objects_with_what_it_says_of_each() {
    for number in 0..3 {
        for (is_url, is_stated) in [(false, false), (false, true), (true, false), (true, true)] {
            let world = World::new();
            let (name, kind, text, objects) = lists(&world).into_iter().nth(number).expect("a list");
            let request = if is_url {
                world.web.put(&format!("/lists/{name}"), &text);
                world.request(format!("/lists/{name}").as_str())
            } else {
                world.request(world.write(name, &text))
            };
            let kind = if is_stated { kind } else { DepositKind::Auto };
            let items = world.deposit(&DepositRequest { kind, ..request });
            let shown = format!("{name} from a URL: {is_url}, stated: {is_stated}");
            assert_eq!(items.len(), 4, "{shown}: {items:#?}");
            assert!(items.iter().all(|item| item.status == ItemStatus::Succeeded), "{shown}: {items:#?}");
            assert_eq!(world.objects().len(), 3, "{shown}");
            for object in crate::rebuild::all_objects(&world.home) {
                let said = &object.description;
                let title = said.title.as_deref().expect("a title");
                let (_, files) = objects.iter().find(|(known, _)| *known == title).expect("a row");
                assert_eq!(said.creator, Some(format!("A creator of {title}")), "{shown}");
                assert_eq!(said.date.as_deref(), Some("1999"), "{shown}");
                assert_eq!(world.deposited(&object, 1), contents(files), "{shown}");
            }
        }
    }
}

#[test]
fn what_a_person_says_of_the_object_describes_it() {
    let world = World::new();
    let description = GivenDescription {
        title: Some("A photograph".into()),
        creator: Some("Ada".into()),
        date: Some("1843".into()),
        access: Some("restricted".into()),
        metadata: None,
    };
    let request = DepositRequest { description, ..world.request(world.write("photo.tif", "II*\0")) };
    let object = world.ingest(&request);
    let said = &object.description;
    assert_eq!(
        [&said.title, &said.creator, &said.date, &said.access].map(|text| text.as_deref()),
        [Some("A photograph"), Some("Ada"), Some("1843"), Some("restricted")]
    );
    let erc = String::from_utf8(world.below(&object, 1, "metadata/v1/")["erc.txt"].clone()).expect("UTF-8");
    for line in ["who: Ada", "what: A photograph", "when: 1843"] {
        assert!(erc.contains(line), "{erc}");
    }
    // What the next deposit does not say stays; what it says anew makes a version, also with the same bytes.
    let description = GivenDescription { title: Some("A better title".into()), ..GivenDescription::default() };
    let object = world.ingest(&DepositRequest { description, ..world.request(world.path("photo.tif")) });
    assert_eq!(object.head, 2);
    assert_eq!(object.description.title.as_deref(), Some("A better title"));
    assert_eq!(object.description.creator.as_deref(), Some("Ada"));
}

#[test]
fn a_file_that_is_named_as_an_archive_and_is_none_is_refused_and_not_kept_as_a_file() {
    let world = World::new();
    let items = world.deposit(&world.request(world.write("photos.zip", "no archive")));
    assert_eq!(items[0].status, ItemStatus::Failed, "{:?}", items[0].note);
    assert_eq!(world.objects(), Vec::<String>::new());
    // Who says that it is a file gets what was asked for.
    let object = world.ingest(&DepositRequest { kind: DepositKind::File, ..world.request(world.path("photos.zip")) });
    assert_eq!(world.deposited(&object, 1), contents(&[("photos.zip", b"no archive")]));
}
