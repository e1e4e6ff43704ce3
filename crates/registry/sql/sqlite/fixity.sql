-- name: fixity.due_contents
SELECT k.object_id, k.content_id AS cursor_id, k.checked_at, i.identifier AS institution_identifier
FROM copies k INDEXED BY copies_by_check
JOIN contents c ON c.id = k.content_id
JOIN objects o ON o.id = c.object_id AND o.generation = c.generation AND o.head >= c.version
JOIN institutions i ON i.id = o.institution_id
WHERE k.store = ?1 AND k.checked_at <= ?2 AND (k.checked_at, k.content_id) > (?3, ?4)
    AND (?5 IS NULL OR k.institution_id = ?5)
ORDER BY k.checked_at, k.content_id LIMIT ?6
-- name: fixity.due_objects
SELECT k.object_id, k.object_id AS cursor_id, k.checked_at, i.identifier AS institution_identifier
FROM object_copies k INDEXED BY object_copies_by_check
JOIN objects o ON o.id = k.object_id AND o.generation = k.generation AND o.head > 0
JOIN institutions i ON i.id = o.institution_id
WHERE k.store = ?1 AND k.checked_at <= ?2 AND (k.checked_at, k.object_id) > (?3, ?4)
    AND (?5 IS NULL OR k.institution_id = ?5)
ORDER BY k.checked_at, k.object_id LIMIT ?6
-- name: fixity.due_of_object
SELECT k.content_id, k.object_id, k.institution_id, i.identifier AS institution_identifier, k.store, k.key, k.class,
    k.state, k.checked_at, c.sha512, c.size, c.sha256
FROM copies k INDEXED BY copies_by_object
JOIN contents c ON c.id = k.content_id
JOIN objects o ON o.id = c.object_id AND o.generation = c.generation AND o.head >= c.version
JOIN institutions i ON i.id = o.institution_id
WHERE k.object_id = ?1 AND k.store = ?2 AND k.checked_at <= ?3 AND (k.checked_at, k.content_id) > (?4, ?5)
ORDER BY k.checked_at, k.content_id LIMIT ?6
-- name: fixity.make_due
UPDATE copies SET checked_at = min(checked_at, ?3) WHERE content_id = ?1 AND store = ?2
-- name: fixity.report
SELECT s.store, count(*) AS copies, sum(s.bytes) AS bytes, sum(s.last_fixity_at >= ?2) AS checked,
    sum(s.last_fixity_at IS NULL) AS never_checked, sum(s.attested) AS attested, sum(s.state <> 'kept') AS damaged,
    sum(s.checked_at <= ?2) AS due, min(s.checked_at) AS oldest_checked_at
FROM (
    SELECT k.store, c.size AS bytes, k.last_fixity_at, k.attested_at IS NOT NULL AS attested, k.state, k.checked_at
    FROM copies k
    JOIN contents c ON c.id = k.content_id
    JOIN objects o ON o.id = c.object_id AND o.generation = c.generation AND o.head >= c.version
    WHERE ?1 IS NULL OR k.institution_id = ?1
    UNION ALL
    SELECT k.store, 0, k.last_fixity_at, 0, k.state, k.checked_at
    FROM object_copies k
    JOIN objects o ON o.id = k.object_id AND o.generation = k.generation AND o.head > 0
    WHERE ?1 IS NULL OR k.institution_id = ?1
) s
GROUP BY s.store ORDER BY s.store
-- name: findings.unsolved
SELECT f.id, f.institution_id, i.identifier AS institution_identifier, f.object_id,
    coalesce(o.identifier, i.identifier) AS object_identifier, f.content_id, f.store, f.key, f.kind, f.state,
    f.detail, f.quarantine_key, f.found_at, f.repaired_at, f.wait_reason
FROM findings f LEFT JOIN objects o ON o.id = f.object_id JOIN institutions i ON i.id = f.institution_id
WHERE f.object_id = ?1 AND f.store = ?2 AND (f.content_id = ?3 OR (f.content_id IS NULL AND ?3 IS NULL))
    AND f.state <> 'repaired'
ORDER BY f.id LIMIT 1
-- name: findings.get
SELECT f.id, f.institution_id, i.identifier AS institution_identifier, f.object_id,
    coalesce(o.identifier, i.identifier) AS object_identifier, f.content_id, f.store, f.key, f.kind, f.state,
    f.detail, f.quarantine_key, f.found_at, f.repaired_at, f.wait_reason
FROM findings f LEFT JOIN objects o ON o.id = f.object_id JOIN institutions i ON i.id = f.institution_id
WHERE f.id = ?1 AND (?2 IS NULL OR f.institution_id = ?2)
-- What was found in a store that is out of use is listed with what is repaired.
-- name: findings.list
SELECT f.id, f.institution_id, i.identifier AS institution_identifier, f.object_id,
    coalesce(o.identifier, i.identifier) AS object_identifier, f.content_id, f.store, f.key, f.kind, f.state,
    f.detail, f.quarantine_key, f.found_at, f.repaired_at, f.wait_reason
FROM findings f LEFT JOIN objects o ON o.id = f.object_id JOIN institutions i ON i.id = f.institution_id
WHERE f.id > ?1 AND (?2 IS NULL OR f.institution_id = ?2) AND (?3 = 1 OR f.state <> 'repaired')
    AND (?3 = 1 OR NOT EXISTS (SELECT 1 FROM registry_facts r WHERE r.name = 'store.retired/' || f.store))
    AND (?5 IS NULL OR f.store = ?5)
ORDER BY f.id LIMIT ?4
