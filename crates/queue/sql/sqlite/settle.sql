-- Taking tasks back from those who held them.

-- name: queue_finish
DELETE FROM task WHERE id = ?1 AND attempt = ?2 AND state = 2 AND again_at IS NULL RETURNING id

-- name: queue_held
SELECT spent, max_attempts, again_at FROM task WHERE id = ?1 AND attempt = ?2 AND state = 2

-- name: queue_start_again
UPDATE task
SET state = 1, ready_at = again_at, enqueued_at = ?2, spent = 0, holder = NULL, lease_until = NULL,
    cancel_requested = 0, reason = NULL, priority = again_priority, payload = again_payload,
    again_at = NULL, again_priority = NULL, again_payload = NULL
WHERE id = ?1

-- name: queue_delay
UPDATE task
SET state = 1, ready_at = ?2, reason = ?3, spent = max(spent - ?4, 0), holder = NULL, lease_until = NULL
WHERE id = ?1

-- name: queue_release
UPDATE task
SET state = 0, ready_at = ?2, spent = max(spent - ?3, 0), holder = NULL, lease_until = NULL
WHERE id = ?1

-- name: queue_bury
UPDATE task SET state = 3, ready_at = ?2, reason = ?3, lease_until = NULL, cancel_requested = 0 WHERE id = ?1

-- name: queue_expired
SELECT id, attempt, topic, key, item_id, spent, max_attempts, holder, again_at, payload FROM task INDEXED BY task_leased
WHERE state = 2 AND lease_until <= ?1
ORDER BY lease_until, id LIMIT ?2

-- name: queue_held_by
SELECT id, attempt, topic, key, item_id, spent, max_attempts, holder, again_at, payload FROM task INDEXED BY task_leased
WHERE state = 2 AND holder = ?1
ORDER BY lease_until, id LIMIT ?2

-- name: queue_holders
SELECT DISTINCT holder FROM task INDEXED BY task_leased WHERE state = 2 ORDER BY holder
