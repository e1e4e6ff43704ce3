//! The channel of mails. Each recipient is decided about on their own: one who has the mail does not get it again, whatever became of the
//! others.

use lettre::Address;
use lettre::message::Mailbox;
use serde::{Deserialize, Serialize};
use strongroom_registry::outbox::{self, Message};
use uuid::Uuid;

use super::addresses::mailbox;
use super::composed::compose;
use super::mail::{Mail, Payload};
use super::smtp::{self, Answer, Envelope, Unusable};
use super::{Prepared, Receivers};
use crate::event::Event;
use crate::outbox::{Channel, Delay, Delivery};
use crate::people::tokens;
use crate::{EngineError, Home, crash_point};

/// The channel whose messages are sent by SMTP.
pub(crate) struct Mails;

/// What became of the recipients so far, by their addresses as the message has them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Progress {
    accepted: Vec<String>,
    refused: Vec<Refusal>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Refusal {
    recipient: String,
    answer: String,
}

impl Channel for Mails {
    fn name(&self) -> &'static str {
        "mail"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[outbox::MAIL]
    }

    /// Its recipients: one who is refused for a while holds up no mails to others.
    fn place(&self, message: &Message) -> String {
        let payload: Option<Payload> = serde_json::from_str(&message.payload).ok();
        payload.map(|payload| recipients(&payload).join(" ")).unwrap_or_default()
    }

    fn gives_up_after(&self, home: &Home) -> Option<std::time::Duration> {
        Some(home.settings.mail.give_up_after)
    }

    fn deliver(&self, home: &Home, message: &Message) -> Result<Delivery, EngineError> {
        let again = format!("strongroom outbox send {}; or: strongroom outbox remove {}", message.id, message.id);
        let Ok(payload) = serde_json::from_str::<Payload>(&message.payload) else {
            let reason = "its text is not that of a mail, perhaps of a later version of the program";
            return Ok(Delivery::Undeliverable(format!("{reason}; next: {again}")));
        };
        let settings = &home.settings.mail;
        let Some(from) = settings.sender() else {
            return Ok(Delivery::Undeliverable(format!(
                "the settings name no mail server; next: set mail.host and mail.from, restart the workers, then: {again}"
            )));
        };
        let mut progress = progress_of(message, &payload);
        let before = progress.clone();
        let open = progress.open(&payload);
        let mut delay = None;
        if !open.is_empty() {
            let to: Vec<Mailbox> = payload.mail.to.iter().filter_map(|text| mailbox(text).ok()).collect();
            let payload = match &payload.token_of {
                None => payload.clone(),
                Some(of) => match tokens::fill(&home.registry, of, &payload.mail)? {
                    Some(mail) => Payload { mail, ..payload.clone() },
                    None => {
                        let id = message.id;
                        home.registry.write(move |tx| outbox::set_delivered(tx, id))?;
                        return Ok(Delivery::Obsolete);
                    }
                },
            };
            let mail = match compose(&payload, &from, &to, message.created_at) {
                Ok(mail) => mail,
                Err(reason) => {
                    return Ok(Delivery::Undeliverable(format!("it cannot be composed: {reason}; next: {again}")));
                }
            };
            let recipients = open.iter().map(|(_, address)| address.clone()).collect();
            let envelope = Envelope { from: from.email, recipients, mail };
            let authorities = home.authorities(settings.ca_file.as_deref())?;
            match smtp::send(&home.mail_sessions, settings, authorities.as_deref(), envelope) {
                Err(Unusable(reason)) => delay = Some(Delay::of_route(reason)),
                Ok(answers) => delay = progress.add(&open, answers).map(Delay::of_message),
            }
            crash_point("outbox.mail.sent");
        }
        for refusal in progress.refused.iter().filter(|refusal| !before.refused.contains(refusal)) {
            Event::MailRefused { key: &message.key, recipient: &refusal.recipient, answer: &refusal.answer }.emit();
        }
        let is_done = delay.is_none() && !progress.accepted.is_empty();
        let id = message.id;
        // Texts only: it cannot fail.
        let text = serde_json::to_string(&progress).unwrap_or_default();
        home.registry.write(move |tx| {
            outbox::set_progress(tx, id, &text)?;
            if is_done { outbox::set_delivered(tx, id) } else { Ok(()) }
        })?;
        Ok(match delay {
            Some(delay) => Delivery::Delayed(delay),
            None if is_done => Delivery::Made,
            None => Delivery::Undeliverable(format!(
                "every recipient was refused: {}; next: correct the addresses or what the mail server refuses, then: {again}",
                progress.refusals()
            )),
        })
    }
}

