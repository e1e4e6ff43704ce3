//! Who may do what: one table of acts on resources with the roles that may do them. A function of [`crate::app`] names its line
//! of the table; one that has none does not compile.

use strongroom_registry::{KeyScope, UserRole};

/// What an actor is to the system, or to one institution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Runs the installation.
    SystemAdmin,
    /// Answers for what an institution keeps.
    InstitutionAdmin,
    /// Deposits for an institution, and inspects what it keeps.
    InstitutionUser,
    /// Sees everything within its scope and changes nothing.
    Auditor,
    /// The system itself.
    System,
}

impl Role {
    /// Every one, in order.
    pub const ALL: [Self; 5] =
        [Self::SystemAdmin, Self::InstitutionAdmin, Self::InstitutionUser, Self::Auditor, Self::System];

    /// The display name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SystemAdmin => "system admin",
            Self::InstitutionAdmin => "institution admin",
            Self::InstitutionUser => "institution user",
            Self::Auditor => "auditor",
            Self::System => "system",
        }
    }
}

impl From<UserRole> for Role {
    fn from(role: UserRole) -> Self {
        match role {
            UserRole::SystemAdmin => Self::SystemAdmin,
            UserRole::InstitutionAdmin => Self::InstitutionAdmin,
            UserRole::InstitutionUser => Self::InstitutionUser,
            UserRole::Auditor => Self::Auditor,
        }
    }
}

/// Whose a resource is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ownership {
    /// Each one belongs to an institution: the caller that acts for one sees only its own.
    Institutions,
    /// It is one for the whole installation: only those may act whose scope is the whole system.
    Installation,
    /// It is one for the whole installation, and an actor of one institution may read it and change nothing of it.
    Shared,
}

/// Whether an act changes anything. What changes something is recorded in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It only looks.
    Reads,
    /// It changes something.
    Writes,
}

/// A line of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Permission {
    /// The resource and the act, as the journal names them: `items.hold`.
    pub(crate) name: &'static str,
    pub(crate) ownership: Ownership,
    pub(crate) effect: Effect,
    pub(crate) roles: &'static [Role],
}

impl Permission {
    /// The resource and the act, as the journal names them.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether it is for whole installations only, whatever the role.
    pub fn is_of_installation(&self) -> bool {
        self.ownership == Ownership::Installation
    }

    /// Whether what it is done to belongs to an institution, so that an actor of another one does not see it.
    pub fn is_of_institutions(&self) -> bool {
        self.ownership == Ownership::Institutions
    }

    /// Whether it changes something.
    pub fn writes(&self) -> bool {
        self.effect == Effect::Writes
    }

    /// The scope that a key needs for it; none: no key may do it. A key that leaks makes no other, changes no user,
    /// deletes nothing and approves nothing that deletes.
    pub fn key_scope(&self) -> Option<KeyScope> {
        if !self.writes() {
            return Some(KeyScope::Read);
        }
        match self.name.split('.').next() {
            Some("users" | "keys" | "sessions" | "second_factors" | "deletions") => None,
            Some("deposits") => Some(KeyScope::Deposit),
            Some("restorations") => Some(KeyScope::Restore),
            _ if self.name == DUPLICATION_POLICIES_APPROVE.name => None,
            // Copies may be deleted by both.
            _ if [DUPLICATION_ALLOW_DELETIONS.name, DUPLICATION_RECORD_EVENTS.name].contains(&self.name) => None,
            _ if self.name == OBJECTS_DESCRIBE.name => Some(KeyScope::Deposit),
            _ => Some(KeyScope::Manage),
        }
    }

    /// Whether one of these roles has it.
    pub fn admits(&self, roles: &[Role]) -> bool {
        roles.iter().any(|role| self.roles.contains(role))
    }
}

use Role::{Auditor, InstitutionAdmin, InstitutionUser, System, SystemAdmin};

macro_rules! permissions {
    ($($constant:ident $name:literal $ownership:ident $effect:ident [$($role:ident)*])*) => {
        $(pub(crate) const $constant: Permission = Permission {
            name: $name,
            ownership: Ownership::$ownership,
            effect: Effect::$effect,
            roles: &[$($role),*],
        };)*

        /// The table.
        pub const PERMISSIONS: &[&Permission] = &[$(&$constant),*];
    };
}

