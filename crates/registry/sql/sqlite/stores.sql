-- name: stores.list
SELECT name, store_id, recorded_at FROM stores ORDER BY name
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
-- name: missed_logs.count
SELECT store, count(*), min(missed_at) FROM missed_logs GROUP BY store ORDER BY store
