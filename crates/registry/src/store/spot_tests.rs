//! Spot tests of restoration: whose turn it is, which object is next, and what became of each test.
//!
//! An institution's objects are tested in the order of the last bytes of their identifiers. Those are random, so the order is,
//! and none is tested again before all others. No statement reads more of the table than it answers.

use strongroom_database::{CLOCK_TOLERANCE, Row, Statement, Time, Transaction, Value};
use uuid::Uuid;

use crate::restorations::RestorationResult;
use crate::{InstitutionId, ItemId, ObjectId, ObjectState, RegistryError, Scope, SpotTestId, SpotTestState};

/// The first of the bytes of an identifier that are random (RFC 9562 section 5.7).
const RANDOM_FROM: usize = 12;

/// A spot test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpotTest {
    /// Its identifier.
    pub id: SpotTestId,
    /// Whose object it tests.
    pub institution: InstitutionId,
    /// The domain name of that institution.
    pub institution_identifier: String,
    /// The object.
    pub object: ObjectId,
    /// Its identifier, `<institution>/<name>`.
    pub object_identifier: String,
    /// The version that is restored.
    pub version: u64,
    /// The work item that restores it.
    pub item: ItemId,
    /// What became of it.
    pub state: SpotTestState,
    /// Why it failed or was dropped, or what a person has said of it.
    pub reason: Option<String>,
    /// Where the result was put, and how to verify it.
    pub result: Option<RestorationResult>,
    /// When it began.
    pub begun_at: Time,
    /// When the restoration was seen to have ended.
    pub ended_at: Option<Time>,
    /// When people were reminded to look at the result.
    pub reminded_at: Option<Time>,
    /// When a person decided.
    pub decided_at: Option<Time>,
    /// Who that was.
    pub decided_by: Option<String>,
}

/// An institution whose turn it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The institution.
    pub institution: InstitutionId,
    /// Its domain name.
    pub identifier: String,
    /// When its last test began, or it came to have objects.
    pub last_at: Time,
    /// The object that was tested last.
    pub after: Option<ObjectId>,
}

/// An object that may be tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The object.
    pub object: ObjectId,
    /// Its identifier, `<institution>/<name>`.
    pub identifier: String,
    /// Its latest version.
    pub head: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// Whether it is kept.
    pub state: ObjectState,
}

/// A test that begins.
#[derive(Debug, Clone)]
pub struct NewSpotTest {
    /// Its identifier.
    pub id: SpotTestId,
    /// Whose object.
    pub institution: InstitutionId,
    /// The object.
    pub candidate: Candidate,
    /// The work item that restores it.
    pub item: ItemId,
}

/// How a restoration ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It gave this result.
    Restored(RestorationResult),
    /// It failed: why.
    Failed(String),
    /// It says nothing: why.
    Dropped(String),
}

/// What a person decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The result is right.
    Confirmed,
    /// The result is not right.
    Rejected,
    /// The failure was dealt with.
    Closed,
}

/// Gives each institution that has come to have objects its turn, one interval from now.
pub fn add_turns(tx: &mut dyn Transaction) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("spot_tests.add_turns"), &[now.into()])?;
    Ok(())
}

/// The institutions whose last test began `interval` microseconds ago or earlier and is over; also those whose last one began at a time that
/// has not come yet, by a clock that was ahead.
pub fn due(tx: &mut dyn Transaction, interval: i64) -> Result<Vec<Turn>, RegistryError> {
    let now = tx.now()?;
    let values = [now.plus(-interval).into(), now.plus(CLOCK_TOLERANCE).into()];
    let rows = tx.query(Statement("spot_tests.due"), &values)?;
    rows.iter()
        .map(|row| {
            Ok(Turn {
                institution: InstitutionId(row.uuid("institution_id")?),
                identifier: row.text("identifier")?.to_owned(),
                last_at: row.time("last_at")?,
                after: row.optional_uuid("after_object")?.map(ObjectId),
            })
        })
        .collect()
}

/// Takes a turn, where no other process has; whether it did. The next test is one of an object behind `after`.
pub fn take_turn(tx: &mut dyn Transaction, turn: &Turn, after: Option<ObjectId>) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    let values = [turn.institution.into(), turn.last_at.into(), now.into(), after.into()];
    Ok(tx.query_one(Statement("spot_tests.take_turn"), &values)?.is_some())
}

/// Objects of an institution in the order in which they are tested, behind `after`.
pub fn candidates(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    after: Option<ObjectId>,
    limit: usize,
) -> Result<Vec<Candidate>, RegistryError> {
    let after = after.map_or(Uuid::nil(), |object| object.0);
    let lot = after.as_bytes().get(RANDOM_FROM..).unwrap_or_default().to_vec();
    let values = [institution.into(), Value::Bytes(lot), Value::Uuid(after), limit.into()];
    let rows = tx.query(Statement("spot_tests.candidates"), &values)?;
    rows.iter()
        .map(|row| {
            Ok(Candidate {
                object: ObjectId(row.uuid("id")?),
                identifier: row.text("identifier")?.to_owned(),
                head: row.count("head")?,
                bytes: row.count("bytes")?,
                state: row.text("state")?.parse()?,
            })
        })
        .collect()
}

/// Notes a test, in the transaction that makes its work item.
pub fn insert(tx: &mut dyn Transaction, new: &NewSpotTest) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let Candidate { object, identifier, head, .. } = &new.candidate;
    let values = [
        new.id.into(),
        new.institution.into(),
        (*object).into(),
        identifier.into(),
        (*head).into(),
        new.item.into(),
        now.into(),
    ];
    tx.execute(Statement("spot_tests.insert"), &values)?;
    Ok(())
}

