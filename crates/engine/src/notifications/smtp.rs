//! A session with the mail server: who of the recipients gets a mail. One mail, one connection, bounded in time.
//!
//! The connection is that of `lettre`, whose time limits are for single reads: a server that sends a byte now and then would never
//! reach them. So the session has a thread of its own, which is left when the time is over; it ends itself before its next command.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use lettre::Address;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{Certificate, SmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{ClientId, Extension, MailParameter};
use lettre::transport::smtp::{Error, response::Response};

use super::shown;
use crate::settings::{MailSettings, MailTls};

/// Sessions at a time, with those that were left.
const MAX_SESSIONS: usize = 4;

/// The sessions of a process, with those that were left and have not ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sessions(Arc<AtomicUsize>);

/// What is sent, to whom.
#[derive(Debug, Clone)]
pub(super) struct Envelope {
    pub(super) from: Address,
    pub(super) recipients: Vec<Address>,
    pub(super) mail: Vec<u8>,
}

/// What the server answered about a recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// It has the mail for them.
    Accepted,
    /// It will not have it (5xx): why.
    Refused(String),
    /// Not now (4xx): why.
    Later(String),
}

/// Why no recipient was decided about: the server could not be used. Another attempt may succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unusable(pub(super) String);

/// Offers a mail to the server; the answer about each recipient, in their order. `authorities` are certificates as PEM that are
/// trusted besides those of the system.
pub(super) fn send(
    sessions: &Sessions,
    settings: &MailSettings,
    authorities: Option<&str>,
    envelope: Envelope,
) -> Result<Vec<Answer>, Unusable> {
    let place = format!("the mail server {}:{}", settings.host, settings.port);
    let Some(guard) = sessions.begin() else {
        return Err(Unusable(format!("{MAX_SESSIONS} earlier sessions with {place} have not ended")));
    };
    let (sender, receiver) = mpsc::channel();
    let (timeout, deadline) = (settings.timeout, Instant::now() + settings.timeout);
    let session = Session { settings: settings.clone(), authorities: authorities.map(str::to_owned), deadline };
    let run = move || {
        let _guard = guard;
        // The receiver may have left.
        let _ = sender.send(session.run(&envelope));
    };
    thread::Builder::new()
        .name("smtp".to_owned())
        .spawn(run)
        .map_err(|error| Unusable(format!("could not start a thread for {place}: {error}")))?;
    match receiver.recv_timeout(timeout) {
        Ok(outcome) => outcome.map_err(|Unusable(reason)| Unusable(format!("{place}: {reason}"))),
        Err(RecvTimeoutError::Timeout) => {
            Err(Unusable(format!("{place} did not take the mail within {} s (mail.timeout)", timeout.as_secs_f32())))
        }
        Err(RecvTimeoutError::Disconnected) => Err(Unusable(format!("the session with {place} panicked"))),
    }
}

impl Sessions {
    /// Counts another session; none where there are too many.
    fn begin(&self) -> Option<Running> {
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        let guard = Running(self.clone());
        (before < MAX_SESSIONS).then_some(guard)
    }
}

/// A session that is counted until its thread ends.
struct Running(Sessions);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Session {
    settings: MailSettings,
    authorities: Option<String>,
    deadline: Instant,
}

impl Session {
    fn run(&self, envelope: &Envelope) -> Result<Vec<Answer>, Unusable> {
        let mut connection = self.connect()?;
        let answers = self.offer(&mut connection, envelope);
        if !connection.has_broken() && self.left().is_ok() {
            // What was accepted stays accepted, whatever is answered to this.
            let _ = connection.quit();
        }
        answers
    }

    fn connect(&self) -> Result<SmtpConnection, Unusable> {
        let settings = &self.settings;
        let tls = if settings.tls == MailTls::None { None } else { Some(self.tls()?) };
        let hello = hello();
        let first = tls.as_ref().filter(|_| settings.tls == MailTls::Tls);
        let port = u16::try_from(settings.port).unwrap_or_default();
        let place = (settings.host.as_str(), port);
        let connected = SmtpConnection::connect(place, Some(self.left()?), &hello, first, None);
        let mut connection = connected.map_err(|error| unusable("could not connect", &error))?;
        if let Some(tls) = tls.as_ref().filter(|_| settings.tls == MailTls::Starttls) {
            if !connection.can_starttls() {
                connection.abort();
                let advice = "it offers no STARTTLS; mail.tls may have to be \"tls\", with another mail.port";
                return Err(Unusable(advice.to_owned()));
            }
            self.limit(&mut connection)?;
            connection.starttls(tls, &hello).map_err(|error| unusable("could not encrypt the connection", &error))?;
        }
        if let Some(password) = settings.password.as_ref().filter(|_| !settings.username.is_empty()) {
            self.limit(&mut connection)?;
            let credentials = Credentials::new(settings.username.clone(), password.expose().to_owned());
            connection.auth(&[Mechanism::Plain, Mechanism::Login], &credentials).map_err(|error| {
                connection.abort();
                unusable("it refused mail.username and mail.password", &error)
            })?;
        }
        Ok(connection)
    }

