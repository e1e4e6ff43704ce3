//! A second factor by time: TOTP (RFC 6238) over HOTP (RFC 4226), with SHA-1, six digits and steps of 30 seconds, because
//! several widespread apps ignore other parameters. SHA-1 is sound here: HMAC does not depend on collisions.

use std::fmt;
use std::fmt::Write as _;

use data_encoding::BASE32_NOPAD_NOCASE as BASE32;
use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha1::Sha1;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use crate::error::CredentialError;
use crate::random;

/// Bytes of a secret: 160 bits, which RFC 4226, section 4, requirement 6, recommends.
const BYTES: usize = 20;
/// Characters of base32 of a secret.
const CHARACTERS: usize = 32;
/// Of what is written with separators, no more is read.
const LONGEST: usize = 128;
/// Digits of a code.
const DIGITS: usize = 6;
/// Ten to the power of the digits.
const MODULUS: u32 = 1_000_000;
/// Seconds of a step (RFC 6238, section 4.1).
const PERIOD: i64 = 30;
/// Steps before and after the present one whose codes are accepted (RFC 6238, section 5.2, on delays and clocks).
const WINDOW: i64 = 1;

/// What may stand in a URI without escapes (RFC 3986, section 2.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The number of a step: periods of 30 seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TotpStep(i64);

impl TotpStep {
    /// A step by its number, as it was stored.
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// The step of a time.
    pub fn at(time: Timestamp) -> Self {
        Self(time.as_second().div_euclid(PERIOD))
    }

    /// Its number, to be stored.
    pub const fn number(self) -> i64 {
        self.0
    }
}

/// A code that someone typed. It is hidden in `Debug`.
#[derive(Clone, Copy)]
pub struct TotpCode(u32);

impl TotpCode {
    /// Reads a code: six digits. Spaces do not matter, as apps show codes in groups.
    pub fn parse(text: &str) -> Result<Self, CredentialError> {
        let refused = || CredentialError::TotpCode { digits: DIGITS };
        let (mut code, mut digits) = (0, 0);
        for byte in text.bytes().filter(|byte| *byte != b' ') {
            if !byte.is_ascii_digit() || digits == DIGITS {
                return Err(refused());
            }
            code = code * 10 + u32::from(byte - b'0');
            digits += 1;
        }
        if digits == DIGITS { Ok(Self(code)) } else { Err(refused()) }
    }
}

impl fmt::Debug for TotpCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TotpCode(hidden)")
    }
}

/// Why a code is refused. The person who tries it gets the same answer for both; the log does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TotpRefusal {
    /// It is not the code of a step within the window.
    #[error("the code of the second factor is wrong or too old")]
    Wrong,
    /// It is the code of a step that was used, or of one before it.
    #[error("the code of the second factor was used before")]
    Used,
}

/// The secret that a user's app and the registry share. It is hidden in `Debug`.
pub struct TotpSecret(Zeroizing<[u8; BYTES]>);

impl TotpSecret {
    /// Makes a new secret.
    pub fn generate() -> Result<Self, CredentialError> {
        random::bytes().map(Self)
    }

    /// Reads a secret in base32, as it is typed: capital letters, spaces and hyphens do not matter.
    pub fn parse(text: &str) -> Result<Self, CredentialError> {
        let refused = || CredentialError::TotpSecret { characters: CHARACTERS };
        if text.len() > LONGEST {
            return Err(refused());
        }
        let mut characters = Zeroizing::new(String::with_capacity(LONGEST));
        characters.extend(text.chars().filter(|character| !matches!(character, ' ' | '-')));
        let bytes = Zeroizing::new(BASE32.decode(characters.as_bytes()).map_err(|_| refused())?);
        Ok(Self(Zeroizing::new(bytes.as_slice().try_into().map_err(|_| refused())?)))
    }

    /// The bytes, to be sealed.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_slice()
    }

    /// The secret of these bytes, where they are as many as one has.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(Zeroizing::new(bytes.try_into().ok()?)))
    }

    /// The secret in base32: to be typed into an app that cannot read a picture.
    pub fn reveal(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(CHARACTERS));
        BASE32.encode_append(self.0.as_slice(), &mut text);
        text
    }

    /// The URI that an app reads from a picture ("Key Uri Format" of Google Authenticator). Issuer and account are what the app
    /// shows; neither should contain a colon, which separates them.
    pub fn uri(&self, issuer: &str, account: &str) -> Zeroizing<String> {
        let (issuer, account) = (utf8_percent_encode(issuer, ESCAPED), utf8_percent_encode(account, ESCAPED));
        let secret = self.reveal();
        let (secret, algorithm) = (secret.as_str(), "SHA1");
        let mut uri = Zeroizing::new(String::new());
        // Writing to a text does not fail.
        let _ = write!(
            uri,
            "otpauth://totp/{issuer}:{account}?secret={secret}&issuer={issuer}&algorithm={algorithm}&digits={DIGITS}&period={PERIOD}"
        );
        uri
    }

    /// Checks a code, and returns its step, which becomes `last_used`.
    ///
    /// A code of a step that is not greater than `last_used` is refused: each is usable once (RFC 6238, section 5.2; NIST SP
    /// 800-63B-4, section 3.1.4.2). This holds as well where the clock was turned back: until it reaches `last_used` again, only a
    /// backup code or a reset of the factor is left. The statement that stores the step is conditional on the one before it, so
    /// that two uses at the same time are one.
    pub fn verify(&self, code: TotpCode, now: Timestamp, last_used: Option<TotpStep>) -> Result<TotpStep, TotpRefusal> {
        let present = TotpStep::at(now).0;
        let (mut accepted, mut was_used) = (None, false);
        // Each step of the window is computed, so that the time does not show which one it was.
        for step in (present - WINDOW..=present + WINDOW).map(TotpStep) {
            let expected = u64::try_from(step.0).ok().and_then(|counter| self.code(counter));
            let is_equal = expected.is_some_and(|expected| bool::from(expected.ct_eq(&code.0)));
            let is_unused = last_used.is_none_or(|last| step > last);
            // Where two steps have the same code, the earlier one is used, and the later one stays usable.
            if is_equal && is_unused && accepted.is_none() {
                accepted = Some(step);
            }
            was_used |= is_equal && !is_unused;
        }
        accepted.ok_or(if was_used { TotpRefusal::Used } else { TotpRefusal::Wrong })
    }

    /// The code of a counter (RFC 4226, section 5.3). There is always one: HMAC takes keys of any length, and the offset is at
    /// most 15 of 20 bytes.
    fn code(&self, counter: u64) -> Option<u32> {
        let mut hmac = Hmac::<Sha1>::new_from_slice(self.0.as_slice()).ok()?;
        hmac.update(&counter.to_be_bytes());
        let digest = hmac.finalize().into_bytes();
        let offset = usize::from(digest.last()? & 0xf);
        let four = digest.get(offset..offset + 4)?.try_into().ok()?;
        Some((u32::from_be_bytes(four) & 0x7fff_ffff) % MODULUS)
    }
}

impl fmt::Debug for TotpSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TotpSecret(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4226, appendix D.
    #[test]
    fn codes_of_counters_are_those_of_rfc_4226() {
        let secret = TotpSecret(Zeroizing::new(*b"12345678901234567890"));
        let codes = [755_224, 287_082, 359_152, 969_429, 338_314, 254_676, 287_922, 162_583, 399_871, 520_489];
        for (counter, code) in (0..).zip(codes) {
            assert_eq!(secret.code(counter), Some(code), "counter {counter}");
        }
    }
}
