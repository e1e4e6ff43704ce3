-- name: receiving.cursor
SELECT after_key, after_upload, folder, looked_at FROM receiving_cursors WHERE store = ?1 AND institution_id = ?2
-- name: receiving.put_cursor
INSERT INTO receiving_cursors (store, institution_id, after_key, after_upload, folder, looked_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (store, institution_id) DO UPDATE SET after_key = ?3, after_upload = ?4, folder = ?5, looked_at = ?6
-- name: receiving.drop_cursor
DELETE FROM receiving_cursors WHERE store = ?1 AND institution_id = ?2
-- name: receiving.between
SELECT u.id, u.institution_id, i.identifier AS institution_identifier, u.store, u.key, u.etag, u.size, u.state, u.note,
    u.item_id, u.first_seen_at, u.changed_at, u.remove_after, u.warned_at
FROM uploads u JOIN institutions i ON i.id = u.institution_id
WHERE u.store = ?1 AND u.key > ?2 AND u.key <= ?3
ORDER BY u.key LIMIT ?4
-- name: receiving.of_item
SELECT u.id, u.institution_id, i.identifier AS institution_identifier, u.store, u.key, u.etag, u.size, u.state, u.note,
    u.item_id, u.first_seen_at, u.changed_at, u.remove_after, u.warned_at
FROM uploads u JOIN institutions i ON i.id = u.institution_id
WHERE u.item_id = ?1
-- name: receiving.ended
SELECT u.id, u.institution_id, i.identifier AS institution_identifier, u.store, u.key, u.etag, u.size, u.state, u.note,
    u.item_id, u.first_seen_at, u.changed_at, u.remove_after, u.warned_at
FROM uploads u JOIN institutions i ON i.id = u.institution_id JOIN work_items w ON w.id = u.item_id
WHERE u.state = 'submitted' AND u.id > ?1 AND w.status IN ('failed', 'cancelled', 'succeeded', 'deleted')
ORDER BY u.id LIMIT ?2
-- name: receiving.reopened
SELECT u.id, u.institution_id, i.identifier AS institution_identifier, u.store, u.key, u.etag, u.size, u.state, u.note,
    u.item_id, u.first_seen_at, u.changed_at, u.remove_after, u.warned_at
FROM uploads u JOIN institutions i ON i.id = u.institution_id JOIN work_items w ON w.id = u.item_id
WHERE u.state IN ('failed', 'invalid', 'cancelled') AND u.id > ?1 AND w.status IN ('pending', 'started', 'held', 'succeeded')
ORDER BY u.id LIMIT ?2
-- name: receiving.to_warn
SELECT u.id, u.institution_id, i.identifier AS institution_identifier, u.store, u.key, u.etag, u.size, u.state, u.note,
    u.item_id, u.first_seen_at, u.changed_at, u.remove_after, u.warned_at
FROM uploads u JOIN institutions i ON i.id = u.institution_id
WHERE u.state = 'invalid' AND u.warned_at IS NULL AND u.id > ?1 AND u.remove_after <= ?3
ORDER BY u.id LIMIT ?2
-- name: receiving.to_remove
SELECT u.id, u.institution_id, i.identifier AS institution_identifier, u.store, u.key, u.etag, u.size, u.state, u.note,
    u.item_id, u.first_seen_at, u.changed_at, u.remove_after, u.warned_at
FROM uploads u JOIN institutions i ON i.id = u.institution_id JOIN work_items w ON w.id = u.item_id
WHERE u.state IN ('published', 'removing') AND u.id > ?1 AND (u.remove_after IS NULL OR u.remove_after <= ?3)
    AND w.status IN ('failed', 'cancelled', 'succeeded', 'deleted')
ORDER BY u.id LIMIT ?2
-- name: receiving.insert
INSERT INTO uploads (id, institution_id, store, key, etag, size, state, first_seen_at, changed_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'settling', ?7, ?7)
ON CONFLICT (store, key) DO NOTHING
-- name: receiving.changed
UPDATE uploads SET etag = ?2, size = ?3, state = 'settling', note = NULL, changed_at = ?4, remove_after = NULL,
    warned_at = NULL
WHERE id = ?1
-- name: receiving.decide
UPDATE uploads SET state = ?2, note = ?3, item_id = coalesce(?4, item_id), remove_after = ?5, warned_at = ?6 WHERE id = ?1
-- name: receiving.delete
DELETE FROM uploads WHERE id = ?1
-- name: receiving.receipt
SELECT item_id FROM receipts WHERE store = ?1 AND key = ?2 AND etag = ?3
-- name: receiving.put_receipt
INSERT INTO receipts (store, key, etag, item_id, made_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (store, key, etag) DO UPDATE SET item_id = ?4, made_at = ?5
-- name: receiving.drop_receipt
DELETE FROM receipts WHERE store = ?1 AND key = ?2 AND etag = ?3
-- name: receiving.waiting_of_source
SELECT id FROM work_items {items.by_open_name}
WHERE institution_id = ?1 AND object_identifier = ?2 AND status IN ('pending', 'started', 'held')
    AND status <> 'started' AND action = 'ingest' AND source = ?3 AND id <> ?4
ORDER BY id
-- name: receiving.is_removing
SELECT EXISTS (SELECT 1 FROM uploads WHERE item_id = ?1 AND state = 'removing') AS is_removing
