//! By what an account is known: its email address in one form.

use std::fmt;

use unicode_normalization::UnicodeNormalization as _;

/// The address of an account in one form. Addresses that differ in capital letters, in spaces around them or in normalization are one
/// account: what follows from an address (the account, its throttles, its actor) is made from this.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountName(String);

impl AccountName {
    /// The form of an address as it was typed, whether there is such an account or not.
    pub fn new(typed: &str) -> Self {
        // Small letters of normalized text may have another normal form, and a normal form may begin with a space.
        let form: String = typed.nfkc().flat_map(char::to_lowercase).nfkc().collect();
        Self(form.trim().to_owned())
    }

    /// The form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AccountName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
