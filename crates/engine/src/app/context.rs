//! Who asks, for whom, and with which rights; and what a function of [`crate::app`] may do with them.

use std::sync::Arc;

use strongroom_credentials::AccountName;
use strongroom_registry::journal::{self, Actor, LONGEST_NAME};
use strongroom_registry::named::{self, Named};
use strongroom_registry::tenants::{self, Institution};
use strongroom_registry::users::{self, User};
use strongroom_registry::{ActorKind, JournalOutcome, KeyScope, Registry, RegistryError, Scope, Transaction, UserId};
use uuid::Uuid;

use super::authorization::{Permission, Role};
use crate::arks::find_object;
use crate::event::Event;
use crate::journal::{JournalEntry, Target};
use crate::{EngineError, Home};

/// The same refusal of the same actor is in the journal once in so many microseconds, so that calls which change nothing do not
/// fill it: an hour.
const REFUSAL_INTERVAL: i64 = 3_600_000_000;

/// Who asks, as the edge found out: the command line from its user, a server from a session or a key, workers as the system.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Who acts.
    pub actor: Actor,
    /// Everything, or what belongs to one institution.
    pub scope: Scope,
    /// What the actor is within that scope.
    pub roles: Vec<Role>,
    /// What it may be used for, at most, where a key was presented.
    pub key_scopes: Option<Vec<KeyScope>>,
    /// The user, where one acts.
    pub user: Option<UserId>,
}

/// Who asks at the console of an installation whose registry may not be open yet: a [`Caller`], or a user whom only the registry knows.
#[derive(Debug, Clone)]
pub enum ActingAs {
    /// It needs no look into the registry.
    Known(Caller),
    /// A user is named by its address.
    Named {
        /// The address.
        email: String,
        /// The account of the operating system that the process runs under.
        account: String,
    },
}

impl From<Caller> for ActingAs {
    fn from(caller: Caller) -> Self {
        Self::Known(caller)
    }
}

impl ActingAs {
    /// A user by its address, named by an account of the operating system at the console of the installation. It acts with the role and scope that
    /// the registry has for it.
    ///
    /// # Errors
    /// The text is no address: without `@`, with blanks, control characters or characters that are not seen, or longer than 254
    /// bytes (RFC 5321 section 4.5.3.1).
    pub fn named_at_console(email: &str, account: &str) -> Result<Self, EngineError> {
        if !is_address(email) {
            let email = AccountName::new(email);
            return Err(EngineError::Usage(format!("{:?} is no email address", email.as_str()))
                .next("give one such as ann@example.edu"));
        }
        Ok(Self::Named { email: AccountName::new(email).as_str().to_owned(), account: account.to_owned() })
    }

    /// The caller that needs no registry.
    ///
    /// # Errors
    /// A user is named.
    pub(crate) fn without_registry(&self) -> Result<Caller, EngineError> {
        match self {
            Self::Known(caller) => Ok(caller.clone()),
            Self::Named { email, .. } => {
                Err(EngineError::Refused(format!("{email} cannot act: there is no registry that knows its users"))
                    .next("leave out --as, to act as the account of the operating system"))
            }
        }
    }

    /// The caller, as the registry knows it now.
    ///
    /// # Errors
    /// There is no such user, or it was deactivated.
    pub(crate) fn caller(&self, registry: &Registry) -> Result<Caller, EngineError> {
        let (email, account) = match self {
            Self::Known(caller) => return Ok(caller.clone()),
            Self::Named { email, account } => (email, account),
        };
        let name = AccountName::new(email);
        let found = registry.read(|tx| users::by_account(tx, Scope::System, &name))?;
        match found {
            None => Err(EngineError::Refused(format!("{email} cannot act: there is no such user")).next(
                "\"strongroom user list\" shows the users; without --as the account of the operating system acts, which can \
                 add one with \"strongroom user add\"",
            )),
            Some(user) if !user.is_active => Err(EngineError::Refused(format!("{email} cannot act: it was deactivated"))
                .next(format!("without --as the account of the operating system acts; \"strongroom user deactivate {email} --undo\" activates the user again"))),
            Some(user) => Ok(Caller::of_user_at_console(&user, account)),
        }
    }
}

