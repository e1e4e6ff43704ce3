//! A home whose stores lie in a bucket, as far as a test wants that, and the bucket looked into from beside it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use strongroom_database::testing::Scratch;
use strongroom_s3_double::{ACCESS_KEY, BUCKET, Double, SECRET_KEY};

use crate::homes::until;
use crate::program::Place;

/// A [`home_of_three_stores`] with its database and its bucket.
pub(crate) struct World {
    pub(crate) scratch: Scratch,
    pub(crate) double: Double,
    pub(crate) place: Place,
}

impl World {
    /// None, and a line that says so, where there is no PostgreSQL.
    pub(crate) fn of_three_stores() -> Option<Self> {
        let scratch = Scratch::new()?;
        let double = Double::start().unwrap();
        let place = home_of_three_stores(&double, &scratch);
        Some(Self { scratch, double, place })
    }
}

/// A home with these of its stores in the bucket, each below its name; `of_secondary` is set for that store alone.
pub(crate) fn home_in(double: &Double, registry: Option<&str>, stores: &[&str], of_secondary: &str) -> Place {
    let place = Place::empty();
    let registry = registry.map(|url| ["--registry", url]);
    place.run(["init", "home"].into_iter().chain(registry.into_iter().flatten())).succeeds();
    for store in stores {
        let more = if *store == "secondary" { of_secondary } else { "" };
        let folder = format!("[stores.{store}]\nkind = \"folder\"\npath = \"stores/{store}\"\n");
        change_settings(&place, &folder, &format!("[stores.{store}]\n{}{more}", in_bucket(double, store)));
    }
    place.run(["store", "create"].iter().chain(stores)).succeeds();
    place.run(["config", "check"]).succeeds();
    place.run(["store", "check"]).succeeds();
    place
}

/// A home on PostgreSQL that keeps everything in two stores in the bucket and in a folder, `third`; all else lies in the
/// bucket, too.
pub(crate) fn home_of_three_stores(double: &Double, scratch: &Scratch) -> Place {
    let in_bucket = ["receiving", "staging", "primary", "secondary", "quarantine"];
    let place = home_in(double, Some(&scratch.url()), &in_bucket, "");
    let two = "Standard = [\"primary\", \"secondary\"]";
    change_settings(&place, two, "Standard = [\"primary\", \"secondary\", \"third\"]");
    let staging = "[stores.staging]\n";
    let third = "[stores.third]\nkind = \"folder\"\npath = \"stores/third\"\n";
    change_settings(&place, staging, &format!("{third}{staging}"));
    place.run(["store", "create", "third"]).succeeds();
    place
}

/// The settings of a store in the bucket, below a prefix.
pub(crate) fn in_bucket(double: &Double, prefix: &str) -> String {
    format!(
        "kind = \"s3\"\nbucket = \"{BUCKET}\"\nprefix = \"{prefix}\"\nendpoint = \"{}\"\nregion = \"us-east-1\"\n\
         path_style = true\naccess_key = \"{ACCESS_KEY}\"\nsecret_key = \"{SECRET_KEY}\"\npart_size = \"5 MiB\"\n",
        double.endpoint()
    )
}

/// Puts other text in the place of some that stands in the settings.
#[track_caller]
pub(crate) fn change_settings(place: &Place, old: &str, new: &str) {
    let file = place.path("home/strongroom.toml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(old), "{old:?} is not in the settings");
    fs::write(&file, text.replace(old, new)).unwrap();
}

/// Has the receiving stores watched as closely as can be, with further settings of it.
pub(crate) fn watch_closely(place: &Place, more: &str) {
    change_settings(
        place,
        "[receiving]\n",
        &format!("[receiving]\nscan_interval = \"1s\"\nquiet_period = \"1s\"\n{more}"),
    );
}

/// Keys of the bucket that begin so.
pub(crate) fn keys_below(double: &Double, prefix: &str) -> Vec<String> {
    let mut keys = double.keys();
    keys.retain(|key| key.starts_with(prefix));
    keys
}

/// Copies what lies below a prefix out of the bucket, into a folder.
pub(crate) fn copy_out(double: &Double, prefix: &str, folder: &Path) {
    for key in keys_below(double, prefix) {
        let path = folder.join(&key[prefix.len()..]);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, double.stored(&key).unwrap().bytes()).unwrap();
    }
}

/// Lays every file of a folder into the bucket, below a prefix.
pub(crate) fn lay_folder(double: &Double, folder: &Path, prefix: &str) {
    crate::homes::walk(folder, &mut |path| {
        let below = path.strip_prefix(folder).unwrap().to_string_lossy();
        double.lay(&format!("{prefix}{below}"), &fs::read(path).unwrap());
    });
}

/// The state of every upload there ever was, by its key.
pub(crate) fn uploads(place: &Place) -> BTreeMap<String, String> {
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let listed = place.run(["receiving", "list", "--all", "--json"]).succeeds().json();
    listed.iter().map(|upload| (text(&upload["key"]), text(&upload["state"]))).collect()
}

/// Has the schedules take their turns until the uploads are as wanted.
#[track_caller]
pub(crate) fn look_until(place: &Place, what: &str, mut is_so: impl FnMut(&BTreeMap<String, String>) -> bool) {
    until(what, || {
        place.run(["schedule", "--once"]).succeeds();
        is_so(&uploads(place)).then_some(())
    });
}
