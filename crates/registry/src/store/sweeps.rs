//! Sweeps of duplication: a run for an institution, in parts of which each is a route. A part is leased by one process at a time; each of
//! its transactions raises its fence, so that a process which was overtaken changes nothing.

use strongroom_database::{Row, Statement, Time, Transaction};
use uuid::Uuid;

use super::duplication_routes::{Route, route_row};
use crate::{InstitutionId, RegistryError, RouteId, SweepId, SweepPhase};

/// No lease and no pause is longer, in microseconds.
pub const LONGEST_PAUSE: i64 = 3_600_000_000;
/// Longer errors are cut, in characters.
const LONGEST_ERROR: usize = 1_000;

/// A run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep {
    /// Its identifier.
    pub id: SweepId,
    /// Whose policy it carries out.
    pub institution: InstitutionId,
    /// The domain name of that institution.
    pub institution_identifier: String,
    /// Its number among those of the institution.
    pub number: u64,
    /// The version of the policy at its start.
    pub policy_version: u64,
    /// Whether every content item is queued, and not only what differs.
    pub is_whole: bool,
    /// Who started it; none where its time had come.
    pub started_by: Option<String>,
    /// When it began.
    pub started_at: Time,
    /// When its last part was done.
    pub ended_at: Option<Time>,
}

/// What was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Names that were compared: of both listings, and of what was known before.
    pub listed: u64,
    /// Those of which a task was queued.
    pub queued: u64,
    /// Those that are known to be equal.
    pub equal: u64,
    /// Those that are no content items, or are kept after their deletion.
    pub ignored: u64,
    /// Those that are known to be lost.
    pub failed: u64,
    /// Tasks for deletions, besides.
    pub deletions: u64,
}

/// What was counted in all parts of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// The sum.
    pub counts: Counts,
    /// How many parts it has.
    pub parts: u64,
    /// Those that are not at their end.
    pub open_parts: u64,
    /// Those that failed, or fail now.
    pub failed_parts: u64,
    /// Deletions that wait for a person.
    pub held: u64,
}

/// A part of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The run.
    pub sweep: SweepId,
    /// The route.
    pub route: Route,
    /// Where it is.
    pub phase: SweepPhase,
    /// The name behind which it goes on.
    pub reached: String,
    /// What was counted.
    pub counts: Counts,
    /// Deletions that wait for a person.
    pub held: u64,
    /// Until when deletions were recorded that a person has allowed.
    pub allowed_to: Option<Time>,
    /// Attempts in a row that failed.
    pub attempts: u64,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// When it had its turn, or has it next.
    pub turn_at: Time,
    /// Another one for each lease.
    lease_id: Option<Uuid>,
    fence: i64,
}

impl Part {
    /// The same part at the beginning of another phase.
    #[must_use]
    pub fn to(&self, phase: SweepPhase) -> Self {
        Self { phase, reached: String::new(), ..self.clone() }
    }

    /// Whether this is the same lease of the same part, as far as it came since.
    pub fn is_same_lease(&self, earlier: &Self) -> bool {
        self.sweep == earlier.sweep && self.route.id == earlier.route.id && self.lease_id == earlier.lease_id
    }
}

/// A run that begins.
#[derive(Debug, Clone)]
pub struct NewSweep {
    /// Whose policy it carries out.
    pub institution: InstitutionId,
    /// The version of the policy.
    pub policy_version: u64,
    /// Whether every content item is queued.
    pub is_whole: bool,
    /// Who starts it; none where its time has come.
    pub started_by: Option<String>,
    /// The stores between which its rules copy: a part for each lists the spaces.
    pub pairs: Vec<(String, String)>,
}

/// Begins a run. What waits for a person in the one before it is left to this one. None where one is at work.
pub fn begin(tx: &mut dyn Transaction, new: &NewSweep) -> Result<Option<Sweep>, RegistryError> {
    let now = tx.now()?;
    if let Some(open) = open_of(tx, new.institution)? {
        if totals(tx, open.id)?.open_parts > 0 {
            return Ok(None);
        }
        tx.execute(Statement("duplication_runs.drop_held"), &[open.id.into()])?;
        if !end(tx, open.id)? {
            return Ok(None);
        }
    }
    let id = SweepId::new();
    tx.execute(
        Statement("duplication_runs.insert"),
        &[
            id.into(),
            new.institution.into(),
            new.policy_version.into(),
            new.is_whole.into(),
            new.started_by.as_deref().into(),
            now.into(),
        ],
    )?;
    for (source, destination) in &new.pairs {
        let route = super::duplication_routes::ensure(tx, new.institution, (source, destination, ""))?;
        add_part(tx, id, route.id, SweepPhase::Spaces)?;
    }
    get(tx, id)
}

/// Adds a part to a run; nothing where it is there.
pub fn add_part(
    tx: &mut dyn Transaction,
    sweep: SweepId,
    route: RouteId,
    phase: SweepPhase,
) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let values = [sweep.into(), route.into(), phase.as_str().into(), now.into()];
    tx.execute(Statement("duplication_parts.insert"), &values)?;
    Ok(())
}

