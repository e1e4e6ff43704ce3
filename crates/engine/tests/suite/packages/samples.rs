//! The sample deposit that Merritt published, where it is at hand: every type of submission, with the URLs rewritten to the server of
//! the test.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use strongroom_engine::ingest::{DepositKind, DepositRequest};
use strongroom_registry::ItemStatus;
use strongroom_registry::objects::Object;

use super::world::{World, md5};

/// Where the files of the sample are at in its manifests.
const PUBLISHED: &str = "https://raw.githubusercontent.com/CDLUC3/mrt-doc/main/sampleFiles/";

fn folder() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures/checkm/sample-files");
    if path.is_dir() {
        return Some(path);
    }
    println!("SKIPPED: checkm is not at hand in the folder of fixtures beside the project");
    None
}

/// A world whose server has the sample at `/sample/`.
fn world(folder: &Path) -> World {
    let world = World::new();
    for entry in std::fs::read_dir(folder).expect("lists") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let mut bytes = std::fs::read(&path).expect("reads");
        if name.ends_with(".checkm") {
            let text = String::from_utf8(bytes).expect("UTF-8");
            bytes = text.replace(PUBLISHED, &world.web.url("/sample/")).into_bytes();
        }
        world.web.put(&format!("/sample/{name}"), &bytes);
        world.write(&name, &bytes);
    }
    world
}

/// Deposits a file of the sample, from a path or a URL.
fn deposit(world: &World, name: &str, kind: DepositKind, is_url: bool) {
    let request =
        if is_url { world.request(format!("/sample/{name}").as_str()) } else { world.request(world.path(name)) };
    let items = world.deposit(&DepositRequest { kind, ..request });
    assert!(items.iter().all(|item| item.status == ItemStatus::Succeeded), "{name}: {items:#?}");
}

/// The MD5 and the size of each file of an object.
fn kept(world: &World, object: &Object) -> BTreeMap<String, (String, usize)> {
    let files = world.deposited(object, object.head).into_iter();
    files.map(|(path, bytes)| (path, (md5(&bytes), bytes.len()))).collect()
}

fn known<const N: usize>(files: [(&str, &str, usize); N]) -> BTreeMap<String, (String, usize)> {
    files.map(|(path, md5, size)| (path.to_owned(), (md5.to_owned(), size))).into()
}

#[test]
fn the_sample_of_every_type_goes_through_with_the_digests_and_descriptions_of_its_manifests() {
    let Some(folder) = folder() else { return };
    for is_url in [false, true] {
        for is_stated in [false, true] {
            let world = world(&folder);
            let kind = |kind| if is_stated { kind } else { DepositKind::Auto };

            deposit(&world, "tumbleBug.jpg", kind(DepositKind::File), is_url);
            let object = world.object("tumbleBug.jpg");
            assert_eq!(kept(&world, &object)["tumbleBug.jpg"].0, "61224ef4f2a8dad552ff57980ed0bf49");

            for archive in ["brain_v1.zip", "brain_v2.tar.gz", "jazzbears.zip"] {
                deposit(&world, archive, kind(DepositKind::Container), is_url);
            }
            let paths: Vec<String> = kept(&world, &world.object("brain_v1")).into_keys().collect();
            assert_eq!(paths, ["brain_398.tif", "brain_492.tif", "brain_508.tif", "brain_604.tif"]);
            assert_eq!(world.object("brain_v2").head, 1);
            let bears = crate::rebuild::all_objects(&world.home)
                .into_iter()
                .find(|object| kept(&world, object).contains_key("3a01559u.tif"))
                .expect("the bears");
            assert!(bears.description.title.is_some() && bears.description.creator.is_some(), "{bears:?}");

            deposit(&world, "call911.checkm", kind(DepositKind::Manifest), is_url);
            let expected = known([
                ("call911.jpg", "47d321056e60944a06973793c7b5841e", 87_112),
                ("call911.txt", "77fe42b1055bbabe5164822823218f0a", 46),
            ]);
            assert_eq!(kept(&world, &world.object("call911")), expected);

            let before = world.objects().len();
            deposit(&world, "sampleBatchOfFiles.checkm", kind(DepositKind::SingleFileBatchManifest), is_url);
            deposit(&world, "sampleBatchOfContainers.checkm", kind(DepositKind::ContainerBatchManifest), is_url);
            deposit(&world, "sampleBatchOfManifests.checkm", kind(DepositKind::BatchManifest), is_url);
            assert_eq!(world.objects().len(), before + 9);
            for (title, creator, date, files) in [
                ("Golden Dragon Restaurant Sign", Some("Tracy Seneca"), Some("2009-09-01"), 1),
                ("General Drapery", None, None, 1),
                ("Husky Chicken", Some("Tracy Seneca"), Some("2009-09-01"), 3),
                ("The Outdoor Store, Portland OR", None, None, 8),
                ("Motel Capri - manifest style", Some("Tracy Seneca"), Some("2009-09-01T00:00:00"), 2),
                ("bigHunt", Some("Tracy Seneca"), Some("2009-09-01"), 3),
            ] {
                let all = crate::rebuild::all_objects(&world.home);
                let object = all
                    .iter()
                    .find(|object| object.description.title.as_deref().is_some_and(|known| known.starts_with(title)))
                    .unwrap_or_else(|| panic!("{title}: {all:#?}"));
                let said = &object.description;
                assert_eq!((said.creator.as_deref(), said.date.as_deref()), (creator, date), "{title}");
                assert_eq!(object.files, files, "{title}");
            }
        }
    }
}

#[test]
fn the_second_version_of_the_sample_adds_what_is_new() {
    let Some(folder) = folder() else { return };
    let world = world(&folder);
    for name in ["brain_v1.zip", "brain_v2.zip"] {
        let request = DepositRequest { local_ids: vec!["brain".into()], ..world.request(world.path(name)) };
        world.ingest(&request);
    }
    let object = world.object("brain");
    assert_eq!((object.head, object.files), (2, 5));
    let new: Vec<String> = world
        .files(&object, 2, "deposit/")
        .into_iter()
        .filter(|file| file.stored_in == 2)
        .map(|file| file.path)
        .collect();
    assert_eq!(new, ["deposit/brain.tif"]);
}