permissions! {
    ACTIVITIES_AGENTS "activities.agents" Shared Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    ACTIVITIES_LIST "activities.list" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    ACTIVITIES_SHOW "activities.show" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    ACTIVITIES_RUN "activities.run" Institutions Writes [SystemAdmin InstitutionAdmin]
    ACTIVITIES_PAUSE "activities.pause" Institutions Writes [SystemAdmin InstitutionAdmin]
    ACTIVITIES_RESUME "activities.resume" Institutions Writes [SystemAdmin InstitutionAdmin]
    ACTIVITIES_RESTART "activities.restart" Institutions Writes [SystemAdmin InstitutionAdmin]
    ACTIVITIES_RERUN "activities.rerun" Institutions Writes [SystemAdmin InstitutionAdmin]
    ACTIVITIES_CANCEL "activities.cancel" Institutions Writes [SystemAdmin InstitutionAdmin]
    ACTIVITIES_RETRY "activities.retry" Institutions Writes [SystemAdmin InstitutionAdmin]
    ACTIVITIES_FINDINGS "activities.findings" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    ACTIVITIES_DISMISS "activities.dismiss" Institutions Writes [SystemAdmin InstitutionAdmin]
    ACTIVITIES_WORK "activities.work" Installation Writes [SystemAdmin System]
    AUDIT_CHECK "audit.check" Installation Writes [SystemAdmin]
    AUDIT_EXPORT "audit.export" Installation Writes [SystemAdmin Auditor]
    AUDIT_LIST "audit.list" Institutions Reads [SystemAdmin InstitutionAdmin Auditor]
    BACKGROUND_LIST "background.list" Installation Reads [SystemAdmin Auditor]
    BACKGROUND_RUN "background.run" Installation Writes [SystemAdmin System]
    BATCHES_LIST "batches.list" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    BATCHES_REPORT "batches.report" Institutions Writes [SystemAdmin InstitutionAdmin InstitutionUser]
    BATCHES_SHOW "batches.show" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    BATCHES_STEER "batches.steer" Institutions Writes [SystemAdmin InstitutionAdmin]
    COLLECTIONS_LIST "collections.list" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    COLLECTIONS_SHOW "collections.show" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    COLLECTIONS_ADD "collections.add" Institutions Writes [SystemAdmin InstitutionAdmin]
    COLLECTIONS_DUE "collections.due" Institutions Reads [SystemAdmin InstitutionAdmin Auditor]
    COLLECTIONS_SET "collections.set" Institutions Writes [SystemAdmin InstitutionAdmin]
    COLLECTIONS_REMOVE "collections.remove" Institutions Writes [SystemAdmin InstitutionAdmin]
    COLLECTIONS_STEER "collections.steer" Institutions Writes [SystemAdmin InstitutionAdmin]
    DELETIONS_APPROVE "deletions.approve" Institutions Writes [SystemAdmin InstitutionAdmin]
    DELETIONS_CANCEL "deletions.cancel" Institutions Writes [SystemAdmin InstitutionAdmin]
    DELETIONS_DENY "deletions.deny" Institutions Writes [SystemAdmin InstitutionAdmin]
    DELETIONS_LIST "deletions.list" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    DELETIONS_REQUEST "deletions.request" Institutions Writes [SystemAdmin InstitutionAdmin]
    DELETIONS_SHOW "deletions.show" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    DEPOSITS_SUBMIT "deposits.submit" Institutions Writes [SystemAdmin InstitutionAdmin InstitutionUser System]
    DOCUMENTS_SHOW "documents.show" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    DUPLICATION_ALLOW_DELETIONS "duplication.allow_deletions" Institutions Writes [SystemAdmin InstitutionAdmin]
    DUPLICATION_HISTORY "duplication.history" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    DUPLICATION_PROBLEMS "duplication.problems" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    DUPLICATION_RECORD_EVENTS "duplication.record_events" Installation Writes [SystemAdmin]
    DUPLICATION_RUNS "duplication.runs" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    DUPLICATION_START "duplication.start" Institutions Writes [SystemAdmin InstitutionAdmin]
    DUPLICATION_POLICIES_APPROVE "duplication_policies.approve" Institutions Writes [SystemAdmin InstitutionAdmin]
    DUPLICATION_POLICIES_CHECK "duplication_policies.check" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    DUPLICATION_POLICIES_HISTORY "duplication_policies.history" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    DUPLICATION_POLICIES_IMPORT "duplication_policies.import" Installation Writes [SystemAdmin]
    DUPLICATION_POLICIES_PREVIEW "duplication_policies.preview" Installation Reads [SystemAdmin Auditor]
    DUPLICATION_POLICIES_SET "duplication_policies.set" Institutions Writes [SystemAdmin]
    DUPLICATION_POLICIES_SHOW "duplication_policies.show" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    EVENTS_LIST "events.list" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    FILES_LIST "files.list" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    FIXITY_ENQUEUE "fixity.enqueue" Installation Writes [SystemAdmin]
    FIXITY_PROBLEMS "fixity.problems" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    FIXITY_REPAIR "fixity.repair" Installation Writes [SystemAdmin]
    FIXITY_REPORT "fixity.report" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    FIXITY_RUN "fixity.run" Installation Writes [SystemAdmin]
    INSTALLATION_INIT "installation.init" Installation Writes [SystemAdmin]
    INSTITUTIONS_LIST "institutions.list" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    INSTITUTIONS_SHOW "institutions.show" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    INSTITUTIONS_ADD "institutions.add" Installation Writes [SystemAdmin]
    INSTITUTIONS_SET "institutions.set" Installation Writes [SystemAdmin]
    ITEMS_LIST "items.list" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    ITEMS_SHOW "items.show" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    ITEMS_HISTORY "items.history" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    ITEMS_STEER "items.steer" Institutions Writes [SystemAdmin InstitutionAdmin]
    ITEMS_WORK "items.work" Installation Writes [SystemAdmin System]
    JOURNAL_LIST "journal.list" Institutions Reads [SystemAdmin InstitutionAdmin Auditor]
    KEYS_ADD "keys.add" Institutions Writes [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    KEYS_LIST "keys.list" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    KEYS_REVOKE "keys.revoke" Institutions Writes [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    KEYS_USE "keys.use" Installation Writes [System]
    LEGAL_HOLDS_ADD "legal_holds.add" Institutions Writes [SystemAdmin InstitutionAdmin]
    LEGAL_HOLDS_LIST "legal_holds.list" Institutions Reads [SystemAdmin InstitutionAdmin Auditor]
    LEGAL_HOLDS_RELEASE "legal_holds.release" Institutions Writes [SystemAdmin InstitutionAdmin]
    MANIFESTS_SAVE "manifests.save" Installation Reads [SystemAdmin]
    MANIFESTS_READ "manifests.read" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    NOTIFICATIONS_TEST "notifications.test" Installation Writes [SystemAdmin]
    OBJECTS_DESCRIBE "objects.describe" Institutions Writes [SystemAdmin InstitutionAdmin InstitutionUser System]
    OBJECTS_LIST "objects.list" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    OBJECTS_PREMIS "objects.premis" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    OBJECTS_SEARCH "objects.search" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    OBJECTS_SHOW "objects.show" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    OUTBOX_LIST "outbox.list" Installation Reads [SystemAdmin Auditor]
    OUTBOX_SEND "outbox.send" Installation Writes [SystemAdmin]
    OUTBOX_REMOVE "outbox.remove" Installation Writes [SystemAdmin]
    PIPELINES_LIST "pipelines.list" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    PIPELINES_SHOW "pipelines.show" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    PIPELINES_SET "pipelines.set" Institutions Writes [SystemAdmin InstitutionAdmin]
    PIPELINES_RUN "pipelines.run" Institutions Writes [SystemAdmin InstitutionAdmin]
    PIPELINES_REMOVE "pipelines.remove" Institutions Writes [SystemAdmin InstitutionAdmin]
    PROBLEMS_ASSIGN "problems.assign" Institutions Writes [SystemAdmin InstitutionAdmin]
    PROBLEMS_COMPARE "problems.compare" Shared Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    PROBLEMS_LIST "problems.list" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    PROBLEMS_RESOLVE "problems.resolve" Installation Writes [SystemAdmin]
    PROBLEMS_WAIVE "problems.waive" Institutions Writes [SystemAdmin InstitutionAdmin]
    PROFILES_LIST "profiles.list" Shared Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    PROFILES_SHOW "profiles.show" Shared Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    PROFILES_ADD "profiles.add" Installation Writes [SystemAdmin]
    PROFILES_REMOVE "profiles.remove" Installation Writes [SystemAdmin]
    PROVENANCE_EXPORT "provenance.export" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    QUEUES_LIST "queues.list" Installation Reads [SystemAdmin Auditor]
    QUEUES_TASKS "queues.tasks" Installation Reads [SystemAdmin Auditor]
    QUEUES_PAUSE "queues.pause" Installation Writes [SystemAdmin]
    QUEUES_RESUME "queues.resume" Installation Writes [SystemAdmin]
    QUEUES_EMPTY "queues.empty" Installation Writes [SystemAdmin]
    QUEUES_RETRY "queues.retry" Installation Writes [SystemAdmin]
    QUEUES_DELETE "queues.delete" Installation Writes [SystemAdmin]
    RECEIVING_FORGET "receiving.forget" Institutions Writes [SystemAdmin InstitutionAdmin]
    RECEIVING_LIST "receiving.list" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    RECEIVING_SHOW "receiving.show" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    REGISTRY_ADOPT "registry.adopt" Installation Writes [SystemAdmin]
    REGISTRY_BACKUP "registry.backup" Installation Reads [SystemAdmin]
    REGISTRY_COMPARE "registry.compare" Installation Reads [SystemAdmin Auditor]
    REGISTRY_MIGRATE "registry.migrate" Installation Writes [SystemAdmin System]
    REGISTRY_REBUILD "registry.rebuild" Installation Writes [SystemAdmin]
    RESTORATIONS_REQUEST "restorations.request" Institutions Writes [SystemAdmin InstitutionAdmin InstitutionUser]
    SECOND_FACTORS_RESET "second_factors.reset" Institutions Writes [SystemAdmin InstitutionAdmin]
    SECOND_FACTORS_SET "second_factors.set" Installation Writes [System]
    SESSIONS_START "sessions.start" Installation Writes [System]
    SESSIONS_USE "sessions.use" Installation Writes [System]
    SETTINGS_CHECK "settings.check" Installation Reads [SystemAdmin Auditor]
    SETTINGS_SHOW "settings.show" Installation Reads [SystemAdmin Auditor]
    SIGNATURES_BEHIND "signatures.behind" Installation Reads [SystemAdmin Auditor]
    SIGNATURES_CHOOSE "signatures.choose" Installation Writes [SystemAdmin]
    SIGNATURES_INSTALL "signatures.install" Installation Writes [SystemAdmin]
    SIGNATURES_REIDENTIFY "signatures.reidentify" Installation Writes [SystemAdmin]
    SPACES_LIST "spaces.list" Installation Reads [SystemAdmin Auditor]
    SPACES_SHOW "spaces.show" Installation Reads [SystemAdmin Auditor]
    SPOT_TESTS_LIST "spot_tests.list" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    SPOT_TESTS_CONFIRM "spot_tests.confirm" Institutions Writes [SystemAdmin InstitutionAdmin]
    SPOT_TESTS_REJECT "spot_tests.reject" Institutions Writes [SystemAdmin InstitutionAdmin]
    SPOT_TESTS_CLOSE "spot_tests.close" Institutions Writes [SystemAdmin InstitutionAdmin]
    STATUS_LEVELS "status.levels" Installation Reads [SystemAdmin Auditor]
    STATISTICS_RECOMPUTE "statistics.recompute" Installation Writes [SystemAdmin]
    STATISTICS_REPORT "statistics.report" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    STATUS_SHOW "status.show" Installation Reads [SystemAdmin Auditor]
    STORES_BACKFILL "stores.backfill" Installation Writes [SystemAdmin]
    STORES_CHECK "stores.check" Installation Writes [SystemAdmin]
    STORES_CREATE "stores.create" Installation Writes [SystemAdmin]
    STORES_LIST "stores.list" Installation Reads [SystemAdmin Auditor]
    STORES_RECONCILE "stores.reconcile" Installation Reads [SystemAdmin Auditor]
    STORES_REPLACE "stores.replace" Installation Writes [SystemAdmin]
    STORES_RETIRE "stores.retire" Installation Writes [SystemAdmin]
    STORES_USE "stores.use" Installation Writes [SystemAdmin]
    USERS_ADD "users.add" Institutions Writes [SystemAdmin InstitutionAdmin]
    USERS_CHOOSE_PASSWORD "users.choose_password" Installation Writes [System]
    USERS_DEACTIVATE "users.deactivate" Institutions Writes [SystemAdmin InstitutionAdmin]
    USERS_INVITE "users.invite" Institutions Writes [SystemAdmin InstitutionAdmin System]
    USERS_LIST "users.list" Institutions Reads [SystemAdmin InstitutionAdmin Auditor]
    USERS_MAKE_TOKEN "users.make_token" Installation Writes [System]
    USERS_SET "users.set" Institutions Writes [SystemAdmin InstitutionAdmin]
    USERS_SET_PASSWORD "users.set_password" Installation Writes [SystemAdmin]
    USERS_SHOW "users.show" Institutions Reads [SystemAdmin InstitutionAdmin Auditor]
    VERSIONS_LIST "versions.list" Institutions Reads [SystemAdmin InstitutionAdmin InstitutionUser Auditor]
    WORKERS_RUN "workers.run" Installation Writes [SystemAdmin System]
}
