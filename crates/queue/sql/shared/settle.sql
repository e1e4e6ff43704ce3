-- Taking tasks back from those who held them.

-- name: queue_succeed_buried
INSERT INTO task (id, topic, key, state, priority, fair_key, rank, ready_at, max_attempts, enqueued_at, payload, item_id)
SELECT ?2, topic, key, 1, again_priority, fair_key, 0, again_at, max_attempts, ?3, again_payload, item_id
FROM task WHERE id = ?1

-- name: queue_forget_again
UPDATE task SET again_at = NULL, again_priority = NULL, again_payload = NULL WHERE id = ?1
