//! Users, second factors, tokens, keys, sessions and throttles: what is used once is used once, also where several ask at the same time and
//! whatever the clock does, and nothing crosses the border of an institution.

use std::time::Duration;

use strongroom_credentials::{
    AccountName, Attempt, BackupCode, HashParameters, Password, PasswordContext, PasswordHasher, PasswordUse, Refusal,
    SealingKey, SessionEnd, SessionLimits, SessionNext, StoredPassword, ThrottleKey, Token, TokenKind, TotpSecret,
    TotpStep, Verification,
};
use strongroom_registry::api_keys::{self, KeyFilter, NewKey};
use strongroom_registry::journal::Actor;
use strongroom_registry::one_time_tokens::{self, NewToken};
use strongroom_registry::second_factors::{self, Begun, SealedFactor};
use strongroom_registry::throttles::{self, Tried};
use strongroom_registry::users::{self, NewUser, User, UserFilter};
use strongroom_registry::{
    InstitutionId, KeyScope, OneTimeKind, RegistryError, Scope, SessionId, Time, Transaction, UserId, UserRole,
    sessions,
};

use super::world::*;

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

fn user_of(world: &World<'_>, email: &str, institution: Option<InstitutionId>) -> User {
    let role = if institution.is_some() { UserRole::InstitutionAdmin } else { UserRole::SystemAdmin };
    let new = NewUser { id: UserId::new(), email: email.to_owned(), role, institution };
    world.write(move |tx| users::add(tx, &new));
    user(world, email)
}

fn ann(world: &World<'_>) -> User {
    user_of(world, "ann@example.edu", Some(world.ours))
}

fn user(world: &World<'_>, email: &str) -> User {
    world.read(|tx| users::find(tx, Scope::System, &AccountName::new(email)))
}

/// What so many get that ask at the same time.
fn at_once<T: Send + 'static>(
    world: &World<'_>,
    count: usize,
    job: impl Fn(usize, &mut dyn Transaction) -> Result<T, RegistryError> + Clone + Send + 'static,
) -> Vec<T> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|number| {
                let (registry, job) = (world.registry.clone(), job.clone());
                scope.spawn(move || registry.write(move |tx| job(number, tx)))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("ends").expect("is done")).collect()
    })
}

fn one_of(answers: &[bool]) {
    assert_eq!(answers.iter().filter(|is_done| **is_done).count(), 1, "{answers:?}");
}

/// A hash that costs little.
fn hash_of(password: &str) -> StoredPassword {
    let hasher = PasswordHasher::new(HashParameters::new(8, 1, 1).expect("parameters"));
    let accepted = Password::new(password).expect("a password").accept(PasswordUse::Alone, &PasswordContext::new([]));
    hasher.hash(&accepted.expect("may be chosen")).expect("is hashed")
}

const FIRST: &str = "seven teapots beside the harbour";
const SECOND: &str = "a lantern under eleven umbrellas";

fn is_of(hash: &StoredPassword, password: &str) -> bool {
    let hasher = PasswordHasher::new(hash.parameters());
    hasher.verify(Some(hash), &Password::new(password).expect("a password")).expect("is verified")
        == Verification::Match
}

fn sealed(world: &World<'_>, key: &SealingKey, owner: UserId) -> SealedFactor {
    let sealed = key.seal(&TotpSecret::generate().expect("a secret"), owner.0.as_bytes()).expect("is sealed");
    let factor = SealedFactor::from(sealed.as_slice());
    let (stored, key) = (factor.clone(), key.id());
    assert_eq!(world.write(move |tx| second_factors::begin(tx, owner, &stored, key)), Begun::Stored);
    factor
}

/// A second factor that was confirmed in step 100.
fn factor(world: &World<'_>, owner: UserId) -> SealedFactor {
    let factor = sealed(world, &SealingKey::generate().expect("a key"), owner);
    let stored = factor.clone();
    assert!(world.write(move |tx| second_factors::confirm(tx, owner, &stored, TotpStep::new(100))));
    factor
}

