-- What people do to a queue, and what they see of it.

-- name: queue_topics
SELECT name AS topic, paused FROM topic ORDER BY name

-- name: queue_set_paused
INSERT INTO topic (name, paused) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET paused = excluded.paused

-- name: queue_set_every_paused
UPDATE topic SET paused = ?1 WHERE paused <> ?1

-- name: queue_delete
DELETE FROM task WHERE id = ?1

-- name: queue_delete_live_key
DELETE FROM task WHERE key = ?1 AND state < 3

-- name: queue_delete_dead_key
DELETE FROM task WHERE key = ?1 AND state = 3

-- A task in the line stands as many turns further back as it is less urgent.
-- name: queue_set_priority
UPDATE task SET rank = CASE WHEN state = 0 THEN rank - (priority - ?3) * ?4 ELSE rank END, priority = ?3
WHERE key = ?2 AND topic = ?1 AND state < 3

-- name: queue_show
SELECT id, topic, key, item_id, state, priority, fair_key, rank, ready_at, attempt, spent, max_attempts, holder,
    lease_until, cancel_requested, enqueued_at, reason, again_at, payload
FROM task WHERE id = ?1

-- name: queue_of_key
SELECT id, topic, key, item_id, state, priority, fair_key, rank, ready_at, attempt, spent, max_attempts, holder,
    lease_until, cancel_requested, enqueued_at, reason, again_at, payload
FROM task WHERE key = ?1 AND state < 3 ORDER BY id LIMIT ?2

-- name: queue_known
SELECT EXISTS (SELECT 1 FROM task WHERE key = ?1 AND topic = ?2 AND state < 3) AS is_live,
    EXISTS (SELECT 1 FROM task WHERE key = ?1 AND topic = ?2 AND state = 3) AS is_dead

-- name: queue_delete_dead_of_key
DELETE FROM task WHERE key = ?1 AND topic = ?2 AND state = 3

-- name: queue_dead_of_key
SELECT id, topic, key, item_id, state, priority, fair_key, rank, ready_at, attempt, spent, max_attempts, holder,
    lease_until, cancel_requested, enqueued_at, reason, again_at, payload
FROM task WHERE key = ?1 AND state = 3 ORDER BY id LIMIT ?2
