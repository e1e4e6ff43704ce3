-- name: fixity.due_contents
SELECT k.object_id, k.content_id, k.checked_at, i.identifier
FROM copies k INDEXED BY copies_by_check
JOIN contents c ON c.id = k.content_id
JOIN objects o ON o.id = c.object_id AND o.generation = c.generation AND o.head >= c.version
JOIN institutions i ON i.id = o.institution_id
WHERE k.store = ?1 AND k.checked_at <= ?2 AND (k.checked_at, k.content_id) > (?3, ?4)
    AND (?5 IS NULL OR k.institution_id = ?5)
ORDER BY k.checked_at, k.content_id LIMIT ?6
-- name: fixity.due_objects
SELECT k.object_id, k.object_id, k.checked_at, i.identifier
FROM object_copies k INDEXED BY object_copies_by_check
JOIN objects o ON o.id = k.object_id AND o.generation = k.generation AND o.head > 0
JOIN institutions i ON i.id = o.institution_id
WHERE k.store = ?1 AND k.checked_at <= ?2 AND (k.checked_at, k.object_id) > (?3, ?4)
    AND (?5 IS NULL OR k.institution_id = ?5)
ORDER BY k.checked_at, k.object_id LIMIT ?6
-- name: fixity.due_of_object
SELECT k.content_id, k.object_id, k.institution_id, i.identifier, k.store, k.key, k.class, k.state, k.checked_at,
    c.sha512, c.size, c.sha256
FROM copies k INDEXED BY copies_by_object
JOIN contents c ON c.id = k.content_id
JOIN objects o ON o.id = c.object_id AND o.generation = c.generation AND o.head >= c.version
JOIN institutions i ON i.id = o.institution_id
WHERE k.object_id = ?1 AND k.store = ?2 AND k.checked_at <= ?3 AND (k.checked_at, k.content_id) > (?4, ?5)
ORDER BY k.checked_at, k.content_id LIMIT ?6
-- name: fixity.copies_of_content
SELECT k.content_id, k.object_id, k.institution_id, i.identifier, k.store, k.key, k.class, k.state, k.checked_at,
    c.sha512, c.size, c.sha256
FROM copies k
JOIN contents c ON c.id = k.content_id
JOIN objects o ON o.id = c.object_id AND o.generation = c.generation AND o.head >= c.version
JOIN institutions i ON i.id = o.institution_id
WHERE k.content_id = ?1
ORDER BY k.store
-- name: fixity.object_copy
SELECT k.object_id, k.store, k.institution_id, i.identifier, k.generation, k.state, k.checked_at
FROM object_copies k
JOIN objects o ON o.id = k.object_id AND o.generation = k.generation AND o.head > 0
JOIN institutions i ON i.id = o.institution_id
WHERE k.object_id = ?1 AND k.store = ?2
-- name: fixity.passed
UPDATE copies SET state = 'kept', checked_at = ?4, last_fixity_at = ?4,
    verified_at = coalesce(verified_at, ?4)
