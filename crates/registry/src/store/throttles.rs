//! How often passwords, second factors and network addresses were tried. An attempt is read, decided and stored in one transaction, so that
//! those that run at the same time are counted one after the other.

use strongroom_credentials::{Attempt, Throttle, ThrottleKey, ThrottlePolicy};
use strongroom_database::{Statement, Time, Transaction};

use crate::{RegistryError, UserId};

/// What an attempt is counted for.
#[derive(Debug, Clone, Copy)]
pub struct Tried<'a> {
    /// The password or the second factor.
    pub authenticator: &'a ThrottleKey,
    /// The user whose it is; none where there is no such user.
    pub user: Option<UserId>,
    /// The network address, where there is one.
    pub address: Option<&'a ThrottleKey>,
}

/// Asks for an attempt, and counts it where it is admitted: for both or for none.
pub fn attempt(tx: &mut dyn Transaction, tried: Tried<'_>) -> Result<Attempt, RegistryError> {
    let now = tx.now()?.timestamp();
    let mut authenticator = get(tx, tried.authenticator)?;
    let of_authenticator = (&mut authenticator, &ThrottlePolicy::AUTHENTICATOR);
    let answer = match tried.address {
        None => Throttle::attempt_all([of_authenticator], now),
        Some(key) => {
            let mut address = get(tx, key)?;
            let answer = Throttle::attempt_all([of_authenticator, (&mut address, &ThrottlePolicy::ADDRESS)], now);
            put(tx, key, None, &address)?;
            answer
        }
    };
    put(tx, tried.authenticator, tried.user, &authenticator)?;
    Ok(answer)
}

/// Notes that an attempt has succeeded.
pub fn succeed(tx: &mut dyn Transaction, tried: Tried<'_>) -> Result<(), RegistryError> {
    clear(tx, tried.authenticator)?;
    let Some(key) = tried.address else { return Ok(()) };
    let mut address = get(tx, key)?;
    address.take_back();
    put(tx, key, None, &address)
}

/// Forgets the attempts on a password or a second factor: it was replaced, or an attempt has succeeded.
pub fn clear(tx: &mut dyn Transaction, key: &ThrottleKey) -> Result<(), RegistryError> {
    tx.execute(Statement("throttles.clear"), &[key.as_str().into()])?;
    Ok(())
}

/// Removes the rows of addresses, and of accounts that there are not, that were last tried before `before`, so many at most. How many.
pub fn drop_old(tx: &mut dyn Transaction, before: Time, limit: usize) -> Result<u64, RegistryError> {
    Ok(tx.execute(Statement("throttles.drop"), &[before.into(), limit.into()])?)
}

fn get(tx: &mut dyn Transaction, key: &ThrottleKey) -> Result<Throttle, RegistryError> {
    let Some(row) = tx.query_one(Statement("throttles.get"), &[key.as_str().into()])? else {
        return Ok(Throttle::default());
    };
    let count = |column| row.count(column).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    Ok(Throttle {
        recent: count("recent")?,
        consecutive: count("consecutive")?,
        last_at: row.optional_time("last_at")?.map(Time::timestamp),
    })
}

fn put(
    tx: &mut dyn Transaction,
    key: &ThrottleKey,
    user: Option<UserId>,
    throttle: &Throttle,
) -> Result<(), RegistryError> {
    if *throttle == Throttle::default() {
        // Nothing was counted, as where the address has to wait: strangers would fill the table with names.
        return clear(tx, key);
    }
    let values = [
        key.as_str().into(),
        user.into(),
        throttle.recent.into(),
        throttle.consecutive.into(),
        throttle.last_at.map(Time::from).into(),
    ];
    tx.execute(Statement("throttles.put"), &values)?;
    Ok(())
}
