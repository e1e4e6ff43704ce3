-- name: facts.get
SELECT value FROM registry_facts WHERE name = ?1
-- name: facts.set
INSERT INTO registry_facts (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2
-- name: facts.delete
DELETE FROM registry_facts WHERE name = ?1
-- name: institutions.insert
INSERT INTO institutions (id, identifier, name, state, created_at, updated_at) VALUES (?1, ?2, ?3, 'active', ?4, ?4)
-- name: institutions.update
UPDATE institutions SET name = ?2, state = ?3, updated_at = ?4, staging_quota = ?5 WHERE id = ?1
-- name: collections.insert
INSERT INTO collections (id, institution_id, identifier, name, profile, placement, state, created_at, updated_at,
    profile_version, public_access, embargo_until)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'active', ?7, ?7, ?8, ?9, ?10)
-- name: collections.update
UPDATE collections SET name = ?2, profile = ?3, placement = ?4, state = ?5, updated_at = ?6,
    profile_version = ?7, public_access = ?8, embargo_until = ?9
WHERE id = ?1
-- name: collections.of_institution
SELECT c.id, c.institution_id, i.identifier AS institution_identifier, c.identifier, c.name, c.profile, c.profile_version,
    c.placement, c.public_access, c.embargo_until, c.state, c.created_at
FROM collections c JOIN institutions i ON i.id = c.institution_id
WHERE c.institution_id = ?1 ORDER BY c.identifier
-- name: collections.get
SELECT c.id, c.institution_id, i.identifier AS institution_identifier, c.identifier, c.name, c.profile, c.profile_version,
    c.placement, c.public_access, c.embargo_until, c.state, c.created_at
FROM collections c JOIN institutions i ON i.id = c.institution_id WHERE c.id = ?1
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
