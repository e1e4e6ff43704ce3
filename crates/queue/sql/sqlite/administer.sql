-- What people do to a queue, and what they see of it.

-- name: queue_count_ready
SELECT topic, count(*) AS tasks, min(ready_at) AS first_ready_at
FROM task INDEXED BY task_ready WHERE state = 0 GROUP BY topic

-- name: queue_count_delayed
SELECT topic, count(*) AS tasks, sum(ready_at <= ?1) AS due_tasks, min(ready_at) AS first_ready_at
FROM task INDEXED BY task_delayed WHERE state = 1 GROUP BY topic

-- name: queue_count_leased
SELECT topic, count(*) AS tasks FROM task INDEXED BY task_leased WHERE state = 2 GROUP BY topic

-- name: queue_count_dead
SELECT topic, count(*) AS tasks FROM task INDEXED BY task_dead WHERE state = 3 GROUP BY topic

-- name: queue_empty_ready
DELETE FROM task WHERE id IN (
    SELECT id FROM task INDEXED BY task_ready WHERE state = 0 AND topic = ?1 ORDER BY rank LIMIT ?2
)

-- name: queue_empty_delayed
DELETE FROM task WHERE id IN (
    SELECT id FROM task INDEXED BY task_delayed WHERE state = 1 AND topic = ?1 ORDER BY ready_at LIMIT ?2
)

-- name: queue_delete_live_keys
DELETE FROM task WHERE id IN (
    SELECT id FROM task INDEXED BY task_live WHERE state < 3 AND key >= ?1 AND key < ?2 LIMIT ?3
)

-- name: queue_delete_dead_keys
DELETE FROM task WHERE id IN (
    SELECT id FROM task INDEXED BY task_dead_key WHERE state = 3 AND key >= ?1 AND key < ?2 LIMIT ?3
)

-- One writer at a time: nothing is to be locked.
-- name: queue_lock_key
SELECT id FROM task WHERE key = ?1 AND state < 3 ORDER BY id

-- name: queue_request_cancel
UPDATE task SET cancel_requested = 1 WHERE key = ?1 AND state < 3

-- name: queue_dead_of_topic
SELECT id FROM task INDEXED BY task_dead WHERE state = 3 AND topic = ?1 AND id > ?2 ORDER BY id LIMIT ?3

-- name: queue_retry
UPDATE task SET state = 1, ready_at = ?2, spent = 0, reason = NULL, holder = NULL
WHERE id = ?1 AND state = 3
AND NOT EXISTS (
    SELECT 1 FROM task AS live WHERE live.key = task.key AND live.topic = task.topic AND live.state < 3
)

-- name: queue_list_ready
SELECT id, topic, key, item_id, state, priority, fair_key, rank, ready_at, attempt, spent, max_attempts, holder,
    lease_until, cancel_requested, enqueued_at, reason, again_at, payload
FROM task INDEXED BY task_ready
WHERE state = 0 AND topic = ?1 AND (rank, ready_at, id) > (?2, ?3, ?4)
ORDER BY rank, ready_at, id LIMIT ?5

-- name: queue_list_delayed
SELECT id, topic, key, item_id, state, priority, fair_key, rank, ready_at, attempt, spent, max_attempts, holder,
    lease_until, cancel_requested, enqueued_at, reason, again_at, payload
FROM task INDEXED BY task_delayed
WHERE state = 1 AND topic = ?1 AND (ready_at, id) > (?2, ?3) AND ready_at <= ?4
ORDER BY ready_at, id LIMIT ?5

-- name: queue_list_leased
SELECT id, topic, key, item_id, state, priority, fair_key, rank, ready_at, attempt, spent, max_attempts, holder,
    lease_until, cancel_requested, enqueued_at, reason, again_at, payload
FROM task INDEXED BY task_leased
WHERE state = 2 AND topic = ?1 AND (lease_until, id) > (?2, ?3)
ORDER BY lease_until, id LIMIT ?4

-- name: queue_list_dead
SELECT id, topic, key, item_id, state, priority, fair_key, rank, ready_at, attempt, spent, max_attempts, holder,
    lease_until, cancel_requested, enqueued_at, reason, again_at, payload
FROM task INDEXED BY task_dead
WHERE state = 3 AND topic = ?1 AND id > ?2
ORDER BY id LIMIT ?3
