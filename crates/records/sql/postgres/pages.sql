-- Changes of many records, page by page.

-- name: records_retry_failed
WITH head AS MATERIALIZED (
    SELECT number FROM records WHERE list_id = $1 AND state = 3 AND changed_at <= $4
    ORDER BY number LIMIT $2 FOR UPDATE SKIP LOCKED
)
UPDATE records SET state = 0, due = 0, attempts = 0, changed_at = $3
WHERE list_id = $1 AND number = ANY (ARRAY(SELECT number FROM head))

-- name: records_cancel
WITH head AS MATERIALIZED (
    SELECT number FROM records WHERE list_id = $1 AND state = 0 ORDER BY due, number LIMIT $2 FOR UPDATE SKIP LOCKED
)
UPDATE records SET state = 4, changed_at = $3
WHERE list_id = $1 AND number = ANY (ARRAY(SELECT number FROM head))
