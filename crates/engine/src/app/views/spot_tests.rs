//! Spot tests of restoration.

use serde::Serialize;
use strongroom_registry::spot_tests::SpotTest;
use strongroom_registry::{ItemId, SpotTestId, SpotTestState, Time};

/// A spot test.
#[derive(Debug, Clone, Serialize)]
pub struct SpotTestView {
    /// Its identifier.
    pub test: SpotTestId,
    /// The domain name of the institution.
    pub institution: String,
    /// The object's identifier, `<institution>/<name>`.
    pub object: String,
    /// The version that is restored.
    pub version: u64,
    /// What became of it.
    pub state: SpotTestState,
    /// Why it failed or was dropped, or what a person has said of it.
    pub reason: Option<String>,
    /// The work item that restores it.
    pub item: ItemId,
    /// Where the result was put. It is removed from there when its time has ended.
    pub place: Option<String>,
    /// Its bytes.
    pub size: Option<u64>,
    /// Its SHA-256.
    pub sha256: Option<String>,
    /// When the test began.
    pub begun_at: String,
    /// When the restoration was seen to have ended.
    pub ended_at: Option<String>,
    /// When people were reminded to look at the result.
    pub reminded_at: Option<String>,
    /// When a person decided.
    pub decided_at: Option<String>,
    /// Who that was.
    pub decided_by: Option<String>,
}

impl From<SpotTest> for SpotTestView {
    fn from(test: SpotTest) -> Self {
        let text = |time: Option<Time>| time.map(|time| time.to_string());
        let (place, size, sha256) = test
            .result
            .map_or((None, None, None), |result| (Some(result.place), Some(result.size), Some(result.sha256)));
        Self {
            test: test.id,
            institution: test.institution_identifier,
            object: test.object_identifier,
            version: test.version,
            state: test.state,
            reason: test.reason,
            item: test.item,
            place,
            size,
            sha256,
            begun_at: test.begun_at.to_string(),
            ended_at: text(test.ended_at),
            reminded_at: text(test.reminded_at),
            decided_at: text(test.decided_at),
            decided_by: test.decided_by,
        }
    }
}