fn token(world: &World<'_>, kind: OneTimeKind, owner: UserId, expires_at: Time) -> Token {
    let of = match kind {
        OneTimeKind::Invitation => TokenKind::Invitation,
        OneTimeKind::PasswordReset => TokenKind::PasswordReset,
    };
    let token = Token::generate(of).expect("a token");
    let (id, digest) = (token.id(), token.digest());
    world.write(move |tx| {
        let (id, digest, actor) = (id.clone(), digest.clone(), &Actor::system());
        one_time_tokens::make(tx, &NewToken { id, digest, kind, user: owner, actor, expires_at })
    });
    token
}

fn validity(world: &World<'_>, token: &Token) -> Result<(), Refusal> {
    let (found, now) = world.read(|tx| Ok((one_time_tokens::get(tx, &token.id())?, tx.now()?)));
    let found = found.expect("is stored");
    assert!(found.digest.is_of(token));
    found.validity.check(now.timestamp())
}

fn key(world: &World<'_>, owner: UserId, expires_at: Option<Time>) -> Token {
    let key = Token::generate(TokenKind::ApiKey).expect("a key");
    let (id, digest) = (key.id(), key.digest());
    world.write(move |tx| {
        let (id, digest, scopes) = (id.clone(), digest.clone(), &[KeyScope::Read, KeyScope::Deposit]);
        api_keys::add(tx, &NewKey { id, digest, user: owner, actor: &Actor::system(), scopes, expires_at })
    });
    key
}

fn session(world: &World<'_>, owner: UserId, is_complete: bool) -> Token {
    let token = Token::generate(TokenKind::Session).expect("a token");
    let (id, digest) = (token.id(), token.digest());
    world.write(move |tx| sessions::start(tx, (SessionId::new(), owner), (&id, &digest), is_complete));
    token
}

fn found(world: &World<'_>, token: &Token) -> Option<sessions::Session> {
    world.read(|tx| sessions::find(tx, token))
}

pub(crate) fn an_account_is_one_however_its_address_is_typed(subject: &dyn Subject) {
    let world = World::new(subject);
    let ann = user_of(&world, "Ann@Example.EDU", Some(world.ours));
    assert_eq!((ann.account.as_str(), ann.email.as_str()), ("ann@example.edu", "Ann@Example.EDU"));
    for typed in ["ann@example.edu", " ANN@example.edu ", "\u{ff21}nn@example.edu"] {
        assert_eq!(user(&world, typed).id, ann.id, "{typed}");
        let (institution, email) = (Some(world.theirs), typed.to_owned());
        let new = NewUser { id: UserId::new(), email, role: UserRole::InstitutionUser, institution };
        let refused = world.refused(move |tx| users::add(tx, &new));
        assert!(matches!(refused, RegistryError::Exists { .. }), "{typed}: {refused}");
    }
}

