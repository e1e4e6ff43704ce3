//! What the settings of ARKs mean: the minter and the account at EZID that they name, and what is wrong with them.

use strongroom_ark::{EzidClient, EzidOptions, Minter, Naan, Shoulder};
use url::Url;

use super::tree::{IdentifierSettings, MinterKind};

/// What does not fit: the key, and why.
type Unfit = (&'static str, String);

impl IdentifierSettings {
    /// The minter of new ARKs, whose names begin with this shoulder or, without one, with that of the settings; none where none are
    /// made.
    pub fn minter(&self, shoulder: Option<&str>) -> Option<Minter> {
        if self.minter == MinterKind::None {
            return None;
        }
        let shoulder = shoulder.unwrap_or(&self.shoulder);
        Some(Minter::new(Naan::new(&self.naan).ok()?, Shoulder::new(shoulder).ok()?))
    }

    /// Whether the names of new ARKs may begin so.
    pub fn has_shoulder(&self, shoulder: &str) -> bool {
        self.all_shoulders().any(|one| one == shoulder)
    }

    /// What the names of new ARKs may begin with.
    fn all_shoulders(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.shoulder).chain(&self.shoulders).filter(|one| !one.is_empty())
    }

    /// The account at EZID; none where ARKs are not registered there.
    pub fn ezid(&self) -> Option<EzidOptions> {
        let password = self.ezid_password.clone().filter(|_| self.minter == MinterKind::Ezid)?;
        Some(EzidOptions::new(&self.ezid_url, &self.ezid_user, password))
    }

    /// Whether an ARK in normal form is below a shoulder of new ones; none is where no minter is set.
    pub fn is_ours(&self, ark: &str) -> bool {
        let rest = ark.strip_prefix("ark:/").and_then(|rest| rest.strip_prefix(&self.naan.to_ascii_lowercase()));
        let name = rest.and_then(|rest| rest.strip_prefix('/'));
        self.minter != MinterKind::None
            && name.is_some_and(|name| self.all_shoulders().any(|shoulder| name.starts_with(shoulder)))
    }

    /// The first thing that does not fit.
    pub(super) fn check(&self) -> Result<(), Unfit> {
        if !self.naan.is_empty() {
            Naan::new(&self.naan).map_err(|error| ("identifiers.naan", error.to_string()))?;
        }
        if !self.shoulder.is_empty() {
            Shoulder::new(&self.shoulder).map_err(|error| ("identifiers.shoulder", error.to_string()))?;
        }
        for shoulder in &self.shoulders {
            Shoulder::new(shoulder).map_err(|error| ("identifiers.shoulders", error.to_string()))?;
        }
        if !self.target.is_empty() {
            let url = Url::parse(&self.target).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
            if url.is_none_or(|url| url.query().is_some() || url.fragment().is_some()) {
                let reason = format!(
                    "{:?} is no URL to which a slash and an ARK can be added; valid is, for example, identifiers.target = \
                     \"https://archive.example.edu/objects\"",
                    self.target
                );
                return Err(("identifiers.target", reason));
            }
        }
        let (word, is_ezid) = match self.minter {
            MinterKind::None => return Ok(()),
            MinterKind::Noid => ("noid", false),
            MinterKind::Ezid => ("ezid", true),
        };
        let needed = [
            ("naan", self.naan.is_empty(), "the number of the authority that assigns the names, such as \"12345\""),
            ("shoulder", self.shoulder.is_empty(), "what their names begin with, such as \"m5\""),
            ("ezid_user", is_ezid && self.ezid_user.is_empty(), "the user name of the account"),
            (
                "ezid_password",
                is_ezid && self.ezid_password.is_none(),
                "also from the environment, as STRONGROOM_IDENTIFIERS__EZID_PASSWORD or, from a file, \
                 STRONGROOM_IDENTIFIERS__EZID_PASSWORD_FILE",
            ),
        ];
        if let Some((name, _, what)) = needed.into_iter().find(|(_, is_missing, _)| *is_missing) {
            return Err(("identifiers.minter", format!("the minter {word:?} needs identifiers.{name}: {what}")));
        }
        if let Some(options) = self.ezid() {
            EzidClient::new(&options).map_err(|error| ("identifiers.ezid_url", error.to_string()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use super::super::{Settings, starting_file};
    use super::*;

    /// The settings with these lines in `[identifiers]`.
    fn with(lines: &str) -> Result<IdentifierSettings, String> {
        let text = starting_file().replace("[identifiers]\n", &format!("[identifiers]\n{lines}\n"));
        Settings::from_toml(&text).map(|settings| settings.identifiers).map_err(|error| error.to_string())
    }

    const EZID: &str =
        "minter = \"ezid\"\nnaan = \"99999\"\nshoulder = \"fk4\"\nezid_user = \"apitest\"\nezid_password = \"secret\"";

    #[test]
    fn no_arks_are_made_unless_a_minter_is_set() {
        let none = with("").expect("reads");
        assert_eq!((none.minter, none.minter(None), none.ezid().is_none()), (MinterKind::None, None, true));
        let named = with("naan = \"99999\"\nshoulder = \"fk4\"").expect("reads");
        assert_eq!(named.minter(None), None);
        let noid = with("minter = \"noid\"\nnaan = \"99999\"\nshoulder = \"fk4\"").expect("reads");
        let ark = noid.minter(None).expect("a minter").random_name(7);
        assert!(ark.as_str().starts_with("ark:/99999/fk4") && strongroom_ark::is_check_valid(&ark));
        assert!(noid.ezid().is_none());
        assert!(noid.is_ours(ark.normal()) && !noid.is_ours("ark:/99999/fk5x") && !noid.is_ours("ark:/9999/9fk4x"));
        assert!(!named.is_ours(ark.normal()));
        let ezid = with(EZID).expect("reads");
        assert!(ezid.minter(None).is_some() && ezid.ezid().is_some_and(|options| options.base == EzidOptions::CDL));
    }

    #[test]
    fn what_a_minter_lacks_is_named_with_the_line_of_the_minter() {
        let error = with("minter = \"noid\"").unwrap_err();
        assert!(error.contains("identifiers.minter") && error.contains("needs identifiers.naan"), "{error}");
        assert!(error.contains("strongroom.toml, line "), "{error}");
        for missing in ["naan", "shoulder", "ezid_user", "ezid_password"] {
            let lines: Vec<&str> = EZID.lines().filter(|line| !line.starts_with(missing)).collect();
            let error = with(&lines.join("\n")).unwrap_err();
            assert!(error.contains(&format!("needs identifiers.{missing}")), "{error}");
        }
    }

    #[test]
    fn what_can_not_be_used_is_refused_with_its_key() {
        for (line, wanted) in [
            ("naan = \"ab/c\"", "identifiers.naan"),
            ("shoulder = \"m\"", "identifiers.shoulder"),
            ("target = \"archive.example.edu\"", "identifiers.target"),
            ("target = \"https://archive.example.edu/?ark=\"", "identifiers.target"),
            ("minter = \"other\"", "identifiers.minter"),
            ("status = \"unavailable\"", "identifiers.status"),
        ] {
            let error = with(line).unwrap_err();
            assert!(error.contains(wanted) && error.contains("line "), "{line}: {error}");
        }
        let error = with(&format!("{EZID}\nezid_url = \"http://ezid.example.org\"")).unwrap_err();
        assert!(error.contains("identifiers.ezid_url") && error.contains("without encryption"), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn the_password_comes_from_the_environment_and_is_not_shown() {
        let lines: Vec<&str> = EZID.lines().filter(|line| !line.starts_with("ezid_password")).collect();
        let text = starting_file().replace("[identifiers]\n", &format!("[identifiers]\n{}\n", lines.join("\n")));
        let variable = ("STRONGROOM_IDENTIFIERS__EZID_PASSWORD", "correct horse");
        let environment = [variable].map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let loaded = Settings::read(Path::new("strongroom.toml"), &text, environment).expect("reads");
        let entry = loaded.entries.iter().find(|entry| entry.key == "identifiers.ezid_password").expect("an entry");
        assert_eq!(entry.value, "\"********\"");
        assert!(!format!("{:?}", loaded.settings).contains("correct horse"));
    }
}
