//! The cases that Merritt's ingest is tested with from outside (`ServiceDriverIT` of `mrt-ingest`), as far as they are about packages
//! and identifiers: each test names its case. Where Strongroom differs on purpose, the comment says how.

use strongroom_engine::ingest::{DepositKind, DepositRequest};
use strongroom_ezid_double::{EzidDouble, PASSWORD, USER};
use strongroom_registry::items::Request;
use strongroom_registry::objects::Object;
use strongroom_registry::{ItemStatus, Stage};
use strongroom_web_double::Behaviour;

use super::world::{BATCH, CONTAINERS, Files, OBJECT, SINGLE_FILES, World, contents, manifest, md5, zip};
use crate::fixture::{Engine, on_both_databases};
use crate::rebuild::all_objects;

on_both_databases! {
    a_single_file
    an_object_manifest
    a_batch_of_manifests
    a_batch_of_files
    a_batch_of_containers
    a_zip
    a_manifest_whose_url_is_not_there_and_is_again
    the_system_files_and_the_minted_ark
    local_ids_that_are_given_several_times
    local_ids_of_an_erc_in_a_zip
    local_ids_of_the_rows_of_a_batch
    a_digest_in_capital_letters
    a_primary_identifier_that_is_an_ark
    an_update_by_ark
}

const FILES: Files<'static> = &[("a.txt", b"alpha"), ("folder/b.txt", b"beta")];

fn world(engine: Engine) -> Option<World> {
    World::in_database(engine, super::world::ONE_ATTEMPT)
}

fn local(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|&id| id.to_owned()).collect()
}

/// Case "single file by POST": one job, one object with the one file.
fn a_single_file(engine: Engine) {
    let Some(world) = world(engine) else { return };
    let request = DepositRequest { kind: DepositKind::File, ..world.request(world.write("a.txt", "alpha")) };
    let object = world.ingest(&request);
    assert_eq!(world.deposited(&object, 1), contents(&FILES[..1]));
}

/// Case "object manifest": one job, one object of the files that the manifest names.
fn an_object_manifest(engine: Engine) {
    let Some(world) = world(engine) else { return };
    world.serve(FILES);
    let path = world.write("some.checkm", world.manifest_of(FILES));
    let object = world.ingest(&DepositRequest { kind: DepositKind::Manifest, ..world.request(path) });
    assert_eq!(world.deposited(&object, 1), contents(FILES));
}

