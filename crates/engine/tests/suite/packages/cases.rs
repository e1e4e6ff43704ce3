//! The cases that Merritt's ingest is tested with from outside (`ServiceDriverIT` of `mrt-ingest`), as far as they are about packages
//! and identifiers: each test names its case. Where Strongroom differs on purpose, the comment says how.

use strongroom_engine::app::collections::Rules;
use strongroom_engine::app::items::Ask;
use strongroom_engine::app::{self, Caller, OpContext};
use strongroom_engine::ingest::{DepositKind, DepositRequest};
use strongroom_ezid_double::{EzidDouble, PASSWORD, USER};
use strongroom_registry::items::{Item, Request};
use strongroom_registry::objects::Object;
use strongroom_registry::{BatchId, BatchState, ItemStatus, Stage};
use strongroom_web_double::Behaviour;

use super::space::pause;
use super::world::{BATCH, CONTAINERS, Files, OBJECT, SINGLE_FILES, World, contents, manifest, md5, zip};
use crate::fixture::{Engine, INSTITUTION, on_both_databases};
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
    the_queue_locked_while_a_batch_is_submitted
    a_collection_locked_and_unlocked
    a_batch_held_while_its_jobs_run
    a_failed_job_requeued_while_its_collection_is_locked
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

fn call(world: &World) -> OpContext {
    OpContext::new(world.home.home.clone(), Caller::at_console("ann"))
}

fn state_of(world: &World, batch: BatchId) -> BatchState {
    app::batches::show(&call(world), batch).expect("is shown").state
}

fn batch_of_three(world: &World) -> String {
    let row = |number: usize| {
        world.web.put(&format!("/{number}.txt"), format!("file {number}"));
        format!("{} | | | | | {number}.txt | | | | |", world.web.url(&format!("/{number}.txt")))
    };
    manifest(SINGLE_FILES, &(1..=3).map(row).collect::<Vec<_>>())
}

/// A deposit of three files into a collection of its own.
fn into_photos(world: &World) -> DepositRequest {
    let rules = Rules { name: Some("Photos".into()), ..Rules::default() };
    app::collections::add(&call(world), INSTITUTION, "photos", rules).expect("adds");
    let path = world.write("list.checkm", batch_of_three(world));
    DepositRequest { collection: Some("photos".into()), ..world.request(path) }
}

fn all_have(world: &World, batch: BatchId, status: ItemStatus) -> bool {
    world.items(batch).iter().filter(|item| item.action.as_str() == "ingest").all(|item| item.status == status)
}

/// Case "ingest queue locked: submission still accepted, batch stays Pending with 0 jobs, runs after unlock".
fn the_queue_locked_while_a_batch_is_submitted(engine: Engine) {
    let Some(world) = world(engine) else { return };
    pause(&world, "batch.expand", true);
    let path = world.write("list.checkm", batch_of_three(&world));
    let batch = world.submit(&world.request(path)).expect("is accepted").batch;
    let shown = app::batches::show(&call(&world), batch).expect("is shown");
    assert_eq!((shown.state, shown.rows, shown.items), (BatchState::Pending, None, 1), "the item of the list alone");
    pause(&world, "batch.expand", false);
    let items = world.work(batch);
    assert!(items.iter().all(|item| item.status == ItemStatus::Succeeded), "{items:#?}");
    let shown = app::batches::show(&call(&world), batch).expect("is shown");
    assert_eq!((shown.state, shown.rows, shown.items), (BatchState::Completed, Some(3), 3));
}

