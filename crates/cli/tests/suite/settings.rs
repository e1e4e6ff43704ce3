//! Settings from file and environment, through the program.

use crate::program::{Place, assert_keys};

#[test]
fn each_setting_is_shown_with_its_source() {
    let place = Place::with_home();
    let lines =
        place.run_with(&[("STRONGROOM_FIXITY__MAX_PER_RUN", "7")], ["config", "show", "--json"]).succeeds().json();
    let find = |key: &str| lines.iter().find(|line| line["key"] == key).unwrap();
    assert_keys(&lines[0], &["key", "value", "source", "meaning"]);
    assert_eq!(find("fixity.max_per_run")["value"], "7");
    assert_eq!(find("fixity.max_per_run")["source"], "env STRONGROOM_FIXITY__MAX_PER_RUN");
    assert_eq!(find("fixity.max_age")["source"], "default");
    assert_eq!(find("stores.primary.path")["source"], "file");
}

#[test]
fn every_storage_option_of_aptrust_has_a_placement() {
    let place = Place::with_home();
    let lines = place.run(["config", "show", "--json"]).succeeds().json();
    for option in [
        "Standard",
        "Glacier-OH",
        "Glacier-OR",
        "Glacier-VA",
        "Glacier-Deep-OH",
        "Glacier-Deep-OR",
        "Glacier-Deep-VA",
        "Wasabi-OR",
        "Wasabi-TX",
        "Wasabi-VA",
    ] {
        let key = format!("placements.{option}");
        assert!(lines.iter().any(|line| line["key"] == key.as_str()), "{key}");
    }
}

#[test]
fn an_unknown_setting_is_refused_with_the_nearest() {
    let place = Place::with_home();
    place
        .run_with(&[("STRONGROOM_FIXITY__MAX_AGEE", "9d")], ["config", "show"])
        .fails(2, &["STRONGROOM_FIXITY__MAX_AGEE", "the nearest is STRONGROOM_FIXITY__MAX_AGE"]);
    place.write("home/strongroom.toml", "[fixty]\nmax_age = \"9d\"\n");
    place.run(["items", "list"]).fails(2, &["fixty", "the nearest is fixity"]);
}

#[test]
fn a_wrong_value_is_refused_with_an_example() {
    let place = Place::with_home();
    place
        .run_with(&[("STRONGROOM_FIXITY__MAX_AGE", "ninety days")], ["config", "check"])
        .fails(2, &["fixity.max_age", "ninety days", "\"30m\""]);
    place.write("home/strongroom.toml", "[fixity\n");
    place.run(["config", "check"]).fails(2, &["strongroom.toml", "TOML"]);
}

#[test]
fn a_value_that_does_not_fit_is_named_with_its_file_and_line() {
    let place = Place::with_home();
    let text = String::from_utf8(std::fs::read(place.path("home/strongroom.toml")).unwrap()).unwrap();
    let line = text.lines().count() + 2;
    place.write("home/strongroom.toml", format!("{text}[workers.\"ingest.fetch\"]\nlease = \"1s\"\n"));
    let place_of = format!("home/strongroom.toml, line {line}: workers.\"ingest.fetch\".lease: shorter than 5s");
    place.run(["config", "check"]).fails(2, &[&place_of]);
    place.write("home/strongroom.toml", format!("{text}[workers.\"ingest.fetch\"]\nlease = \"soon\"\n"));
    place.run(["config", "check"]).fails(2, &[&format!("home/strongroom.toml, line {line} sets workers.")]);
    place.write("home/strongroom.toml", text);
    place
        .run_with(&[("STRONGROOM_FIXITY__MAX_AGE", "0s")], ["config", "check"])
        .fails(2, &["environment variable STRONGROOM_FIXITY__MAX_AGE: fixity.max_age: it is less than a second"]);
    place
        .run_with(&[("STRONGROOM_STAGING__FREE_FOR_UNKNOWN", "101")], ["config", "check"])
        .fails(2, &["staging.free_for_unknown: 101 percent are more than all of staging; give 0 to 100"]);
}

#[test]
fn what_to_do_where_there_is_no_data_directory_is_the_next_of_the_error() {
    let place = Place::empty();
    let told = place.run(["items", "list", "--json"]).fails(3, &["there are no settings at"]);
    let told: serde_json::Value = serde_json::from_str(&told.stderr).unwrap();
    assert!(told["next"].as_str().unwrap().contains("strongroom init"), "{told}");
    assert!(!told["error"].as_str().unwrap().contains("strongroom init"), "{told}");
    let place = Place::with_home();
    std::fs::remove_file(place.path("home/registry.db")).unwrap();
    let told = place.run(["items", "list", "--json"]).fails(3, &["there is no registry"]);
    let told: serde_json::Value = serde_json::from_str(&told.stderr).unwrap();
    assert!(told["next"].as_str().unwrap().contains("rebuild") && !told["error"].as_str().unwrap().contains("rebuild"));
}

