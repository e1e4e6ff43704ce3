-- Changes of many records, page by page.

-- name: records_retry_failed
UPDATE record_states SET state = 0, due = 0, attempts = 0, changed_at = ?3
WHERE list_id = ?1 AND number IN (
    SELECT number FROM record_states INDEXED BY record_states_failed
    WHERE list_id = ?1 AND state = 3 AND changed_at <= ?4 ORDER BY number LIMIT ?2
)

-- name: records_cancel
UPDATE record_states SET state = 4, changed_at = ?3
WHERE list_id = ?1 AND number IN (
    SELECT number FROM record_states INDEXED BY record_states_todo
    WHERE list_id = ?1 AND state = 0 ORDER BY due, number LIMIT ?2
)
