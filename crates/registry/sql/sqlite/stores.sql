-- name: stores.marked
UPDATE stores SET mark_revision = ?3
WHERE name = ?1 AND store_id = ?2 AND replacing_id IS NULL AND mark_revision < ?3
-- No other transaction writes at the same time.
-- name: stores.lock_replacements
SELECT 1 AS found
