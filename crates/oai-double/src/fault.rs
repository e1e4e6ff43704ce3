//! In which ways the provider differs from the protocol.

use crate::record::OaiRecord;

/// A way in which the provider differs from what the protocol says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OaiFault {
    /// The first so many requests with a token are answered with `badResumptionToken`.
    ExpiredToken {
        /// The token is of the page after so many records.
        offset: usize,
        /// How many requests.
        times: usize,
    },
    /// The list of a set is answered with `badArgument`.
    SetFails(String),
    /// Pages after so many records end in the middle of their last record, so many times.
    CutXml {
        /// Records before the page.
        offset: usize,
        /// How many times.
        times: usize,
    },
    /// The answers declare this encoding.
    DeclaresEncoding(String),
    /// The answers have no XML declaration.
    NoDeclaration,
    /// Every page begins with the last record of the page before.
    RepeatsRecords,
    /// Each page has the same token as the page before.
    SameToken,
    /// After so many records the token leads to the beginning.
    TokensInCircle(usize),
    /// The last page has a token, which leads to a page without records.
    EmptyLastPage,
    /// `GetRecord` is answered with the first record, whichever is asked for.
    AnotherRecord,
    /// Errors have the status 422 of HTTP.
    ErrorStatus,
    /// Answers are HTML.
    Html,
    /// Before the page after so many records is answered, these records are put in the place of those with their identifiers.
    Changes {
        /// Records before the page.
        offset: usize,
        /// The records.
        records: Vec<OaiRecord>,
    },
    /// Lists are in the order in which the records were given, and not by datestamp.
    Unordered,
}
