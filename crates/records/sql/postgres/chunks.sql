-- Claiming records, and ending claims. Whoever claims passes by what others are claiming. Which records are changed is given as
-- an array that is made first: its length is not known to the planner, which would read the table from end to end for a thousand.

-- name: records_claim
WITH returned AS MATERIALIZED (
    SELECT number FROM records WHERE state = 0 AND list_id = $1 AND due = 0
    ORDER BY number LIMIT $3 FOR UPDATE SKIP LOCKED
), fresh AS MATERIALIZED (
    SELECT number FROM records WHERE state = 0 AND list_id = $1 AND due = 1 AND number >= $5
    ORDER BY number LIMIT $3 - (SELECT count(*) FROM returned) FOR UPDATE SKIP LOCKED
), delayed AS MATERIALIZED (
    SELECT number FROM records WHERE state = 0 AND list_id = $1 AND due > 1 AND due <= $2
    ORDER BY due, number LIMIT $3 - (SELECT count(*) FROM returned) - (SELECT count(*) FROM fresh)
    FOR UPDATE SKIP LOCKED
), head AS (
    SELECT number FROM returned UNION ALL SELECT number FROM fresh UNION ALL SELECT number FROM delayed
)
UPDATE records SET state = 1, attempts = attempts + 1, chunk_id = $4, changed_at = $2
WHERE list_id = $1 AND number = ANY (ARRAY(SELECT number FROM head))
RETURNING number, record, attempts, due

-- name: records_hold_chunk
SELECT chunk.slot, chunk.open, slot.sequence
FROM record_chunks AS chunk
JOIN record_slots AS slot ON slot.list_id = chunk.list_id AND slot.slot = chunk.slot
WHERE chunk.id = $1 AND chunk.list_id = $2
FOR UPDATE OF chunk, slot

-- name: records_finish
UPDATE records
SET state = CASE WHEN ended.state = 0 AND attempts >= ended.most THEN 3 ELSE ended.state END, due = ended.due,
    attempts = attempts - ended.given_back, chunk_id = NULL, slot = ended.slot, sequence = ended.sequence,
    changed_at = ended.at, result = ended.result,
    error = CASE WHEN ended.state = 2 THEN NULL ELSE coalesce(ended.error, records.error) END
FROM unnest(
    $1::uuid[], $2::bigint[], $3::uuid[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
    $9::bigint[], $10::bigint[], $11::text[], $12::text[]
) WITH ORDINALITY AS ended (
    list_id, number, chunk_id, state, due, most, given_back, slot, sequence, at, result, error, place
)
WHERE records.list_id = ($1::uuid[])[1] AND records.number = ANY (ARRAY(SELECT unnest($2::bigint[])))
    AND records.list_id = ended.list_id AND records.number = ended.number AND records.chunk_id = ended.chunk_id
    AND records.state + 0 = 1
RETURNING ended.place, records.state

-- name: records_expired
SELECT id, list_id, slot, worker FROM record_chunks WHERE lease_until <= $1 ORDER BY lease_until, id LIMIT $2
FOR UPDATE SKIP LOCKED

-- name: records_of_worker
SELECT id, list_id, slot, worker FROM record_chunks WHERE worker = $1 ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED
