-- The columns of a problem as it is read from a row.
-- list: problems.columns
p.id, p.key, p.kind, p.state, p.institution_id, i.identifier AS institution_identifier, p.subject, p.store, p.object_id, p.finding_id,
    p.detail, p.assigned_to, p.ticket, p.reason, p.waived_until, p.opened_at, p.reopened_at, p.times_opened, p.changed_at, p.resolved_at
-- name: problems.insert
INSERT INTO problems (id, key, kind, fault, state, institution_id, subject, store, object_id, finding_id, detail, opened_at, reopened_at,
    times_opened, changed_at)
VALUES (?1, ?2, ?3, ?4, 'open', ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11, 1, ?11)
ON CONFLICT (key) DO NOTHING RETURNING 1 AS found
-- A waiver is about what was wrong then, and not about another fault of the same.
-- name: problems.reopen
UPDATE problems SET state = 'open', kind = ?2, subject = ?3, finding_id = ?4, detail = ?5, fault = ?6, reopened_at = ?7, changed_at = ?7,
    times_opened = times_opened + 1, assigned_to = NULL, ticket = NULL, reason = NULL, waived_until = NULL, resolved_at = NULL
WHERE key = ?1 AND (state = 'resolved' OR (state = 'waived' AND fault <> ?6)) RETURNING id
-- name: problems.refresh
UPDATE problems SET kind = ?2, subject = ?3, finding_id = ?4, detail = ?5, fault = ?6
WHERE key = ?1 AND state <> 'resolved'
    AND (kind <> ?2 OR fault <> ?6 OR subject <> ?3 OR detail <> ?5 OR finding_id IS DISTINCT FROM ?4)
-- name: problems.change
UPDATE problems SET state = ?3, assigned_to = ?4, ticket = ?5, reason = ?6, waived_until = ?7, changed_at = ?8, resolved_at = ?9
WHERE id = ?1 AND state = ?2 RETURNING 1 AS found
-- name: problems.last_number
SELECT coalesce(max(number), 0) AS number FROM problem_history WHERE problem_id = ?1
-- name: problems.note
INSERT INTO problem_history (problem_id, number, time, state, actor, note) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
-- name: problems.forget
DELETE FROM problem_history WHERE problem_id = ?1 AND number <= ?2
-- name: problems.history
SELECT h.number, h.time, h.state, h.actor, h.note FROM problem_history h WHERE h.problem_id = ?1 ORDER BY h.number
-- What is unresolved and is about no finding of a check.
-- name: problems.conditions
SELECT {problems.columns}
FROM problems p LEFT JOIN institutions i ON i.id = p.institution_id
WHERE p.state <> 'resolved' AND p.finding_id IS NULL AND p.id > ?1 ORDER BY p.id LIMIT ?2
-- name: problems.waivers_ended
SELECT {problems.columns}
FROM problems p LEFT JOIN institutions i ON i.id = p.institution_id
WHERE p.state <> 'resolved' AND p.waived_until < ?1 ORDER BY p.id LIMIT ?2
-- Unsolved findings without a problem that is unresolved. What was found in a store that is out of use does not count.
-- name: problems.of_findings
SELECT f.id, f.institution_id, f.object_id, f.content_id, f.store, f.key, f.kind, f.detail FROM findings f
WHERE f.state <> 'repaired' AND NOT EXISTS (SELECT 1 FROM registry_facts r WHERE r.name = 'store.retired/' || f.store)
    AND NOT EXISTS (SELECT 1 FROM problems p WHERE p.finding_id = f.id AND p.state <> 'resolved')
    AND f.id > ?1
ORDER BY f.id LIMIT ?2
-- Problems whose finding is not unsolved any more.
-- name: problems.without_finding
SELECT {problems.columns}
FROM problems p LEFT JOIN institutions i ON i.id = p.institution_id
WHERE p.state <> 'resolved' AND p.finding_id IS NOT NULL AND p.id > ?1
    AND (EXISTS (SELECT 1 FROM registry_facts r WHERE r.name = 'store.retired/' || p.store)
        OR NOT EXISTS (SELECT 1 FROM findings f WHERE f.id = p.finding_id AND f.state <> 'repaired'))
ORDER BY p.id LIMIT ?2
-- name: problems.of_finding
SELECT {problems.columns}
FROM problems p LEFT JOIN institutions i ON i.id = p.institution_id
WHERE p.finding_id = ?1 AND p.state <> 'resolved'
