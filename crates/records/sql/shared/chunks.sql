-- Claiming records, and ending claims. Locks are taken in one order: the chunk, its records, the slot last.

-- name: records_outlook
SELECT CAST(coalesce(sum(todo), 0) AS BIGINT) AS todo,
    CAST(coalesce(max(CASE WHEN slot = ?2 THEN claimed_to END), 0) AS BIGINT) AS claimed_to
FROM record_slots WHERE list_id = ?1

-- name: records_make_chunk
INSERT INTO record_chunks (id, list_id, slot, worker, lease_until, open) VALUES (?1, ?2, ?3, ?4, ?5, ?6)

-- name: records_shrink_chunk
UPDATE record_chunks SET open = open - ?2 WHERE id = ?1

-- name: records_drop_chunk
DELETE FROM record_chunks WHERE id = ?1

-- name: records_extend
UPDATE record_chunks SET lease_until = CASE WHEN lease_until < ?3 THEN ?3 ELSE lease_until END
WHERE id = ?1 AND list_id = ?2

-- name: records_return
UPDATE records SET state = 0, due = 0, chunk_id = NULL, changed_at = ?3
WHERE list_id = ?1 AND state = 1 AND chunk_id = ?2
