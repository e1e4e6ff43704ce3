-- Changes of many records, page by page.

-- name: records_retry_failed
WITH head AS MATERIALIZED (
    SELECT ctid FROM record_states WHERE list_id = $1 AND state = 3 AND changed_at <= $4
    ORDER BY number LIMIT $2 FOR UPDATE SKIP LOCKED
)
UPDATE record_states SET state = 0, due = 0, attempts = 0, changed_at = $3
WHERE ctid = ANY (ARRAY(SELECT ctid FROM head))

-- name: records_cancel
WITH head AS MATERIALIZED (
    SELECT ctid FROM record_states WHERE list_id = $1 AND state = 0 ORDER BY due, number LIMIT $2
    FOR UPDATE SKIP LOCKED
)
UPDATE record_states SET state = 4, changed_at = $3
WHERE ctid = ANY (ARRAY(SELECT ctid FROM head))