impl Caller {
    /// An account of the operating system at the console of the installation, which may do everything.
    pub fn at_console(account: &str) -> Self {
        Self::of_system(Actor::new(ActorKind::Console, account), Role::SystemAdmin)
    }

    /// The system itself: what a server does before it knows who asks.
    pub fn system() -> Self {
        Self::of_system(Actor::system(), Role::System)
    }

    /// A user, as the registry has it now.
    pub(crate) fn of_user(user: &User) -> Self {
        let actor = Actor::new(ActorKind::User, &user.account);
        Self { actor, scope: user.scope(), roles: vec![user.role.into()], key_scopes: None, user: Some(user.id) }
    }

    /// A user, as the registry has it now, for whom an account of the operating system acts at the console.
    pub(crate) fn of_user_at_console(user: &User, account: &str) -> Self {
        let caller = Self::of_user(user);
        Self { actor: caller.actor.at_console(account), ..caller }
    }

    /// A caller of tests and programs, which acts with this role and no key.
    pub fn with_role(actor: Actor, scope: Scope, role: Role) -> Self {
        Self { actor, scope, roles: vec![role], key_scopes: None, user: None }
    }

    /// The account of the operating system under which the caller acts; none where it does not act at the console.
    pub fn console_account(&self) -> Option<&str> {
        match self.actor.kind {
            ActorKind::Console => Some(&self.actor.name),
            _ => self.actor.account.as_deref(),
        }
    }

    fn of_system(actor: Actor, role: Role) -> Self {
        Self::with_role(actor, Scope::System, role)
    }

    /// Asks whether the caller may do this; `tell` hears why not, where it would have changed something.
    pub(crate) fn authorize(
        &self,
        permission: &'static Permission,
        tell: impl FnOnce(&str),
    ) -> Result<(), EngineError> {
        let has_role = permission.admits(&self.roles);
        let has_scope = !permission.is_of_installation() || self.scope == Scope::System;
        let needed = permission.key_scope();
        // Each scope includes to read: what was done is answered with what came of it.
        let has_key = match (&self.key_scopes, needed) {
            (None, _) | (Some(_), Some(KeyScope::Read)) => true,
            (Some(given), Some(needed)) => given.contains(&needed),
            (Some(_), None) => false,
        };
        if has_role && has_scope && has_key {
            return Ok(());
        }
        let roles = self.roles.iter().map(|role| role.as_str()).collect::<Vec<_>>().join(", ");
        let reason = match (has_role, roles.as_str()) {
            (true, _) if has_scope => match needed {
                Some(needed) => format!("the key does not have the scope {needed}"),
                None => "it is not done with a key".to_owned(),
            },
            (true, _) => "it concerns the whole installation, and the actor acts for one institution".to_owned(),
            (false, "") => "the actor has no role".to_owned(),
            (false, roles) => format!("the role {roles} does not include it"),
        };
        if permission.writes() {
            tell(&reason);
        }
        Err(EngineError::NotAllowed { actor: self.actor.name.clone(), act: permission.name(), reason })
    }

    /// What an act of this caller leaves in the journal.
    pub(crate) fn entry(&self, request: Uuid, permission: &Permission) -> JournalEntry {
        JournalEntry { actor: self.actor.clone(), request, act: permission.name().to_owned() }
    }

    /// Records a refused act in the journal.
    pub(crate) fn tell_of_refusal(&self, registry: &Registry, entry: JournalEntry, reason: &str) {
        let target = match self.scope {
            Scope::System => Target::default(),
            Scope::Institution(institution) => Target::of(institution, ""),
        };
        let reason = reason.to_owned();
        let told = registry.write(move |tx| {
            let since = tx.now()?.plus(-REFUSAL_INTERVAL);
            if journal::was_refused(tx, &entry.actor, &entry.act, since)? {
                return Ok(());
            }
            entry.append(tx, &target, JournalOutcome::Refused, Some(&reason))
        });
        if let Err(error) = told {
            // It is refused all the same.
            Event::RegistryUnavailable { act: "record a refused act in the journal", error: &error }.emit();
        }
    }
}