/// Ends a run of which no part is open; whether it has ended now.
pub fn end(tx: &mut dyn Transaction, id: SweepId) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    Ok(tx.execute(Statement("duplication_runs.end"), &[id.into(), now.into()])? == 1)
}

/// A run.
pub fn get(tx: &mut dyn Transaction, id: SweepId) -> Result<Option<Sweep>, RegistryError> {
    tx.query_one(Statement("duplication_runs.get"), &[id.into()])?.as_ref().map(sweep_row).transpose()
}

/// The run of an institution that began last.
pub fn newest(tx: &mut dyn Transaction, of: InstitutionId) -> Result<Option<Sweep>, RegistryError> {
    tx.query_one(Statement("duplication_runs.newest"), &[of.into()])?.as_ref().map(sweep_row).transpose()
}

/// The run of an institution that has not ended.
pub fn open_of(tx: &mut dyn Transaction, of: InstitutionId) -> Result<Option<Sweep>, RegistryError> {
    tx.query_one(Statement("duplication_runs.open"), &[of.into()])?.as_ref().map(sweep_row).transpose()
}

/// The runs of an institution before one, the newest first.
pub fn list(
    tx: &mut dyn Transaction,
    of: InstitutionId,
    before: Option<u64>,
    limit: usize,
) -> Result<Vec<Sweep>, RegistryError> {
    let before = before.unwrap_or(i64::MAX.unsigned_abs());
    let values = [of.into(), before.into(), limit.into()];
    tx.query(Statement("duplication_runs.list"), &values)?.iter().map(sweep_row).collect()
}

/// What was counted in a run.
pub fn totals(tx: &mut dyn Transaction, id: SweepId) -> Result<Totals, RegistryError> {
    let Some(row) = tx.query_one(Statement("duplication_runs.totals"), &[id.into()])? else {
        return Ok(Totals::default());
    };
    Ok(Totals {
        counts: counts_of(&row)?,
        parts: row.count("parts")?,
        open_parts: row.count("open_parts")?,
        failed_parts: row.count("failed_parts")?,
        held: row.count("held")?,
    })
}

/// The institutions that have policies.
pub fn institutions(tx: &mut dyn Transaction) -> Result<Vec<InstitutionId>, RegistryError> {
    let rows = tx.query(Statement("duplication_runs.institutions"), &[])?;
    rows.iter().map(|row| Ok(InstitutionId(row.uuid("institution_id")?))).collect()
}

/// The parts of a run behind one of a route.
pub fn parts(
    tx: &mut dyn Transaction,
    sweep: SweepId,
    after: RouteId,
    limit: usize,
) -> Result<Vec<Part>, RegistryError> {
    tx.query(Statement("duplication_parts.list"), &[sweep.into(), after.into(), limit.into()])?
        .iter()
        .map(part_row)
        .collect()
}

/// A part.
pub fn part(tx: &mut dyn Transaction, sweep: SweepId, route: RouteId) -> Result<Option<Part>, RegistryError> {
    let row = tx.query_one(Statement("duplication_parts.get"), &[sweep.into(), route.into()])?;
    row.as_ref().map(part_row).transpose()
}

/// The parts of a run that failed, fail or wait for a person.
pub fn parts_in_trouble(
    tx: &mut dyn Transaction,
    sweep: SweepId,
    after: RouteId,
    limit: usize,
) -> Result<Vec<Part>, RegistryError> {
    tx.query(Statement("duplication_parts.in_trouble"), &[sweep.into(), after.into(), limit.into()])?
        .iter()
        .map(part_row)
        .collect()
}

/// Leases the part that had its turn the longest ago, of those that no process works on, for `lease` microseconds.
pub fn take(tx: &mut dyn Transaction, holder: &str, lease: i64) -> Result<Option<Part>, RegistryError> {
    let now = tx.now()?;
    let Some(row) = tx.query_one(Statement("duplication_parts.next"), &[now.into(), now.plus(LONGEST_PAUSE).into()])?
    else {
        return Ok(None);
    };
    let mut part = part_row(&row)?;
    let lease_id = Uuid::now_v7();
    let until = now.plus(lease);
    let values =
        [part.sweep.into(), part.route.id.into(), part.fence.into(), until.into(), holder.into(), lease_id.into()];
    if tx.execute(Statement("duplication_parts.take"), &values)? != 1 {
        return Ok(None);
    }
    part.fence += 1;
    part.lease_id = Some(lease_id);
    Ok(Some(part))
}

/// Extends the lease of a part for so many microseconds from now, where it still is this one; whether it is.
pub fn extend(tx: &mut dyn Transaction, part: &Part, lease: i64) -> Result<bool, RegistryError> {
    let until = tx.now()?.plus(lease);
    let values = [part.sweep.into(), part.route.id.into(), part.lease_id.into(), until.into()];
    Ok(tx.execute(Statement("duplication_parts.extend"), &values)? == 1)
}

