-- name: fixity.copies_of_content
SELECT k.content_id, k.object_id, k.institution_id, i.identifier AS institution_identifier, k.store, k.key, k.class,
    k.state, k.checked_at, c.sha512, c.size, c.sha256
FROM copies k
JOIN contents c ON c.id = k.content_id
JOIN objects o ON o.id = c.object_id AND o.generation = c.generation AND o.head >= c.version
JOIN institutions i ON i.id = o.institution_id
WHERE k.content_id = ?1
ORDER BY k.store
-- name: fixity.object_copy
SELECT k.object_id, o.identifier AS object_identifier, k.store, k.institution_id,
    i.identifier AS institution_identifier, k.generation, k.state, k.checked_at
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
-- name: checks.copy
SELECT k.key, c.sha512 FROM contents c LEFT JOIN copies k ON k.content_id = c.id AND k.store = ?2 WHERE c.id = ?1
-- name: checks.contents_of_file
SELECT DISTINCT content_id FROM entries WHERE file_id = ?1 AND content_id IS NOT NULL
