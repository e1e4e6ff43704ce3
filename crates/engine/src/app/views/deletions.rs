//! What is due for disposal, and what forbids a deletion.

use serde::Serialize;
use strongroom_registry::ObjectId;
use strongroom_registry::legal_holds::On;
use strongroom_registry::obstacles::{MOST, Obstacle, ObstacleKind};

/// An object that is due for disposal.
#[derive(Debug, Clone, Serialize)]
pub struct DueView {
    /// Its identifier.
    pub object: ObjectId,
    /// `<institution>/<name>`.
    pub identifier: String,
    /// The domain name of its institution.
    pub institution: String,
    /// The short name of its collection.
    pub collection: String,
    /// When a version was published last that brought files: the period counts from it.
    pub deposited_at: String,
    /// When the period was over, or will be.
    pub due_since: String,
    /// The period, such as `15y`.
    pub disposal: String,
    /// By which version of the rules of the collection.
    pub rules_version: u64,
    /// Files of the newest version.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What forbids its deletion now.
    pub obstacles: Vec<ObstacleToDeletionView>,
}

/// Something that forbids a deletion.
#[derive(Debug, Clone, Serialize)]
pub struct ObstacleToDeletionView {
    /// `legal_hold`, `retention`, `work_item`, `committing`, `finding` or `tool_finding`.
    pub kind: &'static str,
    /// The identifier of the hold, work item, version or finding.
    pub id: Option<String>,
    /// When a retention period is over.
    pub until: Option<String>,
    /// In words.
    pub text: String,
}

impl From<&Obstacle> for ObstacleToDeletionView {
    fn from(obstacle: &Obstacle) -> Self {
        let with =
            |kind: ObstacleKind, id: String, text: String| Self { kind: name(kind), id: Some(id), until: None, text };
        match obstacle {
            Obstacle::LegalHold { hold, on } => {
                let subject = match on {
                    On::Collection(_) => "the collection",
                    On::Object(_) => "the object",
                    On::File { .. } => "a file",
                };
                with(ObstacleKind::LegalHold, hold.to_string(), format!("legal hold {hold} on {subject}"))
            }
            Obstacle::Retention { until, rules_version, .. } => Self {
                kind: name(ObstacleKind::Retention),
                id: None,
                until: Some(until.to_string()),
                text: format!("retention until {until}, by version {rules_version} of the rules of the collection"),
            },
            Obstacle::WorkItem { item, action } => {
                with(ObstacleKind::WorkItem, item.to_string(), format!("work item {item} ({action}) has not ended"))
            }
            Obstacle::Committing { version, item } => {
                let by = item.map(|item| format!(", by work item {item}")).unwrap_or_default();
                let text = format!("version {version} is committed and not complete{by}");
                with(ObstacleKind::Committing, version.to_string(), text)
            }
            Obstacle::Finding { finding, state } => {
                with(ObstacleKind::Finding, finding.to_string(), format!("finding {finding} is {state}"))
            }
            Obstacle::ToolFinding { finding, .. } => {
                with(ObstacleKind::ToolFinding, finding.to_string(), format!("finding {finding} of a tool is open"))
            }
            Obstacle::More(kind) => {
                Self { kind: name(*kind), id: None, until: None, text: format!("and more of this kind than {MOST}") }
            }
        }
    }
}

fn name(kind: ObstacleKind) -> &'static str {
    match kind {
        ObstacleKind::LegalHold => "legal_hold",
        ObstacleKind::Retention => "retention",
        ObstacleKind::WorkItem => "work_item",
        ObstacleKind::Committing => "committing",
        ObstacleKind::Finding => "finding",
        ObstacleKind::ToolFinding => "tool_finding",
    }
}
