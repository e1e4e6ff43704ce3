-- Populating lists. Where parameters are arrays, a statement works on many records at once and answers with their places.

-- name: records_population
SELECT next_number, population_cursor, is_complete, population_fence, populated_by, populated_until
FROM record_lists WHERE id = $1 AND NOT is_removed FOR NO KEY UPDATE

-- name: records_slot
SELECT sequence FROM record_slots WHERE list_id = $1 AND slot = $2 FOR NO KEY UPDATE

-- name: records_insert
WITH new AS (
    SELECT * FROM unnest(
        $1::uuid[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
        $9::text[], $10::text[]
    ) WITH ORDINALITY AS new (
        list_id, number, record, state, attempts, slot, sequence, changed_at, result, error, place
    )
), made AS (
    INSERT INTO records (list_id, number, record, state, due, attempts, slot, sequence, changed_at, result, error)
    SELECT list_id, number, record, state, 1, attempts, slot, sequence, changed_at, result, error
    FROM new ORDER BY place
    ON CONFLICT (list_id, record) DO NOTHING
    RETURNING list_id, number, state
)
SELECT new.place, made.state FROM made JOIN new ON new.list_id = made.list_id AND new.number = made.number

-- name: records_copy
INSERT INTO records (list_id, number, record, state, due, attempts, changed_at)
SELECT $1::uuid, $2::bigint + row_number() OVER (ORDER BY sequence) - 1,
    CASE WHEN $7::boolean THEN coalesce(result, record) ELSE record END, 0, 1, 0, $8::bigint
FROM records
WHERE list_id = $3 AND state = 2 AND slot = $4 AND sequence > $5 AND sequence <= $6
ON CONFLICT (list_id, record) DO NOTHING

-- name: records_copy_all
INSERT INTO records (list_id, number, record, state, due, attempts, changed_at)
SELECT $1::uuid, $2::bigint + row_number() OVER (ORDER BY number) - 1, record, 0, 1, 0, $6::bigint
FROM records WHERE list_id = $3 AND number > $4 AND number <= $5
ON CONFLICT (list_id, record) DO NOTHING
