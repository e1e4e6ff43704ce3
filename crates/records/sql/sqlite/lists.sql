-- Making lists, their counts, and removing them.

-- name: records_delete_chunks
DELETE FROM record_chunks WHERE id IN (
    SELECT id FROM record_chunks INDEXED BY record_chunks_by_list WHERE list_id = ?1 ORDER BY id LIMIT ?2
)

-- name: records_delete_states
DELETE FROM record_states WHERE list_id = ?1 AND number IN (
    SELECT number FROM record_states WHERE list_id = ?1 ORDER BY number LIMIT ?2
)

-- name: records_delete_some
DELETE FROM records WHERE list_id = ?1 AND number IN (
    SELECT number FROM records WHERE list_id = ?1 ORDER BY number LIMIT ?2
)

-- name: records_lock_list
SELECT id FROM record_lists WHERE id = ?1

-- name: records_pin_list
SELECT id FROM record_lists WHERE id = ?1 AND NOT is_removed
