//! Formats found with other signature files than those in use.

use strongroom_registry::identification::{self, NewFormat};
use strongroom_registry::versions::{self, NewEntry, Version};
use strongroom_registry::work::Claim;
use strongroom_registry::{FileId, Format, Scope, Stage, objects};

use super::world::*;

const OLD: &str = "DROID_SignatureFile_V1";
const NEW: &str = "DROID_SignatureFile_V2";

fn format(puid: &str, signatures: Option<&str>) -> Format {
    Format { puid: Some(puid.into()), signatures: signatures.map(str::to_owned), ..Format::default() }
}

/// Puts files of these paths, all with the same bytes.
fn put(world: &World<'_>, claim: &Claim, version: &Version, files: &[(&'static str, Format)]) -> Vec<FileId> {
    let ids: Vec<FileId> = files.iter().map(|_| FileId::new()).collect();
    let (claim, version, files, given) = (claim.clone(), version.clone(), files.to_vec(), ids.clone());
    let content = new_content(b"a");
    world.write(move |tx| {
        let content = versions::put_content(tx, &version, &content)?;
        let entries: Vec<NewEntry> = files
            .iter()
            .zip(&given)
            .map(|((path, format), file)| NewEntry {
                file: *file,
                path: (*path).to_owned(),
                modified: None,
                content,
                format: format.clone(),
            })
            .collect();
        versions::put_entries(tx, &claim, &version, &entries)
    });
    ids
}

/// A version with a file of older signatures, one of the newer, one that nobody tried, and a record of ours.
fn prepared(world: &World<'_>) -> (Claim, Version, Vec<FileId>) {
    let object = world.object("bag");
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let version = world.prepare(&claim, &object);
    let files = [
        ("deposit/data/old", format("fmt/1", Some(OLD))),
        ("deposit/data/new", format("fmt/2", Some(NEW))),
        ("metadata/v1/record.jsonl", Format::default()),
        ("submission/v1/untried", Format::default()),
    ];
    let ids = put(world, &claim, &version, &files);
    (claim, version, ids)
}

fn behind(world: &World<'_>, version: &Version, after: Option<(u64, FileId)>, limit: usize) -> Vec<(String, FileId)> {
    let found = world.read(|tx| identification::files_behind(tx, version.object, NEW, after, limit));
    found.into_iter().map(|file| (file.path, file.file)).collect()
}

pub(crate) fn files_of_other_signatures_are_behind_until_they_are_identified_anew(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, version, files) = prepared(&world);
    world.commit(&claim, &version);
    world.publish(&claim, &["primary"]);
    let expected = [("deposit/data/old".to_owned(), files[0]), ("submission/v1/untried".to_owned(), files[3])];
    let mut found = behind(&world, &version, None, 10);
    let first = behind(&world, &version, None, 1);
    assert_eq!(first, found[..1], "in pages too");
    assert_eq!(behind(&world, &version, Some((1, first[0].1)), 10), found[1..]);
    found.sort();
    assert_eq!(found, expected);
    assert_eq!(world.read(|tx| identification::amount_behind(tx, version.object, NEW)), (2, 2));
    let listed = world.read(|tx| identification::objects_behind(tx, Scope::System, NEW, None, 10));
    assert_eq!(listed.iter().map(|one| one.object).collect::<Vec<_>>(), [version.object]);

    let anew = [files[0], files[3]].map(|file| NewFormat { version: 1, file, format: format("fmt/9", Some(NEW)) });
    let (object, generation) = (version.object, version.generation);
    world.write(move |tx| identification::set_formats(tx, object, generation, &anew));
    assert!(behind(&world, &version, None, 10).is_empty());
    assert!(world.read(|tx| identification::objects_behind(tx, Scope::System, NEW, None, 10)).is_empty());
    let shown = world.read(|tx| objects::files(tx, object, 1, "", "", 10));
    let puids: Vec<_> = shown.iter().map(|file| file.format.puid.as_deref()).collect();
    assert_eq!(puids, [Some("fmt/2"), Some("fmt/9"), None, Some("fmt/9")]);
}

pub(crate) fn what_nobody_sees_yet_or_nobody_may_see_is_not_behind(subject: &dyn Subject) {
    let world = World::new(subject);
    let (claim, version, _) = prepared(&world);
    let listed = |scope: Scope| world.read(|tx| identification::objects_behind(tx, scope, NEW, None, 10)).len();
    assert_eq!(listed(Scope::System), 0, "it is not published");
    assert!(behind(&world, &version, None, 10).is_empty());
    world.commit(&claim, &version);
    world.publish(&claim, &["primary"]);
    assert_eq!(listed(Scope::Institution(world.ours)), 1);
    assert_eq!(listed(Scope::Institution(world.theirs)), 0);
}
