//! Records by what people type of their identifiers: the whole, a beginning that only one has, or the parts that tables show, such as
//! `0190a1b2…4a5b` or `0190a1b2…a40c12…4a5b`.

use strongroom_database::{Statement, Transaction};
use uuid::Uuid;

use super::outbox::MessageId;
use crate::{
    ActivityId, BatchId, DeletionRequestId, DocumentId, FileId, FindingId, ItemId, LegalHoldId, ObjectId, ProblemId,
    RegistryError, Scope, SpotTestId, SweepId, ToolFindingId, UploadId,
};

/// Hexadecimal digits of an identifier.
const DIGITS: usize = 32;
/// Identifiers read at once.
const PAGE: usize = 500;
/// Candidates that are named where several fit.
pub(super) const CANDIDATES: usize = 5;

/// An identifier that people type.
pub trait Named: From<Uuid> {
    /// What it identifies.
    const WHAT: &'static str;
    /// Lists identifiers between two, within a scope.
    const STATEMENT: Statement;
}

macro_rules! named {
    ($($name:ident $what:literal $statement:expr),* $(,)?) => {$(
        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }

        impl Named for $name {
            const WHAT: &'static str = $what;
            const STATEMENT: Statement = $statement;
        }
    )*};
}

named! {
    ItemId "work item" Statement("named.items"),
    BatchId "batch" Statement("named.batches"),
    ObjectId "object" Statement("named.objects"),
    FileId "file" Statement("named.files"),
    FindingId "finding" Statement("named.findings"),
    ToolFindingId "finding of a tool" Statement("named.tool_findings"),
    UploadId "upload" Statement("named.uploads"),
    MessageId "message" Statement("named.messages"),
    ActivityId "activity" Statement("named.activities"),
    DocumentId "document" Statement("named.documents"),
    DeletionRequestId "request for deletion" Statement("named.deletions"),
    LegalHoldId "legal hold" Statement("named.legal_holds"),
    SpotTestId "spot test" Statement("named.spot_tests"),
    ProblemId "problem" Statement("named.problems"),
    SweepId "sweep" Statement("named.sweeps"),
}

/// The one record that a text names.
///
/// # Errors
/// [`RegistryError::NotFound`] where none within the scope fits, [`RegistryError::Ambiguous`] where several do.
pub fn find<N: Named>(tx: &mut dyn Transaction, scope: Scope, text: &str) -> Result<N, RegistryError> {
    let missing = || RegistryError::NotFound { what: N::WHAT, id: text.to_owned() };
    let part = Part::of(text).ok_or_else(missing)?;
    let (mut found, mut from) = (Vec::new(), part.first);
    loop {
        let page = tx.query(N::STATEMENT, &[from.into(), part.last.into(), scope.value(), PAGE.into()])?;
        let mut last = None;
        for row in &page {
            let id = row.uuid("id")?;
            last = Some(id);
            if part.fits(id) {
                found.push(id);
            }
        }
        let next = last.and_then(|last| last.as_u128().checked_add(1)).map(Uuid::from_u128);
        match next {
            Some(next) if page.len() == PAGE && found.len() <= CANDIDATES => from = next,
            _ => break,
        }
    }
    match found.as_slice() {
        [] => Err(missing()),
        [one] => Ok((*one).into()),
        several => Err(RegistryError::Ambiguous {
            what: N::WHAT,
            id: text.to_owned(),
            candidates: listed(several.iter().map(Uuid::to_string).collect()),
        }),
    }
}

/// What a text may mean, or the first of it.
pub(super) fn listed(mut names: Vec<String>) -> String {
    if names.len() > CANDIDATES {
        names.truncate(CANDIDATES);
        names.push("and others".to_owned());
    }
    names.join(", ")
}

/// The beginning and the end of a name that is shortened as tables shorten it, with `…` or `...` for what is left out; none of a text
/// that is not shortened, or has nothing else.
pub(super) fn ends_of(text: &str) -> Option<(&str, &str)> {
    let (beginning, end) = text.split_once('…').or_else(|| text.split_once("..."))?;
    (!beginning.is_empty() || !end.is_empty()).then_some((beginning, end))
}

/// Part of an identifier.
struct Part {
    /// The first identifier that begins so.
    first: Uuid,
    /// And the last.
    last: Uuid,
    /// How many digits it begins with.
    beginning: usize,
    /// The digits that follow somewhere, one behind the other.
    middles: Vec<String>,
    /// The digits that it ends with.
    end: String,
}

impl Part {
    /// A beginning, and what follows where the text has more; none for a text that is no part of an identifier.
    fn of(text: &str) -> Option<Self> {
        let text = text.replace("...", "…");
        let mut parts = text.split('…').map(digits).collect::<Option<Vec<String>>>()?;
        let end = if parts.len() > 1 { parts.pop()? } else { String::new() };
        let middles = parts.split_off(1);
        let beginning = parts.pop()?;
        let count = beginning.len() + middles.iter().map(String::len).sum::<usize>() + end.len();
        if beginning.is_empty() || count > DIGITS {
            return None;
        }
        let filled = |digit: &str| {
            let text = format!("{beginning}{}", digit.repeat(DIGITS - beginning.len()));
            u128::from_str_radix(&text, 16).ok().map(Uuid::from_u128)
        };
        let (first, last) = (filled("0")?, filled("f")?);
        Some(Self { first, last, beginning: beginning.len(), middles, end })
    }

    /// Whether an identifier that begins so goes on so.
    fn fits(&self, id: Uuid) -> bool {
        let digits = id.simple().to_string();
        let Some(rest) = digits.get(self.beginning..).and_then(|rest| rest.strip_suffix(self.end.as_str())) else {
            return false;
        };
        let mut rest = Some(rest);
        for middle in &self.middles {
            rest = rest.and_then(|rest| rest.split_once(middle.as_str()).map(|(_, behind)| behind));
        }
        rest.is_some()
    }
}

/// The hexadecimal digits of a text that has nothing else but hyphens.
fn digits(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|character| *character != '-').collect();
    digits.chars().all(|character| character.is_ascii_hexdigit()).then(|| digits.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::Part;

    #[test]
    fn a_part_of_an_identifier_has_digits_and_hyphens_only() {
        let whole = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b".to_owned();
        let id = whole.parse().expect("an identifier");
        let with_middles = ["0190a1b2…7e5f…4a5b", "0190a1b2…5f-8a…4a5b", "0190a1b2...c3d4...9b0c...4a5b"];
        for text in ["0", "0190A1B2", "0190a1b2-c3", "0190a1b2…4a5b", "0190a1b2...4a5b", "0190a1b2…", &whole]
            .into_iter()
            .chain(with_middles)
        {
            let part = Part::of(text).expect(text);
            assert!(part.first <= id && id <= part.last && part.fits(id), "{text}");
        }
        for text in ["0191", "0190a1b2…4a5c", "0190a1b2…7e5e…4a5b", "0190a1b2…9b0c…c3d4…4a5b", "0190a1b2…4a5b…4a5b"]
        {
            let part = Part::of(text).expect(text);
            assert!(!(part.first <= id && id <= part.last && part.fits(id)), "{text}");
        }
        for text in ["", "…4a5b", "greeting", "-", "0190a1b2 ", "é", &"0".repeat(33)] {
            assert!(Part::of(text).is_none(), "{text}");
        }
    }
}
