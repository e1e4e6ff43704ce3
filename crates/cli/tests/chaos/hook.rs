//! The receiver of callbacks, and what goes wrong with it: it fails first, closes the connection without an answer, is slow, or refuses.

use strongroom_web_double::{Behaviour, Request, WebDouble};

const PATH: &str = "/hook";
/// More bytes than any answer has.
const EVERY_BYTE: u64 = 1 << 40;
/// By which callbacks are signed.
pub(crate) const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// What goes wrong with the next requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookFault {
    /// So many are answered with 503.
    Fails(usize),
    /// So many are taken, and the connection is closed before the answer.
    Silent(usize),
    /// So many are refused for good: the messages need review.
    Refuses(usize),
    /// No answer is sent until [`Hook::release`].
    Slow,
}

/// The receiver.
pub(crate) struct Hook(WebDouble);

impl Hook {
    pub(crate) fn start() -> Self {
        let web = WebDouble::start();
        web.put(PATH, b"thanks");
        Self(web)
    }

    pub(crate) fn host(&self) -> String {
        self.0.authority()
    }

    pub(crate) fn url(&self) -> String {
        self.0.url(PATH)
    }

    pub(crate) fn fail(&self, fault: HookFault) {
        self.0.on(
            PATH,
            match fault {
                HookFault::Fails(times) => Behaviour::FailTimes { times, status: 503 },
                HookFault::Silent(times) => Behaviour::Unanswered(times),
                HookFault::Refuses(times) => Behaviour::FailTimes { times, status: 410 },
                HookFault::Slow => Behaviour::Slow,
            },
        );
    }

    /// Lets what is slow go on.
    pub(crate) fn release(&self) {
        self.0.release(PATH, EVERY_BYTE);
    }

    /// Answers well from now on.
    pub(crate) fn mend(&self) {
        self.release();
        self.0.mend(PATH);
    }

    /// What came, in order; also what was not answered.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.0.requests_of(PATH)
    }
}
