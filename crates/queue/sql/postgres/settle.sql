-- Taking tasks back from those who held them.
--
-- Here and elsewhere a task that is known by its id is looked up by it: `state + 0` keeps the planner from the indexes of one
-- state, which look small and empty to it whenever they have just been swept.

-- name: queue_finish
DELETE FROM task USING (
    SELECT DISTINCT ON (id, attempt) id, attempt, place
    FROM unnest((SELECT $1::bigint[]), (SELECT $2::bigint[])) WITH ORDINALITY AS done (id, attempt, place)
    ORDER BY id, attempt, place
) AS done
WHERE task.id = done.id AND task.attempt = done.attempt AND task.state + 0 = 2 AND task.again_at IS NULL
RETURNING done.place, task.id

-- name: queue_held
SELECT spent, max_attempts, again_at FROM task WHERE id = $1 AND attempt = $2 AND state + 0 = 2 FOR UPDATE

-- name: queue_start_again
UPDATE task
SET state = 1, ready_at = again_at, enqueued_at = $2, spent = 0, holder = NULL, lease_until = NULL,
    cancel_requested = FALSE, reason = NULL, priority = again_priority, payload = again_payload,
    again_at = NULL, again_priority = NULL, again_payload = NULL
WHERE id = $1

-- name: queue_delay
UPDATE task
SET state = 1, ready_at = $2, reason = $3, spent = greatest(spent - $4, 0), holder = NULL, lease_until = NULL
WHERE id = $1

-- name: queue_release
UPDATE task
SET state = 0, ready_at = $2, spent = greatest(spent - $3, 0), holder = NULL, lease_until = NULL
WHERE id = $1

-- name: queue_bury
UPDATE task SET state = 3, ready_at = $2, reason = $3, lease_until = NULL, cancel_requested = FALSE WHERE id = $1

-- name: queue_expired
SELECT id, attempt, topic, key, item_id, spent, max_attempts, holder, again_at, payload FROM task
WHERE state = 2 AND lease_until <= $1
ORDER BY lease_until, id LIMIT $2
FOR UPDATE SKIP LOCKED

-- name: queue_held_by
SELECT id, attempt, topic, key, item_id, spent, max_attempts, holder, again_at, payload FROM task
WHERE state = 2 AND holder = $1
ORDER BY lease_until, id LIMIT $2
FOR UPDATE SKIP LOCKED

-- name: queue_holders
SELECT DISTINCT holder FROM task WHERE state = 2 ORDER BY holder
