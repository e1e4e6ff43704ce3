-- Giving tasks to those who work on them, and keeping them there.

-- name: queue_due
SELECT id, fair_key, priority FROM task INDEXED BY task_delayed
WHERE state = 1 AND topic = ?1 AND ready_at <= ?2
    AND NOT EXISTS (SELECT 1 FROM topic WHERE name IN (?1, ?4) AND paused)
ORDER BY ready_at, id LIMIT ?3

-- name: queue_make_ready
UPDATE task SET state = 0, rank = ?2 WHERE id = ?1

-- name: queue_lease
UPDATE task SET state = 2, attempt = attempt + 1, spent = spent + 1, holder = ?3, lease_until = ?4
WHERE id IN (
    SELECT id FROM task INDEXED BY task_ready WHERE state = 0 AND topic = ?1
        AND NOT EXISTS (SELECT 1 FROM topic WHERE name IN (?1, ?5) AND paused)
    ORDER BY rank, ready_at, id LIMIT ?2
)
RETURNING id, attempt, key, item_id, payload, priority, fair_key, rank, ready_at, spent, max_attempts, enqueued_at, reason

-- name: queue_lease_task
UPDATE task SET state = 2, attempt = attempt + 1, spent = spent + 1, holder = ?2, lease_until = ?3
WHERE id = ?1 AND state = 0
RETURNING id, attempt, key, item_id, payload, priority, fair_key, rank, ready_at, spent, max_attempts, enqueued_at, reason

-- name: queue_ready_of_key
SELECT rank, ready_at, id FROM task INDEXED BY task_live WHERE key = ?1 AND topic = ?2 AND state < 3 AND state = 0

-- name: queue_ready_behind
SELECT rank, ready_at, id, key FROM task INDEXED BY task_ready
WHERE state = 0 AND topic = ?1 AND (rank, ready_at, id) > (?2, ?3, ?4)
ORDER BY rank, ready_at, id LIMIT ?5

-- name: queue_ready_keys
SELECT key FROM (
    SELECT key, fair_key, rank, ready_at, id FROM task INDEXED BY task_ready WHERE state = 0 AND topic = ?1
        AND NOT EXISTS (SELECT 1 FROM topic WHERE name IN (?1, ?4) AND paused)
    ORDER BY rank, ready_at, id LIMIT ?5
)
WHERE ready_at <= ?6 AND fair_key NOT IN (SELECT value FROM json_each(?2))
ORDER BY rank, ready_at, id LIMIT ?3

-- name: queue_advance
INSERT INTO topic (name, clock) VALUES (?1, ?2)
ON CONFLICT (name) DO UPDATE SET clock = excluded.clock WHERE excluded.clock > topic.clock

-- name: queue_extend
UPDATE task SET lease_until = max(lease_until, ?3) WHERE id = ?1 AND attempt = ?2 AND state = 2
RETURNING lease_until, cancel_requested

-- name: queue_checkpoint
UPDATE task SET spent = 1 WHERE id = ?1 AND attempt = ?2 AND state = 2

-- list: queue_outlook.found
SELECT (SELECT clock FROM topic WHERE name = ?3) AS clock,
    EXISTS (SELECT 1 FROM topic WHERE name IN (?3, ?4) AND paused) AS is_paused,
    EXISTS (SELECT 1 FROM task AS other INDEXED BY task_ready
            WHERE other.state = 0 AND other.topic = ?3)
        OR EXISTS (SELECT 1 FROM task AS other INDEXED BY task_delayed
            WHERE other.state = 1 AND other.topic = ?3 AND other.ready_at <= ?5) AS others_wait,
    NOT EXISTS (SELECT 1 FROM topic WHERE name IN (task.topic, ?4) AND paused)
        AND (EXISTS (SELECT 1 FROM task AS other INDEXED BY task_ready
                WHERE other.state = 0 AND other.topic = task.topic)
            OR EXISTS (SELECT 1 FROM task AS other INDEXED BY task_delayed
                WHERE other.state = 1 AND other.topic = task.topic AND other.ready_at <= ?5)) AS more_waits,
    task.cancel_requested OR EXISTS (SELECT 1 FROM task AS other
        WHERE other.key = task.key AND other.topic = ?3 AND other.state < 3) AS is_refused
FROM task WHERE id = ?1 AND attempt = ?2 AND state = 2

-- name: queue_outlook
{queue_outlook.found}

-- No other transaction writes at the same time.
-- name: queue_outlook_if_free
{queue_outlook.found}

-- name: queue_lock_topic
SELECT 1 AS found WHERE ?1 IS NOT NULL

-- name: queue_leased_of
SELECT count(*) AS tasks FROM task INDEXED BY task_leased WHERE state = 2 AND topic = ?1

-- name: queue_go_on
UPDATE task SET topic = ?3, priority = ?4, rank = ?5, lease_until = ?6, ready_at = ?7, enqueued_at = ?7, spent = 1,
    reason = NULL, again_at = NULL, again_priority = NULL, again_payload = NULL
WHERE id = ?1 AND attempt = ?2 AND state = 2
RETURNING id, attempt, key, item_id, payload, priority, fair_key, rank, ready_at, spent, max_attempts, enqueued_at, reason

-- name: queue_pass_on
UPDATE task SET topic = ?3, priority = ?4, rank = ?5, state = 0, ready_at = ?6, enqueued_at = ?6, spent = 0,
    holder = NULL, lease_until = NULL, reason = NULL, cancel_requested = 0
WHERE id = ?1 AND attempt = ?2 AND state = 2 AND again_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM task AS other WHERE other.key = task.key AND other.topic = ?3 AND other.state < 3)

-- name: queue_look
SELECT wanted.value AS topic,
    EXISTS (SELECT 1 FROM task INDEXED BY task_ready WHERE state = 0 AND topic = wanted.value) AS is_ready,
    (SELECT min(ready_at) FROM task INDEXED BY task_delayed WHERE state = 1 AND topic = wanted.value) AS first_ready_at
FROM json_each(?1) AS wanted
WHERE NOT EXISTS (SELECT 1 FROM topic WHERE name IN (wanted.value, ?2) AND paused)
