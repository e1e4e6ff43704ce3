-- Populating lists.

-- name: records_population
SELECT next_number, population_cursor, is_complete, population_fence, populated_by, populated_until
FROM record_lists WHERE id = ?1 AND NOT is_removed

-- name: records_slot
SELECT sequence FROM record_slots WHERE list_id = ?1 AND slot = ?2

-- name: records_insert
INSERT INTO records (list_id, number, record, state, due, attempts, slot, sequence, changed_at, result, error)
VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (list_id, record) DO NOTHING
RETURNING state

-- name: records_copy
INSERT INTO records (list_id, number, record, state, due, attempts, changed_at)
SELECT ?1, ?2 + row_number() OVER (ORDER BY sequence) - 1,
    CASE WHEN ?7 THEN coalesce(result, record) ELSE record END, 0, 1, 0, ?8
FROM records INDEXED BY records_processed
WHERE list_id = ?3 AND state = 2 AND slot = ?4 AND sequence > ?5 AND sequence <= ?6
ON CONFLICT (list_id, record) DO NOTHING

-- name: records_copy_all
INSERT INTO records (list_id, number, record, state, due, attempts, changed_at)
SELECT ?1, ?2 + row_number() OVER (ORDER BY number) - 1, record, 0, 1, 0, ?6
FROM records WHERE list_id = ?3 AND number > ?4 AND number <= ?5
ON CONFLICT (list_id, record) DO NOTHING
