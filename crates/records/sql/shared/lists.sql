-- Making lists, their counts, and removing them. A list that is being removed is not found.

-- name: records_make_list
INSERT INTO record_lists (id, made_at) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING

-- name: records_make_slot
INSERT INTO record_slots (list_id, slot) VALUES (?1, ?2) ON CONFLICT (list_id, slot) DO NOTHING

-- name: records_make_cursor
INSERT INTO record_cursors (list_id) VALUES (?1) ON CONFLICT (list_id) DO NOTHING

-- name: records_status
SELECT is_complete, population_cursor, populated_by, populated_until,
    counted.todo, counted.processing, counted.processed, counted.failed, counted.cancelled
FROM record_lists JOIN (
    SELECT CAST(coalesce(sum(todo), 0) AS BIGINT) AS todo, CAST(coalesce(sum(processing), 0) AS BIGINT) AS processing,
        CAST(coalesce(sum(processed), 0) AS BIGINT) AS processed, CAST(coalesce(sum(failed), 0) AS BIGINT) AS failed,
        CAST(coalesce(sum(cancelled), 0) AS BIGINT) AS cancelled
    FROM record_slots WHERE list_id = ?1
) AS counted ON TRUE
WHERE id = ?1 AND NOT is_removed

-- name: records_count
UPDATE record_slots
SET todo = todo + ?3, processing = processing + ?4, processed = processed + ?5, failed = failed + ?6,
    cancelled = cancelled + ?7, sequence = sequence + ?8
WHERE list_id = ?1 AND slot = ?2

-- name: records_mark_removed
UPDATE record_lists SET is_removed = TRUE, population_fence = population_fence + 1 WHERE id = ?1

-- name: records_being_removed
SELECT id FROM record_lists
WHERE is_removed AND NOT EXISTS (SELECT 1 FROM record_slots WHERE list_id = record_lists.id AND slot = -1)
ORDER BY id LIMIT ?1

-- name: records_keep_counts
-- The counts of a list whose records go are one row, of a slot that no transaction changes.
INSERT INTO record_slots (list_id, slot, todo, processing, processed, failed, cancelled)
SELECT list_id, -1, sum(todo), sum(processing), sum(processed), sum(failed), sum(cancelled)
FROM record_slots WHERE list_id = ?1 AND slot >= 0 GROUP BY list_id
ON CONFLICT (list_id, slot) DO NOTHING

-- name: records_delete_counted_slots
DELETE FROM record_slots WHERE list_id = ?1 AND slot >= 0

-- name: records_outcome
SELECT is_complete, population_cursor, populated_by, populated_until, todo, processing, processed, failed, cancelled,
    EXISTS (SELECT 1 FROM records WHERE list_id = ?1) AS has_records
FROM record_lists JOIN record_slots ON list_id = id AND slot = -1
WHERE id = ?1 AND is_removed

-- name: records_delete_cursor
DELETE FROM record_cursors WHERE list_id = ?1

-- name: records_delete_slots
DELETE FROM record_slots WHERE list_id = ?1

-- name: records_delete_list
DELETE FROM record_lists WHERE id = ?1 AND is_removed
