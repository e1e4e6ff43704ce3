//! The names of the fields of views whose lists are also spreadsheets: a list without rows has a header, too. The compiler compares
//! each list of names with its struct, and the table their order with each row.

use super::{
    ActivityView, AgentView, AreaView, AuditChainView, AuditCheckView, AuditExportView, BackgroundTaskView, BatchView,
    CheckView, CollectionView, ContentActView, CostReportView, CoverageView, DeletionTargetView, DeletionView,
    DepositsReportView, DifferenceView, DueView, EventView, FailureGroupView, FileView, FindingView, FixityReportView,
    FormatsReportView, FoundView, HeldDeletionView, HistoryLineView, InstitutionView, InterimFileView, ItemCountsView,
    ItemView, JournalView, KeyView, LegalHoldView, LevelRowView, MessageView, ObjectView, PipelineView,
    PolicyPreviewView, PolicyVersionView, ProblemLineView, ProblemView, ProfileView, RecordView, ReportRowView,
    ReportView, RulesView, SealRowView, SettingView, SpaceItemView, SpaceView, SpotTestView, StorageReportView,
    StoreCheckView, StoreView, SweepPartView, SweepView, TaskView, ToolFindingView, TopicView, TroubledItemView,
    UnfinishedDeletionView, UploadView, UserView, VersionView,
};

/// What lists show row by row.
pub trait View {
    /// The names of its fields that are keys of its JSON, in their order, as Rust writes them.
    const FIELDS: &'static [&'static str];

    /// The keys of its JSON, in their order.
    fn keys() -> impl Iterator<Item = &'static str> {
        Self::FIELDS.iter().map(|name| name.strip_prefix("r#").unwrap_or(name))
    }
}

/// Names the fields of structs, and behind a semicolon those that are no keys of their JSON.
macro_rules! views {
    ($($view:ident { $($field:ident),* $(; $hidden:ident)* })*) => {
        $(impl View for $view {
            const FIELDS: &'static [&'static str] = &[$(stringify!($field)),*];
        }

        const _: fn($view) = |view| {
            let $view { $($field: _,)* $($hidden: _,)* } = view;
        };)*
    };
}

