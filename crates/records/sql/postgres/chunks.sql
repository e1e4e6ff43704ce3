-- Claiming records, and ending claims. Which rows are changed is said by where they lie, so that they are found in one way, however little
-- the planner knows of a table that has just begun to grow.

-- name: records_cursor
SELECT claimed_to FROM record_cursors WHERE list_id = $1 FOR NO KEY UPDATE

-- name: records_claim_marked
-- Of what has a state. Whoever claims passes by what others are claiming.
WITH head AS MATERIALIZED (
    SELECT ctid FROM record_states WHERE state = 0 AND list_id = $1 AND due >= $5 AND due <= $6
    ORDER BY due, number LIMIT $3 FOR UPDATE SKIP LOCKED
)
UPDATE record_states SET state = 1, attempts = attempts + 1, chunk_id = $4, changed_at = $2
WHERE ctid = ANY (ARRAY(SELECT ctid FROM head))
RETURNING number, attempts, due,
    (SELECT record FROM records WHERE records.list_id = record_states.list_id AND records.number = record_states.number)
        AS record

-- name: records_hold_chunk
SELECT chunk.slot, chunk.open, chunk.marked, chunk.after_number, chunk.to_number, chunk.has_gaps, slot.sequence
FROM record_chunks AS chunk
JOIN record_slots AS slot ON slot.list_id = chunk.list_id AND slot.slot = chunk.slot
WHERE chunk.id = $1 AND chunk.list_id = $2
FOR UPDATE OF chunk, slot

-- name: records_finish
-- What has a state, and is processed by the chunk.
UPDATE record_states
SET state = CASE WHEN ended.state = 0 AND attempts >= ended.most THEN 3 ELSE ended.state END, due = ended.due,
    attempts = attempts - ended.given_back, chunk_id = NULL, slot = ended.slot, sequence = ended.sequence,
    changed_at = ended.at, result = ended.result,
    error = CASE WHEN ended.state = 2 THEN NULL ELSE coalesce(ended.error, record_states.error) END
FROM unnest(
    $1::uuid[], $2::bigint[], $3::uuid[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
    $9::bigint[], $10::bigint[], $11::text[], $12::text[]
) WITH ORDINALITY AS ended (
    list_id, number, chunk_id, state, due, most, given_back, slot, sequence, at, result, error, place
)
WHERE record_states.state = 1 AND record_states.list_id = ended.list_id AND record_states.number = ended.number
    AND record_states.chunk_id = ended.chunk_id
RETURNING ended.place, record_states.state

-- name: records_end
-- What has no state; that it is one of the chunk is known by its number.
INSERT INTO record_states (list_id, number, state, due, attempts, slot, sequence, changed_at, result, error)
SELECT ended.list_id, ended.number, ended.state, ended.due, ended.attempts, ended.slot, ended.sequence, ended.at,
    ended.result, ended.error
FROM unnest(
    $1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
    $9::text[], $10::text[]
) AS ended (list_id, number, state, due, attempts, slot, sequence, at, result, error)
ON CONFLICT (list_id, number) DO NOTHING

-- name: records_expired
SELECT id, list_id, slot, worker, open, marked, after_number, to_number, has_gaps FROM record_chunks
WHERE lease_until <= $1 ORDER BY lease_until, id LIMIT $2 FOR UPDATE SKIP LOCKED

-- name: records_of_worker
SELECT id, list_id, slot, worker, open, marked, after_number, to_number, has_gaps FROM record_chunks
WHERE worker = $1 ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED
