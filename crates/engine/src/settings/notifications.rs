//! What the settings of mails and callbacks mean, and what is wrong with them.

use std::net::IpAddr;

use lettre::message::Mailbox;

use super::collected::quoted;
use super::environment::variable_part;
use super::secret::Secret;
use super::tree::{MailSettings, MailTls, Settings};
use crate::notifications::mailbox;

/// The least characters of a key of signatures: as many as HMAC-SHA256 has bytes (RFC 2104 section 3).
const SHORTEST_SECRET: usize = 32;

impl MailSettings {
    /// Whether a mail server is named.
    pub fn is_set(&self) -> bool {
        !self.host.is_empty()
    }

    /// The sender; none where no mail is sent.
    pub(crate) fn sender(&self) -> Option<Mailbox> {
        mailbox(&self.from).ok().filter(|_| self.is_set())
    }

    /// The first thing that does not fit: the key, and why.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        if let Some(wrong) = self.admins.iter().find(|address| mailbox(address).is_err()) {
            return Err((
                "mail.admins",
                format!("{wrong:?} is no address of a mail; valid is, for example, \"admin@example.edu\""),
            ));
        }
        if !self.from.is_empty() && mailbox(&self.from).is_err() {
            let reason = format!(
                "{:?} is no address of a mail; valid is, for example, mail.from = \"Strongroom <strongroom@example.edu>\"",
                self.from
            );
            return Err(("mail.from", reason));
        }
        if u16::try_from(self.port).is_err() {
            return Err(("mail.port", format!("{} is no port; the largest is 65535", self.port)));
        }
        if !self.is_set() {
            return Ok(());
        }
        if self.from.is_empty() {
            return Err(("mail.host", "a mail server needs mail.from, the address of the sender".to_owned()));
        }
        if self.username.is_empty() != self.password.is_none() {
            let reason = "mail.username and mail.password are given together or not at all; the password may also come from the \
                          environment, as STRONGROOM_MAIL__PASSWORD or, from a file, STRONGROOM_MAIL__PASSWORD_FILE";
            return Err(("mail.username", reason.to_owned()));
        }
        if self.tls == MailTls::None && !self.username.is_empty() && !self.is_this_machine() {
            let reason = "with a user name and without encryption, the password could be read on its way; valid is \
                          mail.tls = \"starttls\" or \"tls\"";
            return Err(("mail.tls", reason.to_owned()));
        }
        Ok(())
    }

    fn is_this_machine(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

impl Settings {
    /// The key of the signatures of callbacks for a collection, named `INSTITUTION/COLLECTION`: its own, or else the common one.
    pub(crate) fn callback_secret(&self, collection: Option<&str>) -> Option<&Secret> {
        let own = collection.and_then(|name| {
            // The name of a variable of the environment has no dots and slashes.
            let as_variable =
                || self.collections.iter().find(|(given, _)| **given == variable_part(name)).map(|(_, own)| own);
            self.collections.get(name).or_else(as_variable)
        });
        own.and_then(|own| own.callback_secret.as_ref()).or(self.callbacks.secret.as_ref())
    }

    /// The first thing of callbacks that does not fit: the key, and why.
    pub(super) fn check_callbacks(&self) -> Result<(), (String, String)> {
        if let Some(other) = self.callbacks.schemes.iter().find(|scheme| !matches!(scheme.as_str(), "http" | "https")) {
            return Err(("callbacks.schemes".to_owned(), format!("{other:?} is neither https nor http")));
        }
        let common = ("callbacks.secret".to_owned(), &self.callbacks.secret);
        let own = self
            .collections
            .iter()
            .map(|(name, own)| (format!("collections.{}.callback_secret", quoted(name)), &own.callback_secret));
        for (key, secret) in [common].into_iter().chain(own) {
            let is_short = |secret: &Secret| secret.expose().chars().count() < SHORTEST_SECRET;
            if secret.as_ref().is_some_and(is_short) {
                let reason = format!(
                    "it has fewer than {SHORTEST_SECRET} characters; \"openssl rand -hex 32\" prints one that is long enough"
                );
                return Err((key, reason));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use super::super::starting_file;
    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    /// The settings with these lines in a section of the starting file.
    fn with(section: &str, lines: &str) -> Result<Settings, String> {
        let text = starting_file().replace(&format!("[{section}]\n"), &format!("[{section}]\n{lines}\n"));
        Settings::from_toml(&text).map_err(|error| error.to_string())
    }

    #[test]
    fn no_mail_is_sent_unless_a_host_is_set() {
        let none = with("mail", "").expect("reads").mail;
        assert!(!none.is_set() && none.sender().is_none());
        let set =
            with("mail", "host = \"mail.example.edu\"\nfrom = \"Strongroom <s@example.edu>\"").expect("reads").mail;
        assert_eq!(set.sender().expect("a sender").to_string(), "Strongroom <s@example.edu>");
    }

    #[test]
    fn what_can_not_be_used_is_refused_with_its_key() {
        let host = "host = \"mail.example.edu\"\n";
        let from = "from = \"s@example.edu\"\n";
        for (section, lines, wanted) in [
            ("mail", host.to_owned(), "mail.host"),
            ("mail", format!("{host}from = \"nothing\""), "mail.from"),
            ("mail", format!("{host}from = \"a@example.edu\\nBcc: b@example.edu\""), "mail.from"),
            ("mail", format!("{host}{from}admins = [\"admin\"]"), "mail.admins"),
            ("mail", format!("{host}{from}username = \"u\""), "mail.username"),
            ("mail", format!("{host}{from}username = \"u\"\npassword = \"p\"\ntls = \"none\""), "mail.tls"),
            ("mail", format!("{host}{from}tls = \"ssl\""), "mail.tls"),
            ("mail", format!("{host}{from}timeout = \"0s\""), "mail.timeout"),
            ("mail", "port = 65536".to_owned(), "mail.port"),
            ("callbacks", "schemes = [\"ftp\"]".to_owned(), "callbacks.schemes"),
            ("callbacks", "secret = \"short\"".to_owned(), "callbacks.secret"),
        ] {
            let error = with(section, &lines).unwrap_err();
            assert!(error.contains(wanted) && error.contains("line "), "{lines}: {error}");
        }
    }

    #[test]
    fn a_collection_has_the_common_secret_or_one_of_its_own_from_the_file_or_the_environment() {
        let own = SECRET.replace('0', "x");
        let text = format!(
            "{}\n[collections.\"example.edu/maps\"]\ncallback_secret = \"{own}\"\n",
            starting_file().replace("[callbacks]\n", &format!("[callbacks]\nsecret = \"{SECRET}\"\n"))
        );
        let third = SECRET.replace('0', "y");
        let variable = ("STRONGROOM_COLLECTIONS__EXAMPLE_EDU_ATLAS__CALLBACK_SECRET", third.as_str());
        let environment = [variable].map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let loaded = Settings::read(Path::new("strongroom.toml"), &text, environment).expect("reads");
        let secret = |collection| loaded.settings.callback_secret(collection).expect("a secret").expose().to_owned();
        assert_eq!(secret(None), SECRET);
        assert_eq!(secret(Some("example.edu/other")), SECRET);
        assert_eq!(secret(Some("example.edu/maps")), own);
        assert_eq!(secret(Some("example.edu/atlas")), third);
        assert!(!format!("{:?}", loaded.settings).contains(&own));
        assert!(loaded.entries.iter().all(|entry| !entry.value.contains(&own)));
    }
}