/// Whether a text can be the email address of an account.
pub(crate) fn is_address(email: &str) -> bool {
    let name = AccountName::new(email);
    let text = name.as_str();
    email.len() <= LONGEST_NAME
        && text.len() <= LONGEST_NAME
        && text.split_once('@').is_some_and(|(local, domain)| !local.is_empty() && domain.contains(|c| c != '@'))
        && text.matches('@').count() == 1
        && !email.chars().chain(text.chars()).any(|c| c.is_whitespace() || is_unseen(c))
}

/// Whether a character is not seen, or changes how those beside it are: two names that differ by it look the same.
fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
                | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{E0000}'..='\u{E0FFF}'
        )
}

/// One call: an actor, its scope and roles, and the home that it is about. Every function of [`crate::app`] takes one first.
#[derive(Clone)]
pub struct OpContext {
    home: Arc<Home>,
    caller: Caller,
    request: Uuid,
}

impl OpContext {
    /// A call of its own.
    pub fn new(home: Arc<Home>, caller: Caller) -> Self {
        Self::of_request(home, caller, Uuid::now_v7())
    }

    /// A call that belongs to another one, by whose request the journal knows both.
    pub(crate) fn of_request(home: Arc<Home>, caller: Caller, request: Uuid) -> Self {
        Self { home, caller, request }
    }

    /// Who asks.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Who acts.
    pub fn actor(&self) -> &Actor {
        &self.caller.actor
    }

    /// The user who acts; none where it is an account of the operating system that named none, or the system.
    pub fn user(&self) -> Option<UserId> {
        self.caller.user
    }

    /// The account of the operating system at the console, also where it acts for a user; none elsewhere.
    pub fn console_account(&self) -> Option<&str> {
        self.caller.console_account()
    }

    /// The call by which this process works on what the actor asked for: at the console it is the system that works, whatever the role of the
    /// user for whom it was asked.
    pub(crate) fn for_work(&self) -> Self {
        if self.console_account().is_some() && self.caller.user.is_some() {
            return Self { caller: Caller::system(), ..self.clone() };
        }
        self.clone()
    }

    /// Asks whether the actor may do this. A refused act that would have changed something is recorded in the journal.
    pub(crate) fn authorize(&self, permission: &'static Permission) -> Result<Authorized<'_>, EngineError> {
        self.caller.authorize(permission, |reason| {
            self.caller.tell_of_refusal(&self.home.registry, self.entry(permission), reason);
        })?;
        Ok(Authorized { context: self, permission, scope: self.caller.scope })
    }

    /// The same for what belongs to the institution of this domain name. One that the actor may not see is unknown to it.
    pub(crate) fn authorize_in(
        &self,
        permission: &'static Permission,
        institution: &str,
    ) -> Result<(Authorized<'_>, Institution), EngineError> {
        let authorized = self.authorize(permission)?;
        let found = authorized.read(|tx| find_institution(tx, authorized.scope, institution))?;
        Ok((Authorized { scope: Scope::Institution(found.id), ..authorized }, found))
    }

    fn entry(&self, permission: &Permission) -> JournalEntry {
        self.caller.entry(self.request, permission)
    }
}

/// An institution that must exist and be within the scope.
pub(crate) fn find_institution(
    tx: &mut dyn Transaction,
    scope: Scope,
    identifier: &str,
) -> Result<Institution, RegistryError> {
    tenants::institution(tx, scope, identifier)?
        .ok_or_else(|| RegistryError::NotFound { what: "institution", id: identifier.to_owned() })
}

/// What an act is about that is narrowed to an institution, or to an object of it, where these are named.
pub(crate) fn target_among(
    authorized: &Authorized<'_>,
    institution: Option<&str>,
    object: Option<&str>,
) -> Result<Target, EngineError> {
    let scope = authorized.scope_of(institution)?;
    if let Some(object) = object {
        let found = authorized.read(|tx| find_object(tx, scope, object))?;
        return Ok(Target::of_object(found.institution, found.identifier));
    }
    Ok(match (scope, institution) {
        (Scope::Institution(id), Some(name)) => Target::of(id, name),
        (Scope::Institution(id), None) => Target::of(id, "all objects"),
        (Scope::System, _) => Target::of_system("all objects"),
    })
}

/// The proof that an actor may do something, and the only way for a function of [`crate::app`] to the registry and the stores.
pub(crate) struct Authorized<'c> {
    context: &'c OpContext,
    permission: &'static Permission,
    scope: Scope,
}

