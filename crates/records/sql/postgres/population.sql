-- Populating lists. Where parameters are arrays, a statement works on many records at once; where it answers, with their places.

-- name: records_population
SELECT next_number, population_cursor, is_complete, population_fence, populated_by, populated_until
FROM record_lists WHERE id = $1 AND NOT is_removed FOR NO KEY UPDATE

-- name: records_slot
SELECT sequence FROM record_slots WHERE list_id = $1 AND slot = $2 FOR NO KEY UPDATE

-- name: records_lock_ended
SELECT number FROM record_states WHERE list_id = $1 AND number = $2 AND state = $3 FOR NO KEY UPDATE

-- name: records_insert
WITH new AS (
    SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::bigint[], $5::boolean[]) WITH ORDINALITY AS new (
        list_id, number, record, added_at, has_state, place
    )
), made AS (
    INSERT INTO records (list_id, number, record, added_at, has_state)
    SELECT list_id, number, record, added_at, has_state FROM new ORDER BY place
    ON CONFLICT (list_id, record) DO NOTHING
    RETURNING list_id, number
)
SELECT new.place, made.number FROM made JOIN new ON new.list_id = made.list_id AND new.number = made.number

-- name: records_arrive
INSERT INTO record_states (list_id, number, state, due, attempts, slot, sequence, changed_at, result, error)
SELECT list_id, number, state, 0, 1, slot, sequence, changed_at, result, error
FROM unnest(
    $1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[]
) AS arrived (list_id, number, state, slot, sequence, changed_at, result, error)

-- name: records_copy
INSERT INTO records (list_id, number, record, added_at, has_state)
SELECT $1::uuid, $2::bigint + row_number() OVER (ORDER BY sequence) - 1,
    CASE WHEN $7::boolean AND result IS NOT NULL THEN result ELSE (
        SELECT record FROM records WHERE records.list_id = taken.list_id AND records.number = taken.number
    ) END, $8::bigint, FALSE
FROM record_states AS taken
WHERE list_id = $3 AND state = 2 AND slot = $4 AND sequence > $5 AND sequence <= $6
ON CONFLICT (list_id, record) DO NOTHING

-- name: records_copy_all
INSERT INTO records (list_id, number, record, added_at, has_state)
SELECT $1::uuid, $2::bigint + row_number() OVER (ORDER BY number) - 1, record, $6::bigint, FALSE
FROM records WHERE list_id = $3 AND number > $4 AND number <= $5
ON CONFLICT (list_id, record) DO NOTHING