#[test]
fn errors_of_the_system_are_told_in_words() {
    let place = Place::empty();
    let told = place.run(["bag", "create", "nothing", "bag.tar"]).fails(3, &["No such file or directory"]);
    assert!(!told.stderr.contains("os error"), "{told:?}");
}

#[test]
fn a_server_out_of_reach_is_named_without_its_password() {
    let place = Place::with_home();
    let url = "postgres://keeper:hidden@127.0.0.1:1/strongroom";
    let environment = [("STRONGROOM_REGISTRY__URL", url)];
    for command in [["config", "check"], ["objects", "list"]] {
        let answer = place.run_with(&environment, command);
        assert_eq!(answer.code, Some(5), "{answer:?}");
        assert!(answer.stderr.contains("127.0.0.1:1"), "{answer:?}");
        assert!(!answer.stderr.contains("hidden") && !answer.stdout.contains("hidden"), "{answer:?}");
    }
    let shown = place.run_with(&environment, ["config", "show", "--long"]).succeeds().stdout;
    assert!(shown.contains("postgres://keeper:********@127.0.0.1:1/strongroom"), "{shown}");
}

#[test]
fn an_old_name_is_accepted_with_a_warning_on_standard_error() {
    let place = Place::with_home();
    let environment = [("STRONGROOM_FIXITY__INTERVAL", "9d")];
    let answer = place.run_with(&environment, ["config", "show", "--json"]).succeeds();
    let warning = "warning: the environment sets STRONGROOM_FIXITY__INTERVAL, which is now STRONGROOM_FIXITY__MAX_AGE";
    assert!(answer.stderr.contains(warning), "{answer:?}");
    let lines = answer.json();
    assert!(lines.iter().any(|line| line["key"] == "fixity.max_age" && line["value"] == "\"9d\""), "{answer:?}");
    assert!(!lines.iter().any(|line| line["key"] == "fixity.interval"), "{answer:?}");
    place
        .run_with(&[("STRONGROOM_FIXITY__INTERVAL", "9d"), ("STRONGROOM_FIXITY__MAX_AGE", "9d")], ["config", "show"])
        .fails(
            2,
            &["STRONGROOM_FIXITY__INTERVAL and STRONGROOM_FIXITY__MAX_AGE", "remove STRONGROOM_FIXITY__INTERVAL"],
        );
    let path = place.path("home/strongroom.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    place.write("home/strongroom.toml", text.replace("[receiving]\n", "[receiving]\nsettle = \"9s\"\n"));
    let answer = place.run(["items", "list"]).succeeds();
    assert!(answer.stderr.contains("sets receiving.settle, which is now receiving.quiet_period"), "{answer:?}");
}

#[test]
fn institutions_and_collections_that_do_not_exist_are_told_by_config_check() {
    let place = Place::with_home();
    let file = place.path("home/strongroom.toml");
    let settings = std::fs::read_to_string(&file).unwrap();
    let with = |institution: &str, collection: &str| {
        let own = format!("\n[institutions.\"{institution}\"]\ncollection = \"{collection}\"\n");
        std::fs::write(&file, settings.clone() + &own).unwrap();
        place.run(["config", "check", "--json"])
    };
    let answer = with("example.edu", "nope");
    assert_eq!(answer.code, Some(2), "{answer:?}");
    let line = answer.json().into_iter().find(|line| line["check"] == "institution example.edu").unwrap();
    assert_eq!(line["ok"], false);
    assert!(answer.stderr.contains("strongroom collection add nope --institution example.edu"), "{answer:?}");
    place.run(["collection", "add", "nope", "--institution", "example.edu"]).succeeds();
    assert_eq!(with("example.edu", "nope").code, Some(0));
    let answer = with("elsewhere.edu", "");
    assert_eq!(answer.code, Some(2), "{answer:?}");
    assert!(answer.stderr.contains("strongroom institution add elsewhere.edu"), "{answer:?}");
}

#[test]
fn an_unknown_name_is_answered_with_near_ones_only() {
    let place = Place::with_home();
    let answer = place.run_with(&[("STRONGROOM_NOPE__X", "1")], ["items", "list"]).fails(2, &["no setting"]);
    assert!(!answer.stderr.contains("nearest"), "{answer:?}");
    place.run(["queue", "pause", "nope"]).fails(3, &["strongroom queue list"]);
    place.run(["queue", "pause", "ingest.fetsh"]).fails(3, &["did you mean ingest.fetch"]);
    place.run(["background", "run", "nope"]).fails(3, &["strongroom background list"]);
    place.run(["work", "--kind", "ingets"]).fails(2, &["did you mean ingest?", "fixity", "[worker_kinds]"]);
}

#[test]
fn what_is_no_address_of_a_database_is_told_without_a_password() {
    let place = Place::with_home();
    place.run(["migrate", "--to", "nonsense"]).fails(2, &["\"nonsense\" is no address of a database"]);
    let answer = place.run(["migrate", "--to", "mysql://ann:secret@host/x"]).fails(2, &["\"mysql:...\""]);
    assert!(!answer.stderr.contains("secret"), "{answer:?}");
}
