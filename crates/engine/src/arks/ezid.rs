//! The account at EZID that the settings name: what it is told of an object, and when it is asked again after it could not be reached.

use std::sync::{Mutex, MutexGuard, PoisonError};

use strongroom_ark::{Ark, Elements, EzidClient, EzidError, Status};
use strongroom_metadata::{Field, Record};
use strongroom_registry::Time;

use crate::EngineError;
use crate::runtime::retry_delay;
use crate::settings::{ArkStatus, IdentifierSettings};

/// Longer values are cut, in characters: EZID shows them on one page.
const LONGEST_VALUE: usize = 3_500;
/// What ERC says where nothing is known.
const UNKNOWN: &str = "(:unas)";

/// EZID, as the settings name it.
pub(crate) struct Ezid {
    client: EzidClient,
    status: Status,
    target: String,
    owner: String,
    away: Mutex<Option<Away>>,
}

/// Since when EZID could not be asked.
#[derive(Debug, Clone)]
struct Away {
    failures: u64,
    until: Time,
    reason: String,
}

impl Ezid {
    /// The account of the settings; none where ARKs are not registered.
    ///
    /// # Errors
    /// The settings cannot be used.
    pub(crate) fn of(settings: &IdentifierSettings) -> Result<Option<Self>, EngineError> {
        let Some(options) = settings.ezid() else { return Ok(None) };
        let status = match settings.status {
            ArkStatus::Public => Status::Public,
            ArkStatus::Reserved => Status::Reserved,
        };
        Ok(Some(Self {
            client: EzidClient::new(&options)?,
            status,
            target: settings.target.trim_end_matches('/').to_owned(),
            owner: settings.ezid_owner.clone(),
            away: Mutex::default(),
        }))
    }

    /// Has EZID create an ARK of ours, or set what it has of it. It may be repeated.
    pub(crate) fn create(&self, ark: &Ark, erc: &[(String, String)]) -> Result<(), EzidError> {
        self.client.create_or_update(ark, &self.elements(ark, erc).status(&self.status))
    }

    /// Has EZID set what it has of an ARK, whose status stays as it is; where it has none of this name, it creates it.
    pub(crate) fn update(&self, ark: &Ark, erc: &[(String, String)]) -> Result<(), EzidError> {
        match self.client.update(ark, &self.elements(ark, erc)) {
            Err(EzidError::Unknown { .. }) => self.create(ark, erc),
            outcome => outcome,
        }
    }

    fn elements(&self, ark: &Ark, erc: &[(String, String)]) -> Elements {
        let lines = erc.iter().map(|(label, value)| (label.as_str(), value.as_str()));
        let elements = Elements::new().erc(lines);
        let elements = if self.owner.is_empty() { elements } else { elements.with("_owner", &self.owner) };
        if self.target.is_empty() { elements } else { elements.target(&format!("{}/{}", self.target, ark.normal())) }
    }

    /// Until when it is not to be asked, and why, where an earlier request of this process failed.
    pub(super) fn is_away(&self, now: Time) -> Option<(Time, String)> {
        let away = self.away().clone()?;
        (now < away.until).then_some((away.until, away.reason))
    }

    /// Notes that a request failed for a reason that may pass; when the next is to be made.
    pub(super) fn note_failure(&self, now: Time, reason: &str) -> Time {
        let mut away = self.away();
        let failures = away.as_ref().map_or(0, |away| away.failures).saturating_add(1);
        let delay = i64::try_from(retry_delay(failures).as_micros()).unwrap_or(i64::MAX);
        let until = now.plus(delay);
        *away = Some(Away { failures, until, reason: reason.to_owned() });
        until
    }

    /// Notes that it answers.
    pub(super) fn note_answer(&self) {
        *self.away() = None;
    }

    fn away(&self) -> MutexGuard<'_, Option<Away>> {
        self.away.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who, what and when of a description, as EZID gets them.
pub(crate) fn erc_lines(record: &Record) -> Vec<(String, String)> {
    let value = |field| {
        let value = record.joined(field).unwrap_or_else(|| UNKNOWN.to_owned());
        value.chars().take(LONGEST_VALUE).collect()
    };
    [Field::Who, Field::What, Field::When].map(|field| (field.as_str().to_owned(), value(field))).to_vec()
}

/// Why a request was refused, with what a person has to do before `then`.
pub(super) fn with_advice(error: &EzidError, then: &str) -> String {
    let advice = match error {
        EzidError::Credentials { .. } => {
            "correct identifiers.ezid_user and identifiers.ezid_password, restart the workers"
        }
        EzidError::Forbidden { .. } => {
            "have the account allowed to use identifiers.shoulder and to set identifiers.ezid_owner, or correct these \
             settings and restart the workers"
        }
        EzidError::Answer { .. } | EzidError::NoAnswer { .. } => "correct identifiers.ezid_url, restart the workers",
        _ => "correct what EZID refuses",
    };
    format!("{}; next: {advice}, then: {then}", crate::chain(error))
}