WHERE content_id = ?1 AND store = ?2 AND checked_at = ?3
-- name: fixity.attested
UPDATE copies SET checked_at = ?4, attested_at = ?4 WHERE content_id = ?1 AND store = ?2 AND checked_at = ?3
-- name: fixity.damaged
UPDATE copies SET state = ?3 WHERE content_id = ?1 AND store = ?2
-- name: fixity.given_up
UPDATE copies SET checked_at = ?3 WHERE content_id = ?1 AND store = ?2
-- name: fixity.mended
UPDATE copies SET state = 'kept', checked_at = ?3, last_fixity_at = ?3, verified_at = ?3
WHERE content_id = ?1 AND store = ?2
-- name: fixity.make_due
UPDATE copies SET checked_at = min(checked_at, ?3) WHERE content_id = ?1 AND store = ?2
-- name: fixity.unread
UPDATE copies SET state = 'kept', verified_at = NULL, last_fixity_at = NULL, checked_at = 0
WHERE content_id = ?1 AND store = ?2
-- name: fixity.object_unread
UPDATE object_copies SET state = 'kept', last_fixity_at = NULL, checked_at = 0 WHERE object_id = ?1 AND store = ?2
-- name: fixity.object_make_due
UPDATE object_copies SET checked_at = 0 WHERE object_id = ?1 AND store = ?2
-- name: fixity.object_passed
UPDATE object_copies SET state = 'kept', checked_at = ?3, last_fixity_at = ?3 WHERE object_id = ?1 AND store = ?2
-- name: fixity.object_damaged
UPDATE object_copies SET state = ?3 WHERE object_id = ?1 AND store = ?2
-- name: fixity.object_given_up
UPDATE object_copies SET checked_at = ?3 WHERE object_id = ?1 AND store = ?2
-- name: fixity.report
SELECT s.store, count(*), sum(s.bytes), sum(s.last_fixity_at >= ?2), sum(s.last_fixity_at IS NULL), sum(s.attested),
    sum(s.state <> 'kept'), sum(s.checked_at <= ?2), min(s.checked_at)
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
-- name: findings.insert
INSERT INTO findings (id, institution_id, object_id, content_id, store, key, kind, state, detail, found_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'open', ?8, ?9)
ON CONFLICT DO NOTHING
-- name: findings.reopen
UPDATE findings SET state = 'open', kind = ?2, detail = ?3, wait_reason = NULL WHERE id = ?1 AND state <> 'repaired'
-- name: findings.wait
UPDATE findings SET wait_reason = ?2 WHERE id = ?1 AND state = 'open'
-- name: findings.quarantined
UPDATE findings SET quarantine_key = ?2 WHERE id = ?1
-- name: findings.close
UPDATE findings SET state = ?2, detail = ?3, repaired_at = ?4, wait_reason = NULL WHERE id = ?1 AND state <> 'repaired'
-- name: findings.unsolved
SELECT f.id, f.institution_id, i.identifier, f.object_id, coalesce(o.identifier, i.identifier), f.content_id, f.store, f.key, f.kind, f.state,
    f.detail, f.quarantine_key, f.found_at, f.repaired_at, f.wait_reason
FROM findings f LEFT JOIN objects o ON o.id = f.object_id JOIN institutions i ON i.id = f.institution_id
WHERE f.object_id = ?1 AND f.store = ?2 AND (f.content_id = ?3 OR (f.content_id IS NULL AND ?3 IS NULL))
    AND f.state <> 'repaired'
ORDER BY f.id LIMIT 1
-- name: findings.get
SELECT f.id, f.institution_id, i.identifier, f.object_id, coalesce(o.identifier, i.identifier), f.content_id, f.store, f.key, f.kind, f.state,
    f.detail, f.quarantine_key, f.found_at, f.repaired_at, f.wait_reason
FROM findings f LEFT JOIN objects o ON o.id = f.object_id JOIN institutions i ON i.id = f.institution_id
WHERE f.id = ?1 AND (?2 IS NULL OR f.institution_id = ?2)
-- What was found in a store that is out of use is listed with what is repaired.
-- name: findings.list
SELECT f.id, f.institution_id, i.identifier, f.object_id, coalesce(o.identifier, i.identifier), f.content_id, f.store, f.key, f.kind, f.state,
    f.detail, f.quarantine_key, f.found_at, f.repaired_at, f.wait_reason
FROM findings f LEFT JOIN objects o ON o.id = f.object_id JOIN institutions i ON i.id = f.institution_id
WHERE f.id > ?1 AND (?2 IS NULL OR f.institution_id = ?2) AND (?3 = 1 OR f.state <> 'repaired')
    AND (?3 = 1 OR NOT EXISTS (SELECT 1 FROM registry_facts r WHERE r.name = 'store.retired/' || f.store))
ORDER BY f.id LIMIT ?4
-- name: checks.copy
SELECT k.key, c.sha512 FROM contents c LEFT JOIN copies k ON k.content_id = c.id AND k.store = ?2 WHERE c.id = ?1
-- name: checks.contents_of_file
SELECT DISTINCT content_id FROM entries WHERE file_id = ?1 AND content_id IS NOT NULL