/// Whom the message of a mail goes to.
pub(super) fn receivers(message: &Message) -> Receivers {
    let Ok(payload) = serde_json::from_str::<Payload>(&message.payload) else { return Receivers::default() };
    let progress = message.progress.as_deref().and_then(|text| serde_json::from_str::<Progress>(text).ok());
    let refused = progress.unwrap_or_default().refused;
    let refused = refused.iter().map(|refusal| format!("{}: {}", refusal.recipient, refusal.answer)).collect();
    Receivers { to: recipients(&payload), subject: Some(payload.mail.subject), refused }
}

/// What becomes of a mail whose addresses were corrected.
pub(crate) struct Readdressed {
    /// What the channel has to know of the mail from now on, and of the further one: who has it. No refusal is left that was not answered.
    pub(crate) progress: String,
    /// The mail itself with its new recipients, where it was not delivered yet.
    pub(crate) replaced: Option<String>,
    /// The same mail for those recipients who do not have it, where it was delivered to others.
    pub(crate) further: Option<Prepared>,
}

/// A mail that was not delivered, or not to all of its recipients, for other addresses. Those who have it do not get it again. None where
/// the message is no mail, it is left without any recipient, or it has a token, which is for its user alone.
pub(crate) fn readdressed(message: &Message, addresses: &[String]) -> Option<Readdressed> {
    let payload: Payload = serde_json::from_str(&message.payload).ok()?;
    if payload.token_of.is_some() {
        return None;
    }
    let known: Progress =
        message.progress.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let Progress { accepted, .. } = known;
    let to: Vec<String> = addresses.iter().filter(|address| !accepted.contains(address)).cloned().collect();
    if to.is_empty() && accepted.is_empty() {
        return None;
    }
    // Texts only: it cannot fail.
    let as_text = |to: Vec<String>| {
        let mail = Mail { to, bcc: Vec::new(), ..payload.mail.clone() };
        serde_json::to_string(&Payload { message_id: payload.message_id.clone(), mail, token_of: None })
            .unwrap_or_default()
    };
    let (replaced, further) = match message.delivered_at {
        None => {
            // They stay named in it.
            let have_it = accepted.iter().filter(|recipient| payload.mail.to.contains(recipient)).cloned();
            (Some(as_text(to.into_iter().chain(have_it).collect())), None)
        }
        Some(_) if to.is_empty() => (None, None),
        Some(_) => {
            let key = format!("{} to {}", message.key, Uuid::now_v7());
            (None, Some(Prepared { key, kind: outbox::MAIL, payload: as_text(to) }))
        }
    };
    let progress = serde_json::to_string(&Progress { accepted, refused: Vec::new() }).unwrap_or_default();
    Some(Readdressed { progress, replaced, further })
}

/// What became of the recipients in earlier attempts. Where all were refused, and a person has it sent again, all are asked again.
fn progress_of(message: &Message, payload: &Payload) -> Progress {
    let progress: Progress =
        message.progress.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let refused: Vec<&String> = progress.refused.iter().map(|refusal| &refusal.recipient).collect();
    if recipients(payload).iter().all(|recipient| refused.contains(&recipient)) {
        Progress::default()
    } else {
        progress
    }
}

/// Every recipient once, as the message has them.
fn recipients(payload: &Payload) -> Vec<String> {
    let mut recipients: Vec<String> = Vec::new();
    for recipient in payload.mail.to.iter().chain(&payload.mail.bcc) {
        if !recipients.contains(recipient) {
            recipients.push(recipient.clone());
        }
    }
    recipients
}

impl Progress {
    /// The recipients who were not decided about, with their addresses; those that have none are refused.
    fn open(&mut self, payload: &Payload) -> Vec<(String, Address)> {
        let mut open = Vec::new();
        for recipient in recipients(payload) {
            let is_known =
                self.accepted.contains(&recipient) || self.refused.iter().any(|refusal| refusal.recipient == recipient);
            match mailbox(&recipient) {
                _ if is_known => {}
                Ok(mailbox) => open.push((recipient, mailbox.email)),
                Err(answer) => self.refused.push(Refusal { recipient, answer }),
            }
        }
        open
    }

    /// Adds what the server answered; why another attempt is needed, where it is.
    fn add(&mut self, open: &[(String, Address)], answers: Vec<Answer>) -> Option<String> {
        let mut later = None;
        for ((recipient, _), answer) in open.iter().zip(answers) {
            match answer {
                Answer::Accepted => self.accepted.push(recipient.clone()),
                Answer::Refused(answer) => self.refused.push(Refusal { recipient: recipient.clone(), answer }),
                Answer::Later(answer) => later = later.or(Some(format!("{recipient}: {answer}"))),
            }
        }
        later
    }

    fn refusals(&self) -> String {
        let texts: Vec<String> = self
            .refused
            .iter()
            .map(|refusal| format!("{}: {}", super::shown(&refusal.recipient), refusal.answer))
            .collect();
        texts.join("; ")
    }
}
