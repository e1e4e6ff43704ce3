-- name: actors.insert
INSERT INTO actors (id, kind, name, created_at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING
-- name: actors.of_item
SELECT a.id, a.kind, a.name FROM work_items w JOIN actors a ON a.id = w.actor_id WHERE w.id = ?1
-- name: journal.was_refused
SELECT 1 AS found FROM journal WHERE actor_id = ?1 AND act = ?3 AND time >= ?2 AND outcome = 'refused' LIMIT 1