views! {
    AuditChainView { chain, entries, sha256, published, published_at, signing_key }
    AuditCheckView { store, ok, ranges, put_back, message }
    AuditExportView { chain, first, last, sha256, count, path }
    ActivityView {
        activity, agent, state, populated, todo, processing, processed, failed, cancelled, deleted, invalidated, tool_passed, tool_failed, is_complete,
        records_removed, records_per_second, seconds_left, institution, options, input, follows, waits_for, pipeline, pipeline_run, step,
        run, changed_since, actor, made_at, started_at, ended_at, error, attempt_error,
        tried_again_at, next
    }
    RecordView { record, state, attempts, changed_at, result, error, object, path, outcome, version, message }
    SpotTestView {
        test, institution, object, version, state, reason, item, place, size, sha256, begun_at, ended_at, reminded_at, decided_at, decided_by
    }
    ProblemView {
        problem, kind, state, subject, institution, store, finding, detail, resolver, next, assigned_to, ticket, reason, waived_until, opened_at,
        reopened_at, times_opened, changed_at, resolved_at
    }
    ProblemLineView { time, state, actor, note }
    SweepView {
        run, institution, state, policy_version, all, started_by, started_at, ended_at, parts, open_parts, failed_parts, listed, queued,
        equal, ignored, failed, deletions, held
    }
    SweepPartView {
        space, source, destination, phase, reached, listed, queued, equal, ignored, failed, deletions, held, attempts, error
    }
    TroubledItemView {
        institution, outcome, space, key, source, destination, rule, in_destination, size, source_etag, destination_etag, sha512,
        verified_at, since, detail, next
    }
    HeldDeletionView { space, key, source, destination, happened_at, actor, reason }
    ContentActView {
        number, time, act, event_type, outcome, actor, institution, source, destination, space, key, size, sha512, source_etag, etag_before,
        etag_after, policy_version, task, topic, attempt, event, event_at, event_actor, event_reason, detail
    }
    PolicyPreviewView {
        space, source, destination, missing, differing, bytes, same_size, only_in_destination, not_carried, message
    }
    PolicyVersionView {
        institution, version, applies, deletes, may_delete, reason, set_by, set_at, approved_by, approved_at, changes
    }
    ToolFindingView {
        finding, institution, object, path, file, tool, detail, state, found_at, settled_at, note, document, record, activity
    }
    AgentView { agent, about, input, options }
    SpaceView { store, space, reason }
    SpaceItemView { name, size, etag, reason }
    ObjectView {
        object, identifier, ark, local_ids, title, description, creator, date, metadata, access, state, health, completeness, parts, missing_parts,
        institution, collection, placement, profile, profile_version, source_organization, deletion_request, versions, head, files,
        bytes, created_at, updated_at, legal_holds
    }
    FoundView { object, identifier, title, state, versions, files, bytes, created_at, updated_at, file, path, size, puid }
    FileView {
        file, path, size, digests, puid, mime, format_method, format_name, format_version, format_basis, format_signatures,
        format_warning, format_others, state, copies; expected_copies
    }
    EventView { event, r#type, time, outcome, detail, outcome_detail, object, file, path, content_path, stores, agent, actor }
    VersionView { version, state, message, user, item, part, parts, inventory_sha512, files, bytes, created_at, published_at }
    ItemView {
        item, batch, action, institution, collection, object, name, part, parts, file, stage, status, priority, attempts,
        retry_count, requeues, needs_review, requested, requested_by, holder, lease_until, waits_for, waits_until, topic, paused, note, next, problems,
        created_at, updated_at, size, restored, actor, holds
    }
    InterimFileView { path, size, digests, modified, key, offset, puid, mime, decision }
    HistoryLineView { number, time, stage, status, note, holder, fence, actor, account, key }
    BatchView {
        batch, institution, collection, kind, state, items, succeeded, failed, cancelled, open, held, deleted, submitted_by,
        note, rows, holds, stopping, ending, paused, created_at, updated_at
    }
    DeletionView {
        request, institution, name, state, objects, files, bytes, reason, requested_by, requested_account, requested_at,
        expires_at, approved_by, approved_account, approved_at, note, closed_by, closed_account, closed_at, closing_reason, batch, deleted,
        failed, cancelled, open, begun, ended_at
    }
    DeletionTargetView { object, path, object_id, item, status, note }
    UnfinishedDeletionView { object, object_id, store, files, begun_at, deletion, item, reason }
    ReportView {
        batch, number, kind, made_at, made_by, state, deleted_at, institution, collection, submitted, submitted_by, submitted_at, note, items,
        succeeded, failed, cancelled, deleted, held, open, changed, unresolved, complete
    }
    ReportRowView { row, name, state, object, version, ark, local_ids, stage, code, message, changed, unresolved, item }
    JournalView { line, number, time, actor, kind, account, key, act, target, object, institution, outcome, detail, request }
    UploadView {
        upload, institution, store, key, state, note, item, collection, stage, part, parts, size, etag, first_seen_at,
        changed_at, settles_at, remove_after, warned_at
    }
    MessageView {
        message, institution, kind, state, subject, to, refused, batch, item, created_at, delivered_at, removed_at,
        undeliverable_at, attempts, next_attempt_at, reason, next
    }
    InstitutionView { institution, name, active, staging_quota, storage_quota, second_factor_required, created_at }
    UserView {
        user, email, role, institution, active, has_password, second_factor, signed_in_at, created_at, deactivated_at
    }
    KeyView { key, user, institution, scopes, state, made_by, created_at, expires_at, revoked_at, last_used_at }
    CollectionView {
        collection, institution, name, profile, profile_version, placement, held, public, embargo_until, priority,
        accepted, max_size, max_rows, shoulder, retention, disposal, rules_version, notify_to, suppress, callback_url, callback_required,
        active, created_at, holds, legal_holds
    }
    DueView {
        object, identifier, institution, collection, deposited_at, due_since, disposal, rules_version, files, bytes, obstacles
    }
    LevelRowView { area, level, row, asks, verdict, evidence, command }
    AreaView { area, level, with_people, rows, met, not_met, unknown, for_people }
    SealRowView { requirement, name, asks, verdict, evidence, commands }
    LegalHoldView {
        legal_hold, on, institution, collection, object, path, state, reason, placed_by, placed_at, released_by, released_at,
        release_reason, begun_deletions
    }
    ItemCountsView { institution, collection, items, pending, started, held, failed, cancelled, succeeded, deleted }
    FailureGroupView { code, host, stage, items, newest, note }
    RulesView {
        version, set_at, set_by, profile, profile_version, placement, public, embargo_until, priority, accepted, max_size,
        max_rows, shoulder, retention, disposal, notify_to, suppress, callback_url, callback_required
    }
    PipelineView { pipeline, institution, steps, runs, last_run, made_at, changed_at }
    ProfileView {
        profile, version, state, origin, source, identifier, stated_version, description, sha256, sha512, added_by, added_at,
        removed_at
    }
    TopicView { topic, ready, delayed, leased, dead, oldest_ready_seconds, paused }
    TaskView { task, topic, key, state, priority, ready_at, attempts, max_attempts, holder, lease_until, reason }
    BackgroundTaskView {
        task, every_seconds, last_started_at, last_elapsed_seconds, last_run_at, result, error, error_since, next_run_at,
        holder
    }
    DepositsReportView {
        institution, collection, period, objects, versions, files, bytes, restorations, restored_bytes, deleted_objects,
        deleted_files, deleted_bytes
    }
    StorageReportView { institution, collection, store, class, objects, files, bytes }
    FormatsReportView { institution, collection, puid, mime, files, bytes }
    CostReportView { month, institution, collection, store, bytes, cost, currency, without_price }
    FixityReportView { institution, store, period, passed, failed }
    StoreView { store, kind, state, path, roles, placements, reason, missed_logs, unfinished_deletions, lacking, backfill_queued, backfill_given_up }
    StoreCheckView {
        store, ok, state, conditional_put, strong_checksum, atomic_assembly, registry, term, acts, problems, message
    }
    DifferenceView { store, code, path, object, detail, meaning, next }
    CheckView { check, ok, message }
    SettingView { key, value, source, meaning }
    CoverageView { store, copies, bytes, checked, never, attested, damaged, due, oldest, due_now }
    FindingView {
        finding, institution, object, content, path, more_paths, store, key, kind, state, detail, quarantine_key, found_at,
        repaired_at
    }
}
