-- Claiming records, and ending claims.

-- name: records_claim
UPDATE records SET state = 1, attempts = attempts + 1, chunk_id = ?4, changed_at = ?2
WHERE list_id = ?1 AND number IN (
    SELECT number FROM records INDEXED BY records_todo
    WHERE state = 0 AND list_id = ?1 AND due <= ?2 AND (due <> 1 OR number >= ?5)
    ORDER BY due, number LIMIT ?3
)
RETURNING number, record, attempts, due

-- name: records_hold_chunk
SELECT chunk.slot, chunk.open, slot.sequence
FROM record_chunks AS chunk
JOIN record_slots AS slot ON slot.list_id = chunk.list_id AND slot.slot = chunk.slot
WHERE chunk.id = ?1 AND chunk.list_id = ?2

-- name: records_finish
UPDATE records
SET state = CASE WHEN ?4 = 0 AND attempts >= ?6 THEN 3 ELSE ?4 END, due = ?5, attempts = attempts - ?7,
    chunk_id = NULL, slot = ?8, sequence = ?9, changed_at = ?10, result = ?11,
    error = CASE WHEN ?4 = 2 THEN NULL ELSE coalesce(?12, error) END
WHERE list_id = ?1 AND number = ?2 AND chunk_id = ?3 AND state = 1
RETURNING state

-- name: records_expired
SELECT id, list_id, slot, worker FROM record_chunks WHERE lease_until <= ?1 ORDER BY lease_until, id LIMIT ?2

-- name: records_of_worker
SELECT id, list_id, slot, worker FROM record_chunks WHERE worker = ?1 ORDER BY id LIMIT ?2