impl<'c> Authorized<'c> {
    /// What the actor sees; every look-up by a name from outside is bound to it.
    pub(crate) fn scope(&self) -> Scope {
        self.scope
    }

    /// What the actor sees, whatever institution the call is about.
    pub(crate) fn whole_scope(&self) -> Scope {
        self.context.caller.scope
    }

    /// What the actor sees, narrowed to the institution of this name where one is given.
    pub(crate) fn scope_of(&self, institution: Option<&str>) -> Result<Scope, EngineError> {
        match institution {
            None => Ok(self.scope),
            Some(identifier) => {
                Ok(Scope::Institution(self.read(|tx| find_institution(tx, self.scope, identifier))?.id))
            }
        }
    }

    /// The one record within the scope that a text names, by its identifier or a part of it.
    pub(crate) fn named<N: Named>(&self, text: &str) -> Result<N, EngineError> {
        Ok(self.read(|tx| named::find(tx, self.scope, text))?)
    }

    /// Who acts.
    pub(crate) fn actor(&self) -> &'c Actor {
        self.context.actor()
    }

    /// The user who acts; none where it is an account of the operating system that named none, or the system.
    pub(crate) fn user(&self) -> Option<UserId> {
        self.context.user()
    }

    /// The home, for functions of the engine that read, or that take the act's [`JournalEntry`] along to their transactions.
    pub(crate) fn home(&self) -> &'c Arc<Home> {
        &self.context.home
    }

    /// What the act leaves in the journal.
    pub(crate) fn entry(&self) -> JournalEntry {
        self.context.entry(self.permission)
    }

    /// The same for an act of the user whom a credential has proved, which the system carries out.
    pub(crate) fn entry_of(&self, user: &User) -> JournalEntry {
        JournalEntry { actor: Caller::of_user(user).actor, ..self.entry() }
    }

    /// The refusal of an act by what it is about.
    pub(crate) fn refused(&self, reason: &str) -> EngineError {
        let (actor, act) = (self.actor().name.clone(), self.permission.name());
        EngineError::NotAllowed { actor, act, reason: reason.to_owned() }
    }

    /// Whether the actor has one of these roles.
    pub(crate) fn has_role(&self, roles: &[Role]) -> bool {
        self.context.caller.roles.iter().any(|role| roles.contains(role))
    }

    /// The same for an act of which the table has one line and people have several words, such as `items.hold`.
    pub(crate) fn entry_named(&self, act: &str) -> JournalEntry {
        let resource = self.permission.name().split('.').next().unwrap_or_default();
        JournalEntry { act: format!("{resource}.{act}"), ..self.entry() }
    }

    /// Reads in one transaction.
    pub(crate) fn read<T, F>(&self, job: F) -> Result<T, RegistryError>
    where
        F: FnMut(&mut dyn Transaction) -> Result<T, RegistryError>,
    {
        self.context.home.registry.read(job)
    }

    /// Writes in one transaction, with a line of the journal about the target that the job returns.
    pub(crate) fn write<T, F>(&self, mut job: F) -> Result<T, RegistryError>
    where
        T: Send + 'static,
        F: FnMut(&mut dyn Transaction) -> Result<(Target, T), RegistryError> + Send + 'static,
    {
        let entry = self.entry();
        self.context.home.registry.write(move |tx| {
            let (target, result) = job(tx)?;
            entry.done(tx, &target)?;
            Ok(result)
        })
    }

    /// The same for a job that puts work into topics, which it returns as well: those who wait for them are woken.
    pub(crate) fn write_and_wake<T, F>(&self, job: F) -> Result<T, RegistryError>
    where
        T: Send + 'static,
        F: FnMut(&mut dyn Transaction) -> Result<(Target, (T, Vec<String>)), RegistryError> + Send + 'static,
    {
        let (result, topics) = self.write(job)?;
        self.context.home.registry.wakeups().notify(topics.iter().map(String::as_str));
        Ok(result)
    }

    /// Does what takes more than one transaction: one line of the journal says that it begins, another how it went.
    pub(crate) fn around<T>(
        &self,
        target: &Target,
        work: impl FnOnce(&'c Home) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.around_unless(target, work, |_| None)
    }

    /// The same where a result may be one of an act that did not do what was asked: `unfinished` says why.
    pub(crate) fn around_unless<T>(
        &self,
        target: &Target,
        work: impl FnOnce(&'c Home) -> Result<T, EngineError>,
        unfinished: impl FnOnce(&T) -> Option<String>,
    ) -> Result<T, EngineError> {
        self.tell(target, JournalOutcome::Begun, None)?;
        match work(&self.context.home) {
            Ok(result) => {
                match unfinished(&result) {
                    None => self.record_end(target, JournalOutcome::Done, None),
                    Some(reason) => self.record_end(target, JournalOutcome::Failed, Some(reason)),
                }
                Ok(result)
            }
            Err(error) => {
                self.record_end(target, JournalOutcome::Failed, Some(error.chain()));
                Err(error)
            }
        }
    }

    /// The journal has the begin; the caller needs the outcome of the act, also where the registry cannot record it.
    fn record_end(&self, target: &Target, outcome: JournalOutcome, detail: Option<String>) {
        if let Err(error) = self.tell(target, outcome, detail) {
            Event::RegistryUnavailable { act: "record the end of an act in the journal", error: &error }.emit();
        }
    }

    fn tell(&self, target: &Target, outcome: JournalOutcome, detail: Option<String>) -> Result<(), RegistryError> {
        let (entry, target) = (self.entry(), target.clone());
        self.context.home.registry.write(move |tx| entry.append(tx, &target, outcome, detail.as_deref()))
    }
}

#[cfg(test)]
mod tests {
    use super::ActingAs;

    #[test]
    fn an_address_at_the_console_names_a_user() {
        let acting_as = ActingAs::named_at_console("Ann.Lee+scans@Example.edu", "root").expect("an address");
        assert!(matches!(acting_as, ActingAs::Named { email, .. } if email == "ann.lee+scans@example.edu"));
        let longest = format!("{}@example.edu", "a".repeat(254 - "@example.edu".len()));
        assert!(ActingAs::named_at_console(&longest, "root").is_ok());
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let too_long = format!("{}@example.edu", "a".repeat(255 - "@example.edu".len()));
        let longer_in_small_letters = format!("{}@e", "İ".repeat(126));
        let wrong = [
            "",
            "ann",
            "@example.edu",
            "ann@",
            "ann@@example.edu",
            "ann @example.edu",
            "ann@b@c",
            "a\n@b.c",
            "a@b\u{7f}",
            "a\u{200b}nn@b.c",
            "a\u{202e}@b.c",
        ];
        for address in wrong.into_iter().chain([too_long.as_str(), longer_in_small_letters.as_str()]) {
            let refused = ActingAs::named_at_console(address, "root").expect_err(address).to_string();
            assert!(refused.contains("is no email address"), "{refused}");
        }
    }
}
