-- Claiming records, and ending claims.

-- name: records_cursor
SELECT claimed_to FROM record_cursors WHERE list_id = ?1

-- name: records_claim_marked
-- Of what has a state.
UPDATE record_states SET state = 1, attempts = attempts + 1, chunk_id = ?4, changed_at = ?2
WHERE list_id = ?1 AND number IN (
    SELECT number FROM record_states INDEXED BY record_states_todo
    WHERE state = 0 AND list_id = ?1 AND due >= ?5 AND due <= ?6 ORDER BY due, number LIMIT ?3
)
RETURNING number, attempts, due,
    (SELECT record FROM records WHERE records.list_id = record_states.list_id AND records.number = record_states.number)
        AS record

-- name: records_hold_chunk
SELECT chunk.slot, chunk.open, chunk.marked, chunk.after_number, chunk.to_number, chunk.has_gaps, slot.sequence
FROM record_chunks AS chunk
JOIN record_slots AS slot ON slot.list_id = chunk.list_id AND slot.slot = chunk.slot
WHERE chunk.id = ?1 AND chunk.list_id = ?2

-- name: records_finish
-- What has a state, and is processed by the chunk.
UPDATE record_states
SET state = CASE WHEN ?4 = 0 AND attempts >= ?6 THEN 3 ELSE ?4 END, due = ?5, attempts = attempts - ?7,
    chunk_id = NULL, slot = ?8, sequence = ?9, changed_at = ?10, result = ?11,
    error = CASE WHEN ?4 = 2 THEN NULL ELSE coalesce(?12, error) END
WHERE list_id = ?1 AND number = ?2 AND chunk_id = ?3 AND state = 1
RETURNING state

-- name: records_end
-- What has no state; that it is one of the chunk is known by its number.
INSERT INTO record_states (list_id, number, state, due, attempts, slot, sequence, changed_at, result, error)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (list_id, number) DO NOTHING

-- name: records_expired
SELECT id, list_id, slot, worker, open, marked, after_number, to_number, has_gaps FROM record_chunks
WHERE lease_until <= ?1 ORDER BY lease_until, id LIMIT ?2

-- name: records_of_worker
SELECT id, list_id, slot, worker, open, marked, after_number, to_number, has_gaps FROM record_chunks
WHERE worker = ?1 ORDER BY id LIMIT ?2
