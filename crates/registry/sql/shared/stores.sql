-- name: stores.list
SELECT name, store_id, recorded_at, replacing_id, mark_revision FROM stores ORDER BY name
-- name: stores.insert
INSERT INTO stores (name, store_id, recorded_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING
-- name: missed_logs.insert
INSERT INTO missed_logs (store, object_id, name, generation, institution, bytes, missed_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING
-- name: missed_logs.delete
DELETE FROM missed_logs WHERE store = ?1 AND object_id = ?2 AND name = ?3
-- name: missed_logs.list
SELECT store, object_id, name, generation, institution, bytes, missed_at FROM missed_logs
WHERE store = ?1 AND missed_at <= ?2 AND (object_id, name) > (?3, ?4)
ORDER BY object_id, name LIMIT ?5
-- name: missed_logs.of_object
SELECT store, object_id, name, generation, institution, bytes, missed_at FROM missed_logs
WHERE object_id = ?1 AND (name, store) > (?2, ?3) ORDER BY name, store LIMIT ?4
-- name: missed_logs.count
SELECT store, count(*) AS logs, min(missed_at) AS first_missed_at FROM missed_logs GROUP BY store ORDER BY store
-- name: stores.replace
INSERT INTO stores (name, store_id, recorded_at, replacing_id) VALUES (?1, ?2, ?3, ?2)
ON CONFLICT (name) DO UPDATE SET replacing_id = ?2
-- name: stores.replaced
UPDATE stores SET store_id = replacing_id, recorded_at = ?2, replacing_id = NULL, mark_revision = 0
WHERE name = ?1 AND replacing_id IS NOT NULL
-- name: stores.copies
SELECT checked_at, content_id, object_id FROM copies
WHERE store = ?1 AND (checked_at, content_id) > (?2, ?3) ORDER BY checked_at, content_id LIMIT ?4
-- name: stores.drop_copy
DELETE FROM copies WHERE store = ?1 AND content_id = ?2
    AND EXISTS (SELECT 1 FROM copies o WHERE o.content_id = ?2 AND o.store <> ?1 AND o.state = 'kept'
        AND ?3 NOT LIKE '%/' || o.store || '/%'
        AND NOT EXISTS (SELECT 1 FROM registry_facts r WHERE r.name = 'store.retired/' || o.store))
    AND NOT EXISTS (SELECT 1 FROM contents c
        JOIN versions v ON v.object_id = c.object_id AND v.generation = c.generation AND v.number = c.version
        WHERE c.id = ?2 AND v.state IN ('preparing', 'committing', 'dropping'))
-- name: stores.lose_copy
UPDATE copies SET state = 'missing', checked_at = 0 WHERE store = ?1 AND content_id = ?2
    AND NOT EXISTS (SELECT 1 FROM contents c
        JOIN versions v ON v.object_id = c.object_id AND v.generation = c.generation AND v.number = c.version
        WHERE c.id = ?2 AND v.state IN ('preparing', 'committing', 'dropping'))
-- name: stores.doubt_unpublished
UPDATE copies SET verified_at = NULL, attested_at = NULL WHERE store = ?1 AND content_id = ?2
-- name: stores.object_copies
SELECT checked_at, object_id FROM object_copies
WHERE store = ?1 AND (checked_at, object_id) > (?2, ?3) ORDER BY checked_at, object_id LIMIT ?4
-- name: stores.drop_object_copy
DELETE FROM object_copies WHERE store = ?1 AND object_id = ?2
    AND EXISTS (SELECT 1 FROM object_copies o WHERE o.object_id = ?2 AND o.store <> ?1
        AND ?3 NOT LIKE '%/' || o.store || '/%')
    AND NOT EXISTS (SELECT 1 FROM copies k WHERE k.object_id = ?2 AND k.store = ?1 AND k.state = 'missing')
-- name: stores.lose_object_copy
UPDATE object_copies SET state = 'damaged', checked_at = 0, last_fixity_at = NULL WHERE store = ?1 AND object_id = ?2
-- name: stores.note_logs
INSERT INTO unread_logs (holder, store, object_id, noted_at)
SELECT o.store, ?1, ?2, ?3 FROM object_copies o WHERE o.object_id = ?2 AND o.store <> ?1 ON CONFLICT DO NOTHING
-- name: unread_logs.insert
INSERT INTO unread_logs (holder, store, object_id, noted_at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING
-- name: unread_logs.delete
DELETE FROM unread_logs WHERE holder = ?1 AND store = ?2 AND object_id = ?3
-- name: unread_logs.delete_of_holder
DELETE FROM unread_logs WHERE holder = ?1
-- name: unread_logs.list
SELECT holder, store, object_id, noted_at FROM unread_logs
WHERE holder = ?1 AND (store, object_id) > (?2, ?3) ORDER BY store, object_id LIMIT ?4
