//! Users and their keys. Secrets are in [`AddedKeyView`] and [`TokenView`] alone, which are shown once.

use std::fmt;

use serde::{Serialize, Serializer};
use strongroom_credentials::Token;
use strongroom_registry::api_keys::ApiKey;
use strongroom_registry::users::User;
use strongroom_registry::{KeyScope, OneTimeKind, Time, UserRole};

/// A user.
#[derive(Debug, Clone, Serialize)]
pub struct UserView {
    /// The address, as journal and history name the user.
    pub user: String,
    /// The address as it was given.
    pub email: String,
    /// What the user may do.
    pub role: UserRole,
    /// The domain name of the institution; none: the whole installation.
    pub institution: Option<String>,
    /// Whether the user may do anything: no after deactivation.
    pub active: bool,
    /// Whether there is a password.
    pub has_password: bool,
    /// Whether there is a second factor, or has to be.
    pub second_factor: FactorState,
    /// When the user last signed in.
    pub signed_in_at: Option<String>,
    /// When the user was added.
    pub created_at: String,
    /// When the user was deactivated.
    pub deactivated_at: Option<String>,
}

impl From<&User> for UserView {
    fn from(record: &User) -> Self {
        Self {
            user: record.account.clone(),
            email: record.email.clone(),
            role: record.role,
            institution: record.institution_identifier.clone(),
            active: record.is_active,
            has_password: record.password.is_some(),
            second_factor: match (record.has_factor(), record.needs_factor()) {
                (true, _) => FactorState::Confirmed,
                (false, true) => FactorState::Required,
                (false, false) => FactorState::None,
            },
            signed_in_at: record.signed_in_at.map(|time| time.to_string()),
            created_at: record.created_at.to_string(),
            deactivated_at: record.deactivated_at.map(|time| time.to_string()),
        }
    }
}

/// Whether a user has a second factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FactorState {
    /// There is none, and none is required.
    None,
    /// There is none, and the institution or a short password requires one: it is set up at the next sign-in.
    Required,
    /// There is one.
    Confirmed,
}

/// A mail with which a user chooses a password.
#[derive(Debug, Clone, Serialize)]
pub struct InvitedView {
    /// Whose password it is.
    pub user: String,
    /// The address to which the mail goes.
    pub email: String,
    /// What the mail is: an invitation, or a password reset.
    pub kind: OneTimeKind,
    /// What names the message in the outbox.
    pub key: String,
}

/// A token that is used once.
#[derive(Debug, Serialize)]
pub struct TokenView {
    /// Whose it is.
    pub user: String,
    /// Until when it is valid.
    pub expires_at: String,
    /// The token, a secret.
    pub token: SecretText,
}

/// Where a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyState {
    /// It may be used.
    Active,
    /// Its time is over.
    Expired,
    /// It was revoked, by itself or with its user.
    Revoked,
}

impl fmt::Display for KeyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        })
    }
}

/// A key of a program.
#[derive(Debug, Clone, Serialize)]
pub struct KeyView {
    /// Its identifier, which is no secret.
    pub key: String,
    /// The user for whom it acts.
    pub user: String,
    /// The institution of that user.
    pub institution: Option<String>,
    /// What it may be used for, at most.
    pub scopes: Vec<KeyScope>,
    /// Whether it may be used.
    pub state: KeyState,
    /// Who has made it.
    pub made_by: String,
    /// When it was made.
    pub created_at: String,
    /// When it expires; none: never.
    pub expires_at: Option<String>,
    /// When it was revoked.
    pub revoked_at: Option<String>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<String>,
}

impl KeyView {
    /// A key as it is at this time.
    pub(crate) fn new(record: &ApiKey, now: Time) -> Self {
        let validity = &record.validity;
        let state = match (validity.ended_at, validity.expires_at) {
            (Some(_), _) => KeyState::Revoked,
            (None, Some(expires_at)) if expires_at <= now.timestamp() => KeyState::Expired,
            _ => KeyState::Active,
        };
        Self {
            key: record.id.to_string(),
            user: record.account.clone(),
            institution: record.institution_identifier.clone(),
            scopes: record.scopes.clone(),
            state,
            made_by: record.made_by.clone(),
            created_at: validity.issued_at.to_string(),
            expires_at: validity.expires_at.map(|time| time.to_string()),
            revoked_at: validity.ended_at.map(|time| time.to_string()),
            last_used_at: record.last_used_at.map(|time| time.to_string()),
        }
    }
}

/// A key that was made now.
#[derive(Debug, Serialize)]
pub struct AddedKeyView {
    /// The key.
    #[serde(flatten)]
    pub key: KeyView,
    /// What the program presents, a secret.
    pub token: SecretText,
}

/// A secret that is shown once: it is serialized, and hidden in `Debug`.
pub struct SecretText(Token);

impl From<Token> for SecretText {
    fn from(token: Token) -> Self {
        Self(token)
    }
}

impl SecretText {
    /// The secret.
    pub fn reveal(&self) -> &str {
        self.0.reveal()
    }
}

impl Serialize for SecretText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.reveal())
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(hidden)")
    }
}