/// Deposits a list with three rows, and compares the three objects.
fn check_batch(world: &World, kind: DepositKind, profile: &str, rows: [(&str, Vec<u8>, Files<'_>); 3]) {
    let lines = rows.each_ref().map(|(name, bytes, _)| {
        world.web.put(&format!("/{name}"), bytes);
        format!("{} | md5 | {} | | | {name} | | | | On {name} |", world.web.url(&format!("/{name}")), md5(bytes))
    });
    let path = world.write("list.checkm", manifest(profile, &lines));
    let items = world.deposit(&DepositRequest { kind, ..world.request(path) });
    assert!(items.iter().all(|item| item.status == ItemStatus::Succeeded), "{items:#?}");
    assert_eq!(items.iter().filter(|item| item.action.as_str() == "ingest").count(), 3, "{items:#?}");
    let objects = all_objects(&world.home);
    assert_eq!(objects.len(), 3);
    for (name, _, files) in rows {
        let title = format!("On {name}");
        let of_row = |object: &&Object| object.description.title.as_ref() == Some(&title);
        let object = objects.iter().find(of_row).expect("an object for each row");
        assert_eq!(world.deposited(object, 1), contents(files), "{name}");
    }
}

/// Case "batch of manifests": three jobs.
fn a_batch_of_manifests(engine: Engine) {
    let Some(world) = world(engine) else { return };
    world.serve(FILES);
    let of = |files: Files<'_>| world.manifest_of(files).into_bytes();
    let (all, first, second) = (of(FILES), of(&FILES[..1]), of(&FILES[1..]));
    let rows = [("1.checkm", all, FILES), ("2.checkm", first, &FILES[..1]), ("3.checkm", second, &FILES[1..])];
    check_batch(&world, DepositKind::BatchManifest, BATCH, rows);
}

/// Case "batch of files".
fn a_batch_of_files(engine: Engine) {
    let Some(world) = world(engine) else { return };
    let rows: [(&str, Vec<u8>, Files<'_>); 3] = [
        ("1.tif", b"one".to_vec(), &[("1.tif", b"one")]),
        ("2.tif", b"two".to_vec(), &[("2.tif", b"two")]),
        ("3.tif", b"three".to_vec(), &[("3.tif", b"three")]),
    ];
    check_batch(&world, DepositKind::SingleFileBatchManifest, SINGLE_FILES, rows);
}

/// Case "batch of containers".
fn a_batch_of_containers(engine: Engine) {
    let Some(world) = world(engine) else { return };
    let rows = [
        ("1.zip", zip(FILES), FILES),
        ("2.zip", zip(&FILES[..1]), &FILES[..1]),
        ("3.zip", zip(&FILES[1..]), &FILES[1..]),
    ];
    check_batch(&world, DepositKind::ContainerBatchManifest, CONTAINERS, rows);
}

/// Case "zip".
fn a_zip(engine: Engine) {
    let Some(world) = world(engine) else { return };
    let path = world.write("some.zip", zip(FILES));
    let object = world.ingest(&DepositRequest { kind: DepositKind::Container, ..world.request(path) });
    assert_eq!(world.deposited(&object, 1), contents(FILES));
}

/// Case "manifest whose URL 404s, job Failed, mock re-enabled, requeue to Estimating, Completed".
fn a_manifest_whose_url_is_not_there_and_is_again(engine: Engine) {
    let Some(world) = world(engine) else { return };
    world.serve(FILES);
    world.web.put("/some.checkm", world.manifest_of(FILES));
    world.web.on("/some.checkm", Behaviour::NotFound);
    let request = DepositRequest { kind: DepositKind::Manifest, ..world.request("/some.checkm") };
    let item = world.deposit(&request).remove(0);
    assert_eq!(item.status, ItemStatus::Failed, "{:?}", item.note);
    world.web.mend("/some.checkm");
    // It failed at `receive`, which is before that stage: a deposit is requeued where it stopped, or before.
    let stage = if item.stage == Stage::named("receive") { "receive" } else { "estimate" };
    world.ask(item.id, Request::Requeue(Some(Stage::named(stage))));
    let item = world.work(item.batch.expect("a batch")).remove(0);
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    assert_eq!(world.deposited(&world.object("some"), 1), contents(FILES));
    // The same where what the manifest names is not there.
    world.web.on("/a.txt", Behaviour::NotFound);
    let item = world.deposit(&world.request(world.write("other.checkm", world.manifest_of(FILES)))).remove(0);
    assert_eq!((item.status, item.stage), (ItemStatus::Failed, Stage::named("fetch")), "{:?}", item.note);
    world.web.mend("/a.txt");
    world.ask(item.id, Request::Requeue(Some(Stage::named("estimate"))));
    let item = world.work(item.batch.expect("a batch")).remove(0);
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
}

/// Case "after completion exactly 7 system files, `where-primary` = minted ark". What Merritt keeps in seven files, Strongroom has in the
/// description as ERC and the record of the version, and as Dublin Core where there is more to say. A manifest that was sent is beside them.
fn the_system_files_and_the_minted_ark(engine: Engine) {
    let double = EzidDouble::start().expect("a server");
    let settings = format!(
        "[identifiers]\nminter = \"ezid\"\nnaan = \"99999\"\nshoulder = \"fk4\"\ntarget = \"https://archive.example.edu/\"\n\
         ezid_url = \"{}\"\nezid_user = \"{USER}\"\nezid_password = \"{PASSWORD}\"\n",
        double.url()
    );
    let Some(world) = World::in_database(engine, &settings) else { return };
    world.serve(FILES);
    let object = world.ingest(&world.request(world.write("some.checkm", world.manifest_of(FILES))));
    let described = world.below(&object, 1, "metadata/v1/");
    assert_eq!(described.keys().collect::<Vec<_>>(), ["erc.txt", "record.jsonl"]);
    let submitted = world.below(&object, 1, "submission/v1/");
    assert_eq!(submitted.keys().collect::<Vec<_>>(), ["manifest.checkm"]);
    assert_eq!(world.files(&object, 1, "").len(), FILES.len() + 3, "and nothing else");
    let ark = object.ark.expect("an ARK");
    assert_eq!(double.identifiers().into_keys().collect::<Vec<_>>(), std::slice::from_ref(&ark));
    let erc = String::from_utf8(described["erc.txt"].clone()).expect("UTF-8");
    let first = erc.lines().find_map(|line| line.strip_prefix("where: "));
    assert_eq!(first, Some(ark.as_str()));
}

/// Case "form localid `a;a;…;b` becomes `a;b`".
fn local_ids_that_are_given_several_times(engine: Engine) {
    let Some(world) = world(engine) else { return };
    let ids = local(&["a;a; a;;a;b"]);
    let object = world.ingest(&DepositRequest { local_ids: ids, ..world.request(world.write("a.txt", "alpha")) });
    assert_eq!(object.description.local_ids, ["a", "b"]);
}

/// Case "ERC-in-zip local ids appended after the form's (`localidfour;localidfive;localid;localidtwo;localidthree`, primary
/// `ark:/99999/dummy`)".
fn local_ids_of_an_erc_in_a_zip(engine: Engine) {
    let Some(world) = world(engine) else { return };
    let erc = "erc:\nwho: Ada\nwhat: Notes\nwhen: 1843\nwhere: ark:/99999/dummy\nwhere: localid;localidtwo\nwhere: localidthree\n";
    let path = world.write("notes.zip", zip(&[("mrt-erc.txt", erc.as_bytes()), ("a.txt", b"one")]));
    let ids = local(&["localidfour;localidfive"]);
    let object = world.ingest(&DepositRequest { local_ids: ids, ..world.request(path) });
    assert_eq!(object.ark.as_deref(), Some("ark:/99999/dummy"));
    let erc = String::from_utf8(world.below(&object, 1, "metadata/v1/")["erc.txt"].clone()).expect("UTF-8");
    let wheres: Vec<&str> = erc.lines().filter_map(|line| line.strip_prefix("where: ")).collect();
    let expected = ["ark:/99999/dummy", "localidfour", "localidfive", "localid", "localidtwo", "localidthree"];
    assert_eq!(wheres, expected);
}

/// Case "batch rows' own local ids win over form's". Here a request for a list that names identifiers is refused: they would be those of
/// one object. So the rows' own count in any case.
fn local_ids_of_the_rows_of_a_batch(engine: Engine) {
    let Some(world) = world(engine) else { return };
    world.serve(FILES);
    let row = |id: &str| format!("{} | | | | | a.txt | | {id} | | |", world.web.url("/a.txt"));
    let path = world.write("list.checkm", manifest(SINGLE_FILES, &[row("x;y"), row("z")]));
    let request = DepositRequest { kind: DepositKind::SingleFileBatchManifest, ..world.request(path) };
    let refused = world.submit(&DepositRequest { local_ids: local(&["of the form"]), ..request.clone() });
    let text = refused.expect_err("identifiers belong to one object").to_string();
    assert!(text.contains("each row"), "{text}");
    let items = world.deposit(&request);
    assert!(items.iter().all(|item| item.status == ItemStatus::Succeeded), "{items:#?}");
    let mut ids: Vec<Vec<String>> =
        all_objects(&world.home).into_iter().map(|object| object.description.local_ids).collect();
    ids.sort();
    assert_eq!(ids, [local(&["x", "y"]), local(&["z"])]);
}

/// Case "upper-case digest text accepted".
fn a_digest_in_capital_letters(engine: Engine) {
    let Some(world) = world(engine) else { return };
    world.serve(FILES);
    let digest = md5(b"alpha").to_uppercase();
    let rows = [format!("{} | MD5 | {digest} | 5 | | a.txt |", world.web.url("/a.txt"))];
    let object = world.ingest(&world.request(world.write("some.checkm", manifest(OBJECT, &rows))));
    assert_eq!(world.deposited(&object, 1), contents(&FILES[..1]));
}

const ARK: &str = "ark:/11111/2222";

/// Case "POST to `…/submit/ark/1111/2222` sets primary `ark/1111/2222`".
fn a_primary_identifier_that_is_an_ark(engine: Engine) {
    let Some(world) = world(engine) else { return };
    let request = DepositRequest { primary_id: Some(ARK.into()), ..world.request(world.write("a.txt", "alpha")) };
    let object = world.ingest(&request);
    assert_eq!(object.ark.as_deref(), Some(ARK));
    let erc = String::from_utf8(world.below(&object, 1, "metadata/v1/")["erc.txt"].clone()).expect("UTF-8");
    assert!(erc.contains(&format!("where: {ARK}")), "{erc}");
}

/// Cases "update with ark in URL and with `primaryIdentifier` field": in either way the ARK says of which object it is a version, and an
/// update keeps the files of the version before.
fn an_update_by_ark(engine: Engine) {
    let Some(world) = world(engine) else { return };
    let of = |folder: &str, files: Files<'_>| DepositRequest {
        primary_id: Some(ARK.into()),
        ..world.request(world.folder(folder, files))
    };
    let first = world.ingest(&of("first", &FILES[..1]));
    let update = DepositRequest {
        update: true,
        mode: Some(strongroom_engine::ingest::DepositMode::Merge),
        ..of("second", &FILES[1..])
    };
    let second = world.ingest(&update);
    assert_eq!((second.id, second.head, second.ark.as_deref()), (first.id, 2, Some(ARK)));
    assert_eq!(world.deposited(&second, 2), contents(FILES));
    // There must be something to update.
    let unknown = DepositRequest { primary_id: Some("ark:/11111/3333".into()), ..update };
    let item = world.deposit(&unknown).remove(0);
    assert_eq!(item.status, ItemStatus::Failed, "{:?}", item.note);
}
