//! What attempts are counted by: the password or the second factor of an account, and the network address.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use crate::account::AccountName;

/// The key of the row of a [`Throttle`](crate::Throttle): text of at most 80 characters.
///
/// Keys of accounts are made from the address that was typed, whether there is such an account or not: an attempt on an account
/// that does not exist is counted and refused like any other. They are digests, so that what strangers type is bounded, and is
/// kept nowhere: people type their password into the wrong field.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ThrottleKey(String);

impl ThrottleKey {
    /// The key of attempts on the password of an account.
    pub fn password(account: &str) -> Self {
        Self::of_account("password", account)
    }

    /// The key of attempts on the second factor of an account, backup codes among them.
    pub fn second_factor(account: &str) -> Self {
        Self::of_account("second-factor", account)
    }

    /// The key of attempts from an address. Of IPv6 it is the network of 64 bits that one customer gets at least (RFC 6177):
    /// otherwise each of them has 2^64 addresses.
    pub fn address(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => format!("address:{address}"),
            IpAddr::V6(address) => {
                let network = Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX));
                format!("address:{network}/64")
            }
        })
    }

    /// The key as it is stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn of_account(kind: &str, account: &str) -> Self {
        let digest = Sha256::digest(AccountName::new(account).as_str().as_bytes());
        Self(format!("{kind}:{}", HEXLOWER.encode(&digest)))
    }
}

impl fmt::Display for ThrottleKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