/// Lets the parts of a run that were set aside be tried now.
pub fn hasten(tx: &mut dyn Transaction, id: SweepId) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("duplication_parts.hasten"), &[id.into(), now.into()])?;
    Ok(())
}

/// The processes that have leases of parts.
pub fn holders(tx: &mut dyn Transaction) -> Result<Vec<String>, RegistryError> {
    let rows = tx.query(Statement("duplication_parts.holders"), &[])?;
    rows.iter().map(|row| Ok(row.text("holder")?.to_owned())).collect()
}

/// Ends the leases of a process that has ended.
pub fn let_go(tx: &mut dyn Transaction, holder: &str) -> Result<u64, RegistryError> {
    Ok(tx.execute(Statement("duplication_parts.let_go"), &[holder.into()])?)
}

/// What becomes of a part after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The process goes on with it, and has it for so many microseconds more.
    GoOn(i64),
    /// Any process may take it, not before so many microseconds from now.
    Leave(i64),
}

/// Records how far a part came, under its lease; the part as it is then.
///
/// # Errors
/// [`RegistryError::State`] where another process has it, or a person has changed it meanwhile.
pub fn advance(tx: &mut dyn Transaction, part: &Part, next: Next) -> Result<Part, RegistryError> {
    let now = tx.now()?;
    let (turn_at, lease_until) = match next {
        Next::GoOn(lease) => (now, Some(now.plus(lease))),
        Next::Leave(pause) => (now.plus(pause), None),
    };
    let error: Option<String> = part.error.as_ref().map(|error| error.chars().take(LONGEST_ERROR).collect());
    let counts = part.counts;
    let values = [
        part.sweep.into(),
        part.route.id.into(),
        part.fence.into(),
        part.phase.as_str().into(),
        (&part.reached).into(),
        counts.listed.into(),
        counts.queued.into(),
        counts.equal.into(),
        counts.ignored.into(),
        counts.failed.into(),
        counts.deletions.into(),
        part.held.into(),
        part.attempts.into(),
        error.into(),
        turn_at.into(),
        lease_until.into(),
    ];
    if tx.execute(Statement("duplication_parts.advance"), &values)? != 1 {
        return Err(RegistryError::State {
            what: "part of a run",
            id: part.route.to_string(),
            state: "being worked on by another process".to_owned(),
            act: "go on with it".to_owned(),
        });
    }
    Ok(Part { fence: part.fence + 1, turn_at, ..part.clone() })
}

/// Ends a part of which no deletion waits any more, because they were carried out since.
pub fn release(tx: &mut dyn Transaction, part: &Part) -> Result<(), RegistryError> {
    tx.execute(Statement("duplication_parts.release"), &[part.sweep.into(), part.route.id.into()])?;
    Ok(())
}

/// Allows the deletions of a run that wait for a person: those that were recorded until now. How many parts had such.
pub fn allow_deletions(tx: &mut dyn Transaction, id: SweepId) -> Result<u64, RegistryError> {
    let now = tx.now()?;
    Ok(tx.execute(Statement("duplication_parts.allow"), &[id.into(), now.into()])?)
}

fn sweep_row(row: &Row) -> Result<Sweep, RegistryError> {
    Ok(Sweep {
        id: SweepId(row.uuid("id")?),
        institution: InstitutionId(row.uuid("institution_id")?),
        institution_identifier: row.text("institution_identifier")?.to_owned(),
        number: row.count("number")?,
        policy_version: row.count("policy_version")?,
        is_whole: row.bool("is_whole")?,
        started_by: row.optional_text("started_by")?.map(str::to_owned),
        started_at: row.time("started_at")?,
        ended_at: row.optional_time("ended_at")?,
    })
}

fn counts_of(row: &Row) -> Result<Counts, RegistryError> {
    Ok(Counts {
        listed: row.count("listed")?,
        queued: row.count("queued")?,
        equal: row.count("equal")?,
        ignored: row.count("ignored")?,
        failed: row.count("failed")?,
        deletions: row.count("deletions")?,
    })
}

fn part_row(row: &Row) -> Result<Part, RegistryError> {
    Ok(Part {
        sweep: SweepId(row.uuid("run_id")?),
        route: route_row(row)?,
        phase: row.text("phase")?.parse()?,
        reached: row.text("reached")?.to_owned(),
        counts: counts_of(row)?,
        held: row.count("held")?,
        allowed_to: row.optional_time("allowed_to")?,
        attempts: row.count("attempts")?,
        error: row.optional_text("error")?.map(str::to_owned),
        turn_at: row.time("turn_at")?,
        lease_id: row.optional_uuid("lease_id")?,
        fence: row.integer("fence")?,
    })
}

/// Until when deletions of a route were recorded that a person has allowed last.
pub fn last_allowed(tx: &mut dyn Transaction, route: RouteId) -> Result<Option<Time>, RegistryError> {
    let row = tx.query_one(Statement("duplication_parts.last_allowed"), &[route.into()])?;
    Ok(row.map(|row| row.optional_time("allowed_to")).transpose()?.flatten())
}
