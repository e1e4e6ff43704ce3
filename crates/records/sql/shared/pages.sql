-- Records of a list by their state, page by page. The id of a record is looked up for each row of a page: a join may be carried out by
-- reading all records of the list.

-- list: records.columns
number, (SELECT record FROM records WHERE records.list_id = shown.list_id AND records.number = shown.number) AS record, attempts,
    changed_at, result, error

-- name: records_page_todo
SELECT due AS major, number AS minor, {records.columns} FROM record_states AS shown
WHERE list_id = ?1 AND state = 0 AND (due, number) > (?2, ?3) AND due <= ?4 ORDER BY due, number LIMIT ?5

-- name: records_page_processing
SELECT 0 AS major, number AS minor, {records.columns} FROM record_states AS shown
WHERE list_id = ?1 AND state = 1 AND number > ?2 ORDER BY number LIMIT ?3

-- name: records_open_ranges
SELECT after_number, to_number, claimed_at FROM record_chunks
WHERE list_id = ?1 AND to_number > ?2 AND open > marked ORDER BY to_number LIMIT ?3

-- name: records_open_of_range
SELECT number, record FROM records
WHERE list_id = ?1 AND number > ?2 AND number <= ?3 AND NOT has_state AND NOT EXISTS (
    SELECT 1 FROM record_states
    WHERE record_states.list_id = ?1 AND record_states.number = records.number AND record_states.number > ?2
        AND record_states.number <= ?3
)
ORDER BY number LIMIT ?4

-- name: records_page_processed
SELECT slot AS major, sequence AS minor, {records.columns} FROM record_states AS shown
WHERE list_id = ?1 AND state = 2 AND (slot, sequence) > (?2, ?3) ORDER BY slot, sequence LIMIT ?4

-- name: records_page_failed
SELECT 0 AS major, number AS minor, {records.columns} FROM record_states AS shown
WHERE list_id = ?1 AND state = 3 AND number > ?2 ORDER BY number LIMIT ?3

-- name: records_page_cancelled
SELECT 0 AS major, number AS minor, {records.columns} FROM record_states AS shown
WHERE list_id = ?1 AND state = 4 AND number > ?2 ORDER BY number LIMIT ?3
