-- The columns of a collection as it is read from a row, those of its rules, and the tables that they are of: with the rules that it has now.
-- list: collections.columns
c.id, c.institution_id, i.identifier AS institution_identifier, c.identifier, c.name, c.state, c.created_at,
    r.version AS rules_version, {collections.rules}
-- list: collections.rules
r.profile, r.profile_version, r.placement, r.public_access, r.embargo_until, r.priority, r.accepted, r.most_bytes, r.most_rows,
    r.shoulder, r.notify_to, r.suppressed, r.callback_url, r.callback_required, r.retention, r.disposal
-- list: collections.tables
collections c JOIN institutions i ON i.id = c.institution_id
    JOIN collection_rules r ON r.collection_id = c.id AND r.version = c.rules_version
-- name: facts.get
SELECT value FROM registry_facts WHERE name = ?1
-- name: facts.set
INSERT INTO registry_facts (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2
-- name: facts.delete
DELETE FROM registry_facts WHERE name = ?1
-- name: institutions.insert
INSERT INTO institutions (id, identifier, name, state, created_at, updated_at) VALUES (?1, ?2, ?3, 'active', ?4, ?4)
-- name: institutions.update
UPDATE institutions SET name = ?2, state = ?3, updated_at = ?4, staging_quota = ?5, storage_quota = ?6 WHERE id = ?1
-- name: collections.insert
INSERT INTO collections (id, institution_id, identifier, name, state, created_at, updated_at, rules_version)
VALUES (?1, ?2, ?3, ?4, 'active', ?5, ?5, 1)
-- name: collections.update
UPDATE collections SET name = ?2, state = ?3, updated_at = ?4, rules_version = ?5 WHERE id = ?1
-- name: collections.lock
UPDATE collections SET rules_version = rules_version WHERE id = ?1
-- name: collections.insert_rules
INSERT INTO collection_rules (collection_id, version, set_at, set_by, profile, profile_version, placement, public_access,
    embargo_until, priority, accepted, most_bytes, most_rows, shoulder, notify_to, suppressed, callback_url, callback_required,
    retention, disposal)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)
-- name: collections.rules
SELECT r.version AS rules_version, r.set_at, r.set_by, {collections.rules}
FROM collection_rules r WHERE r.collection_id = ?1 AND r.version > ?2 ORDER BY r.version LIMIT ?3
-- name: collections.of_batch
SELECT {collections.columns}
FROM collections c JOIN institutions i ON i.id = c.institution_id
    JOIN collection_rules r ON r.collection_id = c.id AND r.version = coalesce(
        (SELECT b.rules_version FROM batches b WHERE b.id = ?2 AND b.collection_id = c.id), c.rules_version)
WHERE c.id = ?1
-- name: collections.of_institution
SELECT {collections.columns}
FROM {collections.tables}
WHERE c.institution_id = ?1 ORDER BY c.identifier
-- name: collections.get
SELECT {collections.columns}
FROM {collections.tables} WHERE c.id = ?1
-- name: schedules.take
INSERT INTO schedules (name, next_run_at, holder, lease_until, last_started_at) VALUES (?1, ?2, ?3, ?4, ?2)
ON CONFLICT (name) DO UPDATE SET holder = ?3, lease_until = ?4, last_started_at = ?2, wanted_at = NULL
WHERE schedules.next_run_at <= ?5 AND (schedules.lease_until IS NULL OR schedules.lease_until <= ?2)
RETURNING 1 AS found
-- name: schedules.bound_lease
UPDATE schedules SET lease_until = ?2 WHERE name = ?1 AND lease_until > ?2
-- name: schedules.extend
UPDATE schedules SET lease_until = ?3 WHERE name = ?1 AND holder = ?2 RETURNING 1 AS found
-- name: schedules.done
UPDATE schedules SET last_run_at = ?3, last_elapsed = ?3 - last_started_at, result = ?4, error = NULL, error_since = NULL
WHERE name = ?1 AND holder = ?2
-- name: schedules.failed
UPDATE schedules SET last_elapsed = ?3 - last_started_at, error = ?4, error_since = coalesce(error_since, ?3)
WHERE name = ?1 AND holder = ?2
-- name: schedules.free
UPDATE schedules SET next_run_at = CASE WHEN wanted_at < ?3 THEN wanted_at ELSE ?3 END, wanted_at = NULL, holder = NULL,
    lease_until = NULL
WHERE name = ?1 AND holder = ?2
-- name: schedules.hasten
UPDATE schedules SET next_run_at = CASE WHEN next_run_at > ?2 THEN ?2 ELSE next_run_at END,
    wanted_at = CASE WHEN holder IS NULL OR wanted_at <= ?2 THEN wanted_at ELSE ?2 END
WHERE name = ?1 AND (next_run_at > ?2 OR holder IS NOT NULL)
-- name: schedules.list
SELECT name, last_started_at, last_elapsed, last_run_at, result, error, error_since, next_run_at, holder, lease_until
FROM schedules ORDER BY name
