//! What is due for disposal, and what forbids a deletion.

use serde::Serialize;
use strongroom_registry::ObjectId;
use strongroom_registry::obstacles::{Obstacle, ObstacleKind};

use crate::deletion::in_words;

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
        let (kind, id) = match obstacle {
            Obstacle::LegalHold { hold, .. } => (ObstacleKind::LegalHold, Some(hold.to_string())),
            Obstacle::Retention { .. } => (ObstacleKind::Retention, None),
            Obstacle::WorkItem { item, .. } => (ObstacleKind::WorkItem, Some(item.to_string())),
            Obstacle::Committing { version, .. } => (ObstacleKind::Committing, Some(version.to_string())),
            Obstacle::Finding { finding, .. } => (ObstacleKind::Finding, Some(finding.to_string())),
            Obstacle::ToolFinding { finding, .. } => (ObstacleKind::ToolFinding, Some(finding.to_string())),
            Obstacle::More(kind) => (*kind, None),
        };
        let until = if let Obstacle::Retention { until, .. } = obstacle { Some(until.to_string()) } else { None };
        Self { kind: name(kind), id, until, text: in_words(obstacle) }
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