/// Case "collection lock: job Held, admin Pending, done". The hold is on the collection, and lifting it lets all of its jobs go on.
fn a_collection_locked_and_unlocked(engine: Engine) {
    let Some(world) = world(engine) else { return };
    let request = into_photos(&world);
    let held = app::collections::hold(&call(&world), INSTITUTION, "photos", Some("rights")).expect("holds");
    assert_eq!((held.held, held.holds.len()), (true, 1));
    assert_eq!((held.holds[0].by.as_str(), held.holds[0].reason.as_deref()), ("ann", Some("rights")));
    let refused = app::collections::hold(&call(&world), INSTITUTION, "photos", None);
    assert!(refused.is_err(), "it is on hold already");
    let batch = world.submit(&request).expect("is accepted").batch;
    let items = world.work(batch);
    assert_eq!(items.iter().map(|item| item.status).collect::<Vec<_>>(), [ItemStatus::Held]);
    assert_eq!(state_of(&world, batch), BatchState::Held);
    // An item has no hold of its own, so that nobody lets it go on by itself.
    let refused = app::items::steer(&call(&world), &[items[0].id], Ask::Release, None).expect_err("is refused");
    assert!(refused.to_string().contains(&format!("{INSTITUTION}/photos")), "{refused}");
    app::collections::release(&call(&world), INSTITUTION, "photos").expect("releases");
    assert_eq!(state_of(&world, batch), BatchState::Pending);
    world.work(batch);
    assert!(all_have(&world, batch, ItemStatus::Succeeded));
    assert_eq!(state_of(&world, batch), BatchState::Completed);
}

/// Cases "hold before/while batch" and "release while still held" of Merritt's test plan.
fn a_batch_held_while_its_jobs_run(engine: Engine) {
    let Some(world) = world(engine) else { return };
    let request = into_photos(&world);
    pause(&world, "ingest.fetch", true);
    let batch = world.submit(&request).expect("is accepted").batch;
    let at_fetch = |item: &Item| item.action.as_str() != "ingest" || item.stage == Stage::named("fetch");
    world.work_until(&|| world.items(batch).len() == 4 && world.items(batch).iter().all(at_fetch));
    app::batches::steer(&call(&world), batch, Ask::Hold, Some("wrong")).expect("holds");
    app::collections::hold(&call(&world), INSTITUTION, "photos", None).expect("holds");
    assert!(all_have(&world, batch, ItemStatus::Held));
    pause(&world, "ingest.fetch", false);
    let shown = app::batches::steer(&call(&world), batch, Ask::Release, None).expect("releases");
    assert_eq!((shown.state, shown.holds.len()), (BatchState::Held, 1), "the collection still holds it");
    assert!(app::batches::steer(&call(&world), batch, Ask::Release, None).is_err());
    assert!(all_have(&world, batch, ItemStatus::Held));
    app::collections::release(&call(&world), INSTITUTION, "photos").expect("releases");
    let items = world.items(batch);
    let stages: Vec<Stage> =
        items.iter().filter(|item| item.action.as_str() == "ingest").map(|item| item.stage).collect();
    assert_eq!(stages, [Stage::named("fetch"); 3], "they continue where they stood");
    world.work(batch);
    assert_eq!(state_of(&world, batch), BatchState::Completed);
}

/// Case "requeue" together with "collection lock": the requeued job obeys the lock, and its batch is open again.
fn a_failed_job_requeued_while_its_collection_is_locked(engine: Engine) {
    let Some(world) = world(engine) else { return };
    let request = into_photos(&world);
    world.web.on("/2.txt", Behaviour::NotFound);
    let items = world.deposit(&request);
    let batch = items[0].batch.expect("a batch");
    let failed = items.iter().find(|item| item.status == ItemStatus::Failed).expect("one failed").id;
    assert_eq!(state_of(&world, batch), BatchState::Failed);
    app::collections::hold(&call(&world), INSTITUTION, "photos", None).expect("holds");
    world.web.mend("/2.txt");
    let requeued = app::items::steer(&call(&world), &[failed], Ask::Requeue(None), None).expect("requeues");
    assert_eq!((requeued[0].status, requeued[0].requeues), (ItemStatus::Held, 1));
    assert_eq!(state_of(&world, batch), BatchState::Held, "it is open again");
    app::collections::release(&call(&world), INSTITUTION, "photos").expect("releases");
    world.work(batch);
    assert_eq!(state_of(&world, batch), BatchState::Completed);
}
