-- Populating lists.

-- name: records_population
SELECT next_number, population_cursor, is_complete, population_fence, populated_by, populated_until
FROM record_lists WHERE id = ?1 AND NOT is_removed

-- name: records_slot
SELECT sequence FROM record_slots WHERE list_id = ?1 AND slot = ?2

-- name: records_lock_ended
SELECT number FROM record_states WHERE list_id = ?1 AND number = ?2 AND state = ?3

-- name: records_insert
INSERT INTO records (list_id, number, record, added_at, has_state) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (list_id, record) DO NOTHING
RETURNING number

-- name: records_arrive
INSERT INTO record_states (list_id, number, state, due, attempts, slot, sequence, changed_at, result, error)
VALUES (?1, ?2, ?3, 0, 1, ?4, ?5, ?6, ?7, ?8)

-- name: records_copy
INSERT INTO records (list_id, number, record, added_at, has_state)
SELECT ?1, ?2 + row_number() OVER (ORDER BY sequence) - 1,
    CASE WHEN ?7 AND result IS NOT NULL THEN result ELSE (
        SELECT record FROM records WHERE records.list_id = taken.list_id AND records.number = taken.number
    ) END, ?8, 0
FROM record_states AS taken INDEXED BY record_states_processed
WHERE list_id = ?3 AND state = 2 AND slot = ?4 AND sequence > ?5 AND sequence <= ?6
ON CONFLICT (list_id, record) DO NOTHING

-- name: records_copy_all
INSERT INTO records (list_id, number, record, added_at, has_state)
SELECT ?1, ?2 + row_number() OVER (ORDER BY number) - 1, record, ?6, 0
FROM records WHERE list_id = ?3 AND number > ?4 AND number <= ?5
ON CONFLICT (list_id, record) DO NOTHING
