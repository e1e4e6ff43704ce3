-- Putting tasks into the line. Where parameters are arrays, a statement works on many tasks at once and answers with their
-- places. What is decided by is locked: tasks first, then fair shares, each in one order.

-- name: queue_take_ids
SELECT nextval('task_sequence') AS first_id, 1 AS ids FROM generate_series(1, $1::bigint)

-- name: queue_reserve_turns
INSERT INTO fair_share AS share (topic, fair_key, priority, next)
VALUES ($1, $2, $3, coalesce((SELECT clock FROM topic WHERE name = $1), 0) + $4)
ON CONFLICT (topic, fair_key, priority)
DO UPDATE SET next = greatest(share.next, coalesce((SELECT clock FROM topic WHERE name = $1), 0)) + $4
RETURNING next - $4 AS first_turn

-- name: queue_forget_turns
DELETE FROM fair_share WHERE (topic, fair_key, priority) IN (
    SELECT share.topic, share.fair_key, share.priority
    FROM fair_share AS share JOIN topic ON topic.name = share.topic AND topic.clock >= share.next
    FOR UPDATE OF share SKIP LOCKED
)

-- name: queue_insert
WITH new AS (
    SELECT * FROM unnest(
        $1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[], $8::bigint[],
        $9::bigint[], $10::bigint[], $11::bytea[], $12::uuid[]
    ) WITH ORDINALITY AS new (
        id, topic, key, state, priority, fair_key, rank, ready_at, max_attempts, enqueued_at, payload, item_id, place
    )
), made AS (
    INSERT INTO task (
        id, topic, key, state, priority, fair_key, rank, ready_at, max_attempts, enqueued_at, payload, item_id
    )
    SELECT id, topic, key, state, priority, fair_key, rank, ready_at, max_attempts, enqueued_at, payload, item_id
    FROM new ORDER BY place
    ON CONFLICT (key, topic) WHERE state < 3 DO NOTHING
    RETURNING id
)
SELECT new.place, new.id FROM made JOIN new ON new.id = made.id

-- name: queue_live
SELECT wanted.place, task.id, task.state, task.priority
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS wanted (key, topic, place)
JOIN task ON task.key = wanted.key AND task.topic = wanted.topic AND task.state < 3
ORDER BY task.id
FOR UPDATE OF task

-- As queue_live, without waiting for others.
-- name: queue_live_if_free
SELECT wanted.place, task.id
FROM unnest((SELECT $1::text[]), (SELECT $2::text[])) WITH ORDINALITY AS wanted (key, topic, place)
JOIN task ON task.key = wanted.key AND task.topic = wanted.topic AND task.state < 3
ORDER BY task.id
FOR UPDATE OF task SKIP LOCKED

-- name: queue_bring_forward
UPDATE task SET ready_at = least(ready_at, $2), priority = least(priority, $3) WHERE id = $1 AND state + 0 = 1

-- name: queue_raise
UPDATE task SET rank = rank - (priority - $2) * $3, priority = $2 WHERE id = $1 AND state + 0 = 0 AND priority > $2

-- name: queue_mark_again
UPDATE task
SET again_at = least(coalesce(again_at, $2), $2),
    again_priority = least(coalesce(again_priority, $3), $3),
    again_payload = coalesce(again_payload, $4)
WHERE id = $1 AND state + 0 = 2
