//! The settings written out: the commented file of a new home, and the table of the book.

use std::fmt::Write as _;

use super::error::SettingsError;
use super::stores::FOLDER;
use super::tree::{SECTIONS, Section, Setting, Shape, Unset};

/// The stores of a new home: the four roles and two preservation stores, each a folder below `stores/`.
pub const STARTING_STORES: &[&str] = &["receiving", "staging", "primary", "secondary", "restoration", "quarantine"];

/// The storage options that deposits to APTrust may name (APTrust BagIt profile 2.3, tag `Storage-Option`).
const OPTIONS: &[&str] = &[
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
];

/// The `strongroom.toml` of a new home. What equals the default is there as a comment.
pub fn starting_file() -> String {
    let mut text = String::from(
        "# Settings of this Strongroom data directory. Lines that start with # show the defaults.\n\
         #\n\
         # Each setting can also come from the environment, which takes precedence over this file: fixity.max_age is\n\
         # STRONGROOM_FIXITY__MAX_AGE. \"strongroom config show\" shows each value and where it comes from,\n\
         # \"strongroom config check\" checks them.\n",
    );
    for section in SECTIONS {
        let _ = write!(text, "\n# {}\n", section.about);
        match (section.shape, section.key) {
            (Shape::Plain, _) => {
                let _ = writeln!(text, "[{}]", section.key);
                for setting in section.settings {
                    describe(&mut text, setting);
                    if let Some(default) = setting.default() {
                        let _ = writeln!(text, "# {} = {default}", setting.name);
                    }
                }
            }
            (Shape::Named, "stores") => starting_stores(&mut text, section),
            (Shape::Named, "plain_stores") => {
                for setting in section.settings.iter().filter(|setting| setting.is_for(Some(FOLDER))) {
                    describe(&mut text, setting);
                }
                text.push_str("# [plain_stores.partner]\n# path = \"/mnt/partner\"\n");
            }
            (Shape::Named, "institutions") => {
                for setting in section.settings {
                    describe(&mut text, setting);
                }
                text.push_str(
                    "# [institutions.\"example.edu\"]\n# receiving = \"\"\n# restoration = \"\"\n# collection = \"\"\n",
                );
            }
            (Shape::Named, "collections") => {
                for setting in section.settings {
                    describe(&mut text, setting);
                }
                text.push_str("# [collections.\"example.edu/maps\"]\n");
            }
            (Shape::Named, "tools") => {
                for setting in section.settings {
                    describe(&mut text, setting);
                }
                text.push_str("# [tools.clamdscan]\n# time_limit = \"10m\"\n");
            }
            (Shape::Named, _) => {
                let _ = writeln!(text, "[{}.default]", section.key);
                for setting in section.settings {
                    describe(&mut text, setting);
                    if let Some(default) = setting.default() {
                        let _ = writeln!(text, "# {} = {default}", setting.name);
                    }
                }
                let _ = writeln!(text, "# [{}.\"ingest.fetch\"]\n# workers = 4", section.key);
            }
            (Shape::Keys, "worker_kinds") => {
                for setting in section.settings {
                    describe(&mut text, setting);
                }
                text.push_str("# [worker_kinds]\n# downloads = [\"*.remote\"]\n");
            }
            (Shape::Keys, _) => starting_placements(&mut text, section),
        }
    }
    text
}

/// The settings file with another registry; everything else, comments too, stays as it is.
pub fn with_registry(text: &str, url: &str) -> Result<String, SettingsError> {
    let unfit = |reason: &str| SettingsError::Unfit {
        origin: String::new(),
        key: "registry.url".to_owned(),
        reason: reason.trim().to_owned(),
    };
    let mut document: toml_edit::DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| unfit(&error.to_string()))?;
    let section = document.entry("registry").or_insert_with(toml_edit::table);
    let section = section.as_table_like_mut().ok_or_else(|| unfit("registry is not a table"))?;
    match section.get_mut("url").and_then(toml_edit::Item::as_value_mut) {
        Some(value) => {
            let decor = value.decor().clone();
            *value = url.into();
            *value.decor_mut() = decor;
        }
        None => {
            section.insert("url", toml_edit::value(url));
        }
    }
    Ok(document.to_string())
}

