//! Addresses of mails, as they are written in settings and records: `NAME <ADDRESS>`, or the address alone.

use lettre::Address;
use lettre::message::Mailbox;
use url::Host;

/// Longer texts are no addresses, in bytes: a name, and what RFC 5321 section 4.5.3.1 allows for an address.
const LONGEST: usize = 998;

/// Parses an address with its name. The domain is put into its form in ASCII (RFC 5891).
///
/// # Errors
/// It is no address. A text with control characters, such as the end of a line, is none.
pub(crate) fn mailbox(text: &str) -> Result<Mailbox, String> {
    let none = || format!("{:?} is no address of a mail", super::shown(text));
    if text.len() > LONGEST || text.chars().any(char::is_control) {
        return Err(none());
    }
    let mut mailbox: Mailbox = text.trim().parse().map_err(|_| none())?;
    if !mailbox.email.domain().is_ascii() {
        let domain = Host::parse(mailbox.email.domain()).map_err(|_| none())?.to_string();
        mailbox.email = Address::new(mailbox.email.user(), domain).map_err(|_| none())?;
    }
    Ok(mailbox)
}

#[cfg(test)]
mod tests {
    use super::mailbox;

    #[test]
    fn an_address_may_have_a_name_and_never_a_second_line() {
        for (text, address) in [
            ("a@example.edu", "a@example.edu"),
            (" A B <a@example.edu> ", "a@example.edu"),
            ("\"B, A\" <a@example.edu>", "a@example.edu"),
            ("Jürgen Müller <jm@example.edu>", "jm@example.edu"),
            ("a@münchen.example", "a@xn--mnchen-3ya.example"),
        ] {
            assert_eq!(mailbox(text).map(|mailbox| mailbox.email.to_string()).as_deref(), Ok(address), "{text}");
        }
        for text in [
            "",
            "a",
            "a@",
            "@example.edu",
            "a b@example.edu",
            "a@example.edu\r\nBcc: b@example.edu",
            "A\r\n <a@example.edu>",
            "A\nB <a@example.edu>",
            "a@example.edu, b@example.edu",
            "a@example.edu> SIZE=1",
            "<a@example.edu",
            "a\u{0}@example.edu",
        ] {
            assert!(mailbox(text).is_err(), "{text:?}");
        }
    }
}
