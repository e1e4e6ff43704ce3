-- Records of a list by their state, page by page.

-- list: records.columns
number, record, attempts, changed_at, result, error

-- name: records_page_todo
SELECT due AS major, number AS minor, {records.columns} FROM records
WHERE list_id = ?1 AND state = 0 AND (due, number) > (?2, ?3) ORDER BY due, number LIMIT ?4

-- name: records_page_processing
SELECT 0 AS major, number AS minor, {records.columns} FROM records
WHERE list_id = ?1 AND state = 1 AND number > ?2 ORDER BY number LIMIT ?3

-- name: records_page_processed
SELECT slot AS major, sequence AS minor, {records.columns} FROM records
WHERE list_id = ?1 AND state = 2 AND (slot, sequence) > (?2, ?3) ORDER BY slot, sequence LIMIT ?4

-- name: records_page_failed
SELECT 0 AS major, number AS minor, {records.columns} FROM records
WHERE list_id = ?1 AND state = 3 AND number > ?2 ORDER BY number LIMIT ?3

-- name: records_page_cancelled
SELECT 0 AS major, number AS minor, {records.columns} FROM records
WHERE list_id = ?1 AND state = 4 AND number > ?2 ORDER BY number LIMIT ?3
