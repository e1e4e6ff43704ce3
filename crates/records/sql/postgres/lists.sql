-- Making lists, their counts, and removing them.

-- name: records_delete_chunks
WITH page AS MATERIALIZED (SELECT id FROM record_chunks WHERE list_id = $1 ORDER BY id LIMIT $2 FOR UPDATE)
DELETE FROM record_chunks USING page WHERE record_chunks.id = page.id

-- name: records_delete_states
WITH page AS MATERIALIZED (
    SELECT ctid FROM record_states WHERE list_id = $1 ORDER BY number LIMIT $2 FOR UPDATE
)
DELETE FROM record_states WHERE ctid = ANY (ARRAY(SELECT ctid FROM page))

-- name: records_delete_some
WITH page AS MATERIALIZED (SELECT ctid FROM records WHERE list_id = $1 ORDER BY number LIMIT $2 FOR UPDATE)
DELETE FROM records WHERE ctid = ANY (ARRAY(SELECT ctid FROM page))

-- name: records_lock_list
SELECT id FROM record_lists WHERE id = $1 FOR UPDATE

-- name: records_pin_list
SELECT id FROM record_lists WHERE id = $1 AND NOT is_removed FOR KEY SHARE
