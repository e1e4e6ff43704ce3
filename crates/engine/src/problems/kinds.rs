//! The kinds of problems: what each is, who can resolve it, and by which command.

use strongroom_registry::problems::{COPY_DAMAGED, COPY_INVENTORY, COPY_MISSING, Problem};

use crate::duplication::{HIGH, LOW};

/// A kind of problem.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    /// Its name.
    pub(crate) name: &'static str,
    /// Who can resolve it.
    pub(crate) resolver: &'static str,
    /// The command that shows or resolves it; `{subject}`, `{finding}` and `{institution}` stand for those of the problem.
    command: &'static str,
}

const OPERATOR: &str = "an operator";
const BY_COPIES: &str =
    "the system, from another copy; where no store has the bytes, a person with a new deposit of them";

const DEAD_TASKS: &str =
    "queue dead {subject}; when the cause of its errors is removed: strongroom queue retry {subject}";

macro_rules! kinds {
    ($($constant:ident $name:literal)*) => {
        $(pub(super) const $constant: &str = $name;)*
    };
}

kinds! {
    BACKGROUND_FAILED "background.failed"
    BACKGROUND_OVERDUE "background.overdue"
    CLOCK_AHEAD "clock.ahead"
    COPIES_LACKING "copies.lacking"
    DELETION_REFUSED "deletion.refused"
    DUPLICATION_CONFLICT "duplication.conflict"
    DUPLICATION_DAMAGED "duplication.damaged"
    DUPLICATION_FAILED "duplication.failed"
    DUPLICATION_HELD "duplication.held"
    DUPLICATION_LOST "duplication.lost"
    MESSAGES_FAILING "messages.failing"
    MESSAGES_UNDELIVERABLE "messages.undeliverable"
    PLAIN_STORE_AWAY "plain_store.away"
    PLAIN_STORE_UNWATCHED "plain_store.unwatched"
    QUEUE_DEAD "queue.dead"
    QUEUE_UNATTENDED "queue.unattended"
    SPOT_TEST_FAILED "restoration.spot_test"
    STORE_AWAY "store.away"
    STORE_READ_ONLY "store.read_only"
    STORE_REFUSED "store.refused"
    STORE_WATERMARK "store.watermark"
}

const KINDS: &[Kind] = &[
    kind(BACKGROUND_FAILED, OPERATOR, "background run {subject}"),
    kind(BACKGROUND_OVERDUE, OPERATOR, "serve"),
    kind(CLOCK_AHEAD, OPERATOR, "background run {subject}"),
    kind(COPIES_LACKING, "the system, where the stores are available; else an operator", "store backfill {subject}"),
    kind(COPY_DAMAGED, BY_COPIES, "fixity repair {finding}"),
    kind(COPY_INVENTORY, BY_COPIES, "fixity repair {finding}"),
    kind(COPY_MISSING, BY_COPIES, "fixity repair {finding}"),
    kind(DELETION_REFUSED, "an operator, with the provider of the store", "delete unfinished"),
    kind(
        DUPLICATION_CONFLICT,
        "the depositor, by making both alike, or by removing one of both",
        "duplicate problems --institution {institution}",
    ),
    kind(
        DUPLICATION_DAMAGED,
        "the depositor, by putting the right bytes again",
        "duplicate problems --institution {institution}",
    ),
    kind(DUPLICATION_FAILED, "the system, when the stores answer; else an operator", "duplicate run show {subject}"),
    kind(DUPLICATION_HELD, "an admin of the institution", "duplicate run show {subject} --held"),
    kind(
        DUPLICATION_LOST,
        "the depositor, by putting them again; or an operator who knows that they were to be deleted",
        "duplicate problems --institution {institution}",
    ),
    kind(MESSAGES_FAILING, "the system, when the receiver answers; else an operator", "outbox list --waiting"),
    kind(MESSAGES_UNDELIVERABLE, OPERATOR, "outbox list"),
    kind(PLAIN_STORE_AWAY, "an operator, or the provider of the store", "space list --store {subject}"),
    kind(PLAIN_STORE_UNWATCHED, OPERATOR, "config show"),
    kind(QUEUE_DEAD, OPERATOR, DEAD_TASKS),
    kind(QUEUE_UNATTENDED, OPERATOR, "serve"),
    kind(SPOT_TEST_FAILED, "an admin of the institution", "restore tests list --state failed"),
    kind(STORE_AWAY, "an operator, or the provider of the store", "store check {subject}"),
    kind(STORE_READ_ONLY, OPERATOR, "store check {subject}"),
    kind(STORE_REFUSED, OPERATOR, "store check {subject}"),
    kind(STORE_WATERMARK, OPERATOR, "store check {subject}"),
];

const fn kind(name: &'static str, resolver: &'static str, command: &'static str) -> Kind {
    Kind { name, resolver, command }
}

impl Kind {
    /// Every kind, by name.
    pub(crate) const ALL: &'static [Self] = KINDS;

    /// The kind of this name; problems of kinds that a newer program recorded have none.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// The command that shows or resolves a problem of this kind.
    pub(crate) fn command_for(&self, problem: &Problem) -> String {
        let finding = problem.finding.map(|finding| finding.to_string()).unwrap_or_default();
        let institution = problem.institution_identifier.as_deref().unwrap_or_default();
        // Of what failed in duplication, the subject is a sweep, or a topic with tasks that were given up.
        let is_of_tasks = self.name == DUPLICATION_FAILED && [HIGH, LOW].contains(&problem.subject.as_str());
        let command = if is_of_tasks { DEAD_TASKS } else { self.command };
        let command = command.replace("{subject}", &problem.subject).replace("{finding}", &finding);
        format!("strongroom {}", command.replace("{institution}", institution))
    }
}
