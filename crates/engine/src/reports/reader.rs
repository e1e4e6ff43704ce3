//! Whom a mail is for. Those who run the installation read everything that a report says, and the commands that help. A depositor has no
//! commands: a mail says what went wrong, and what the depositor can do.

use strongroom_registry::reports::Report;
use strongroom_registry::{ItemStatus, advice, is_permanent_code};

use super::ReportRowView;

/// Who reads a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// Those who hear of a batch.
    Depositor,
    /// Those who run the installation.
    Operator,
}

impl Reader {
    /// What a row says of its item, and what this reader can do.
    pub(super) fn message(self, row: &ReportRowView) -> (Option<&str>, Option<&'static str>) {
        match self {
            Self::Operator => (row.message.as_deref(), None),
            Self::Depositor => (row.message.as_deref().map(|message| advice::split(message).0), what_to_do(row)),
        }
    }

    /// A row of a report for this reader.
    pub(super) fn row(self, row: ReportRowView) -> ReportRowView {
        let message = match self.message(&row) {
            (said, None) => said.map(str::to_owned),
            (None, Some(to_do)) => Some(format!("What to do: {to_do}")),
            (Some(said), Some(to_do)) => Some(format!("{said}. What to do: {to_do}")),
        };
        ReportRowView { message, ..row }
    }

    /// What is said of the table of a report, which is attached or too large for that.
    pub(super) fn of_table(self, report: &Report, is_attached: bool) -> String {
        let command = format!("strongroom batches report {} --number {}", report.batch, report.number);
        match (self, is_attached) {
            (Self::Depositor, true) => "The attached table lists every item of this report.".to_owned(),
            (Self::Depositor, false) => format!(
                "The table of this report is too large for a mail. Ask the archive for report {} of batch {}.",
                report.number, report.batch
            ),
            (Self::Operator, true) => {
                format!("The attached table lists every item of this report. So does: {command}")
            }
            (Self::Operator, false) => format!(
                "The table of this report is larger than mail.max_attachment of the settings. It is written by: {command} \
                 --format csv"
            ),
        }
    }
}

/// What a depositor can do about an item that did not succeed.
fn what_to_do(row: &ReportRowView) -> Option<&'static str> {
    match row.state {
        ItemStatus::Failed if row.code.as_deref().is_some_and(is_permanent_code) => {
            Some("correct what was sent, and deposit it again")
        }
        ItemStatus::Failed => Some(
            "where the cause is on your side, remove it; then ask the archive to continue the item, or deposit it again",
        ),
        ItemStatus::Cancelled => Some("deposit it again, or ask the archive why it was cancelled"),
        ItemStatus::Held => Some("nothing; ask the archive how long it is held"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use strongroom_registry::ItemId;

    use super::*;

    fn row(state: ItemStatus, code: Option<&str>, message: &str) -> ReportRowView {
        ReportRowView {
            row: Some(1),
            name: "maps.tar".to_owned(),
            state,
            object: "example.edu/maps".to_owned(),
            version: None,
            ark: None,
            local_ids: Vec::new(),
            stage: "fetch".to_owned(),
            code: code.map(str::to_owned),
            message: Some(message.to_owned()),
            changed: true,
            unresolved: true,
            item: ItemId::new(),
        }
    }

    #[test]
    fn a_depositor_reads_what_to_do_and_no_command_of_operators() {
        let note = "the disk is full; next: make room, then: strongroom items requeue 1";
        let said = |state, code, note| Reader::Depositor.row(row(state, code, note)).message.expect("a message");
        let failed = said(ItemStatus::Failed, None, note);
        assert!(failed.starts_with("the disk is full. What to do: where the cause is on your side"), "{failed}");
        let permanent = said(ItemStatus::Failed, Some("archive.truncated"), "the bag is invalid");
        assert_eq!(permanent, "the bag is invalid. What to do: correct what was sent, and deposit it again");
        assert_eq!(said(ItemStatus::Succeeded, None, "version 1 is published"), "version 1 is published");
        assert_eq!(Reader::Operator.row(row(ItemStatus::Failed, None, note)).message.as_deref(), Some(note));
    }
}