    fn offer(&self, connection: &mut SmtpConnection, envelope: &Envelope) -> Result<Vec<Answer>, Unusable> {
        let takes_unicode = connection.server_info().supports_feature(Extension::SmtpUtfEight);
        let is_ascii = |address: &Address| AsRef::<str>::as_ref(address).is_ascii();
        let addresses = || envelope.recipients.iter().chain([&envelope.from]);
        let parameters =
            if takes_unicode && !addresses().all(is_ascii) { vec![MailParameter::SmtpUtfEight] } else { Vec::new() };
        let sender = self.command(connection, Mail::new(Some(envelope.from.clone()), parameters), "MAIL FROM")?;
        if sender != Answer::Accepted {
            return Ok(vec![sender; envelope.recipients.len()]);
        }
        let mut answers = Vec::new();
        for recipient in &envelope.recipients {
            answers.push(if takes_unicode || is_ascii(recipient) {
                self.command(connection, Rcpt::new(recipient.clone(), Vec::new()), "RCPT TO")?
            } else {
                Answer::Refused("the server takes no addresses beyond ASCII (SMTPUTF8)".to_owned())
            });
        }
        if !answers.contains(&Answer::Accepted) {
            return Ok(answers);
        }
        let mut end = self.command(connection, Data, "DATA")?;
        if end == Answer::Accepted {
            self.limit(connection)?;
            end = answer("the mail", connection.message(&envelope.mail))?;
        }
        for answer in answers.iter_mut().filter(|answer| **answer == Answer::Accepted) {
            answer.clone_from(&end);
        }
        Ok(answers)
    }

    fn command(
        &self,
        connection: &mut SmtpConnection,
        command: impl std::fmt::Display,
        name: &str,
    ) -> Result<Answer, Unusable> {
        self.limit(connection)?;
        answer(name, connection.command(command))
    }

    /// What is left of the time.
    fn left(&self) -> Result<Duration, Unusable> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(Unusable("the time is over".to_owned())) } else { Ok(left) }
    }

    fn limit(&self, connection: &mut SmtpConnection) -> Result<(), Unusable> {
        let left = self.left()?;
        connection.set_timeout(Some(left)).map_err(|error| Unusable(format!("the connection cannot be used: {error}")))
    }

    fn tls(&self) -> Result<TlsParameters, Unusable> {
        let mut builder = TlsParameters::builder(self.settings.host.clone());
        if let Some(text) = &self.authorities {
            let failed = |error: Error| unusable("mail.ca_file cannot be used", &error);
            builder = builder.add_root_certificate(Certificate::from_pem(text.as_bytes()).map_err(failed)?);
        }
        builder.build().map_err(|error| unusable("the connection cannot be encrypted", &error))
    }
}

/// The name by which this machine greets (RFC 5321 section 4.1.1.1).
fn hello() -> ClientId {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
    ClientId::Domain(if is_name { name } else { "localhost".to_owned() })
}

/// What an answer of the server means for a recipient.
fn answer(command: &str, outcome: Result<Response, Error>) -> Result<Answer, Unusable> {
    match outcome {
        Ok(_) => Ok(Answer::Accepted),
        Err(error) if error.is_permanent() => Ok(Answer::Refused(format!("{command}: {}", reason(&error)))),
        // 421: the server closes the connection (RFC 5321 section 3.8).
        Err(error) if error.is_transient() && error.status().is_none_or(|code| u16::from(code) != 421) => {
            Ok(Answer::Later(format!("{command}: {}", reason(&error))))
        }
        Err(error) => Err(unusable(command, &error)),
    }
}

fn unusable(what: &str, error: &Error) -> Unusable {
    Unusable(format!("{what}: {}", reason(error)))
}

fn reason(error: &Error) -> String {
    shown(&crate::chain(error))
}