fn describe(text: &mut String, setting: &Setting) {
    let _ = writeln!(text, "# {}: {} ({})", setting.name, setting.meaning, setting.kind.wanted());
}

fn starting_stores(text: &mut String, section: &Section) {
    for setting in section.settings.iter().filter(|setting| setting.is_for(Some(FOLDER))) {
        describe(text, setting);
    }
    text.push_str(
        "# A store in S3-compatible object storage has kind = \"s3\", a bucket, and more: see the page on stores.\n",
    );
    for store in STARTING_STORES {
        let _ = write!(text, "[stores.{store}]\nkind = \"folder\"\npath = \"stores/{store}\"\n");
    }
}

fn starting_placements(text: &mut String, section: &Section) {
    text.push_str(
        "# Put the preservation stores on different disks: two folders of one disk are lost together.\n\
         # All storage options that APTrust's depositors may name are kept in both stores, so that their bags are\n\
         # accepted unchanged; name other stores here when there are any.\n",
    );
    let _ = writeln!(text, "[{}]", section.key);
    for option in OPTIONS {
        let _ = writeln!(text, "{option} = [\"primary\", \"secondary\"]");
    }
}

/// The table of all settings for the book, in Markdown.
pub fn markdown() -> String {
    let mut text = String::from(
        "A size is a whole number of bytes with a unit (`B`, `kB`, `MB`, `GB`, `TB`, `KiB`, `MiB`, `GiB`, `TiB`), or `0`. A \
         duration is made of whole numbers with units (`ms`, `s`, `m`, `h`, `d`), the largest unit first: `90d`, `1h 30m`. Both \
         are written as strings.\n\n",
    );
    for section in SECTIONS {
        let heading = match section.shape {
            Shape::Plain | Shape::Keys => section.key.to_owned(),
            Shape::Named => format!("{}.&lt;name&gt;", section.key),
        };
        let _ = write!(text, "## {heading}\n\n{}\n\n", section.about);
        text.push_str("| setting | type | default | meaning |\n|---|---|---|---|\n");
        for setting in section.settings {
            let default = match setting.unset {
                Unset::Is(default) => format!("`{default}`"),
                Unset::Absent => "none".to_owned(),
                Unset::Required => "must be given".to_owned(),
            };
            let only = match setting.only_for {
                [] => String::new(),
                kinds => format!("{} only: ", kinds.join(" and ")),
            };
            let (name, kind, meaning) = (setting.name, setting.kind.described(), setting.meaning);
            let _ = writeln!(text, "| `{name}` | {kind} | {default} | {only}{meaning} |");
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use strongroom_database::Location;

    use super::super::{Origin, Settings};
    use super::{starting_file, with_registry};

    fn registry_file(settings: &Settings) -> PathBuf {
        match settings.registry_location(Path::new("/home")).unwrap() {
            Location::Sqlite(path) => path,
            Location::Postgres { .. } => panic!("it is no file"),
        }
    }

    #[test]
    fn the_starting_file_states_nothing_but_stores_and_placements() {
        let settings = Settings::from_toml(&starting_file()).unwrap();
        assert_eq!(settings.stores.len(), 6);
        assert_eq!(settings.stores["primary"].folder(Path::new("/home")).unwrap(), Path::new("/home/stores/primary"));
        assert_eq!(settings.placements.len(), 10);
        assert_eq!(registry_file(&settings), Path::new("/home/registry.db"));
        assert_eq!(settings.fixity.max_age, Duration::from_hours(90 * 24));
        assert_eq!(settings.pool("ingest.fetch").workers, 2);
        assert_eq!(settings.pool("duplicate.high").workers, 16);
        assert_eq!(settings.pool("duplicate.low").workers, 16);
        assert_eq!(settings.preservation_stores(), ["primary", "secondary"]);
    }

    #[test]
    fn another_registry_changes_one_line() {
        let url = "postgres://user@host/db";
        let changed = with_registry(&starting_file(), url).unwrap();
        assert_eq!(Settings::from_toml(&changed).unwrap().registry.url, url);
        let new_line = format!("url = \"{url}\"\n");
        assert_eq!(changed.replacen(&new_line, "", 1), starting_file());
        let text = "# mine\n[registry]\nurl = \"sqlite:a.db\" # here\n[log]\nlevel = \"warn\"\n";
        assert_eq!(with_registry(text, url).unwrap(), text.replace("sqlite:a.db", url));
    }

    #[test]
    fn every_commented_default_can_be_uncommented() {
        let mut text = String::new();
        for line in starting_file().lines() {
            let body = line.strip_prefix("# ").unwrap_or(line);
            let is_value = body.split_once(" = ").is_some_and(|(name, _)| !name.contains(' ')) || body.starts_with('[');
            text.push_str(if is_value { body } else { line });
            text.push('\n');
        }
        let commented = Settings::from_toml(&starting_file()).unwrap();
        let mut stated = Settings::from_toml(&text).unwrap();
        assert_eq!(stated.pool("ingest.fetch").workers, 4);
        stated.workers.remove("ingest.fetch");
        stated.institutions.clear();
        stated.plain_stores.clear();
        assert_eq!(stated.tools["clamdscan"].time_limit, Duration::from_mins(10));
        stated.tools.clear();
        stated.worker_kinds.clear();
        assert_eq!(stated, commented);
        assert!(commented.tools.is_empty(), "the file of a new home names no tool");
    }

    fn environment(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
    }

    fn load(pairs: &[(&str, &str)]) -> Result<super::super::Loaded, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("strongroom.toml");
        std::fs::write(&file, starting_file()).unwrap();
        Settings::load(&file, environment(pairs)).map_err(|error| error.to_string())
    }

    #[test]
    fn the_environment_wins_over_the_file_and_is_told() {
        let loaded = load(&[
            ("STRONGROOM_FIXITY__MAX_PER_RUN", "7"),
            ("STRONGROOM_WORKERS__INGEST_FETCH__WORKERS", "5"),
            ("STRONGROOM_STORES__PRIMARY__PATH", "/mnt/disk"),
            ("STRONGROOM_PLACEMENTS__GLACIER_OH", "secondary"),
            ("STRONGROOM_HOME", "/elsewhere"),
            ("PATH", "/bin"),
        ])
        .unwrap();
        assert_eq!(loaded.settings.fixity.max_per_run, 7);
        assert_eq!(loaded.settings.pool("ingest.fetch").workers, 5);
        assert_eq!(loaded.settings.pool("ingest.write").workers, 2);
        assert_eq!(loaded.settings.stores["primary"].place(Path::new("/home")), "/mnt/disk");
        assert_eq!(loaded.settings.placements["Glacier-OH"], ["secondary"]);
        let entry = loaded.entries.iter().find(|entry| entry.key == "fixity.max_per_run").unwrap();
        assert_eq!(entry.origin, Origin::Environment("STRONGROOM_FIXITY__MAX_PER_RUN".to_owned()));
    }

    #[test]
    fn unknown_names_are_refused_with_the_nearest() {
        let error = load(&[("STRONGROOM_FIXITY__MAX_AGEE", "1d")]).unwrap_err();
        assert!(error.contains("nearest is STRONGROOM_FIXITY__MAX_AGE"), "{error}");
        for (text, nearest) in [
            ("[fixty]\nmax_age = \"1d\"", "fixity"),
            ("[fixity]\nmax_agee = \"1d\"", "fixity.max_age"),
            ("[stores.tape]\nkind = \"folder\"\npaht = \"x\"", "stores.tape.path"),
            ("[workers.\"ingest.fetsh\"]\nworkers = 2", "ingest.fetch"),
        ] {
            let text = format!("{}\n{text}", starting_file().replace("[fixity]", "").replace("# ", "#"));
            let error = Settings::from_toml(&text).unwrap_err().to_string();
            assert!(error.contains("the nearest is") && error.contains(nearest), "{error}");
        }
    }

    #[test]
    fn wrong_values_name_the_key_and_a_valid_example() {
        for (variable, value, key, example) in [
            ("STRONGROOM_FIXITY__MAX_AGE", "90", "fixity.max_age", "\"30m\""),
            ("STRONGROOM_STAGING__CAPACITY", "lots", "staging.capacity", "\"10 GiB\""),
            ("STRONGROOM_WORKERS__DEFAULT__WORKERS", "0", "workers.default.workers", "= 2"),
            ("STRONGROOM_LOG__FORMAT", "xml", "log.format", "\"text\""),
            ("STRONGROOM_INGEST__ALLOW_PRIVATE_ADDRESSES", "maybe", "ingest.allow_private_addresses", "true"),
            ("STRONGROOM_REGISTRY__URL", "mysql://a:b@c/d", "registry.url", "\"sqlite:registry.db\""),
            ("STRONGROOM_ROLES__STAGING", "stagin", "roles.staging", "nearest is staging"),
            ("STRONGROOM_PLACEMENTS__STANDARD", "primary,thrid", "placements.Standard", "thrid"),
            ("STRONGROOM_INGEST__DEFAULT_PLACEMENT", "Standart", "ingest.default_placement", "Standard"),
        ] {
            let error = load(&[(variable, value)]).unwrap_err();
            assert!(error.contains(key) && error.contains(example), "{error}");
        }
    }

    #[test]
    fn a_secret_may_lie_in_a_file_and_is_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("url");
        std::fs::write(&path, "sqlite:elsewhere.db\n").unwrap();
        let loaded = load(&[("STRONGROOM_REGISTRY__URL_FILE", path.to_str().unwrap())]).unwrap();
        assert!(registry_file(&loaded.settings).ends_with("elsewhere.db"));
        let error = load(&[("STRONGROOM_REGISTRY__URL", "mysql://user:hidden@host/db")]).unwrap_err();
        assert!(error.contains("mysql://user:********@host") && !error.contains("hidden"), "{error}");
        assert!(load(&[("STRONGROOM_LOG__LEVEL_FILE", "x")]).is_err(), "only secrets are read from files");
    }

    #[test]
    fn a_server_takes_its_password_from_beside_the_url() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        std::fs::write(&path, "hidden\n").unwrap();
        let loaded = load(&[
            ("STRONGROOM_REGISTRY__URL", "postgres://user:al50@host/db?password=th1rd&sslmode=disable"),
            ("STRONGROOM_REGISTRY__PASSWORD_FILE", path.to_str().unwrap()),
            ("STRONGROOM_REGISTRY__CONNECTIONS", "4"),
        ])
        .unwrap();
        match loaded.settings.registry_location(Path::new("/home")).unwrap() {
            Location::Postgres { settings, .. } => {
                assert_eq!((settings.password.as_deref(), settings.connections), (Some("hidden"), 4));
            }
            Location::Sqlite(path) => panic!("it is no server: {}", path.display()),
        }
        let shown: Vec<_> = loaded.entries.iter().map(|entry| entry.value.as_str()).collect();
        assert!(shown.contains(&"\"postgres://user:********@host/db?password=********&sslmode=disable\""), "{shown:?}");
        for secret in ["hidden", "al50", "th1rd"] {
            assert!(!shown.iter().any(|value| value.contains(secret)), "{secret} in {shown:?}");
            assert!(!format!("{:?}", loaded.entries).contains(secret));
        }
    }
}
