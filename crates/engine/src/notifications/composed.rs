//! The form of a mail: RFC 5322 and MIME, in ASCII whatever it says. The same payload gives the same headers each time.

use std::time::SystemTime;

use lettre::Message;
use lettre::address::Envelope;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment, Mailbox, MultiPart};
use strongroom_registry::Time;

use super::mail::Payload;

/// Composes a mail from a sender to those who are named in it.
///
/// # Errors
/// Why it cannot be composed.
pub(super) fn compose(payload: &Payload, from: &Mailbox, to: &[Mailbox], date: Time) -> Result<Vec<u8>, String> {
    let mail = &payload.mail;
    // How it is sent is decided elsewhere; the builder asks for an envelope.
    let envelope =
        Envelope::new(Some(from.email.clone()), vec![from.email.clone()]).map_err(|error| error.to_string())?;
    let mut builder = Message::builder()
        .envelope(envelope)
        .from(from.clone())
        .subject(&mail.subject)
        .date(SystemTime::from(date.timestamp()))
        .message_id(Some(payload.message_id.clone()))
        // Programs that answer mails do not answer this one (RFC 3834 section 5).
        .raw_header(HeaderValue::new(HeaderName::new_from_ascii_str("Auto-Submitted"), "auto-generated".to_owned()));
    // An address beyond ASCII would need a server that takes it in headers (RFC 6532).
    for mailbox in to.iter().filter(|mailbox| mailbox.email.user().is_ascii()) {
        builder = builder.to(mailbox.clone());
    }
    let texts = MultiPart::alternative_plain_html(mail.text.clone(), mail.html.clone());
    let parts = match &mail.attachment {
        None => texts,
        Some(attachment) => {
            let kind = ContentType::parse("text/csv; charset=utf-8").map_err(|error| error.to_string())?;
            let table = Attachment::new(attachment.name.clone()).body(attachment.text.clone(), kind);
            MultiPart::mixed().multipart(texts).singlepart(table)
        }
    };
    Ok(builder.multipart(parts).map_err(|error| error.to_string())?.formatted())
}

#[cfg(test)]
mod tests {
    use super::super::addresses::mailbox;
    use super::super::mail::{Attachment, Mail};
    use super::*;

    fn composed(mail: Mail, to: &[&str]) -> String {
        let payload = Payload { message_id: "<fixed@example.edu>".into(), mail, token_of: None };
        let to: Vec<Mailbox> = to.iter().map(|text| mailbox(text).expect("an address")).collect();
        let from = mailbox("Strongroom <s@example.edu>").expect("an address");
        String::from_utf8(compose(&payload, &from, &to, Time(0)).expect("is composed")).expect("ASCII")
    }

    #[test]
    fn a_mail_is_ascii_in_short_lines_whatever_it_says() {
        let mail = Mail {
            subject: "Bestände aus München: 日本語 und ein langer Betreff, der auf einer Zeile keinen Platz mehr hat"
                .into(),
            text: format!("Grüße {}\n.\n..two\n", "x".repeat(3000)),
            html: format!("<p>{}</p>", "ü".repeat(2000)),
            attachment: Some(Attachment { name: "Bestände \u{202e}.csv".into(), text: "a,b\n".repeat(1000) }),
            ..Mail::default()
        };
        let text = composed(mail, &["Jürgen Müller <jm@example.edu>", "b@example.edu"]);
        assert!(text.is_ascii());
        assert!(text.split("\r\n").all(|line| line.len() <= 998 && !line.contains(['\r', '\n'])));
        for wanted in [
            "Message-ID: <fixed@example.edu>\r\n",
            "Date: Thu, 01 Jan 1970 00:00:00 +0000\r\n",
            "From: Strongroom <s@example.edu>\r\n",
            "Auto-Submitted: auto-generated\r\n",
            "Subject: =?utf-8?b?",
            "multipart/mixed",
            "multipart/alternative",
            "text/csv",
        ] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
    }

    #[test]
    fn nothing_of_a_text_becomes_a_header() {
        for hostile in ["a\r\nBcc: evil@example.org", "a\nBcc: evil@example.org", "a\rBcc: evil@example.org"] {
            let mail = Mail {
                subject: hostile.into(),
                text: hostile.into(),
                html: hostile.into(),
                attachment: Some(Attachment { name: hostile.into(), text: "a".into() }),
                ..Mail::default()
            };
            let text = composed(mail, &["a@example.edu"]);
            let headers = text.split("\r\n\r\n").next().unwrap_or_default();
            assert!(!headers.lines().any(|line| line.to_ascii_lowercase().starts_with("bcc")), "{headers}");
            let parts = text.split("\r\n\r\n").filter(|part| part.contains("Content-Disposition"));
            assert!(parts.flat_map(str::lines).all(|line| !line.starts_with("Bcc: evil@example.org\"")), "{text}");
        }
    }
}
