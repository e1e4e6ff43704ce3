-- Claiming records, and ending claims. The header of the crate says which locks are taken, and in which order.

-- name: records_outlook
SELECT CAST(coalesce(sum(todo), 0) AS BIGINT) AS todo FROM record_slots WHERE list_id = ?1

-- name: records_first_due
SELECT due FROM record_states WHERE state = 0 AND list_id = ?1 ORDER BY due, number LIMIT 1

-- name: records_fresh
-- What has no state, between two numbers: the planner knows then that it is little, whatever it knows of the table.
SELECT number, record, added_at FROM records
WHERE list_id = ?1 AND number > ?2 AND number <= ?3 AND NOT has_state ORDER BY number LIMIT ?4

-- name: records_next_number
SELECT next_number FROM record_lists WHERE id = ?1

-- name: records_claimed_to
SELECT claimed_to FROM record_cursors WHERE list_id = ?1

-- name: records_move_cursor
UPDATE record_cursors SET claimed_to = ?2 WHERE list_id = ?1

-- name: records_make_chunk
INSERT INTO record_chunks (
    id, list_id, slot, worker, lease_until, open, marked, after_number, to_number, has_gaps, claimed_at
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)

-- name: records_shrink_chunk
UPDATE record_chunks SET open = open - ?2, marked = marked - ?3 WHERE id = ?1

-- name: records_drop_chunk
DELETE FROM record_chunks WHERE id = ?1

-- name: records_extend
UPDATE record_chunks SET lease_until = CASE WHEN lease_until < ?3 THEN ?3 ELSE lease_until END
WHERE id = ?1 AND list_id = ?2

-- name: records_return
UPDATE record_states SET state = 0, due = 0, chunk_id = NULL, changed_at = ?3
WHERE list_id = ?1 AND state = 1 AND chunk_id = ?2

-- name: records_mark_range
-- Gives those between two numbers that have no state one.
INSERT INTO record_states (list_id, number, state, due, attempts, changed_at)
SELECT list_id, number, CAST(?4 AS BIGINT), 0, CAST(?5 AS BIGINT), CAST(?6 AS BIGINT) FROM records
WHERE list_id = ?1 AND number > ?2 AND number <= ?3 AND NOT has_state
ON CONFLICT (list_id, number) DO NOTHING
