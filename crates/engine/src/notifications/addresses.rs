//! Addresses of mails, as they are written in settings and records: `NAME <ADDRESS>`, or the address alone.

use lettre::Address;
use lettre::message::Mailbox;
use url::Host;

use crate::EngineError;

/// Longer texts are no addresses, in bytes: a name, and what RFC 5321 section 4.5.3.1 allows for an address.
const LONGEST: usize = 998;

/// The addresses that a collection or a batch has at most.
const MOST_ADDRESSES: usize = 100;

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

/// Addresses that a person gives, each once, where all of them can be used; empty texts are left out.
///
/// # Errors
/// One is no address, or there are too many.
pub(crate) fn checked_addresses(given: &[String]) -> Result<Vec<String>, EngineError> {
    let mut addresses: Vec<String> = Vec::new();
    for address in given.iter().map(|address| address.trim()).filter(|address| !address.is_empty()) {
        mailbox(address).map_err(|wrong| EngineError::Usage(wrong).next("give one such as ann@example.edu"))?;
        if !addresses.iter().any(|known| known == address) {
            addresses.push(address.to_owned());
        }
        if addresses.len() > MOST_ADDRESSES {
            return Err(EngineError::Usage(format!("there can be at most {MOST_ADDRESSES} addresses"))
                .next("give the address of a mailing list"));
        }
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::{checked_addresses, mailbox};

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

    #[test]
    fn addresses_are_taken_once_each_and_at_most_a_hundred() {
        let given = |count: usize| (0..count).map(|n| format!("{n}@example.edu")).collect::<Vec<_>>();
        assert_eq!(checked_addresses(&given(100)).map(|addresses| addresses.len()).ok(), Some(100));
        let twice: Vec<String> = given(100).into_iter().chain(given(100)).chain([" ".to_owned()]).collect();
        assert_eq!(checked_addresses(&twice).map(|addresses| addresses.len()).ok(), Some(100));
        let many = checked_addresses(&given(101)).expect_err("is refused").to_string();
        assert!(many.contains("at most 100"), "{many}");
        let wrong = checked_addresses(&["Ann".to_owned()]).expect_err("is refused").to_string();
        assert!(wrong.contains("no address"), "{wrong}");
    }
}