pub(crate) fn an_account_that_is_added_twice_at_once_is_one(subject: &dyn Subject) {
    let world = World::new(subject);
    let institution = Some(world.ours);
    let added = at_once(&world, 4, move |_, tx| {
        let (id, email) = (UserId::new(), "ann@example.edu".to_owned());
        let new = NewUser { id, email, role: UserRole::InstitutionUser, institution };
        match users::add(tx, &new) {
            Ok(()) => Ok(true),
            Err(RegistryError::Exists { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    });
    one_of(&added);
}

pub(crate) fn a_role_belongs_to_an_institution_or_to_the_installation(subject: &dyn Subject) {
    let world = World::new(subject);
    for role in UserRole::ALL {
        for institution in [None, Some(world.ours)] {
            let may = users::belongs_to_institution(*role).is_none_or(|belongs| belongs == institution.is_some());
            let email = format!("{role}-{}@example.edu", institution.is_some());
            let new = NewUser { id: UserId::new(), email, role: *role, institution };
            let added = world.registry.write(move |tx| users::add(tx, &new));
            assert_eq!(added.is_ok(), may, "{role} {institution:?}: {added:?}");
        }
    }
}

pub(crate) fn users_and_keys_of_another_institution_are_not_seen(subject: &dyn Subject) {
    let world = World::new(subject);
    let (ann, root) = (ann(&world), user_of(&world, "root@example.net", None));
    let (of_ann, of_root) = (key(&world, ann.id, None), key(&world, root.id, None));
    let accounts = |scope| {
        let listed = world.read(|tx| users::list(tx, scope, UserFilter::default(), "", 10));
        listed.into_iter().map(|user| user.account).collect::<Vec<_>>()
    };
    let keys = |scope| world.read(|tx| api_keys::list(tx, scope, KeyFilter::default(), "", 10)).len();
    let (ours, theirs) = (Scope::Institution(world.ours), Scope::Institution(world.theirs));
    assert_eq!(accounts(Scope::System), ["ann@example.edu", "root@example.net"]);
    assert_eq!((accounts(ours), keys(ours)), (vec!["ann@example.edu".to_owned()], 1));
    assert_eq!((accounts(theirs), keys(theirs)), (Vec::new(), 0));
    for (scope, user, key, is_seen) in
        [(ours, &ann, &of_ann, true), (ours, &root, &of_root, false), (theirs, &ann, &of_ann, false)]
    {
        let seen = world.read(|tx| users::by_account(tx, scope, &AccountName::new(&user.account))).is_some();
        let named = world.registry.read(|tx| api_keys::named(tx, scope, key.id().as_str()));
        assert_eq!((seen, named.is_ok()), (is_seen, is_seen), "{scope:?} {}", user.account);
    }
}

pub(crate) fn a_deactivated_user_has_no_session_token_or_key(subject: &dyn Subject) {
    let world = World::new(subject);
    let (ann, bob) = (ann(&world), user_of(&world, "bob@example.edu", Some(world.ours)));
    let later = world.later(DAY);
    let all = [&ann, &bob].map(|user| {
        let reset = token(&world, OneTimeKind::PasswordReset, user.id, later);
        (session(&world, user.id, true), reset, key(&world, user.id, None))
    });
    let id = ann.id;
    one_of(&at_once(&world, 2, move |_, tx| users::deactivate(tx, id).map(|ended| ended.is_some())));
    for ((session, reset, key), is_active) in all.iter().zip([false, true]) {
        let key = world.read(|tx| api_keys::get(tx, &key.id())).expect("the row stays");
        assert_eq!(key.validity.ended_at.is_none(), is_active);
        assert_eq!(key.is_user_active, is_active);
        assert_eq!(found(&world, session).is_some(), is_active);
        assert_eq!(validity(&world, reset).is_ok(), is_active);
    }
    let active = |too| {
        let filter = UserFilter { deactivated_too: too, ..UserFilter::default() };
        world.read(|tx| users::list(tx, Scope::System, filter, "", 10)).len()
    };
    assert_eq!((active(false), active(true)), (1, 2));
    assert!(world.write(move |tx| users::activate(tx, id)) && user(&world, "ann@example.edu").is_active);
    let key = world.read(|tx| api_keys::get(tx, &all[0].2.id())).expect("the row stays");
    assert_eq!(key.validity.check(world.now().timestamp()), Err(Refusal::Ended), "keys stay revoked");
}

pub(crate) fn a_new_password_ends_sessions_and_tokens_and_forgets_attempts(subject: &dyn Subject) {
    let world = World::new(subject);
    let ann = ann(&world);
    let (signed_in, reset) =
        (session(&world, ann.id, true), token(&world, OneTimeKind::PasswordReset, ann.id, world.later(DAY)));
    let tried = ThrottleKey::password(&ann.account);
    while attempt(&world, &tried) == Attempt::Admitted {}
    let user = ann.clone();
    world.write(move |tx| users::set_password(tx, &user, &hash_of(FIRST), true));
    assert!(found(&world, &signed_in).is_none());
    assert_eq!(validity(&world, &reset), Err(Refusal::Ended));
    assert_eq!(attempt(&world, &tried), Attempt::Admitted);
    let stored = self::user(&world, &ann.account);
    assert!(stored.needs_factor() && !stored.has_factor());
    assert!(is_of(stored.password.as_ref().expect("a password"), FIRST));
}

pub(crate) fn a_hash_is_renewed_only_where_no_other_password_was_set(subject: &dyn Subject) {
    let world = World::new(subject);
    let ann = ann(&world);
    let (first, user) = (hash_of(FIRST), ann.clone());
    let set = first.clone();
    world.write(move |tx| users::set_password(tx, &user, &set, false));
    let renew = |known: &StoredPassword, renewed: &StoredPassword| {
        let (id, known, renewed) = (ann.id, known.clone(), renewed.clone());
        world.write(move |tx| users::renew_password(tx, id, &known, &renewed))
    };
    let renewed = hash_of(FIRST);
    assert!(renew(&first, &renewed) && !renew(&first, &hash_of(FIRST)));
    let user = ann.clone();
    world.write(move |tx| users::set_password(tx, &user, &hash_of(SECOND), false));
    assert!(!renew(&renewed, &hash_of(FIRST)));
    assert!(is_of(self::user(&world, &ann.account).password.as_ref().expect("a password"), SECOND));
}

pub(crate) fn a_step_of_a_second_factor_is_used_once_and_none_before_it_afterwards(subject: &dyn Subject) {
    let world = World::new(subject);
    let id = ann(&world).id;
    let factor = factor(&world, id);
    let at = |step| {
        let factor = factor.clone();
        world.write(move |tx| second_factors::use_step(tx, id, &factor, TotpStep::new(step)))
    };
    assert!(!at(100), "the code that confirmed it");
    let same = factor.clone();
    one_of(&at_once(&world, 4, move |_, tx| second_factors::use_step(tx, id, &same, TotpStep::new(101))));
    // A clock that is turned back, and forth.
    assert!(!at(99) && !at(101) && at(105) && !at(104));
}

pub(crate) fn a_second_factor_is_confirmed_once_and_is_not_replaced(subject: &dyn Subject) {
    let world = World::new(subject);
    let (ann, keys) = (ann(&world), SealingKey::generate().expect("a key"));
    let id = ann.id;
    let abandoned = sealed(&world, &keys, id);
    let factor = sealed(&world, &keys, id);
    let confirm = |factor: &SealedFactor| {
        let factor = factor.clone();
        world.write(move |tx| second_factors::confirm(tx, id, &factor, TotpStep::new(7)))
    };
    assert!(
        !confirm(&abandoned) && !user(&world, &ann.account).has_factor(),
        "it was replaced before it was confirmed"
    );
    let same = factor.clone();
    one_of(&at_once(&world, 2, move |_, tx| second_factors::confirm(tx, id, &same, TotpStep::new(7))));
    assert!(user(&world, &ann.account).has_factor());
    let (other, key) = (SealedFactor::from([1].as_slice()), keys.id());
    assert_eq!(world.write(move |tx| second_factors::begin(tx, id, &other, key)), Begun::HasFactor);
    assert_eq!(user(&world, &ann.account).factor, Some(factor));
}

pub(crate) fn all_second_factors_are_sealed_with_one_key_until_they_are_reset(subject: &dyn Subject) {
    let world = World::new(subject);
    let people = [ann(&world), user_of(&world, "bob@example.edu", Some(world.ours))];
    let ids = [people[0].id, people[1].id];
    let keys = [(); 2].map(|()| SealingKey::generate().expect("a key").id());
    let begun = at_once(&world, 2, move |number, tx| {
        second_factors::begin(tx, ids[number], &SealedFactor::from([1].as_slice()), keys[number])
    });
    let first = begun.iter().position(|begun| *begun == Begun::Stored).expect("one is stored");
    assert_eq!(begun[1 - first], Begun::OtherKey(keys[first].to_string()));
    let again = move |number: usize| {
        let (id, key) = (ids[number], keys[1 - first]);
        move |tx: &mut dyn Transaction| second_factors::begin(tx, id, &SealedFactor::from([2].as_slice()), key)
    };
    assert!(matches!(world.write(again(1 - first)), Begun::OtherKey(_)));
    let owner = people[first].clone();
    assert!(world.write(move |tx| second_factors::reset(tx, &owner)));
    assert_eq!(world.write(again(1 - first)), Begun::Stored, "the lost key is in no row any more");
}

pub(crate) fn a_backup_code_is_used_once_and_goes_with_the_second_factor(subject: &dyn Subject) {
    let world = World::new(subject);
    let ann = ann(&world);
    let id = ann.id;
    factor(&world, id);
    let codes = BackupCode::generate().expect("codes").map(|code| code.digest());
    let (put, used) = (codes.clone(), codes[3].clone());
    world.write(move |tx| second_factors::put_backup_codes(tx, id, &put));
    one_of(&at_once(&world, 4, move |_, tx| second_factors::use_backup_code(tx, id, &used)));
    let stored = || world.read(|tx| second_factors::backup_codes(tx, id));
    assert_eq!(stored().iter().filter(|code| code.used_at.is_some()).count(), 1);
    let others = BackupCode::generate().expect("codes").map(|code| code.digest());
    world.write(move |tx| second_factors::put_backup_codes(tx, id, &others));
    let before = codes[4].clone();
    assert!(!world.write(move |tx| second_factors::use_backup_code(tx, id, &before)), "those before are gone");
    let signed_in = session(&world, id, true);
    let owner = ann.clone();
    one_of(&at_once(&world, 2, move |_, tx| second_factors::reset(tx, &owner)));
    assert!(stored().is_empty() && found(&world, &signed_in).is_none());
    assert!(!user(&world, &ann.account).has_factor());
}

pub(crate) fn a_token_is_used_once_until_it_expires_and_the_newest_only(subject: &dyn Subject) {
    let world = World::new(subject);
    let id = ann(&world).id;
    let first = token(&world, OneTimeKind::Invitation, id, world.later(DAY));
    let reset = token(&world, OneTimeKind::PasswordReset, id, world.later(DAY));
    assert_eq!((validity(&world, &first), validity(&world, &reset)), (Err(Refusal::Ended), Ok(())));
    let used = reset.id();
    one_of(&at_once(&world, 4, move |_, tx| one_time_tokens::end(tx, &used)));
    assert_eq!(validity(&world, &reset), Err(Refusal::Ended));
    let late = token(&world, OneTimeKind::PasswordReset, id, world.later(HOUR));
    subject.advance(HOUR);
    assert_eq!(validity(&world, &late), Err(Refusal::Expired));
    // Where the clock is turned back behind its beginning, it is no longer known how much of its time is over.
    subject.set_back(2 * HOUR);
    assert_eq!(validity(&world, &late), Err(Refusal::NotYet));
    subject.advance(HOUR + Duration::from_mins(1));
    assert_eq!(validity(&world, &late), Ok(()));
    let before = world.later(2 * HOUR);
    assert_eq!(world.write(move |tx| one_time_tokens::drop_expired(tx, before, 10)), 1);
    assert!(world.read(|tx| one_time_tokens::get(tx, &late.id())).is_none());
}

pub(crate) fn a_key_is_named_revoked_once_and_says_when_it_was_used(subject: &dyn Subject) {
    let world = World::new(subject);
    let id = ann(&world).id;
    let (key, other) = (key(&world, id, Some(world.later(DAY))), key(&world, id, None));
    let text = key.id().to_string();
    for named in [text.clone(), text[..10].to_owned(), format!("{}…{}", &text[..8], &text[12..])] {
        assert_eq!(world.read(|tx| api_keys::named(tx, Scope::System, &named)).id, key.id(), "{named}");
    }
    for missing in ["", "…", "zzzz!", "%", "ANN"] {
        let refused = world.registry.read(|tx| api_keys::named(tx, Scope::System, missing)).expect_err(missing);
        assert!(matches!(refused, RegistryError::NotFound { .. }), "{missing}: {refused}");
    }
    let stored = |key: &Token| world.read(|tx| api_keys::get(tx, &key.id())).expect("is stored");
    assert_eq!(stored(&key).scopes, [KeyScope::Read, KeyScope::Deposit]);
    let note = || {
        let id = key.id();
        world.write(move |tx| api_keys::note_use(tx, &id));
        stored(&key).last_used_at.expect("is noted")
    };
    let first = note();
    subject.advance(Duration::from_secs(30));
    assert!(note() == first && stored(&key).is_use_noted(world.now()));
    subject.advance(Duration::from_secs(31));
    assert!(!stored(&key).is_use_noted(world.now()) && note() > first);
    subject.advance(DAY);
    let checked = |key: &Token| stored(key).validity.check(world.now().timestamp());
    assert_eq!((checked(&key), checked(&other)), (Err(Refusal::Expired), Ok(())));
    let revoked = other.id();
    one_of(&at_once(&world, 4, move |_, tx| api_keys::revoke(tx, &revoked)));
    assert_eq!(checked(&other), Err(Refusal::Ended));
    let listed = |revoked_too| {
        let filter = KeyFilter { user: Some(id), revoked_too };
        world.read(|tx| api_keys::list(tx, Scope::System, filter, "", 10)).len()
    };
    assert_eq!((listed(false), listed(true)), (1, 2));
}

pub(crate) fn the_token_of_a_session_is_replaced_once_and_the_one_before_is_known(subject: &dyn Subject) {
    let world = World::new(subject);
    let id = ann(&world).id;
    let first = session(&world, id, false);
    let known = found(&world, &first).expect("a session");
    assert!(!known.is_complete && !known.is_previous_token);
    let tokens = [(); 4].map(|()| Token::generate(TokenKind::Session).expect("a token"));
    let new = tokens.each_ref().map(|token| (token.id(), token.digest()));
    let replaced = at_once(&world, 4, move |number, tx| sessions::rotate(tx, &known, (&new[number].0, &new[number].1)));
    one_of(&replaced);
    let present = &tokens[replaced.iter().position(|is_done| *is_done).expect("one")];
    assert!(found(&world, &first).expect("is on its way").is_previous_token);
    let known = found(&world, present).expect("is the present one");
    assert!(!known.is_complete && !known.is_previous_token);
    assert_eq!(tokens.iter().filter(|token| found(&world, token).is_some()).count(), 1);

    let last = Token::generate(TokenKind::Session).expect("a token");
    let (token, digest) = (last.id(), last.digest());
    assert!(world.write(move |tx| sessions::complete(tx, &known, (&token, &digest))));
    assert!(found(&world, &last).expect("a session").is_complete);
    assert!(found(&world, present).is_none() && found(&world, &first).is_none(), "those before have no more rights");
}

pub(crate) fn a_session_ends_by_its_times_and_by_a_clock_that_is_turned_back(subject: &dyn Subject) {
    let world = World::new(subject);
    let (token, limits) = (session(&world, ann(&world).id, true), SessionLimits::default());
    let check = || found(&world, &token).expect("a session").times.check(world.now().timestamp(), &limits);
    let note = || {
        let id = found(&world, &token).expect("a session").id;
        world.write(move |tx| sessions::note(tx, id));
    };
    assert_eq!(check(), Ok(SessionNext::Continue));
    subject.advance(Duration::from_mins(50));
    note();
    subject.set_back(Duration::from_mins(49));
    assert_eq!(check(), Err(SessionEnd::Clock));
    note();
    assert_eq!(check(), Err(SessionEnd::Clock), "a request by a clock that was turned back notes nothing");
    subject.advance(Duration::from_mins(49));
    assert_eq!(check(), Ok(SessionNext::Rotate));
    subject.advance(HOUR);
    assert_eq!(check(), Err(SessionEnd::Idle));
    for _ in 0..12 {
        note();
        subject.advance(Duration::from_mins(55));
    }
    assert_eq!(check(), Err(SessionEnd::Absolute));
    let before = world.now();
    assert_eq!(world.write(move |tx| sessions::drop_old(tx, before, 10)), 1);
    assert!(found(&world, &token).is_none());
}

fn attempt(world: &World<'_>, key: &ThrottleKey) -> Attempt {
    attempt_from(world, key, None, None)
}

fn attempt_from(world: &World<'_>, key: &ThrottleKey, address: Option<&ThrottleKey>, user: Option<UserId>) -> Attempt {
    let (key, address) = (key.clone(), address.cloned());
    world.write(move |tx| throttles::attempt(tx, Tried { authenticator: &key, user, address: address.as_ref() }))
}

pub(crate) fn attempts_at_once_are_counted_one_after_the_other(subject: &dyn Subject) {
    let world = World::new(subject);
    let (key, address) =
        (ThrottleKey::password("ann@example.edu"), ThrottleKey::address("192.0.2.7".parse().expect("an address")));
    let (of_account, of_address) = (key.clone(), address.clone());
    let answers = at_once(&world, 8, move |_, tx| {
        throttles::attempt(tx, Tried { authenticator: &of_account, user: None, address: Some(&of_address) })
    });
    assert_eq!(answers.iter().filter(|answer| **answer == Attempt::Admitted).count(), 5, "{answers:?}");
    // The address has those five alone: what had to wait is not counted.
    for number in 0..45 {
        let other = ThrottleKey::password(&format!("{number}@example.edu"));
        assert_eq!(attempt_from(&world, &other, Some(&address), None), Attempt::Admitted, "{number}");
    }
    let other = ThrottleKey::password("bob@example.edu");
    assert!(matches!(attempt_from(&world, &other, Some(&address), None), Attempt::Wait(_)));
    assert_eq!(attempt(&world, &other), Attempt::Admitted, "from elsewhere");
    let (succeeded, from) = (other.clone(), address.clone());
    world
        .write(move |tx| throttles::succeed(tx, Tried { authenticator: &succeeded, user: None, address: Some(&from) }));
    subject.advance(Duration::from_mins(15));
    assert_eq!(attempt_from(&world, &other, Some(&address), None), Attempt::Admitted);
}

pub(crate) fn a_clock_that_is_turned_opens_no_throttle_and_locks_none_for_long(subject: &dyn Subject) {
    let world = World::new(subject);
    let key = ThrottleKey::second_factor("ann@example.edu");
    while attempt(&world, &key) == Attempt::Admitted {}
    subject.set_back(100 * DAY);
    assert!(matches!(attempt(&world, &key), Attempt::Wait(wait) if wait.as_secs() <= 3600));
    subject.advance(HOUR);
    assert_eq!(attempt(&world, &key), Attempt::Admitted);
    // However often the clock is turned, there are no more than 100 guesses.
    let mut admitted = 6;
    for _ in 0..200 {
        subject.advance(2 * DAY);
        admitted += u32::from(attempt(&world, &key) == Attempt::Admitted);
        subject.set_back(DAY);
        subject.advance(HOUR);
        admitted += u32::from(attempt(&world, &key) == Attempt::Admitted);
    }
    assert_eq!((admitted, attempt(&world, &key)), (100, Attempt::Disabled));
}

pub(crate) fn attempts_on_accounts_that_exist_are_not_forgotten(subject: &dyn Subject) {
    let world = World::new(subject);
    let ann = ann(&world);
    let (key, unknown) = (ThrottleKey::password(&ann.account), ThrottleKey::password("eve@example.edu"));
    let address = ThrottleKey::address("2001:db8::1".parse().expect("an address"));
    attempt_from(&world, &key, Some(&address), Some(ann.id));
    attempt(&world, &unknown);
    subject.advance(2 * DAY);
    let now = world.now();
    assert_eq!(world.write(move |tx| throttles::drop_old(tx, now, 10)), 2);
    assert_eq!(world.write(move |tx| throttles::drop_old(tx, now, 10)), 0);
}
