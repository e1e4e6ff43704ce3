//! What the server does: accounts, identifiers, and the answer to each request.

use std::collections::{BTreeMap, VecDeque};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;

use crate::anvl;
use crate::faults::Fault;
use crate::http::{Answer, Message};
use crate::identifiers::{Identifier, normal};

/// A request that the server got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method, such as `PUT`.
    pub method: String,
    /// The path with percent forms decoded, such as `/id/ark:/99999/fk4x`.
    pub path: String,
    /// The query, without its question mark; empty where there is none.
    pub query: String,
    /// The user name that was sent, whether or not its password was right.
    pub user: Option<String>,
    /// The body as it was sent.
    pub body: String,
    /// The fault that was planned for it.
    pub fault: Option<Fault>,
}

/// Everything that the server keeps.
#[derive(Debug, Default)]
pub(crate) struct Service {
    pub(crate) accounts: BTreeMap<String, Account>,
    pub(crate) identifiers: BTreeMap<String, Identifier>,
    pub(crate) requests: Vec<Request>,
    pub(crate) faults: VecDeque<Fault>,
}

/// Who may do what.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) password: String,
    pub(crate) shoulders: Vec<String>,
}

impl Service {
    /// Records a request and carries it out, as far as its fault lets it.
    pub(crate) fn answer(&mut self, message: &Message) -> (Answer, Option<Fault>) {
        let (path, query) = message.target.split_once('?').unwrap_or((&message.target, ""));
        let path = percent_decode_str(path).decode_utf8_lossy().into_owned();
        let credentials = message.header("authorization").and_then(credentials);
        let fault = self.faults.pop_front();
        let request = Request {
            method: message.method.clone(),
            path,
            query: query.to_owned(),
            user: credentials.as_ref().map(|(user, _)| user.clone()),
            body: String::from_utf8_lossy(&message.body).into_owned(),
            fault: fault.clone(),
        };
        self.requests.push(request.clone());
        let answer = match &fault {
            Some(Fault::LoseRequest) => Answer::text(500, "error: internal server error"),
            Some(Fault::Answer(status, text)) => Answer::text(*status, text.clone()),
            Some(Fault::Garbage(bytes)) => {
                self.carry_out(&request, message, credentials);
                Answer { status: 200, body: bytes.clone() }
            }
            _ => self.carry_out(&request, message, credentials),
        };
        (answer, fault)
    }

    fn carry_out(&mut self, request: &Request, message: &Message, credentials: Option<(String, String)>) -> Answer {
        let is_known = |(user, password): &(String, String)| {
            self.accounts.get(user).is_some_and(|account| account.password == *password)
        };
        let user = match credentials {
            Some(credentials) if is_known(&credentials) => Some(credentials.0),
            Some(_) => return Answer::text(401, "error: unauthorized"),
            None => None,
        };
        let Some(identifier) = request.path.strip_prefix("/id/") else {
            return match request.path.strip_prefix("/shoulder/") {
                Some(_) => bad("shoulder does not support minting"),
                None => Answer::text(404, "error: not found"),
            };
        };
        let Some(name) = normal(identifier) else { return bad("invalid identifier") };
        if request.method == "GET" {
            return self.view(&name, user.as_deref());
        }
        let Some(user) = user else { return Answer::text(401, "error: unauthorized") };
        match request.method.as_str() {
            "PUT" | "POST" => {}
            "DELETE" => return self.delete(&name, &user),
            _ => return Answer::text(405, "error: method not allowed"),
        }
        let sent = match elements(message) {
            Ok(sent) => sent,
            Err(reason) => return bad(&reason),
        };
        let may_update = match (request.method.as_str(), request.query.as_str()) {
            ("POST", "") => return self.update(&name, &user, &sent),
            ("PUT", "" | "update_if_exists=no") => false,
            ("PUT", "update_if_exists=yes") => true,
            _ => return bad("unrecognized URL query parameter"),
        };
        self.create(&name, &user, &sent, may_update)
    }

    fn create(&mut self, name: &str, user: &str, sent: &BTreeMap<String, String>, may_update: bool) -> Answer {
        let may_create = self
            .accounts
            .get(user)
            .is_some_and(|account| account.shoulders.iter().any(|shoulder| name.starts_with(shoulder.as_str())));
        if !may_create {
            return Answer::text(403, "error: forbidden");
        }
        if self.identifiers.contains_key(name) {
            if !may_update {
                return bad("identifier already exists");
            }
            let answer = self.update(name, user, sent);
            // The real server answers 201 to every request that asks for a creation.
            return if answer.status == 200 { Answer { status: 201, ..answer } } else { answer };
        }
        match Identifier::create(name, user, sent) {
            Ok(identifier) => {
                self.identifiers.insert(name.to_owned(), identifier);
                Answer::text(201, format!("success: {name}"))
            }
            Err(reason) => bad(&reason),
        }
    }

    fn update(&mut self, name: &str, user: &str, sent: &BTreeMap<String, String>) -> Answer {
        let Some(identifier) = self.identifiers.get_mut(name) else { return bad("no such identifier") };
        if identifier.owner != user {
            return Answer::text(403, "error: forbidden");
        }
        // Either all elements are set or none.
        let mut updated = identifier.clone();
        match updated.update(name, sent) {
            Ok(()) => {
                *identifier = updated;
                Answer::text(200, format!("success: {name}"))
            }
            Err(reason) => bad(&reason),
        }
    }

    fn view(&self, name: &str, user: Option<&str>) -> Answer {
        let Some(identifier) = self.identifiers.get(name) else { return bad("no such identifier") };
        if identifier.status() == "reserved" && user != Some(&identifier.owner) {
            let (status, text) = user.map_or((401, "error: unauthorized"), |_| (403, "error: forbidden"));
            return Answer::text(status, text);
        }
        let mut elements = identifier.elements.clone();
        elements.insert("_owner".into(), identifier.owner.clone());
        elements.insert("_ownergroup".into(), identifier.owner.clone());
        // A clock of the server's own, so that its answers do not depend on the time.
        elements.insert("_created".into(), "1700000000".into());
        elements.insert("_updated".into(), (1_700_000_000 + identifier.writes).to_string());
        Answer::text(200, format!("success: {name}\n{}", anvl::write(&elements)))
    }

    fn delete(&mut self, name: &str, user: &str) -> Answer {
        let Some(identifier) = self.identifiers.get(name) else { return bad("no such identifier") };
        if identifier.owner != user {
            return Answer::text(403, "error: forbidden");
        }
        if identifier.status() != "reserved" {
            return bad("identifier status does not support deletion");
        }
        self.identifiers.remove(name);
        Answer::text(200, format!("success: {name}"))
    }
}

fn bad(reason: &str) -> Answer {
    Answer::text(400, format!("error: bad request - {reason}"))
}

/// User name and password of HTTP Basic.
fn credentials(header: &str) -> Option<(String, String)> {
    let encoded = header.strip_prefix("Basic ")?;
    let text = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (user, password) = text.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

/// The elements of a body.
fn elements(message: &Message) -> Result<BTreeMap<String, String>, String> {
    let content_type = message.header("content-type").unwrap_or("text/plain").to_ascii_lowercase().replace(' ', "");
    if content_type != "text/plain" && content_type != "text/plain;charset=utf-8" {
        return Err("If specified, Content-Type must be text/plain and encoding must be UTF-8".into());
    }
    let text = std::str::from_utf8(&message.body).map_err(|_| "character decoding error")?;
    anvl::read(text).map_err(|reason| format!("ANVL parse error ({reason})"))
}