/// Tests that are not over, after `after` in order of their identifiers.
pub fn open(tx: &mut dyn Transaction, after: Option<SpotTestId>, limit: usize) -> Result<Vec<SpotTest>, RegistryError> {
    let after = after.unwrap_or(SpotTestId(Uuid::nil()));
    tx.query(Statement("spot_tests.open"), &[after.into(), limit.into()])?.iter().map(test_row).collect()
}

/// Tests within a scope, of one state where that is given, after `after` in order of their identifiers.
pub fn list(
    tx: &mut dyn Transaction,
    scope: Scope,
    state: Option<SpotTestState>,
    after: Option<SpotTestId>,
    limit: usize,
) -> Result<Vec<SpotTest>, RegistryError> {
    let after = after.unwrap_or(SpotTestId(Uuid::nil()));
    let values = [after.into(), scope.value(), state.map(SpotTestState::as_str).into(), limit.into()];
    tx.query(Statement("spot_tests.list"), &values)?.iter().map(test_row).collect()
}

/// A test that must exist within a scope.
pub fn find(tx: &mut dyn Transaction, scope: Scope, id: SpotTestId) -> Result<SpotTest, RegistryError> {
    let row = tx.query_one(Statement("spot_tests.get"), &[id.into(), scope.value()])?;
    let missing = || RegistryError::NotFound { what: "spot test", id: id.to_string() };
    test_row(&row.ok_or_else(missing)?)
}

/// How many tests failed and were not closed.
pub fn count_failed(tx: &mut dyn Transaction) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("spot_tests.count_failed"), &[])?;
    row.map_or(Ok(0), |row| Ok(row.count("tests")?))
}

/// Notes how the restoration ended, where the test is still as it was read and no person has decided. Whether that is so.
pub fn end(tx: &mut dyn Transaction, known: &SpotTest, ended: &Ended) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    let (state, reason, result) = match ended {
        Ended::Restored(result) => (SpotTestState::Restored, None, Some(result)),
        Ended::Failed(reason) => (SpotTestState::Failed, Some(reason.as_str()), None),
        Ended::Dropped(reason) => (SpotTestState::Dropped, Some(reason.as_str()), None),
    };
    let values = [
        known.id.into(),
        known.state.as_str().into(),
        state.as_str().into(),
        reason.into(),
        result.map(|result| result.place.as_str()).into(),
        result.map(|result| result.size).into(),
        result.map(|result| result.sha256.as_str()).into(),
        now.into(),
    ];
    Ok(tx.query_one(Statement("spot_tests.ended"), &values)?.is_some())
}

/// Notes that people were reminded of a test, where they were not yet. Whether that is so.
pub fn remind(tx: &mut dyn Transaction, id: SpotTestId) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    Ok(tx.query_one(Statement("spot_tests.reminded"), &[id.into(), now.into()])?.is_some())
}

/// Notes what a person has decided of a test; how it is then.
///
/// # Errors
/// [`RegistryError::State`] where there is nothing to decide.
pub fn decide(
    tx: &mut dyn Transaction,
    test: &SpotTest,
    verdict: Verdict,
    reason: Option<&str>,
    by: &str,
) -> Result<SpotTest, RegistryError> {
    let (from, to) = match verdict {
        Verdict::Confirmed => (SpotTestState::Restored, SpotTestState::Confirmed),
        Verdict::Rejected => (SpotTestState::Restored, SpotTestState::Failed),
        Verdict::Closed => (SpotTestState::Failed, SpotTestState::Closed),
    };
    let now = tx.now()?;
    let values = [test.id.into(), from.as_str().into(), to.as_str().into(), reason.into(), now.into(), by.into()];
    if tx.query_one(Statement("spot_tests.decided"), &values)?.is_none() {
        let state = find(tx, Scope::System, test.id)?.state.to_string();
        let act = match verdict {
            Verdict::Confirmed => "confirm it",
            Verdict::Rejected => "reject it",
            Verdict::Closed => "close it",
        };
        return Err(RegistryError::State { what: "spot test", id: test.id.to_string(), state, act: act.to_owned() });
    }
    find(tx, Scope::System, test.id)
}

fn test_row(row: &Row) -> Result<SpotTest, RegistryError> {
    let result = match row.optional_text("place")? {
        None => None,
        Some(place) => Some(RestorationResult {
            place: place.to_owned(),
            size: row.count("size")?,
            sha256: row.text("sha256")?.to_owned(),
        }),
    };
    Ok(SpotTest {
        id: SpotTestId(row.uuid("id")?),
        institution: InstitutionId(row.uuid("institution_id")?),
        institution_identifier: row.text("institution_identifier")?.to_owned(),
        object: ObjectId(row.uuid("object_id")?),
        object_identifier: row.text("object_identifier")?.to_owned(),
        version: row.count("version")?,
        item: ItemId(row.uuid("item_id")?),
        state: row.text("state")?.parse()?,
        reason: row.optional_text("reason")?.map(str::to_owned),
        result,
        begun_at: row.time("begun_at")?,
        ended_at: row.optional_time("ended_at")?,
        reminded_at: row.optional_time("reminded_at")?,
        decided_at: row.optional_time("decided_at")?,
        decided_by: row.optional_text("decided_by")?.map(str::to_owned),
    })
}
