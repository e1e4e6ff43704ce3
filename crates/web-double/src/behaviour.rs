//! In which ways an answer differs from what HTTP says.

/// A way in which answers for a path differ. A path can have several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Behaviour {
    /// There is nothing, whatever was put there.
    NotFound,
    /// Every request is answered with this status.
    Status(u16),
    /// The first so many requests are answered with a status.
    FailTimes {
        /// How many.
        times: usize,
        /// The status.
        status: u16,
    },
    /// The first so many requests are answered with 503 and `Retry-After`.
    RetryAfter {
        /// How many.
        times: usize,
        /// The value of the header.
        value: String,
    },
    /// The first so many connections are closed before a request is answered.
    Unanswered(usize),
    /// The first so many bodies end with a closed connection after so many bytes of them.
    CutAfter {
        /// Bytes that are sent.
        bytes: u64,
        /// How many bodies.
        times: usize,
    },
    /// Each body ends after the next of these numbers of bytes. When there are no more, bodies are whole.
    Cuts(Vec<u64>),
    /// `Content-Length` of whole files is this, whatever is sent.
    WrongLength(u64),
    /// After its bytes the file goes on until the client closes the connection.
    Endless,
    /// Bodies wait after each byte until the test calls [`WebDouble::release`](crate::WebDouble::release), which also
    /// can be done before.
    Slow,
    /// Requests are not answered until the test calls [`WebDouble::release`](crate::WebDouble::release): one for each byte.
    Silent,
    /// Answers with a body have this `Content-Encoding`, whatever was asked for.
    Encoded(&'static str),
    /// Requests are redirected to this URL or path.
    RedirectTo(String),
    /// Requests are redirected with a status and no location.
    RedirectNowhere,
    /// After the first request that is not `HEAD`, the file has these bytes.
    ChangedBetweenRanges(Vec<u8>),
    /// Ranges are sent although `If-Range` says that they must not be.
    IgnoresIfRange,
    /// Ranges are not supported: whole files are sent.
    NoRanges,
    /// Ranges are sent from another byte than was asked for, and the answer says so.
    WrongStart,
    /// Ranges have at most so many bytes, also where more was asked for.
    ShortRanges(u64),
    /// `HEAD` is answered with 405.
    NoHead,
    /// Bodies have no length and are sent in chunks; `HEAD` says no length.
    NoLength,
    /// Bodies have no length, and end with the connection.
    UntilClose,
    /// Answers have neither `ETag` nor `Last-Modified`.
    NoValidator,
    /// Answers have `Last-Modified` but no `ETag`.
    NoETag,
    /// The `ETag` is a weak one.
    WeakETag,
    /// Every answer has an `ETag` of its own, as from servers that take turns and do not agree.
    NewETags,
}
