-- Changes of many records, page by page.

-- name: records_retry_failed
UPDATE records SET state = 0, due = 0, attempts = 0, changed_at = ?3
WHERE list_id = ?1 AND number IN (
    SELECT number FROM records INDEXED BY records_failed WHERE list_id = ?1 AND state = 3 AND changed_at <= ?4
    ORDER BY number LIMIT ?2
)

-- name: records_cancel
UPDATE records SET state = 4, changed_at = ?3
WHERE list_id = ?1 AND number IN (
    SELECT number FROM records INDEXED BY records_todo WHERE list_id = ?1 AND state = 0 ORDER BY due, number LIMIT ?2
)
