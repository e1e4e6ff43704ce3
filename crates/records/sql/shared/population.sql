-- Populating lists. The row of the list is locked first, so that one transaction at a time adds to a list.

-- name: records_take_population
UPDATE record_lists SET population_fence = population_fence + 1, populated_by = ?2, populated_until = ?3
WHERE id = ?1
RETURNING population_fence

-- name: records_extend_population
UPDATE record_lists SET populated_until = ?3
WHERE id = ?1 AND population_fence = ?2 AND NOT is_complete AND NOT is_removed

-- name: records_release_population
UPDATE record_lists SET population_fence = population_fence + 1, populated_by = NULL, populated_until = NULL
WHERE id = ?1 AND population_fence = ?2 AND NOT is_removed

-- name: records_populated
UPDATE record_lists SET next_number = ?2, population_cursor = ?3 WHERE id = ?1

-- name: records_complete
UPDATE record_lists
SET is_complete = TRUE, population_fence = population_fence + 1, populated_by = NULL, populated_until = NULL
WHERE id = ?1

-- name: records_end_population
UPDATE record_lists SET population_fence = population_fence + 1, populated_by = NULL, populated_until = NULL
WHERE id = ?1

-- name: records_reopen
UPDATE record_lists SET is_complete = FALSE WHERE id = ?1 AND is_complete AND NOT is_removed

-- name: records_reach
SELECT max(sequence) AS reach, count(*) AS found FROM (
    SELECT sequence FROM record_states WHERE list_id = ?1 AND state = 2 AND slot = ?2 AND sequence > ?3
    ORDER BY sequence LIMIT ?4
) AS page

-- name: records_reach_all
SELECT max(number) AS reach, count(*) AS found FROM (
    SELECT number FROM records WHERE list_id = ?1 AND number > ?2 ORDER BY number LIMIT ?3
) AS page

-- name: records_find
SELECT records.number, coalesce(found.state, 0) AS state, found.result, found.error
FROM records LEFT JOIN record_states AS found ON found.list_id = records.list_id AND found.number = records.number
WHERE records.list_id = ?1 AND records.record = ?2

-- name: records_supersede
UPDATE record_states SET state = ?4, slot = ?5, sequence = ?6, changed_at = ?7, result = ?8, error = ?9
WHERE list_id = ?1 AND number = ?2 AND state = ?3
