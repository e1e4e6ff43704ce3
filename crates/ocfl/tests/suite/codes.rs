//! Breaches that the published fixtures do not show, each with the code that the specification gives it.

use serde_json::{Value, json};
use strongroom_digest::Algorithm;
use strongroom_ocfl::{
    InventoryHeader, InventoryWriter, Layout, Limits, Report, StorageRoot, User, ValidateOptions, VersionDetails,
    VersionNumber, validate_object, validate_root,
};
use strongroom_storage::Key;

use crate::memory::MemoryStore;
use crate::sample::{Sample, digest_of, sample_id, sha512};

/// A valid object of two versions at the root of a store.
fn object() -> MemoryStore {
    let store = MemoryStore::folder();
    let mut sample =
        Sample::new(&[&[("a.txt", "alpha"), ("b.txt", "beta")], &[("a.txt", "alpha two"), ("b.txt", "beta")]]);
    sample.fixity = true;
    sample.write(&store, &Key::new("o").unwrap());
    let moved = MemoryStore::folder();
    for (key, bytes) in store.files() {
        moved.set(key.as_str().strip_prefix("o/").unwrap(), &bytes);
    }
    moved
}

fn validate(store: &MemoryStore) -> Report {
    validate_object(store, &Key::ROOT, &ValidateOptions::default()).unwrap()
}

/// Puts an inventory with a sidecar that fits it.
fn seal(store: &MemoryStore, path: &str, bytes: &[u8]) {
    store.set(path, bytes);
    store.set(&format!("{path}.sha512"), format!("{} inventory.json\n", sha512(bytes)).as_bytes());
}

/// Changes the text of the root inventory and its twin in the head.
fn edit_text(store: &MemoryStore, edit: impl Fn(String) -> String) {
    let before = String::from_utf8(store.get("inventory.json").unwrap()).unwrap();
    let after = edit(before.clone());
    assert_ne!(before, after, "the edit changes something");
    seal(store, "inventory.json", after.as_bytes());
    seal(store, "v2/inventory.json", after.as_bytes());
}

fn edit(store: &MemoryStore, edit: impl Fn(&mut Value)) {
    edit_text(store, |text| {
        let mut value: Value = serde_json::from_str(&text).unwrap();
        edit(&mut value);
        serde_json::to_string(&value).unwrap()
    });
}

fn edit_first(store: &MemoryStore, edit: impl Fn(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&store.get("v1/inventory.json").unwrap()).unwrap();
    edit(&mut value);
    seal(store, "v1/inventory.json", serde_json::to_string(&value).unwrap().as_bytes());
}

fn rename(value: &mut Value, from: &str, to: &str) {
    let object = value.as_object_mut().unwrap();
    let member = object.remove(from).unwrap();
    object.insert(to.to_owned(), member);
}

