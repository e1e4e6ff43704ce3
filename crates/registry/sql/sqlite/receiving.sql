-- name: receiving.get
SELECT u.id, u.institution_id, i.identifier AS institution_identifier, u.store, u.key, u.etag, u.size, u.state, u.note,
    u.item_id, u.first_seen_at, u.changed_at, u.remove_after, u.warned_at
FROM uploads u JOIN institutions i ON i.id = u.institution_id
WHERE u.id = ?1 AND (?2 IS NULL OR u.institution_id = ?2)
-- name: receiving.list
SELECT u.id, u.institution_id, i.identifier AS institution_identifier, u.store, u.key, u.etag, u.size, u.state, u.note,
    u.item_id, u.first_seen_at, u.changed_at, u.remove_after, u.warned_at
FROM uploads u JOIN institutions i ON i.id = u.institution_id
WHERE u.id > ?1 AND (?2 IS NULL OR u.institution_id = ?2)
    AND (?3 IS NULL OR u.state NOT IN ('removed', 'withdrawn'))
ORDER BY u.id LIMIT ?4
-- name: receiving.to_expire
SELECT u.id, u.institution_id, i.identifier AS institution_identifier, u.store, u.key, u.etag, u.size, u.state, u.note,
    u.item_id, u.first_seen_at, u.changed_at, u.remove_after, u.warned_at
FROM uploads u JOIN institutions i ON i.id = u.institution_id JOIN work_items w ON w.id = u.item_id
WHERE u.state = 'invalid' AND u.id > ?1 AND u.remove_after <= ?3 AND u.warned_at <= ?4 AND w.status = 'failed'
    AND w.is_verdict = 1
ORDER BY u.id LIMIT ?2
