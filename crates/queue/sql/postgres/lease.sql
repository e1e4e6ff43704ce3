-- Giving tasks to those who work on them, and keeping them there. Whoever leases passes by what others are leasing.

-- name: queue_due
SELECT id, fair_key, priority FROM task
WHERE state = 1 AND topic = $1 AND ready_at <= $2
    AND NOT EXISTS (SELECT 1 FROM topic WHERE name IN ($1, $4) AND paused)
ORDER BY ready_at, id LIMIT $3
FOR UPDATE SKIP LOCKED

-- name: queue_make_ready
UPDATE task SET state = 0, rank = due.rank
FROM unnest($1::bigint[], $2::bigint[]) AS due (id, rank) WHERE task.id = due.id

-- name: queue_lease
WITH head AS MATERIALIZED (
    SELECT id FROM task WHERE state = 0 AND topic = $1
        AND NOT EXISTS (SELECT 1 FROM topic WHERE name IN ($1, $5) AND paused)
    ORDER BY rank, ready_at, id LIMIT $2 FOR UPDATE SKIP LOCKED
)
UPDATE task SET state = 2, attempt = attempt + 1, spent = spent + 1, holder = $3, lease_until = $4
FROM head WHERE task.id = head.id
RETURNING task.id, attempt, key, item_id, payload, priority, fair_key, rank, ready_at, spent, max_attempts, enqueued_at, reason

-- name: queue_lease_task
WITH one AS MATERIALIZED (SELECT id FROM task WHERE id = $1 AND state + 0 = 0 FOR UPDATE SKIP LOCKED)
UPDATE task SET state = 2, attempt = attempt + 1, spent = spent + 1, holder = $2, lease_until = $3
FROM one WHERE task.id = one.id
RETURNING task.id, attempt, key, item_id, payload, priority, fair_key, rank, ready_at, spent, max_attempts, enqueued_at, reason

-- name: queue_ready_of_key
SELECT rank, ready_at, id FROM task WHERE key = $1 AND topic = $2 AND state < 3 AND state + 0 = 0

-- name: queue_ready_behind
SELECT rank, ready_at, id, key FROM task
WHERE state = 0 AND topic = $1 AND (rank, ready_at, id) > ($2, $3, $4)
ORDER BY rank, ready_at, id LIMIT $5

-- name: queue_ready_keys
SELECT key FROM (
    SELECT key, fair_key, rank, ready_at, id FROM task WHERE state = 0 AND topic = $1
        AND NOT EXISTS (SELECT 1 FROM topic WHERE name IN ($1, $4) AND paused)
    ORDER BY rank, ready_at, id LIMIT $5
) AS line
WHERE ready_at <= $6 AND fair_key NOT IN (SELECT json_array_elements_text($2::text::json))
ORDER BY rank, ready_at, id LIMIT $3

-- name: queue_advance
WITH moved AS (
    UPDATE topic SET clock = $2
    WHERE name = (SELECT name FROM topic WHERE name = $1 AND clock < $2 FOR UPDATE SKIP LOCKED)
)
INSERT INTO topic (name, clock)
SELECT $1, $2 WHERE NOT EXISTS (SELECT 1 FROM topic WHERE name = $1)
ON CONFLICT (name) DO NOTHING

-- name: queue_extend
UPDATE task SET lease_until = greatest(task.lease_until, held.lease_until)
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS held (id, attempt, lease_until, place)
WHERE task.id = held.id AND task.attempt = held.attempt AND task.state + 0 = 2
RETURNING held.place, task.lease_until, task.cancel_requested

-- name: queue_checkpoint
UPDATE task SET spent = 1 WHERE id = $1 AND attempt = $2 AND state + 0 = 2

-- What each of some leases finds. Arrays are given as subqueries where a plan for their present lengths is no better than one for any: it
-- is made once then.
-- list: queue_outlook.found
SELECT held.place, (SELECT clock FROM topic WHERE name = held.next) AS clock,
    EXISTS (SELECT 1 FROM topic WHERE name IN (held.next, held.every) AND paused) AS is_paused,
    EXISTS (SELECT 1 FROM task AS other WHERE other.state = 0 AND other.topic = held.next)
        OR EXISTS (SELECT 1 FROM task AS other
            WHERE other.state = 1 AND other.topic = held.next AND other.ready_at <= coalesce(held.now, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint)) AS others_wait,
    NOT EXISTS (SELECT 1 FROM topic WHERE name IN (task.topic, held.every) AND paused)
        AND (EXISTS (SELECT 1 FROM task AS other WHERE other.state = 0 AND other.topic = task.topic)
            OR EXISTS (SELECT 1 FROM task AS other
                WHERE other.state = 1 AND other.topic = task.topic AND other.ready_at <= coalesce(held.now, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint))) AS more_waits,
    task.cancel_requested OR EXISTS (SELECT 1 FROM task AS other
        WHERE other.key = task.key AND other.topic = held.next AND other.state < 3) AS is_refused
FROM unnest((SELECT $1::bigint[]), (SELECT $2::bigint[]), (SELECT $3::text[]), (SELECT $4::text[]), (SELECT $5::bigint[])) WITH ORDINALITY
    AS held (id, attempt, next, every, now, place)
JOIN task ON task.id = held.id AND task.attempt = held.attempt AND task.state + 0 = 2

-- name: queue_outlook
{queue_outlook.found} FOR UPDATE OF task

-- name: queue_outlook_if_free
{queue_outlook.found} FOR UPDATE OF task SKIP LOCKED

-- name: queue_lock_topic
SELECT 1 AS found FROM (SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '.topic.' || $1, 0))) AS locked

-- name: queue_leased_of
SELECT count(*) AS tasks FROM task WHERE state = 2 AND topic = $1

-- name: queue_go_on
UPDATE task SET topic = held.topic, priority = held.priority, rank = held.rank, lease_until = held.lease_until, ready_at = held.now,
    enqueued_at = held.now, spent = 1, reason = NULL, again_at = NULL, again_priority = NULL, again_payload = NULL
FROM unnest((SELECT $1::bigint[]), (SELECT $2::bigint[]), (SELECT $3::text[]), (SELECT $4::bigint[]), (SELECT $5::bigint[]),
    (SELECT $6::bigint[]), (SELECT $7::bigint[])) WITH ORDINALITY AS held (id, attempt, topic, priority, rank, lease_until, now, place)
WHERE task.id = held.id AND task.attempt = held.attempt AND task.state + 0 = 2
RETURNING held.place, task.id, task.attempt, key, item_id, payload, task.priority, fair_key, task.rank, ready_at, spent, max_attempts,
    enqueued_at, reason

-- name: queue_pass_on
UPDATE task SET topic = $3, priority = $4, rank = $5, state = 0, ready_at = $6, enqueued_at = $6, spent = 0,
    holder = NULL, lease_until = NULL, reason = NULL, cancel_requested = FALSE
WHERE id = $1 AND attempt = $2 AND state + 0 = 2 AND again_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM task AS other WHERE other.key = task.key AND other.topic = $3 AND other.state < 3)

-- name: queue_look
SELECT wanted.topic AS topic,
    EXISTS (SELECT 1 FROM task WHERE state = 0 AND task.topic = wanted.topic) AS is_ready,
    (SELECT min(ready_at) FROM task WHERE state = 1 AND task.topic = wanted.topic) AS first_ready_at
FROM json_array_elements_text($1::text::json) AS wanted (topic)
WHERE NOT EXISTS (SELECT 1 FROM topic WHERE name IN (wanted.topic, $2) AND paused)
