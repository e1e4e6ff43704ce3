-- name: restored.begin
INSERT INTO restored (item_id, store, key, institution_id, state, changed_at) VALUES (?1, ?2, ?3, ?4, 'putting', ?5)
ON CONFLICT (item_id, store, key) DO UPDATE SET state = 'putting', etag = NULL, changed_at = ?5, expires_at = NULL
-- name: restored.announce
UPDATE restored SET size = ?4, sha256 = ?5, changed_at = ?6
WHERE item_id = ?1 AND store = ?2 AND key = ?3 AND state = 'putting'
-- name: restored.give_up
DELETE FROM restored WHERE item_id = ?1 AND store = ?2 AND key = ?3 AND state = 'putting'
-- name: restored.users
SELECT r.item_id, r.store, r.key, r.institution_id, r.state, r.etag, r.size, r.changed_at, r.expires_at, w.status,
    r.sha256
FROM restored r JOIN work_items w ON w.id = r.item_id
WHERE r.store = ?1 AND r.key = ?2 ORDER BY r.item_id
-- name: restored.keep
UPDATE restored SET state = 'kept', etag = ?4, size = ?5, changed_at = ?6, expires_at = ?7
WHERE item_id = ?1 AND store = ?2 AND key = ?3
-- name: restored.replace
UPDATE restored SET state = 'replaced', changed_at = ?4
WHERE store = ?2 AND key = ?3 AND item_id <> ?1 AND state IN ('putting', 'kept', 'removing')
-- name: restored.move
UPDATE restored SET state = ?4, changed_at = ?5 WHERE item_id = ?1 AND store = ?2 AND key = ?3
-- name: restored.get
SELECT r.item_id, r.store, r.key, r.institution_id, r.state, r.etag, r.size, r.changed_at, r.expires_at, w.status,
    r.sha256
FROM restored r JOIN work_items w ON w.id = r.item_id
WHERE r.item_id = ?1 AND r.store = ?2 AND r.key = ?3
-- name: restored.of_item
SELECT r.item_id, r.store, r.key, r.institution_id, r.state, r.etag, r.size, r.changed_at, r.expires_at, w.status,
    r.sha256
FROM restored r JOIN work_items w ON w.id = r.item_id
WHERE r.item_id = ?1 ORDER BY r.store, r.key
-- name: restored.at_place
SELECT r.item_id, r.store, r.key, r.institution_id, r.state, r.etag, r.size, r.changed_at, r.expires_at, w.status,
    r.sha256
FROM restored r JOIN work_items w ON w.id = r.item_id
WHERE r.store = ?1 AND r.key = ?2 AND r.state IN ('putting', 'kept', 'removing') ORDER BY r.item_id
-- name: restored.expired
SELECT r.item_id, r.store, r.key, r.institution_id, r.state, r.etag, r.size, r.changed_at, r.expires_at, w.status,
    r.sha256
FROM restored r JOIN work_items w ON w.id = r.item_id
WHERE r.state IN ('kept', 'removing') AND r.expires_at <= ?1 AND (r.item_id, r.store, r.key) > (?2, ?3, ?4)
ORDER BY r.item_id, r.store, r.key LIMIT ?5
-- name: restored.abandoned
SELECT r.item_id, r.store, r.key, r.institution_id, r.state, r.etag, r.size, r.changed_at, r.expires_at, w.status,
    r.sha256
FROM restored r CROSS JOIN work_items w
WHERE w.id = r.item_id AND r.state = 'putting' AND w.status IN ('failed', 'cancelled', 'succeeded', 'deleted')
    AND (r.item_id, r.store, r.key) > (?1, ?2, ?3)
ORDER BY r.item_id, r.store, r.key LIMIT ?4