type Breach = (&'static str, fn(&MemoryStore));

#[test]
fn each_breach_has_its_code() {
    let breaches: &[Breach] = &[
        ("E001", |s| s.set("notes.txt", b"x")),
        ("E001", |s| s.set("version2/inventory.json", b"{}")),
        ("E001", |s| s.set("inventory.json.md5", b"x")),
        ("E059", |s| s.set("inventory.json.sha256", b"x")),
        ("E003", |s| s.set("0=ocfl_object_1.0", b"ocfl_object_1.0\n")),
        ("E003", |s| s.remove("0=ocfl_object_1.1")),
        ("E004", |s| s.set("0=ocfl_object_9.9", b"ocfl_object_9.9\n")),
        ("E005", |s| s.set("1=ocfl_object_1.1", b"ocfl_object_1.1\n")),
        ("E006", |s| s.set("0=bagit_1.0", b"bagit_1.0\n")),
        ("E007", |s| s.set("0=ocfl_object_1.1", b"ocfl_object_1.1")),
        ("E008", |s| edit(s, |v| v["versions"] = json!({}))),
        ("E009", |s| {
            edit(s, |v| {
                v["versions"].as_object_mut().unwrap().remove("v1");
            });
        }),
        ("E012", |s| edit(s, |v| rename(&mut v["versions"], "v1", "v01"))),
        ("E014", |s| edit_text(s, |t| t.replacen("\"v1/content", "\"v001/content", 1))),
        ("E015", |s| s.set("v1/readme.txt", b"x")),
        ("E015", |s| s.set("v1/inventory.json.md5", b"x")),
        ("E017", |s| edit(s, |v| v["contentDirectory"] = json!("a/b"))),
        ("E018", |s| edit(s, |v| v["contentDirectory"] = json!(".."))),
        ("E018", |s| edit(s, |v| v["contentDirectory"] = json!("."))),
        ("E020", |s| {
            edit_first(s, |v| v["contentDirectory"] = json!("stuff"));
        }),
        ("E023", |s| s.set("v2/content/extra", b"x")),
        ("E025", |s| edit(s, |v| v["digestAlgorithm"] = json!("md5"))),
        ("E025", |s| edit(s, |v| v["digestAlgorithm"] = json!(512))),
        ("E029", |s| edit(s, |v| v["fixity"]["sha1"] = json!({"xyz": ["v1/content/x"]}))),
        ("E030", |s| edit(s, |v| v["fixity"]["sha256"] = json!({"abcd": ["v1/content/x"]}))),
        ("E031", |s| edit(s, |v| v["manifest"]["nothexadecimal"] = json!(["v1/content/x"]))),
        ("E032", |s| edit(s, |v| v["fixity"]["blake2b-512"] = json!({"abcd": ["v1/content/x"]}))),
        ("E033", |s| seal(s, "inventory.json", b"{\"id\": ")),
        ("E033", |s| seal(s, "inventory.json", b"[]")),
        ("E033", |s| edit_text(s, |t| t.replacen('{', "{\"id\": \"urn:x\", ", 1))),
        ("E033", |s| edit(s, |v| v["contentDirectory"] = json!(7))),
        ("E036", |s| {
            edit(s, |v| {
                v.as_object_mut().unwrap().remove("type");
            });
        }),
        ("E036", |s| {
            edit(s, |v| {
                v.as_object_mut().unwrap().remove("digestAlgorithm");
            });
        }),
        ("E037", |s| edit(s, |v| v["id"] = json!(""))),
        ("E037", |s| edit(s, |v| v["id"] = json!(["urn:x"]))),
        ("E038", |s| edit(s, |v| v["type"] = json!("https://example.org/#inventory"))),
        ("E038", |s| edit(s, |v| v["type"] = json!("https://ocfl.io/1.0/spec/#inventory"))),
        ("E039", |s| edit(s, |v| v["digestAlgorithm"] = json!("sha256"))),
        ("E040", |s| edit(s, |v| v["head"] = json!("latest"))),
        ("E042", |s| edit_text(s, |t| t.replacen("\"v1/content", "\"o/v1/content", 1))),
        ("E042", |s| edit_text(s, |t| t.replacen("\"v1/content", "\"v1/elsewhere", 1))),
        ("E043", |s| {
            edit(s, |v| {
                v.as_object_mut().unwrap().remove("versions");
            });
        }),
        ("E044", |s| edit(s, |v| v["versions"] = json!([]))),
        ("E046", |s| edit(s, |v| rename(&mut v["versions"], "v2", "2"))),
        ("E046", |s| s.set("v3/inventory.json", b"{}")),
        ("E047", |s| edit(s, |v| v["versions"]["v1"] = json!("first"))),
        ("E048", |s| {
            edit(s, |v| {
                v["versions"]["v1"].as_object_mut().unwrap().remove("created");
            });
        }),
        ("E048", |s| {
            edit(s, |v| {
                v["versions"]["v1"].as_object_mut().unwrap().remove("state");
            });
        }),
        ("E051", |s| edit_text(s, |t| t.replacen("[\"b.txt\"]", "[[\"b.txt\"]]", 1))),
        ("E051", |s| edit_text(s, |t| t.replacen("[\"b.txt\"]", "\"b.txt\"", 1))),
        ("E052", |s| edit_text(s, |t| t.replacen("\"b.txt\"", "\"a/../b.txt\"", 1))),
        ("E053", |s| edit_text(s, |t| t.replacen("\"b.txt\"", "\"/b.txt\"", 1))),
        ("E053", |s| edit_text(s, |t| t.replacen("\"b.txt\"", "\"b.txt/\"", 1))),
        ("E053", |s| edit_text(s, |t| t.replacen("\"b.txt\"", "\"\"", 1))),
        ("E054", |s| edit(s, |v| v["versions"]["v1"]["user"] = json!({"address": "mailto:a@example.edu"}))),
        ("E054", |s| edit(s, |v| v["versions"]["v1"]["user"] = json!({"name": 7}))),
        ("E057", |s| edit(s, |v| v["fixity"]["md5"] = json!(["v1/content/x"]))),
        ("E057", |s| edit(s, |v| v["fixity"]["md5"] = json!({"d41d8cd98f00b204e9800998ecf8427e": "v1/content/x"}))),
        ("E057", |s| {
            edit(s, |v| v["fixity"]["md5"] = json!({"d41d8cd98f00b204e9800998ecf8427e": ["v1/content/none"]}));
        }),
        ("E058", |s| s.remove("v1/inventory.json.sha512")),
        ("E060", |s| s.set("inventory.json.sha512", format!("{} inventory.json\n", sha512(b"")).as_bytes())),
        ("E061", |s| s.set("inventory.json.sha512", b"abc\n")),
        ("E061", |s| s.set("inventory.json.sha512", format!("{} other.json\n", sha512(b"")).as_bytes())),
        ("E061", |s| s.set("inventory.json.sha512", b"\xff\xfe")),
        ("E063", |s| s.remove("inventory.json")),
        ("E064", |s| seal(s, "v2/inventory.json", &[s.get("inventory.json").unwrap(), b"\n".to_vec()].concat())),
        ("E066", |s| edit_first(s, |v| v["versions"]["v1"]["state"] = json!({}))),
        ("E067", |s| s.set("extensions/config.json", b"{}")),
        ("E092", |s| {
            edit(s, |v| {
                let manifest = v["manifest"].as_object_mut().unwrap();
                let key = manifest.keys().next().unwrap().clone();
                manifest.insert(key, json!("v1/content/x"));
            });
        }),
        ("E092", |s| {
            let key = s.keys().into_iter().find(|key| key.starts_with("v2/content/")).unwrap();
            s.set(&key, b"flipped");
        }),
        ("E092", |s| {
            let key = s.keys().into_iter().find(|key| key.starts_with("v1/content/")).unwrap();
            s.remove(&key);
        }),
        ("E093", |s| {
            edit_text(s, |t| {
                let md5 = digest_of(Algorithm::Md5, b"beta").to_hex();
                t.replace(&md5, "00000000000000000000000000000000")
            });
        }),
        ("E094", |s| edit(s, |v| v["versions"]["v1"]["message"] = json!(["why"]))),
        ("E095", |s| edit_text(s, |t| t.replacen("[\"b.txt\"]", "[\"b.txt\", \"a.txt/c\"]", 1))),
        ("E101", |s| {
            edit(s, |v| {
                let manifest = v["manifest"].as_object_mut().unwrap();
                let (one, other) =
                    (manifest.keys().next().unwrap().clone(), manifest.keys().next_back().unwrap().clone());
                manifest.insert(other, manifest[&one].clone());
            });
        }),
        ("E102", |s| edit(s, |v| v["note"] = json!("x"))),
        ("E102", |s| edit(s, |v| v["versions"]["v1"]["note"] = json!("x"))),
        ("E102", |s| edit(s, |v| v["versions"]["v1"]["user"]["note"] = json!("x"))),
        ("E106", |s| edit(s, |v| v["manifest"] = json!([]))),
        ("E108", |s| edit(s, |v| v["contentDirectory"] = json!("a/b"))),
        ("E110", |s| edit_first(s, |v| v["id"] = json!("urn:other"))),
        ("E111", |s| edit(s, |v| v["fixity"] = json!([]))),
        ("W001", |s| edit(s, |v| rename(&mut v["versions"], "v1", "v01"))),
        ("W002", |s| s.set("v1/notes/a", b"x")),
        ("W005", |s| {
            edit(s, |v| v["id"] = json!("an object"));
            edit_first(s, |v| v["id"] = json!("an object"));
        }),
        ("W007", |s| {
            edit(s, |v| {
                v["versions"]["v1"].as_object_mut().unwrap().remove("user");
            });
        }),
        ("W008", |s| {
            edit(s, |v| {
                v["versions"]["v1"]["user"].as_object_mut().unwrap().remove("address");
            });
        }),
        ("W009", |s| edit(s, |v| v["versions"]["v1"]["user"]["address"] = json!("next door"))),
        ("W010", |s| {
            s.remove("v1/inventory.json");
            s.remove("v1/inventory.json.sha512");
        }),
        ("W011", |s| edit_first(s, |v| v["versions"]["v1"]["message"] = json!("another"))),
        ("W013", |s| s.set("extensions/ours/a", b"x")),
    ];
    assert_eq!(validate(&object()).codes().next(), None);
    let mut wrong = Vec::new();
    for (index, (code, breach)) in breaches.iter().enumerate() {
        let store = object();
        breach(&store);
        let report = validate(&store);
        // Padding one of two names is a breach as well.
        let only_warns = code.starts_with('W') && *code != "W001";
        if !report.codes().any(|found| found == *code) || report.is_valid() != only_warns {
            wrong.push(format!("{index} {code}: {:?}", report.codes().collect::<Vec<_>>()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_unknown_fixity_algorithm_is_ignored() {
    let store = object();
    edit(&store, |v| v["fixity"]["crc32"] = json!({"abcd": ["v1/content/x"]}));
    let report = validate(&store);
    assert!(report.errors.iter().all(|problem| problem.code == "E057"), "{report:#?}");
    let store = object();
    edit(&store, |v| {
        let path = v["manifest"].as_object().unwrap().values().next().unwrap().clone();
        v["fixity"]["crc32"] = json!({"abcd": path});
    });
    assert_eq!(validate(&store).codes().next(), None);
}

#[test]
fn logs_may_hold_anything() {
    let store = object();
    store.set("logs/2026/x.json", b"{}");
    assert_eq!(validate(&store).codes().next(), None);
}

#[test]
fn problems_beyond_the_limit_are_counted_and_the_object_stays_invalid() {
    let store = object();
    for number in 0..50 {
        store.set(&format!("stray-{number}"), b"x");
    }
    let limits = Limits { problems: 10, ..Limits::default() };
    let options = ValidateOptions { limits, ..ValidateOptions::default() };
    let report = validate_object(&store, &Key::ROOT, &options).unwrap();
    assert_eq!((report.errors.len(), report.unreported), (10, 40));
    let limits = Limits { problems: 0, ..Limits::default() };
    let options = ValidateOptions { limits, ..ValidateOptions::default() };
    assert!(!validate_object(&store, &Key::ROOT, &options).unwrap().is_valid());
}

#[test]
fn an_inventory_of_hostile_depth_or_length_is_a_problem_and_not_a_failure() {
    for hostile in ["[".repeat(1_000_000), format!("{{\"id\": \"{}\"}}", "x".repeat(2 << 20)), "\u{0}".to_owned()] {
        let store = object();
        seal(&store, "inventory.json", hostile.as_bytes());
        assert!(validate(&store).codes().any(|code| code == "E033"));
    }
}

/// A valid storage root with two objects.
fn storage_root() -> (MemoryStore, Key) {
    let store = MemoryStore::folder();
    let prefix = Key::new("r").unwrap();
    let root = StorageRoot::init(&store, &prefix).unwrap();
    Sample::new(&[&[("a", "1")]]).write(&store, &root.object_root(&sample_id()).unwrap());
    let other = root.object_root("urn:example:other").unwrap();
    write_named(&store, &other, "urn:example:other");
    (store, prefix)
}

/// An object without any file, under an id of choice.
fn write_named(store: &MemoryStore, root: &Key, id: &str) {
    let mut writer = InventoryWriter::new(Vec::new(), &InventoryHeader::new(id, VersionNumber::FIRST)).unwrap();
    let user = User { name: "Archivist".into(), address: Some("mailto:a@example.edu".into()) };
    let details = VersionDetails::new("2026-01-01T00:00:00Z".parse().unwrap(), "empty", user);
    writer.version(VersionNumber::FIRST, &details).unwrap();
    let (bytes, _) = writer.finish().unwrap();
    store.set(&format!("{root}/0=ocfl_object_1.1"), b"ocfl_object_1.1\n");
    seal(store, &format!("{root}/inventory.json"), &bytes);
    seal(store, &format!("{root}/v1/inventory.json"), &bytes);
}

#[test]
fn a_storage_root_of_our_own_has_no_problem() {
    let (store, prefix) = storage_root();
    let mut objects = Vec::new();
    let report = validate_root(&store, &prefix, &ValidateOptions::default(), &mut |key, report| {
        objects.push((key.clone(), report.codes().count()));
    })
    .unwrap();
    assert_eq!(report.codes().next(), None, "{report:#?}");
    assert_eq!((report.count, objects.len()), (2, 2));
    assert!(objects.iter().all(|(_, problems)| *problems == 0));
}

#[test]
fn each_breach_of_a_storage_root_has_its_code() {
    let breaches: &[Breach] = &[
        ("E069", |s| s.remove("r/0=ocfl_1.1")),
        ("E070", |s| s.set("r/ocfl_layout.json", b"{\"extension\": \"0004-hashed-n-tuple-storage-layout\"}")),
        ("E070", |s| s.set("r/ocfl_layout.json", b"[")),
        ("E071", |s| s.set("r/ocfl_layout.json", b"{\"extension\": \"mine\", \"description\": \"x\"}")),
        ("E072", |s| s.set("r/stray/file", b"x")),
        ("E072", |s| s.set("r/stray/deeper/inventory.json", b"{}")),
        ("E076", |s| s.set("r/0=ocfl_1.0", b"ocfl_1.0\n")),
        ("E077", |s| s.set("r/0=ocfl_7.0", b"ocfl_7.0\n")),
        ("E078", |s| s.set("r/1=ocfl_1.1", b"ocfl_1.1\n")),
        ("E079", |s| s.set("r/0=bagit_1.1", b"bagit_1.1\n")),
        ("E080", |s| s.set("r/0=ocfl_1.1", b"ocfl_1.1")),
        ("E081", |s| {
            s.remove("r/0=ocfl_1.1");
            s.set("r/0=ocfl_1.0", b"ocfl_1.0\n");
        }),
        ("E112", |s| s.set("r/extensions/config.json", b"{}")),
        ("W014", |s| write_named(s, &Key::new("r/aaa/bbb/ccc/ddd").unwrap(), "urn:example:misplaced")),
        ("W015", |s| write_named(s, &Key::new("r/top").unwrap(), "urn:example:top")),
        ("W016", |s| s.set("r/extensions/ours/a", b"x")),
    ];
    for (code, breach) in breaches {
        let (store, prefix) = storage_root();
        breach(&store);
        let report = validate_root(&store, &prefix, &ValidateOptions::default(), &mut |_, _| {}).unwrap();
        let found: Vec<_> = report.codes().collect();
        assert!(found.contains(code), "{code}: {found:?}");
        assert_eq!(report.is_valid(), code.starts_with('W'), "{code}: {found:?}");
    }
}

#[test]
fn files_directly_in_a_storage_root_are_ignored() {
    let (store, prefix) = storage_root();
    store.set("r/readme.md", b"hello");
    let report = validate_root(&store, &prefix, &ValidateOptions::default(), &mut |_, _| {}).unwrap();
    assert_eq!(report.codes().next(), None, "{report:#?}");
}

#[test]
fn the_report_of_a_damaged_object_comes_with_its_place() {
    let (store, prefix) = storage_root();
    let place = Layout::ours().path(&sample_id()).unwrap();
    store.set(&format!("r/{place}/stray"), b"x");
    let mut bad = Vec::new();
    validate_root(&store, &prefix, &ValidateOptions::default(), &mut |key, report| {
        if !report.is_valid() {
            bad.push((key.to_string(), report.errors[0].code, report.errors[0].path.clone()));
        }
    })
    .unwrap();
    assert_eq!(bad, [(format!("r/{place}"), "E001", "stray".to_owned())]);
}
