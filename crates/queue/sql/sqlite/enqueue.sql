-- Putting tasks into the line.

-- name: queue_take_ids
UPDATE task_sequence SET next = next + ?1 WHERE single = 1 RETURNING next - ?1 AS first_id, ?1 AS ids

-- name: queue_reserve_turns
INSERT INTO fair_share (topic, fair_key, priority, next)
VALUES (?1, ?2, ?3, coalesce((SELECT clock FROM topic WHERE name = ?1), 0) + ?4)
ON CONFLICT (topic, fair_key, priority)
DO UPDATE SET next = max(fair_share.next, coalesce((SELECT clock FROM topic WHERE name = ?1), 0)) + ?4
RETURNING next - ?4 AS first_turn

-- name: queue_forget_turns
DELETE FROM fair_share
WHERE EXISTS (SELECT 1 FROM topic WHERE topic.name = fair_share.topic AND topic.clock >= fair_share.next)

-- name: queue_insert
INSERT INTO task (id, topic, key, state, priority, fair_key, rank, ready_at, max_attempts, enqueued_at, payload,
    item_id)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
ON CONFLICT (key, topic) WHERE state < 3 DO NOTHING

-- name: queue_live
SELECT id, state, priority FROM task WHERE key = ?1 AND topic = ?2 AND state < 3

-- No other transaction writes at the same time.
-- name: queue_live_if_free
SELECT id FROM task WHERE key = ?1 AND topic = ?2 AND state < 3

-- name: queue_bring_forward
UPDATE task SET ready_at = min(ready_at, ?2), priority = min(priority, ?3) WHERE id = ?1 AND state = 1

-- name: queue_raise
UPDATE task SET rank = rank - (priority - ?2) * ?3, priority = ?2 WHERE id = ?1 AND state = 0 AND priority > ?2

-- name: queue_mark_again
UPDATE task
SET again_at = min(coalesce(again_at, ?2), ?2),
    again_priority = min(coalesce(again_priority, ?3), ?3),
    again_payload = coalesce(again_payload, ?4)
WHERE id = ?1 AND state = 2
