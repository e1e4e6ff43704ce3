//! The same promises on a real disk: the folder store, and directories that are no store.

use strongroom_ocfl::{
    LastRecord, Object, PurgePlan, Report, StorageRoot, Tombstone, ValidateOptions, Validated, validate_directory,
    validate_object,
};
use strongroom_storage::{FolderStore, Key, Store};

use crate::sample::{Sample, sample_id};

fn sample() -> Sample {
    Sample::new(&[
        &[("deposit/a.txt", "alpha"), ("deposit/b.txt", "beta")],
        &[("deposit/a.txt", "alpha two"), ("deposit/b.txt", "beta")],
    ])
}

fn codes(report: &Report) -> Vec<&'static str> {
    report.codes().collect()
}

#[test]
fn an_object_in_a_folder_store_is_written_validated_and_purged() {
    let folder = tempfile::tempdir().unwrap();
    let store = FolderStore::create("primary", folder.path()).unwrap();
    let root = StorageRoot::init(&store, &Key::new("example.edu").unwrap()).unwrap();
    let object_root = root.object_root(&sample_id()).unwrap();
    sample().write(&store, &object_root);
    sample().write_version(&store, &object_root, 2).unwrap();
    assert!(store.list(&object_root).unwrap().count() > 8);

    let mut found = Vec::new();
    let whole =
        validate_directory(&folder.path().join("example.edu"), &ValidateOptions::default(), &mut |_, report| {
            found.push(codes(&report));
        });
    assert!(matches!(&whole, Ok(Validated::Root(report)) if report.codes().next().is_none()), "{whole:?}");
    assert_eq!(found, [Vec::<&str>::new()]);

    let object = Object::new(&store, object_root.clone());
    let tombstone = Tombstone { name: "deletion-1.json".into(), text: "{}".into() };
    let plan = PurgePlan {
        tombstone: tombstone.clone(),
        ..PurgePlan::for_paths(&object, ["deposit/a.txt".to_owned()]).unwrap()
    };
    plan.carry_out(&object, &mut || Ok(())).unwrap();
    plan.carry_out(&object, &mut || Ok(())).unwrap();
    let record = LastRecord { path: "metadata/v3/record.jsonl", content: "{}", assembly: "purge" };
    let plan = PurgePlan::for_object(&object, Sample::details(3), record).unwrap();
    let plan = PurgePlan { tombstone, ..plan };
    plan.carry_out(&object, &mut || Ok(())).unwrap();
    plan.carry_out(&object, &mut || Ok(())).unwrap();
    let report = validate_object(&store, &object_root, &ValidateOptions::default()).unwrap();
    assert_eq!(codes(&report), Vec::<&str>::new());
    assert!(store.assemblies().unwrap().is_empty());
}

#[test]
fn links_and_empty_directories_are_problems_of_a_directory() {
    let folder = tempfile::tempdir().unwrap();
    let store = FolderStore::create("primary", folder.path()).unwrap();
    let object_root = Key::new("r/o").unwrap();
    sample().write(&store, &object_root);
    let directory = folder.path().join("r/o");
    std::fs::create_dir_all(directory.join("v2/content/empty/deeper")).unwrap();
    std::fs::create_dir(directory.join("logs")).unwrap();
    std::fs::create_dir(directory.join("strange")).unwrap();
    let validated = validate_directory(&directory, &ValidateOptions::default(), &mut |_, _| {}).unwrap();
    let Validated::Object(report) = validated else { panic!("an object") };
    assert_eq!(codes(&report), ["E001", "E024"], "{report:#?}");

    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/etc/passwd", directory.join("v2/content/link")).unwrap();
        let validated = validate_directory(&directory, &ValidateOptions::default(), &mut |_, _| {}).unwrap();
        let Validated::Object(report) = validated else { panic!("an object") };
        assert!(report.errors.iter().any(|problem| problem.code == "E090" && problem.path == "v2/content/link"));
    }
}

#[test]
fn an_empty_content_directory_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let store = FolderStore::create("primary", folder.path()).unwrap();
    let same = Sample::new(&[&[("a", "1")], &[("b", "1")]]);
    same.write(&store, &Key::new("o").unwrap());
    let directory = folder.path().join("o");
    std::fs::create_dir(directory.join("v2/content")).unwrap();
    let validated = validate_directory(&directory, &ValidateOptions::default(), &mut |_, _| {}).unwrap();
    let Validated::Object(report) = validated else { panic!("an object") };
    assert_eq!(codes(&report), ["W003"]);
}
